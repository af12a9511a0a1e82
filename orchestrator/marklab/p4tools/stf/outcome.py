# SPDX-License-Identifier: MIT OR Apache-2.0
"""The outcome of packets in a switch, and differences between two switches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from marklab.errors import MarklabError
from marklab.p4tools.stf import names
from marklab.p4tools.stf.device import Memory

# State that holds a time, or depends on how fast packets follow each other.
CLOCKS = (
    "idle_since", "last_time", "t_pre", "t_round", "t_start", "seq_interval", "n_now", "n_last", "flows_of_period.seen",
    "queue_depth", "queue_used", "queue_turn", "flow_turn", "busy_queues", "flow_map", "next_stale", "steered",
    "queue_gone", "pool_gone", "first_above_time", "mark_next", "marking_next", "start", "price",
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """Packets that left each port, in their order, and the state of the switch after them."""

    sent: Mapping[int, Sequence[bytes]]
    memory: Memory

    @property
    def packets(self) -> int:
        """Number of packets that left, on all ports."""
        return sum(map(len, self.sent.values()))

    @property
    def cells(self) -> tuple[int, int]:
        """Number of cells of registers and of counters."""
        kept = (self.memory.registers, self.memory.counters)
        registers, counters = (sum(map(len, state.values())) for state in kept)
        return registers, counters


def compared(parts: Mapping[str, Any]) -> dict[str, Any]:
    """A program's objects, except those whose state depends on the clock."""
    kinds = ("registers", "counters")
    return {**parts, **{kind: [each for each in parts[kind] if not each["name"].endswith(CLOCKS)] for kind in kinds}}


def cells_of(counter: str, memory: Memory) -> Sequence[tuple[int, int]]:
    """Packets and bytes of a counter's cells, by a unique ending of its name."""
    return memory.counters[names.find("counter", counter, memory.counters)]


def not_compared(error: MarklabError) -> str:
    """Text in the place of differences if a side failed."""
    return f"not compared: {error}" + (f"\n  try: {error.remedy}" if error.remedy else "")


def different_cells(ours: Memory, theirs: Memory) -> Iterator[str]:
    """Cells of registers and counters that differ."""
    yield from _different(ours.registers, theirs.registers)
    yield from _different(ours.counters, theirs.counters)


def _different(ours: Mapping[str, Sequence[object]], theirs: Mapping[str, Sequence[object]]) -> Iterator[str]:
    for name, cells in theirs.items():
        for at, (one, other) in enumerate(zip(ours[name], cells, strict=True)):
            if one != other:
                yield f"{name}[{at}]: {one} here, {other} of BMv2"


def counts_differ(port: int, ours: Sequence[bytes], theirs: Sequence[bytes]) -> Iterator[str]:
    """Numbers of packets that left a port, if they differ."""
    if len(ours) != len(theirs):
        yield f"port {port}: {len(ours)} packets here, {len(theirs)} of BMv2"
