# SPDX-License-Identifier: MIT OR Apache-2.0
"""The real-time switch: its description, the engine's switch behind it, and the folder of what it observed."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypedDict, cast

import numpy as np
from pydantic import ConfigDict, Field, field_validator, model_validator

from marklab.devices.frames import FULL_FRAME_BYTES, Framing
from marklab.devices.hosts import Limit
from marklab.devices.queueing import Queues
from marklab.engine import binding as engine
from marklab.errors import BadInput, RunFailed
from marklab.model import Model, Rate, Time, short_form
from marklab.results.observation import Columns

# BMv2's, which has 9 bits for ports, and drops what goes to the last one.
LAST_PORT = 510

_INTERFACE = re.compile(r"([0-9]+)@(\S+)")
# A full frame, for quanta that are given in `mtu`s.


# A TTL of 64 chooses the first of an interface's delays, one of 255, the largest, the last.
_TTL_DELAYS = 255 - 64 + 1
_LONGEST_DELAY_NS = 60 * 10**9

_REPORT = "report.json"
_TRACE = re.compile(r"trace-([0-9]+)\.npz")


class Interface(Model):
    """An interface of this machine on a port of the switch, and where it differs from the others, its line.

    `arrival_delay` is that of all frames that come in, which with an `arrival_rate` are there with their last bit; an
    IPv4 packet that comes with a TTL of 64 waits the first of `ttl_delays` beside that, one with 65 the second, and so
    on. So a sender gives a flow an RTT of its own.
    """

    model_config = ConfigDict(
        json_schema_extra=short_form(
            {"type": "string", "pattern": f"^{_INTERFACE.pattern}$", "examples": ["0@s1-eth1"]}
        )
    )

    port: int = Field(ge=0, le=LAST_PORT)
    name: str
    rate_bps: Rate | None = Field(default=None, alias="rate", ge=1000, le=10**13)
    delay_ns: Time | None = Field(default=None, alias="delay", ge=0, le=_LONGEST_DELAY_NS)
    arrival_rate_bps: Rate | None = Field(default=None, alias="arrival_rate", ge=1000, le=10**13)
    arrival_delay_ns: Time = Field(default=0, alias="arrival_delay", ge=0, le=_LONGEST_DELAY_NS)
    ttl_delays_ns: tuple[Annotated[Time, Field(ge=0, le=_LONGEST_DELAY_NS)], ...] = Field(
        default=(), alias="ttl_delays", max_length=_TTL_DELAYS
    )

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


class RegisterCell(Model):
    """A cell of a register of the program."""

    register_name: str = Field(alias="register")
    index: int = Field(ge=0)


class TracedPort(Model):
    """A port whose queues are recorded, a row per interval at most, and cells of the program beside them."""

    port: int = Field(ge=0, le=LAST_PORT)
    interval_ns: Time = Field(alias="interval", gt=0)
    registers: tuple[RegisterCell, ...] = ()

    def to_engine(self) -> dict[str, Any]:
        """As the engine takes it."""
        cells = [{"register": cell.register_name, "index": cell.index} for cell in self.registers]
        return {"port": self.port, "interval_ns": self.interval_ns, "registers": cells}


class Capture(Model):
    """A port whose frames, those that come and those that leave, are written to a file."""

    port: int = Field(ge=0, le=LAST_PORT)
    path: Path


class SwitchDescription(Model):
    """A real-time switch: interfaces, the line of those without another, queues of each port, what is recorded."""

    interfaces: tuple[Interface, ...] = ()
    # Without, frames pass as fast as the interfaces take them, and nothing waits.
    rate_bps: Rate | None = Field(default=None, alias="rate", ge=1000, le=10**13)
    delay_ns: Time = Field(default=0, alias="delay", ge=0, le=_LONGEST_DELAY_NS)
    framing: Framing = Framing()
    queue: Limit = Limit(packets=600)
    queues: Queues = Queues()
    cpu_port: int | None = Field(default=None, ge=0, le=LAST_PORT)
    # The processor that it stays on, so that hosts can be kept off it.
    cpu: int | None = Field(default=None, ge=0)
    traces: tuple[TracedPort, ...] = ()
    captures: tuple[Capture, ...] = ()

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
        for what, recorded in (("traces", self.traces), ("captures", self.captures)):
            ports = [each.port for each in recorded]
            if twice := [port for port in ports if ports.count(port) > 1]:
                raise BadInput(f"two {what} of port {twice[0]}", "leave out one of them")
            if unknown := set(ports) - set(self.ports()):
                numbers = ", ".join(map(str, self.ports()))
                raise BadInput(f"{what}: there is nothing on port {min(unknown)}", f"ports of the switch: {numbers}")
        return self

    def ports(self) -> dict[int, str]:
        """What is behind each port, in the order of their numbers."""
        behind = {interface.port: interface.name for interface in self.interfaces}
        return dict(sorted((behind | ({} if self.cpu_port is None else {self.cpu_port: "controller"})).items()))

    def to_engine(self) -> dict[str, Any]:
        """As the engine takes it."""
        return {
            "interfaces": [self._line(interface) for interface in self.interfaces],
            "queueing": self.queues.to_engine(self.queue, FULL_FRAME_BYTES),
            "cpu_port": self.cpu_port,
            "cpu": self.cpu,
            "traces": [each.to_engine() for each in self.traces],
            "captures": [{"port": each.port, "path": str(each.path)} for each in self.captures],
        }

    def _line(self, interface: Interface) -> dict[str, Any]:
        # Fields as they are: written out, they would have units.
        own = {name: value for name, value in interface if value is not None}
        return {"rate_bps": self.rate_bps, "delay_ns": self.delay_ns, **dict(self.framing), **own}


@contextmanager
def running(
    description: SwitchDescription, program: engine.CompiledProgram, entries: Sequence[Mapping[str, Any]] = ()
) -> Iterator[engine.LiveSwitch]:
    """A switch that runs as long as the context."""
    if program.foreign:
        raise BadInput(f"the program calls `{program.foreign[0]}`, which no switch here has")
    with engine.refusals():
        try:
            switch = engine.start_switch(description.to_engine(), program, json.dumps(list(entries)))
        except OSError as error:
            raise BadInput(f"cannot create the capture {error}", "choose a folder that can be written to") from error
    try:
        yield switch
    finally:
        switch.end()


class PortReport(TypedDict):
    """A port of a real-time switch: what came and went, what the machine lost, and its queues."""

    port: int
    received: int
    received_bytes: int
    sent: int
    sent_bytes: int
    wire_bytes: int
    busy_ns: int
    unsent: int
    missed: int
    offloaded: int
    marked: int
    enqueued: int
    dropped: int
    max_packets: int
    max_bytes: int


class Lost(TypedDict):
    """Packets that the switch lost, as in a run's report."""

    place: str
    port: int | None
    reason: str
    packets: int


class Counted(TypedDict):
    """A cell of a counter of the P4 program that is not 0."""

    counter: str
    index: int
    packets: int
    bytes: int


class Lateness(TypedDict):
    """By how many ns frames left their queues and lines too late: how many did, quantiles, and the largest."""

    count: int
    p50: int | None
    p99: int | None
    p999: int | None
    max: int


class SwitchReport(TypedDict):
    """What happened at a switch. `started_ns` is CLOCK_MONOTONIC at its time 0, all other times count from there."""

    ports: list[PortReport]
    drops: list[Lost]
    counters: list[Counted]
    faults: int
    lateness_ns: Lateness
    started_ns: int
    end_ns: int


@dataclass(frozen=True)
class Observed:
    """All that a switch observed. A trace has the columns of a simulated one: of the port, then of each queue."""

    report: SwitchReport
    traces: Mapping[int, Sequence[Columns]]


def stop(switch: engine.LiveSwitch) -> Observed:
    """Stop a switch, once."""
    with engine.failures():
        stopped = switch.stop()
    return Observed(json.loads(stopped["report"]), stopped["traces"])


def prepare_folder(folder: Path) -> None:
    """Make the folder of a switch that is about to run, and take away what an earlier one left there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.iterdir():
            if path.name == _REPORT or _TRACE.fullmatch(path.name):
                path.unlink()
    except OSError as error:
        raise BadInput(f"{error.filename}: {error.strerror}", "choose another folder with --out") from error


def write(folder: Path, observed: Observed) -> None:
    """Write what a switch observed; the report comes last, so that where it is the rest is whole."""
    path = folder
    try:
        for port, columns in observed.traces.items():
            path = folder / f"trace-{port}.npz"
            arrays: dict[str, Any] = {
                f"{number}.{name}": values for number, each in enumerate(columns) for name, values in each.items()
            }
            np.savez(path, **arrays)
        path = folder / _REPORT
        path.write_text(json.dumps(observed.report, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        path.unlink(missing_ok=True)
        remedy = "free some space, or choose another folder with --out"
        raise RunFailed(f"{path} could not be written: {error.strerror or error}", remedy) from error


def read_report(folder: Path) -> SwitchReport:
    """Read the report that a switch left."""
    try:
        return cast("SwitchReport", json.loads((folder / _REPORT).read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise RunFailed(
            f"the switch left no report in {folder}: it was killed, or failed", "see its messages"
        ) from error


def read_traces(folder: Path) -> dict[int, list[Columns]]:
    """Read the traces that a switch left, by port: all of it, then each of its queues, if it has several."""
    found = [(int(match[1]), path) for path in folder.iterdir() if (match := _TRACE.fullmatch(path.name))]
    return {port: _read_trace(path) for port, path in sorted(found)}


def _read_trace(path: Path) -> list[Columns]:
    queues: dict[int, dict[str, Any]] = {}
    with np.load(path) as arrays:
        for key, values in arrays.items():
            number, _, name = key.partition(".")
            queues.setdefault(int(number), {})[name] = values
    return [queues[number] for number in sorted(queues)]


def read(folder: Path) -> Observed:
    """Read all that a switch left."""
    return Observed(read_report(folder), read_traces(folder))


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
