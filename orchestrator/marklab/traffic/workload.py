# SPDX-License-Identifier: MIT OR Apache-2.0
"""Flow sizes: cumulative distributions, as the papers publish them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from marklab.errors import BadInput, unknown
from marklab.paths import TRAFFIC
from marklab.statistics.randomness import Floats, interpolate
from marklab.traffic.jobs import COLLECTIVES

# Sizes are whole bytes, at least one.
_SMALLEST = 1.0

# Such a flow takes 8 s at 10 Gb/s. The limit is needed because `mean_segments` sums over all segments of the largest.
_LARGEST = 1e10


@dataclass(frozen=True)
class Workload:
    """A distribution of flow sizes: linear between points (size in bytes, fraction of flows up to this size)."""

    name: str
    points: tuple[tuple[float, float], ...]

    def __str__(self) -> str:
        return self.name

    def __post_init__(self) -> None:
        where = f"workload `{self.name}`"
        if len(self.points) < 2:
            raise BadInput(f"{where}: it has {len(self.points)} point(s), at least two are needed")
        for number, (size, part) in enumerate(self.points, start=1):
            if not (0 <= part <= 1 and 0 <= size <= _LARGEST):
                limits = f"sizes must be 0..{_LARGEST:g}, fractions 0..1"
                raise BadInput(f"{where}: point {number} is ({size:g}, {part:g}); {limits}")
            if number > 1 and (size < self.points[number - 2][0] or part < self.points[number - 2][1]):
                raise BadInput(f"{where}: it decreases at point {number} ({size:g}, {part:g})")
        if self.points[-1][1] != 1:
            raise BadInput(f"{where}: it ends at {self.points[-1][1]:g}, but a distribution must end at 1")
        if self.points[-1][0] < _SMALLEST:
            raise BadInput(f"{where}: all its flows are empty")

    @cached_property
    def _sizes(self) -> Floats:
        return np.array([size for size, _ in self.points], dtype=np.float64)

    @cached_property
    def _parts(self) -> Floats:
        return np.array([part for _, part in self.points], dtype=np.float64)

    def mean_bytes(self) -> float:
        """Mean size in bytes: flows below the first point have its size, the others are uniform between points."""
        middles = (self._sizes[1:] + self._sizes[:-1]) / 2
        return float(self._sizes[0] * self._parts[0] + np.sum(np.diff(self._parts) * middles))

    def sizes(self, draws: Floats) -> NDArray[np.uint64]:
        """Turn uniform draws into sizes in whole bytes."""
        exact = interpolate(draws, self._parts, self._sizes)
        return np.maximum(np.floor(exact + 0.5), _SMALLEST).astype(np.uint64)

    def part_up_to(self, size: Floats) -> Floats:
        """Fraction of flows that are not larger than `size`."""
        beyond = np.where(size >= self._sizes[-1], 1.0, interpolate(size, self._sizes, self._parts))
        return np.where(size < self._sizes[0], 0.0, beyond)

    def mean_segments(self, mss: int) -> float:
        """Mean number of segments of a flow, E[ceil(size / mss)] = sum over k >= 0 of P(size > k mss)."""
        steps = np.arange(1, int(self._sizes[-1] // mss) + 1, dtype=np.float64)
        # Sizes are rounded to whole bytes: a size exceeds k mss if it was k mss + 1/2 or more.
        return 1.0 + float(np.sum(1.0 - self.part_up_to(steps * mss + 0.5)))


def known_workloads() -> dict[str, Path]:
    """Distributions of the lab: names and files."""
    return {path.stem: path for path in sorted(TRAFFIC.glob("*.csv"))}


def load_workload(name: str) -> Workload:
    """Read a distribution by its name, or from a CSV file with the columns `size_bytes,cdf`. Raises BadInput."""
    path = Path(name)
    if name.endswith(".csv") or "/" in name:
        return Workload(path.stem, _read(path))
    known = known_workloads()
    if name in COLLECTIVES:
        raise BadInput(f"`{name}` is no distribution of sizes, but a collective of a job", f"--training {name}")
    if name not in known:
        error = unknown("workload", name, known)
        error.remedy = f"{error.remedy}, or the path of a CSV file"
        raise error
    return Workload(name, _read(known[name]))


def _read(path: Path) -> tuple[tuple[float, float], ...]:
    try:
        # Spreadsheet programs put a byte order mark at the beginning.
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if row and not row[0].startswith("#")]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"cannot read the workload {path}: {getattr(error, 'strerror', None) or error}") from error
    if not rows or [cell.strip() for cell in rows[0]] != ["size_bytes", "cdf"]:
        raise BadInput(f"{path}: the first line is not the header", "begin the file with `size_bytes,cdf`")
    points = []
    for number, row in enumerate(rows[1:], start=2):
        try:
            size, part = map(float, row)
        except ValueError as error:
            raise BadInput(f"{path}, line {number}: `{','.join(row)}` is not `size_bytes,cdf`") from error
        points.append((size, part))
    return tuple(points)
