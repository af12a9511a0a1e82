# SPDX-License-Identifier: MIT OR Apache-2.0
"""The gRPC service: sessions and calls. Other modules of this package implement their meaning."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import grpc

from marklab.engine.binding import Control
from marklab.errors import SetupError
from marklab.p4runtime.messages import p4runtime_pb2, p4runtime_pb2_grpc
from marklab.p4runtime.server.arbitration import MAX_STREAMS, Arbitration, Session, check_role, number_of
from marklab.p4runtime.server.entities import Entities
from marklab.p4runtime.server.objects import Objects
from marklab.p4runtime.server.packets import ControllerHeader, CpuPort
from marklab.p4runtime.server.pipeline import PipelineConfig, Running
from marklab.p4runtime.server.refusal import (
    Refusal,
    abort_batch,
    absent,
    error_of,
    invalid,
    unsupported,
    untimely,
)

# Version of the messages of package `p4runtime`.
API_VERSION = "1.4.1"

_CALL_THREADS = 8
_ENTITIES_PER_RESPONSE = 256
# Pipeline configs of large programs exceed gRPC's 4 MiB.
_MAX_MESSAGE_BYTES = 64 << 20
_STOP_SECONDS = 2.0

_log = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")


class Service(p4runtime_pb2_grpc.P4RuntimeServicer):
    """P4Runtime for one device. Writes and reads are serialised."""

    def __init__(self, running: Running, control: Control, cpu: CpuPort | None, device_id: int) -> None:
        self._device_id = device_id
        self._lock = threading.RLock()
        self._pipeline = PipelineConfig(running)
        self._entities = Entities(Objects(running.info), control, running.initial)
        self._arbitration = Arbitration(device_id)
        self._packet_out = ControllerHeader(running.program, "packet_out")
        self._packet_in = ControllerHeader(running.program, "packet_in")
        self._cpu = cpu
        if cpu is not None:
            cpu.listen(self._receive)

    def Write(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        """Carry out updates in order. An update that is refused does not affect the others."""

        def outcomes() -> list[Refusal | None]:
            self._check_writer(request)
            if request.atomicity != p4runtime_pb2.WriteRequest.CONTINUE_ON_ERROR:
                raise unsupported("updates of a batch are carried out one by one", "use CONTINUE_ON_ERROR")
            return [_outcome(self._entities.write, update) for update in request.updates]

        done = self._answer(context, outcomes)
        if any(done):
            abort_batch(context, "updates were", done)
        return p4runtime_pb2.WriteResponse()

    def Read(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:  # noqa: N802
        """A consistent snapshot of all entities that the requests select."""
        found: list[Any] = []

        def outcomes() -> list[Refusal | None]:
            self._check_device(request.device_id)
            check_role(request.role)
            return [
                _outcome(lambda wanted: found.extend(self._entities.read(wanted)), each) for each in request.entities
            ]

        done = self._answer(context, outcomes)
        for start in range(0, len(found), _ENTITIES_PER_RESPONSE):
            yield p4runtime_pb2.ReadResponse(entities=found[start : start + _ENTITIES_PER_RESPONSE])
        if any(done):
            abort_batch(context, "requests were", done)

    def SetForwardingPipelineConfig(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        """Accept the running pipeline, and refuse any other."""

        def configure() -> Any:
            self._check_writer(request)
            if self._pipeline.set(request):
                self._entities.reset()
            return p4runtime_pb2.SetForwardingPipelineConfigResponse()

        return self._answer(context, configure)

    def GetForwardingPipelineConfig(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        """The running pipeline."""

        def config() -> Any:
            self._check_device(request.device_id)
            config = self._pipeline.get(request.response_type)
            return p4runtime_pb2.GetForwardingPipelineConfigResponse(config=config)

        return self._answer(context, config)

    def Capabilities(self, _request: Any, _context: grpc.ServicerContext) -> Any:  # noqa: N802
        """The version of the API."""
        return p4runtime_pb2.CapabilitiesResponse(p4runtime_api_version=API_VERSION)

    def StreamChannel(self, requests: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:  # noqa: N802
        """A controller's session: arbitration and packets."""
        session = Session()
        context.add_callback(lambda: session.outgoing.put(None))
        threading.Thread(target=self._listen, args=(session, requests), daemon=True).start()
        try:
            while (message := session.outgoing.get()) is not None:
                if isinstance(message, Refusal):
                    context.abort(message.code, str(message))
                yield message
        finally:
            self._arbitration.leave(session)

    def end_streams(self) -> None:
        """End the streams of all controllers, which would otherwise last as long as the controllers."""
        self._arbitration.end()

    def _listen(self, session: Session, requests: Iterator[Any]) -> None:
        """Handle the messages of a controller, until its stream ends or a message ends it."""
        try:
            for request in requests:
                self._take_in(session, request)
        except Refusal as refusal:
            session.outgoing.put(refusal)
        except grpc.RpcError:
            _log.debug("a controller's stream broke")
        finally:
            session.outgoing.put(None)

    def _take_in(self, session: Session, request: Any) -> None:
        match request.WhichOneof("update"):
            case "arbitration":
                # Writes of the previous primary finish before the next one is notified (section 5.3).
                with self._lock:
                    self._arbitration.update(session, request.arbitration)
            case "packet":
                refused = _outcome(lambda packet: self._send(session, packet), request.packet)
                if refused is not None:
                    answer = _stream_error(refused)
                    answer.error.packet_out.packet_out.CopyFrom(request.packet)
                    session.outgoing.put(answer)
            case "digest_ack":
                answer = _stream_error(unsupported("digests are not sent to controllers yet", "see docs/p4runtime.md"))
                answer.error.digest_list_ack.digest_list_ack.CopyFrom(request.digest_ack)
                session.outgoing.put(answer)
            case _:
                answer = _stream_error(
                    invalid("the message is none that this server knows", "send arbitration or packet")
                )
                answer.error.other.SetInParent()
                session.outgoing.put(answer)

    def _send(self, session: Session, packet: Any) -> None:
        self._arbitration.check_sender(session)
        if self._cpu is None:
            raise untimely("the switch has no CPU port", "start it with one (--cpu-port)")
        self._cpu.send(self._packet_out.prepend(packet))

    def _receive(self, frame: bytes) -> None:
        packet = self._packet_in.split(frame)
        if packet is None:
            _log.warning("a frame of %d bytes for the controller is shorter than the header packet_in", len(frame))
        elif not self._arbitration.to_primary(p4runtime_pb2.StreamMessageResponse(packet=packet)):
            _log.debug("a frame for the controller was lost: there is no primary")

    def _answer(self, context: grpc.ServicerContext, call: Callable[[], _Answer]) -> _Answer:
        try:
            with self._lock:
                return call()
        except Refusal as refusal:
            context.abort(refusal.code, str(refusal))
            raise

    def _check_device(self, device_id: int) -> None:
        if device_id != self._device_id:
            raise absent(f"there is no device {device_id} here", f"use device id {self._device_id}")

    def _check_writer(self, request: Any) -> None:
        """Check a writer as in sections 12 and 14, in their order."""
        self._check_device(request.device_id)
        check_role(request.role)
        self._arbitration.check_writer(number_of(request.election_id))


class Server:
    """A P4Runtime server for one switch. Nothing else may configure the switch."""

    def __init__(
        self, running: Running, control: Control, *, address: str, device_id: int = 0, cpu: CpuPort | None = None
    ) -> None:
        """Start serving at HOST:PORT or unix:PATH. Port 0 selects a free port; `address` has the result."""
        pool = ThreadPoolExecutor(MAX_STREAMS + _CALL_THREADS, thread_name_prefix="p4runtime")
        limits = [("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES), ("grpc.so_reuseport", 0)]
        self._server = grpc.server(pool, options=limits)
        # Checked before the switch is changed, so a port in use leaves the switch as it was.
        _check_free(address)
        try:
            port = self._server.add_insecure_port(address)
        except RuntimeError as error:
            raise SetupError(f"cannot serve P4Runtime at {address}: {error}", "choose another address") from error
        self.address = address if _is_path(address) else f"{address.rpartition(':')[0]}:{port}"
        self._service = Service(running, control, cpu, device_id)
        p4runtime_pb2_grpc.add_P4RuntimeServicer_to_server(self._service, self._server)
        self._server.start()

    def stop(self) -> None:
        """End all streams, and all calls that do not finish within a grace period."""
        stopped = self._server.stop(_STOP_SECONDS)
        self._service.end_streams()
        stopped.wait()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _is_path(address: str) -> bool:
    return address.startswith("unix:")


def _check_free(address: str) -> None:
    """Refuse the path of another server: gRPC would replace its socket, and clients would no longer reach it."""
    if not _is_path(address):
        return
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(address.removeprefix("unix:").removeprefix("//"))
        except OSError:
            return
    raise SetupError(f"cannot serve P4Runtime at {address}: another process does", "choose another address")


def _outcome(do: Callable[[Any], None], element: Any) -> Refusal | None:
    try:
        do(element)
    except Refusal as refusal:
        return refusal
    return None


def _stream_error(refusal: Refusal) -> Any:
    error = error_of(refusal)
    answer = p4runtime_pb2.StreamMessageResponse()
    answer.error.canonical_code = error.canonical_code
    answer.error.message = error.message
    return answer
