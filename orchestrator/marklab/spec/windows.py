# SPDX-License-Identifier: MIT OR Apache-2.0
"""Time windows of a run, as users write them."""

from __future__ import annotations

from typing import Any, NamedTuple

from marklab.errors import BadInput
from marklab.units import format_time, parse_time

# The written form of a window, as JSON Schema.
WRITTEN_WINDOW = {"type": "string", "pattern": r"^.+\.\..+$", "examples": ["10ms..20ms"]}


class TimeWindow(NamedTuple):
    """A time window, in ns: `10ms..20ms`."""

    begin_ns: int
    end_ns: int

    @staticmethod
    def parse(value: Any) -> TimeWindow:
        """Read a window. Raises BadInput if it does not begin before its end."""
        if isinstance(value, TimeWindow):
            return value
        begin, dots, end = str(value).partition("..")
        if not dots:
            raise BadInput(f"`{value}` is not a window", "write it like 10ms..20ms")
        window = TimeWindow(parse_time(begin), parse_time(end))
        if window.begin_ns >= window.end_ns:
            raise BadInput(f"the window {value} ends before it begins", "write the earlier time first")
        return window

    def __str__(self) -> str:
        return f"{format_time(self.begin_ns)}..{format_time(self.end_ns)}"
