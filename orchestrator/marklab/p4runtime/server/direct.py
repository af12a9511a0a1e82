# SPDX-License-Identifier: MIT OR Apache-2.0
"""Direct counters and meters, which belong to table entries (P4Runtime specification, sections 9.1.7, 9.3.1, 9.4.1).

The engine counts the hits of an entry from 0, and its count cannot be set. A count that a client writes is kept as the
difference to the engine's count.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from marklab.engine.binding import Control
from marklab.p4runtime.server.cells import check_count, check_no_colours, counter_data, rates
from marklab.p4runtime.server.objects import Objects
from marklab.p4runtime.server.refusal import invalid


@dataclass(frozen=True)
class Resources:
    """A client's settings: a difference to the engine's count, and a meter's rates."""

    packets: int = 0
    bytes: int = 0
    meter_config: Any = None


NONE = Resources()


class Direct:
    """The direct counter and the direct meter of a table, if it has them."""

    def __init__(self, objects: Objects, control: Control, table: Any) -> None:
        self._control = control
        self._table = table.preamble.name
        counters, meters = objects.all("direct_counters"), objects.all("direct_meters")
        self._counter = next((counters[each] for each in table.direct_resource_ids if each in counters), None)
        self._meter = next((meters[each] for each in table.direct_resource_ids if each in meters), None)

    def check(self, sent: Any) -> None:
        """Refuse an entry with resources that its table does not have."""
        check_no_colours(sent, "meter_counter_data", f"table `{self._table}`")
        if sent.HasField("counter_data"):
            check_count(sent.counter_data, f"direct counter `{self.counter().preamble.name}`")
        if sent.HasField("meter_config"):
            rates(sent.meter_config, f"direct meter `{self.meter().preamble.name}`")

    def counter(self) -> Any:
        """The table's counter. Refuses if there is none."""
        if self._counter is None:
            raise invalid(f"table `{self._table}` has no direct counter", "leave its data out, or add `counters`")
        return self._counter

    def meter(self) -> Any:
        """The table's meter. Refuses if there is none."""
        if self._meter is None:
            raise invalid(f"table `{self._table}` has no direct meter", "leave its config out, or add `meters`")
        return self._meter

    def write(self, handle: int, sent: Any) -> Resources:
        """Set the resources of a new entry."""
        return self.rewrite(handle, NONE, sent)

    def rewrite(self, handle: int, known: Resources, sent: Any) -> Resources:
        """Set the resources of a modified entry. A count that is not given stays; rates that are not are removed."""
        if sent.HasField("counter_data"):
            known = self.set_count(handle, known, sent.counter_data)
        if self._meter is not None:
            known = self.set_rates(handle, known, sent.meter_config if sent.HasField("meter_config") else None)
        return known

    def set_count(self, handle: int, known: Resources, data: Any) -> Resources:
        """Set the count to a client's value."""
        name = self.counter().preamble.name
        check_count(data, f"direct counter `{name}`")
        packets, bytes_ = self._control.counter(name, handle)
        return replace(known, packets=data.packet_count - packets, bytes=data.byte_count - bytes_)

    def set_rates(self, handle: int, known: Resources, config: Any) -> Resources:
        """Set the meter's rates. Without rates every packet is green."""
        name = self.meter().preamble.name
        if config is None:
            if known.meter_config is not None:
                self._control.control(json.dumps({"clear_meter_rates": {"meter": name, "index": handle}}))
            return replace(known, meter_config=None)
        given = rates(config, f"direct meter `{name}`")
        self._control.control(json.dumps({"set_meter_rates": {"meter": name, "index": handle, **given}}))
        return replace(known, meter_config=config)

    def count(self, handle: int, known: Resources) -> Any:
        """The count of an entry."""
        counter = self.counter()
        packets, bytes_ = self._control.counter(counter.preamble.name, handle)
        return counter_data(counter, packets + known.packets, bytes_ + known.bytes)

    def read(self, handle: int, known: Resources, wanted: Any, message: Any) -> None:
        """Add the resources that a request asks for to an entry."""
        check_no_colours(wanted, "meter_counter_data", f"table `{self._table}`")
        if wanted.HasField("counter_data") and self._counter is not None:
            message.counter_data.CopyFrom(self.count(handle, known))
        if wanted.HasField("meter_config") and known.meter_config is not None:
            message.meter_config.CopyFrom(known.meter_config)
