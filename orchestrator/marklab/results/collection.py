# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a folder of results holds, whichever command made it: points of a grid, each with a summary. A run is one point.

Reports and comparisons read only collections.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from marklab.results.curves import Curves
from marklab.results.summary import Summary

Kind = Literal["run", "sweep", "reproduction"]


@dataclass(frozen=True)
class Point:
    """A point of a grid: its settings (empty for a run) and its results. `number` is its place in the grid.

    `curves` are by scheme, then by seed; a cell without flow records has none. `schemes` of the summary hold the seeds
    that finished. A scheme that failed in all seeds is missing.
    """

    settings: Mapping[str, Any]
    summary: Summary
    curves: Mapping[str, Mapping[int, Curves]]
    number: int = 0

    @property
    def label(self) -> str:
        """Its settings as text, such as `load 0.8, workload web_search`; empty for a run."""
        return ", ".join(f"{key} {value}" for key, value in self.settings.items())


@dataclass(frozen=True)
class FailedCell:
    """A cell that gave no result, and why."""

    settings: Mapping[str, Any]
    scheme: str
    seed: int
    error: str


@dataclass(frozen=True)
class Collection:
    """Everything in a folder of results. `damaged` are files that could not be read, each with the reason."""

    folder: Path
    kind: Kind
    title: str
    description: str  # YAML
    points: tuple[Point, ...]
    versions: Mapping[str, Any]
    failed: tuple[FailedCell, ...] = ()
    damaged: tuple[str, ...] = ()
    # Cells of the plan that have neither finished nor failed.
    missing: int = 0

    @property
    def warnings(self) -> list[str]:
        """Reasons to doubt numbers, each with its point."""
        return [
            f"{point.label}: {text}" if point.label else text
            for point in self.points
            for text in point.summary.warnings
        ]
