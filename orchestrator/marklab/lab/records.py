# SPDX-License-Identifier: MIT OR Apache-2.0
"""What DCTCP in BPF remembers: its connections' last observation windows, and whether the kernel left it out."""

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
    number = _find_map(name, "windows")
    if number is None:
        raise RunFailed(f"the congestion control {name} keeps no records", "load it with `records`")
    rows = json.loads(run("bpftool", "--json", "map", "dump", "id", str(number)))
    names = [field.name for field in fields(ObservationWindow)]
    windows = [ObservationWindow(**{name: row["formatted"]["value"][name] for name in names}) for row in rows]
    return sorted((window for window in windows if window.time_ns), key=lambda window: window.time_ns)


def replaced_answers(name: str) -> int:
    """How often the kernel took a threshold from DCTCP in BPF without running it; see dctcp.bpf.c.

    0 of a control that is not DCTCP in BPF.
    """
    number = _find_map(name, ".bss")
    if number is None:
        return 0
    (row,) = json.loads(run("bpftool", "--json", "map", "dump", "id", str(number)))
    (variables,) = row["formatted"]["value"].values()
    return sum(int(variable.get("replaced", 0)) for variable in variables)


def _find_map(name: str, end: str) -> int | None:
    """The map of a control whose name ends so; all maps of a program share its type information."""
    maps: list[dict[str, Any]] = json.loads(run("bpftool", "--json", "map", "show"))
    types = {row["btf_id"] for row in maps if row.get("name") == name and "btf_id" in row}
    found = (row for row in maps if row.get("name", "").endswith(end) and row.get("btf_id") in types)
    return next((int(row["id"]) for row in found), None)
