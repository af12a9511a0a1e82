# SPDX-License-Identifier: MIT OR Apache-2.0
"""Arranges the points of a collection for charts: along one numeric setting, or each by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from marklab.results.collection import Point

# The preferred setting for an axis.
_FIRST_CHOICE = "load"


@dataclass(frozen=True)
class Grid:
    """The points of a collection, arranged by the settings that differ between them."""

    points: tuple[Point, ...]

    @cached_property
    def schemes(self) -> tuple[str, ...]:
        """All schemes in the order of the points; the baseline comes last."""
        labels = dict.fromkeys(label for point in self.points for label in point.summary.schemes)
        return (*(label for label in labels if label != self.baseline), *([self.baseline] if self.baseline else []))

    @cached_property
    def baseline(self) -> str | None:
        """The baseline of the ratios."""
        named = (point.summary.baseline for point in self.points if point.summary.baseline in point.summary.schemes)
        return next(named, None)

    @cached_property
    def values(self) -> dict[str, tuple[Any, ...]]:
        """Values of each setting that has several; numbers are sorted."""
        found: dict[str, dict[str, Any]] = {}
        for point in self.points:
            for key, value in point.settings.items():
                found.setdefault(key, {}).setdefault(str(value), value)
        return {
            key: tuple(sorted(values.values())) if _numeric(values.values()) else tuple(values.values())
            for key, values in found.items()
            if len(values) > 1
        }

    @cached_property
    def axis(self) -> str | None:
        """The setting along which charts compare schemes; None if no setting with several values is a number."""
        numeric = [key for key, values in self.values.items() if _numeric(values)]
        return _FIRST_CHOICE if _FIRST_CHOICE in numeric else next(iter(numeric), None)

    @cached_property
    def lines(self) -> tuple[tuple[Mapping[str, str], tuple[Point, ...]], ...]:
        """Groups of points that differ only in the axis, in its order, each with the settings that they share."""
        axis = self.axis
        ordered = self.points if axis is None else sorted(self.points, key=lambda point: float(point.settings[axis]))
        return _grouped(ordered, lambda point: self.at(point, without=axis))

    def at(self, point: Point, without: str | None = None) -> dict[str, str]:
        """Place of a point in the grid: its settings that differ between points."""
        return {key: str(point.settings[key]) for key in self.values if key in point.settings and key != without}


def _numeric(values: Any) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _grouped(
    points: Sequence[Point], key_of: Callable[[Point], dict[str, str]]
) -> tuple[tuple[Mapping[str, str], tuple[Point, ...]], ...]:
    groups: dict[tuple[tuple[str, str], ...], list[Point]] = {}
    for point in points:
        groups.setdefault(tuple(key_of(point).items()), []).append(point)
    return tuple((dict(key), tuple(found)) for key, found in groups.items())
