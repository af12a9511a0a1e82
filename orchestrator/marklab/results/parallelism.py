# SPDX-License-Identifier: MIT OR Apache-2.0
"""How many threads the simulation of a cell could keep busy: work and span of its windows (docs/parallel.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# Numbers of threads that are looked at.
THREADS = (2, 4, 8, 16, 32, 64)


@dataclass(frozen=True)
class Work:
    """Events handled, and the time that it took."""

    events: int
    ns: int

    def __add__(self, other: Work) -> Work:
        """Both together."""
        return Work(self.events + other.events, self.ns + other.ns)

    def over(self, span: Work) -> tuple[float, float]:
        """How many times as much this is, in events and in time."""
        return self.events / max(span.events, 1), self.ns / max(span.ns, 1)


@dataclass(frozen=True)
class Parallelism:
    """Of one cell, or of several together."""

    windows: int
    work: Work
    # For each of `THREADS`, the sum over windows of the work of the thread that is done last.
    spans: tuple[Work, ...]

    @property
    def bounds(self) -> dict[int, tuple[float, float]]:
        """For each number of threads, what the speed-up cannot exceed: by events, and by time."""
        return {threads: self.work.over(span) for threads, span in zip(THREADS, self.spans, strict=True)}

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        bounds = [
            {"threads": threads, "by_events": by_events, "by_time": by_time}
            for threads, (by_events, by_time) in self.bounds.items()
        ]
        return {"windows": self.windows, "events": self.work.events, "bounds": bounds}


def together(cells: Sequence[Parallelism]) -> Parallelism:
    """Cells that run one after the other."""
    spans = tuple(sum(each, Work(0, 0)) for each in zip(*(cell.spans for cell in cells), strict=True))
    return Parallelism(sum(cell.windows for cell in cells), sum((cell.work for cell in cells), Work(0, 0)), spans)
