# SPDX-License-Identifier: MIT OR Apache-2.0
"""What DCTCP in BPF remembers of its connections: their last observation windows (see dctcp.bpf.h)."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any

from marklab.errors import RunFailed
from marklab.lab.commands import run

# Alpha of 1, as the kernel counts.
ALPHA_ONE = 1024


@dataclass(frozen=True)
class ObservationWindow:
    """A window of data of a connection, when all of it was acknowledged."""

    time_ns: int  # CLOCK_MONOTONIC
    port: int  # of the sender
    delivered_segments: int
    marked_segments: int
    alpha_before: int
    alpha: int
    cwnd_segments: int
    reductions: int  # so far; the last one:
    reduced_from_segments: int
    reduced_to_segments: int


def observation_windows(name: str) -> list[ObservationWindow]:
    """Windows of all connections of a control that was loaded with `records`, in order of time."""
    rows = json.loads(run("bpftool", "--json", "map", "dump", "id", str(_map_of(name))))
    names = [field.name for field in fields(ObservationWindow)]
    windows = [ObservationWindow(**{name: row["formatted"]["value"][name] for name in names}) for row in rows]
    return sorted((window for window in windows if window.time_ns), key=lambda window: window.time_ns)


def _map_of(name: str) -> int:
    """All maps of a program share its type information."""
    maps: list[dict[str, Any]] = json.loads(run("bpftool", "--json", "map", "show"))
    types = {row["btf_id"] for row in maps if row.get("name") == name and "btf_id" in row}
    for row in maps:
        if row.get("name") == "windows" and row.get("btf_id") in types:
            return int(row["id"])
    raise RunFailed(f"the congestion control {name} keeps no records", "load it with `records`")
