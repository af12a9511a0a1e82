# SPDX-License-Identifier: MIT OR Apache-2.0
"""A chart as plain data, independent of what draws it.

A chart holds the series of all its views. A view is a choice of the mode (absolute, or as a ratio to the baseline), of
a value for each setting of the grid, and of a value for each choice that the chart itself offers, such as a size class.
A series without a value for one of these choices is in all its views.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

Mode = Literal["absolute", "normalised"]
MODES: tuple[Mode, ...] = ("absolute", "normalised")

# Bars stand side by side; stacks are bars on top of each other; steps are lines that are constant until the next point.
Kind = Literal["lines", "steps", "bars", "stacks"]

Numbers = tuple[float | None, ...]


class Form(StrEnum):
    """Format of the files of figures."""

    PDF = "pdf"
    PNG = "png"


@dataclass(frozen=True)
class Axis:
    """The quantity that an axis shows. With `log` its scale is logarithmic."""

    says: str
    unit: str = ""
    log: bool = False

    @property
    def title(self) -> str:
        """Text at the axis."""
        return f"{self.says}, {self.unit}" if self.unit else self.says


@dataclass(frozen=True)
class Series:
    """Points of one scheme. None is a missing value. `part` distinguishes several series of a scheme in one view.

    `low` and `high` are the bounds of 95 % confidence intervals of `y`, and empty if there are no intervals.
    """

    scheme: str
    x: tuple[float, ...] | tuple[str, ...]
    y: Numbers
    low: Numbers = ()
    high: Numbers = ()
    part: str = ""
    mode: Mode | None = None
    at: Mapping[str, str] = field(default_factory=dict)
    pick: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class View:
    """The choices for a chart."""

    mode: Mode
    at: Mapping[str, str]
    pick: Mapping[str, str]

    def shows(self, series: Series) -> bool:
        """Whether a series is in the view."""
        return (
            series.mode in (None, self.mode)
            and all(self.at.get(key) == value for key, value in series.at.items())
            and all(self.pick.get(key) == value for key, value in series.pick.items())
        )


@dataclass(frozen=True)
class Chart:
    """A chart. In the normalised mode `ratio_x` or `ratio_y` replaces the axis, and the baseline is 1."""

    name: str
    title: str
    says: str
    kind: Kind
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    ratio_x: Axis | None = None
    ratio_y: Axis | None = None

    @property
    def modes(self) -> tuple[Mode, ...]:
        """Modes in which the chart differs."""
        told = {series.mode for series in self.series}
        return tuple(mode for mode in MODES if mode in told)

    @property
    def settings(self) -> dict[str, tuple[str, ...]]:
        """Settings of the grid that a reader can choose, with their values."""
        return _values(series.at for series in self.series)

    @property
    def picks(self) -> dict[str, tuple[str, ...]]:
        """Choices that the chart itself offers, with their values."""
        return _values(series.pick for series in self.series)

    def axes(self, mode: Mode) -> tuple[Axis, Axis]:
        """Axes in a mode."""
        if mode == "normalised" and mode in self.modes:
            return self.ratio_x or self.x, self.ratio_y or self.y
        return self.x, self.y

    def views(self) -> Iterator[tuple[View, tuple[Series, ...]]]:
        """All views that are not empty, each with its series."""
        settings, picks = self.settings, self.picks
        for mode, at, pick in itertools.product(
            self.modes or MODES[:1], itertools.product(*settings.values()), itertools.product(*picks.values())
        ):
            view = View(mode, dict(zip(settings, at, strict=True)), dict(zip(picks, pick, strict=True)))
            shown = tuple(series for series in self.series if view.shows(series))
            if shown:
                yield view, shown


@dataclass(frozen=True)
class Section:
    """Charts that belong together. `notes` say what is missing, and why."""

    title: str
    charts: tuple[Chart, ...]
    notes: tuple[str, ...] = ()


def _values(choices: Iterable[Mapping[str, str]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for choice in choices:
        for key, value in choice.items():
            found.setdefault(key, {})[value] = None
    return {key: tuple(values) for key, values in found.items()}
