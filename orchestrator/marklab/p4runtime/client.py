# SPDX-License-Identifier: MIT OR Apache-2.0
"""A controller that sets up a running switch, ours or BMv2, over P4Runtime.

`connected` yields a `Client` that is the switch's primary controller while the context lasts.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import grpc

from marklab.errors import RunFailed
from marklab.p4runtime.lab_entries import Entry, named, shown, update
from marklab.p4runtime.messages import code_pb2, p4runtime_pb2, p4runtime_pb2_grpc, status_pb2

_CALL_S = 30.0
_CONNECT_S = 20.0
# How often a waiting client checks whether it should still wait.
_GLANCE_S = 0.1

# A server answers only after a whole batch, and accepts messages of at most 4 MiB.
_BATCH = 256
_SHOWN_REFUSALS = 5

_OPTIONS = [
    # Switches are on this machine.
    ("grpc.enable_http_proxy", 0),
    # Compiled programs, and the contents of all tables, exceed gRPC's 4 MiB.
    ("grpc.max_receive_message_length", 64 << 20),
    # The errors of the elements of a batch come as metadata.
    ("grpc.max_metadata_size", 1 << 20),
    ("grpc.absolute_max_metadata_size", 1 << 20),
    # A switch that is starting is soon available.
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 200),
]

# The key under which gRPC carries a serialized google.rpc.Status.
_DETAILS = "grpc-status-details-bin"


@dataclass(frozen=True)
class Count:
    """A cell of a counter. A switch counts only the unit that the program declares, and leaves the other 0."""

    packets: int
    bytes: int


class Client:
    """The primary controller of a switch.

    Raises RunFailed for anything that the switch refuses, and BadInput for anything that its program lacks.
    """

    def __init__(self, channel: grpc.Channel, address: str, device_id: int, election_id: int) -> None:
        self._stub = p4runtime_pb2_grpc.P4RuntimeStub(channel)
        self._address = address
        self._device_id = device_id
        self._election_id = p4runtime_pb2.Uint128(high=election_id >> 64, low=election_id & (1 << 64) - 1)
        self._info: Any = None
        self._requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._stream = self._arbitrate()

    @property
    def info(self) -> Any:
        """P4Info of the program that the switch runs."""
        if self._info is None:
            request = p4runtime_pb2.GetForwardingPipelineConfigRequest(
                device_id=self._device_id,
                response_type=p4runtime_pb2.GetForwardingPipelineConfigRequest.P4INFO_AND_COOKIE,
            )
            self._info = self._call("GetForwardingPipelineConfig", request).config.p4info
        return self._info

    def set_pipeline(self, info: Any, device_config: bytes = b"") -> None:
        """Make the switch run a program, with the program's own entries.

        BMv2 takes the JSON of p4c-bm2-ss. A switch of ours accepts only the program that it already runs.
        """
        request = p4runtime_pb2.SetForwardingPipelineConfigRequest(
            device_id=self._device_id,
            election_id=self._election_id,
            action=p4runtime_pb2.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT,
        )
        request.config.p4info.CopyFrom(info)
        request.config.p4_device_config = device_config
        self._call("SetForwardingPipelineConfig", request)
        self._info = info

    def write(self, entries: Sequence[Entry]) -> None:
        """Insert entries and set default actions, in the given order. A default action has no `match`."""
        updates = [update(self.info, entry) for entry in entries]
        for start in range(0, len(entries), _BATCH):
            request = p4runtime_pb2.WriteRequest(
                device_id=self._device_id, election_id=self._election_id, updates=updates[start : start + _BATCH]
            )
            try:
                self._stub.Write(request, timeout=_CALL_S)
            except grpc.RpcError as error:
                raise self._refused(error, entries[start : start + _BATCH]) from error

    def counter(self, name: str) -> list[Count]:
        """All cells of a counter that no table owns."""
        number = named("counter", name, self.info.counters).preamble.id
        cells = self._read(p4runtime_pb2.Entity(counter_entry=p4runtime_pb2.CounterEntry(counter_id=number)))
        counts = {cell.counter_entry.index.index: cell.counter_entry.data for cell in cells}
        return [Count(counts[index].packet_count, counts[index].byte_count) for index in sorted(counts)]

    def register(self, name: str, index: int | None = None) -> list[int]:
        """The values of all cells of a register, or of one cell. BMv2 does not offer registers over P4Runtime."""
        number = named("register", name, self.info.registers).preamble.id
        wanted = p4runtime_pb2.RegisterEntry(register_id=number)
        if index is not None:
            wanted.index.index = index
        cells = self._read(p4runtime_pb2.Entity(register_entry=wanted))
        values = {cell.register_entry.index.index: cell.register_entry.data for cell in cells}
        return [_bits(values[index]) for index in sorted(values)]

    def close(self) -> None:
        """Stop being primary."""
        self._requests.put(None)
        self._stream.cancel()

    def _arbitrate(self) -> Any:
        """Become primary. Returns the stream, which must stay open."""
        message = p4runtime_pb2.StreamMessageRequest()
        message.arbitration.device_id = self._device_id
        message.arbitration.election_id.CopyFrom(self._election_id)
        self._requests.put(message)
        stream = self._stub.StreamChannel(iter(self._requests.get, None))
        # A deadline of the stream would end the whole session, so a timer limits only the first answer.
        expiry = threading.Timer(_CALL_S, stream.cancel)
        expiry.start()
        try:
            answer = next(stream).arbitration
        except (grpc.RpcError, StopIteration) as error:
            self._requests.put(None)
            raise self._failed("take part in arbitration", error) from error
        finally:
            expiry.cancel()
        if answer.status.code != code_pb2.OK:
            self._requests.put(None)
            stream.cancel()
            raise RunFailed(
                f"the switch at {self._address} has a primary controller of election id "
                f"{answer.election_id.high << 64 | answer.election_id.low}",
                "end it, or choose a higher election id",
            )
        return stream

    def _read(self, entity: Any) -> list[Any]:
        request = p4runtime_pb2.ReadRequest(device_id=self._device_id, entities=[entity])
        try:
            return [each for response in self._stub.Read(request, timeout=_CALL_S) for each in response.entities]
        except grpc.RpcError as error:
            raise self._refused(error, []) from error

    def _call(self, name: str, request: Any) -> Any:
        try:
            return getattr(self._stub, name)(request, timeout=_CALL_S)
        except grpc.RpcError as error:
            raise self._failed(name, error) from error

    def _failed(self, what: str, error: Exception) -> RunFailed:
        why = _text(error) if isinstance(error, grpc.RpcError) else "the stream ended"
        return RunFailed(f"the switch at {self._address} did not {what}: {why}")

    def _refused(self, error: grpc.RpcError, entries: Sequence[Entry]) -> RunFailed:
        """The error of a refused batch. If the server checked the elements, it has one status for each, in order."""
        errors = [each for each in _elements(error) if each[0]]
        if not errors:
            return self._failed("answer a write" if entries else "answer a read", error)
        told = [
            f"{shown(entries[place])}: {text}" if place < len(entries) else text
            for place, (code, text) in enumerate(_elements(error))
            if code
        ]
        more = f"; and {len(told) - _SHOWN_REFUSALS} more" if len(told) > _SHOWN_REFUSALS else ""
        return RunFailed(f"the switch at {self._address} refuses: {'; '.join(told[:_SHOWN_REFUSALS])}{more}")


@contextmanager
def connected(
    address: str,
    *,
    device_id: int = 0,
    election_id: int = 1,
    patience_s: float = _CONNECT_S,
    check: Callable[[], None] = lambda: None,
) -> Iterator[Client]:
    """Be the primary controller of the switch at `unix:/path` or `host:port`, which may still be starting.

    `check` is called while there is no answer, and raises if waiting is pointless.
    """
    with grpc.insecure_channel(address, _OPTIONS) as channel:
        _await(channel, address, patience_s, check)
        client = Client(channel, address, device_id, election_id)
        try:
            yield client
        finally:
            client.close()


def _await(channel: grpc.Channel, address: str, patience_s: float, check: Callable[[], None]) -> None:
    deadline = time.monotonic() + patience_s
    ready = grpc.channel_ready_future(channel)
    try:
        while True:
            try:
                ready.result(timeout=min(_GLANCE_S, patience_s))
            except grpc.FutureTimeoutError as error:
                check()
                if time.monotonic() >= deadline:
                    raise RunFailed(
                        f"no switch serves P4Runtime at {address} ({patience_s:g} s waited)",
                        "start the switch with --grpc-server-addr, and look at what it says",
                    ) from error
            else:
                return
    finally:
        ready.cancel()


def _elements(error: grpc.RpcError) -> list[tuple[int, str]]:
    """Code and text of each element of a batch (P4Runtime specification, section 12.3)."""
    for key, value in error.trailing_metadata() or ():
        if key == _DETAILS:
            found = []
            for detail in status_pb2.Status.FromString(value).details:
                element = p4runtime_pb2.Error()
                if detail.Unpack(element):
                    name = code_pb2.Code.Name(element.canonical_code)
                    found.append((element.canonical_code, element.message or name))
            return found
    return []


def _text(error: grpc.RpcError) -> str:
    return f"{error.code().name}, {error.details()}"


def _bits(data: Any) -> int:
    match data.WhichOneof("data"):
        case "bool":
            return int(data.bool)
        case "enum" | "enum_value" as form:
            return int.from_bytes(getattr(data, form), "big")
    return int.from_bytes(data.bitstring, "big")
