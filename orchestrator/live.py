"""The real-time switch: its description, and the engine's switch behind it."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pydantic import Field, field_validator, model_validator

from orchestrator import engine
from orchestrator.errors import BadInput
from orchestrator.hosts import Framing, Limit
from orchestrator.model import Model, Rate, Time
from orchestrator.queueing import Queues

# BMv2's, which has 9 bits for ports, and drops what goes to the last one.
LAST_PORT = 510

_INTERFACE = re.compile(r"([0-9]+)@(\S+)")
# A full frame, for quanta that are given in `mtu`s.
_FRAME_BYTES = 1514


class Interface(Model):
    """An interface of this machine on a port of the switch."""

    port: int = Field(ge=0, le=LAST_PORT)
    name: str

    @model_validator(mode="before")
    @classmethod
    def _by_text(cls, value: Any) -> Any:
        """Read `PORT@NAME`, as simple_switch has it."""
        if not isinstance(value, str):
            return value
        match = _INTERFACE.fullmatch(value)
        if match is None:
            raise BadInput(f"`{value}` is no interface on a port", "write PORT@NAME, as 0@s1-eth1")
        return {"port": int(match[1]), "name": match[2]}


class SwitchDescription(Model):
    """A real-time switch: interfaces, and lines and queues that all of its ports have alike."""

    interfaces: tuple[Interface, ...]
    # Without, frames pass as fast as the interfaces take them, and nothing waits.
    rate_bps: Rate | None = Field(default=None, alias="rate", ge=1000, le=10**13)
    delay_ns: Time = Field(default=0, alias="delay")
    framing: Framing = Framing()
    queue: Limit = Limit(packets=600)
    queues: Queues = Queues()
    cpu_port: int | None = Field(default=None, ge=0, le=LAST_PORT)

    @field_validator("interfaces")
    @classmethod
    def _each_once(cls, interfaces: tuple[Interface, ...]) -> tuple[Interface, ...]:
        for what in ("port", "name"):
            values = [getattr(interface, what) for interface in interfaces]
            if twice := [value for value in values if values.count(value) > 1]:
                raise BadInput(f"two interfaces have the {what} {twice[0]}", "give each port an interface of its own")
        return interfaces

    @model_validator(mode="after")
    def _has_ports(self) -> SwitchDescription:
        if not self.ports():
            raise BadInput("a switch needs a port", "-i 0@s1-eth1, or --cpu-port 510")
        if self.cpu_port in {interface.port for interface in self.interfaces}:
            raise BadInput(f"port {self.cpu_port} has an interface and the controller", "choose another --cpu-port")
        return self

    def ports(self) -> dict[int, str]:
        """What is behind each port, in the order of their numbers."""
        behind = {interface.port: interface.name for interface in self.interfaces}
        return dict(sorted((behind | ({} if self.cpu_port is None else {self.cpu_port: "controller"})).items()))

    def to_engine(self) -> dict[str, Any]:
        """As the engine takes it."""
        line = {"delay_ns": self.delay_ns, **self.framing.model_dump()}
        line |= {} if self.rate_bps is None else {"rate_bps": self.rate_bps}
        return {
            "interfaces": [{**each.model_dump(), **line} for each in self.interfaces],
            "queueing": self.queues.to_engine(self.queue, _FRAME_BYTES),
            "cpu_port": self.cpu_port,
        }


@contextmanager
def running(
    description: SwitchDescription, program: engine.CompiledProgram, entries: Sequence[Mapping[str, Any]] = ()
) -> Iterator[engine.LiveSwitch]:
    """A switch that runs as long as the context."""
    if program.foreign:
        raise BadInput(f"the program calls `{program.foreign[0]}`, which no switch here has")
    with engine.refusals():
        switch = engine.start_switch(description.to_engine(), program, json.dumps(list(entries)))
    try:
        yield switch
    finally:
        switch.end()


class CpuPort:
    """The port of a running switch behind which its controller is."""

    # How long a listener is left when the switch has ended.
    _PATIENCE_S = 0.2

    def __init__(self, number: int, switch: engine.LiveSwitch) -> None:
        self.number = number
        self._switch = switch

    def send(self, frame: bytes) -> None:
        """Lets a frame come in at this port."""
        self._switch.inject(self.number, frame)

    def listen(self, receive: Callable[[bytes], None]) -> None:
        """Has `receive` called in a thread with each frame that leaves by this port, as long as the process lives."""

        def forward() -> None:
            while True:
                for frame in self._switch.packets_in(self._PATIENCE_S):
                    receive(frame)

        threading.Thread(target=forward, name="packet-in", daemon=True).start()
