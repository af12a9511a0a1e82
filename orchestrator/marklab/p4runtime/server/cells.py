# SPDX-License-Identifier: MIT OR Apache-2.0
"""Counters, meters and registers: arrays of cells (P4Runtime specification, sections 9.3, 9.4 and 9.7)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from marklab.engine.binding import Control
from marklab.p4runtime.messages import p4info_pb2, p4runtime_pb2
from marklab.p4runtime.server.objects import Objects
from marklab.p4runtime.server.refusal import full, invalid, out_of_range, unsupported
from marklab.p4runtime.server.values import Codec

# Most cells of one request. A cell takes about 0.1 ms in Python, while other requests wait; some schemes have millions.
MAX_CELLS = 1 << 16

_MICROSECONDS_PER_SECOND = 1_000_000
_UNITS = p4info_pb2.CounterSpec.Unit


class Counters:
    """All indirect counters, which no table owns."""

    def __init__(self, objects: Objects, control: Control) -> None:
        self._objects = objects
        self._control = control

    def write(self, kind: str, entry: Any) -> None:
        """Set one cell, or all cells of a counter."""
        counter = self._objects.find("counters", entry.counter_id)
        check_modify(kind, f"counter `{counter.preamble.name}`")
        check_count(entry.data, f"counter `{counter.preamble.name}`")
        ((_, cells),) = cells_of("counter", [counter], entry)
        if entry.HasField("data"):
            for index in cells:
                self._control.set_counter(counter.preamble.name, index, entry.data.packet_count, entry.data.byte_count)

    def read(self, wanted: Any) -> Iterator[Any]:
        """The cells that a request selects."""
        for counter, cells in cells_of("counter", self._objects.selected("counters", wanted.counter_id), wanted):
            for index in cells:
                message = p4runtime_pb2.CounterEntry(counter_id=counter.preamble.id)
                message.index.index = index
                message.data.CopyFrom(counter_data(counter, *self._control.counter(counter.preamble.name, index)))
                yield message

    def reset(self) -> None:
        """Set all to 0."""
        for counter in self._objects.all("counters").values():
            for index in range(counter.size):
                self._control.set_counter(counter.preamble.name, index, 0, 0)


class Meters:
    """All indirect meters, which no table owns. Without rates every packet is green."""

    def __init__(self, objects: Objects, control: Control) -> None:
        self._objects = objects
        self._control = control
        self._configs: dict[tuple[int, int], Any] = {}

    def write(self, kind: str, entry: Any) -> None:
        """Set or remove the rates of one cell, or of all cells of a meter."""
        meter = self._objects.find("meters", entry.meter_id)
        name, what = meter.preamble.name, f"meter `{meter.preamble.name}`"
        check_modify(kind, what)
        check_no_colours(entry, "counter_data", what)
        given = rates(entry.config, what) if entry.HasField("config") else None
        ((_, cells),) = cells_of("meter", [meter], entry)
        for index in cells:
            if given is None:
                self._clear(name, (entry.meter_id, index))
            else:
                self._control.control(json.dumps({"set_meter_rates": {"meter": name, "index": index, **given}}))
                self._configs[entry.meter_id, index] = entry.config

    def read(self, wanted: Any) -> Iterator[Any]:
        """The cells that a request selects."""
        check_no_colours(wanted, "counter_data", "meters")
        for meter, cells in cells_of("meter", self._objects.selected("meters", wanted.meter_id), wanted):
            for index in cells:
                message = p4runtime_pb2.MeterEntry(meter_id=meter.preamble.id)
                message.index.index = index
                config = self._configs.get((meter.preamble.id, index))
                if config is not None:
                    message.config.CopyFrom(config)
                yield message

    def reset(self) -> None:
        """Remove all rates."""
        for meter, index in list(self._configs):
            self._clear(self._objects.find("meters", meter).preamble.name, (meter, index))

    def _clear(self, name: str, cell: tuple[int, int]) -> None:
        if self._configs.pop(cell, None) is not None:
            self._control.control(json.dumps({"clear_meter_rates": {"meter": name, "index": cell[1]}}))


class Registers:
    """All registers."""

    def __init__(self, objects: Objects, control: Control) -> None:
        self._objects = objects
        self._control = control

    def write(self, kind: str, entry: Any) -> None:
        """Set one cell, or all cells of a register."""
        register = self._objects.find("registers", entry.register_id)
        name = register.preamble.name
        check_modify(kind, f"register `{name}`")
        value = self._codec(register).decode(entry.data)
        ((_, cells),) = cells_of("register", [register], entry)
        for index in cells:
            self._control.set_register(name, index, value)

    def read(self, wanted: Any) -> Iterator[Any]:
        """The cells that a request selects."""
        for register, cells in cells_of("register", self._objects.selected("registers", wanted.register_id), wanted):
            codec = self._codec(register)
            for index in cells:
                message = p4runtime_pb2.RegisterEntry(register_id=register.preamble.id)
                message.index.index = index
                message.data.CopyFrom(codec.encode(self._control.register(register.preamble.name, index)))
                yield message

    def reset(self) -> None:
        """Set all to 0."""
        for register in self._objects.all("registers").values():
            self._control.reset_register(register.preamble.name)

    def _codec(self, register: Any) -> Codec:
        return Codec(register.type_spec, self._objects.info.type_info, f"register `{register.preamble.name}`")


def cells_of(kind: str, owners: Sequence[Any], entry: Any) -> list[tuple[Any, range]]:
    """The cells of each owner that an index selects, or all cells without an index."""
    if not entry.HasField("index"):
        total = sum(owner.size for owner in owners)
        if total > MAX_CELLS:
            raise full(f"{kind}s: {total} cells are more than the {MAX_CELLS} of one request", "give an index")
        return [(owner, range(owner.size)) for owner in owners]
    index = entry.index.index
    for owner in owners:
        what, remedy = f"{kind} `{owner.preamble.name}`", f"its cells are 0..{owner.size - 1}"
        if index < 0:
            raise invalid(f"{what}: index {index} is negative", remedy)
        if index >= owner.size:
            raise out_of_range(f"{what} has no cell {index}", remedy)
    return [(owner, range(index, index + 1)) for owner in owners]


def check_modify(kind: str, what: str) -> None:
    """Refuse to insert or delete cells, which always exist."""
    if kind != "MODIFY":
        raise invalid(f"{what}: cells are neither inserted nor deleted", "use MODIFY")


def check_no_colours(message: Any, field: str, what: str) -> None:
    """Refuse requests for counters of a meter's colours."""
    if message.HasField(field):
        raise unsupported(f"{what}: the switch does not count the colours of a meter", f"leave `{field}` out")


def check_count(data: Any, what: str) -> None:
    """Refuse negative counts."""
    for name in ("packet_count", "byte_count"):
        if getattr(data, name) < 0:
            raise invalid(f"{what}: {name} {getattr(data, name)} is negative", "give at least 0")


def counter_data(counter: Any, packets: int, bytes_: int) -> Any:
    """The count of a cell, in packets, bytes or both, as the counter's unit says."""
    data = p4runtime_pb2.CounterData()
    if counter.spec.unit != _UNITS.Value("BYTES"):
        data.packet_count = packets
    if counter.spec.unit != _UNITS.Value("PACKETS"):
        data.byte_count = bytes_
    return data


def rates(config: Any, what: str) -> dict[str, Any]:
    """A meter's rates in the engine's form: tokens per microsecond, and the bucket's depth."""
    for name in ("cir", "cburst", "pir", "pburst"):
        if getattr(config, name) < 0:
            raise invalid(f"{what}: {name} {getattr(config, name)} is negative", "give a rate per second, or a burst")
    if config.eburst:
        raise unsupported(f"{what}: meters have two rates here, and no excess burst", "give pir and pburst")
    if config.cir > config.pir:
        raise invalid(f"{what}: cir {config.cir} is above pir {config.pir}", "let pir be at least cir")
    return {
        "committed": [config.cir / _MICROSECONDS_PER_SECOND, config.cburst],
        "peak": [config.pir / _MICROSECONDS_PER_SECOND, config.pburst],
    }
