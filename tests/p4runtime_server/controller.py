# SPDX-License-Identifier: MIT OR Apache-2.0
"""A server over a test harness, and a plain gRPC client of it."""

from __future__ import annotations

import queue
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from marklab.engine import binding as engine
from marklab.p4runtime.messages import code_pb2, p4runtime_pb2, p4runtime_pb2_grpc, status_pb2, text_format
from marklab.p4runtime.server import Running, Server

DEVICE = 3
CPU_PORT = 510
SECONDS = 10
FEATURES = Path(__file__).parent / "features.p4"


def entity(name: str, text: str) -> Any:
    """An entity from its text."""
    message = p4runtime_pb2.Entity()
    text_format.Parse(text, getattr(message, name))
    getattr(message, name).SetInParent()
    return message


def probe(kind: int, a: int = 0, b: int = 0, c: int = 0) -> bytes:
    """A packet for features.p4 that asks for the part of this kind."""
    return struct.pack("!BBHIH", kind, a, b, c, 0)


def colour(frame: bytes) -> int:
    """The value that features.p4 wrote into the last field of a packet."""
    return int.from_bytes(frame[8:10], "big")


class HarnessCpu:
    """The CPU port of a harness. Frames that leave by other ports are kept in `frames`."""

    number = CPU_PORT

    def __init__(self, harness: engine.Harness) -> None:
        self._harness = harness
        self._receive: Callable[[bytes], None] = lambda _: None
        self.frames: queue.SimpleQueue[tuple[int, bytes]] = queue.SimpleQueue()

    def send(self, frame: bytes) -> None:
        self.inject(CPU_PORT, frame)

    def listen(self, receive: Callable[[bytes], None]) -> None:
        self._receive = receive

    def inject(self, port: int, frame: bytes) -> None:
        for out, sent in self._harness.inject(port, frame):
            if out == CPU_PORT:
                self._receive(sent)
            else:
                self.frames.put((out, sent))


class Switch:
    """A harness with a P4Runtime server."""

    def __init__(self, source: Path, *, with_cpu: bool = True) -> None:
        compiled = engine.compile_program(source)
        self.running = Running.load(source, compiled)
        self.harness = engine.new_harness(compiled)
        self.cpu = HarnessCpu(self.harness)
        cpu = self.cpu if with_cpu else None
        self.server = Server(self.running, self.harness, address="127.0.0.1:0", device_id=DEVICE, cpu=cpu)
        self.address = self.server.address

    def sent(self, frame: bytes, port: int = 1) -> list[tuple[int, bytes]]:
        """Send a frame, and return the frames that leave."""
        return self.harness.inject(port, frame)

    def ports(self, frame: bytes) -> list[int]:
        """The ports by which a frame leaves."""
        return [port for port, _ in self.sent(frame)]

    def id(self, field: str, name: str) -> int:
        """The id of an object, by the end of its name."""
        found = [each.preamble for each in getattr(self.running.info, field)]
        return next(each.id for each in found if each.name == name or each.name.endswith(f".{name}"))


class Refused(Exception):  # noqa: N818 - as in the server
    """A call that was refused: its code, and for a batch the codes of its elements."""

    def __init__(self, error: grpc.RpcError) -> None:
        super().__init__(error.details())
        self.code = error.code().name
        self.errors: list[Any] = []
        for key, value in error.trailing_metadata():
            if key == "grpc-status-details-bin":
                status = status_pb2.Status.FromString(value)
                for detail in status.details:
                    unpacked = p4runtime_pb2.Error()
                    assert detail.Unpack(unpacked)
                    self.errors.append(unpacked)

    @property
    def codes(self) -> list[str]:
        return [code_pb2.Code.Name(error.canonical_code) for error in self.errors]


class Client:
    """A controller: calls that raise `Refused`, and a stream whose messages are queued in `answers`."""

    def __init__(self, address: str, election_id: int = 1) -> None:
        self.channel = grpc.insecure_channel(address)
        self.stub = p4runtime_pb2_grpc.P4RuntimeStub(self.channel)
        self.election_id = election_id
        self._requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.stream = self.stub.StreamChannel(iter(self._requests.get, None))

    def close(self) -> None:
        self._requests.put(None)
        self.stream.cancel()
        self.channel.close()

    def send(self, **fields: Any) -> None:
        self._requests.put(p4runtime_pb2.StreamMessageRequest(**fields))

    def answer(self) -> Any:
        """The next message of the stream."""
        try:
            return next(self.stream)
        except grpc.RpcError as error:
            raise Refused(error) from error

    def arbitrate(self, election_id: int | None = None, device_id: int = DEVICE, role: str = "") -> Any:
        """Ask to be primary, and return the answer."""
        message = p4runtime_pb2.MasterArbitrationUpdate(device_id=device_id)
        if election_id is not None:
            message.election_id.high, message.election_id.low = election_id >> 64, election_id & (1 << 64) - 1
            self.election_id = election_id
        if role:
            message.role.name = role
        self.send(arbitration=message)
        return self.answer().arbitration

    def call(self, name: str, request: Any) -> Any:
        if request.DESCRIPTOR.fields_by_name.get("election_id") and not request.HasField("election_id"):
            request.election_id.low = self.election_id
        if "device_id" in request.DESCRIPTOR.fields_by_name:
            request.device_id = request.device_id or DEVICE
        try:
            return getattr(self.stub, name)(request, timeout=SECONDS)
        except grpc.RpcError as error:
            raise Refused(error) from error

    def write(self, kind: str, *entities: Any) -> None:
        request = p4runtime_pb2.WriteRequest()
        for entity in entities:
            request.updates.add(type=kind, entity=entity)
        self.call("Write", request)

    def read(self, *entities: Any) -> list[Any]:
        request = p4runtime_pb2.ReadRequest(device_id=DEVICE, entities=entities)
        try:
            return [each for response in self.stub.Read(request, timeout=SECONDS) for each in response.entities]
        except grpc.RpcError as error:
            raise Refused(error) from error

    def refused(self, kind: str, entity: Any) -> tuple[str, str]:
        """Code and text with which one update is refused."""
        with pytest.raises(Refused) as refused:
            self.write(kind, entity)
        (error,) = refused.value.errors
        return code_pb2.Code.Name(error.canonical_code), error.message
