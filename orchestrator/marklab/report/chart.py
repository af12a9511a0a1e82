# SPDX-License-Identifier: MIT OR Apache-2.0
"""A chart as plain data: what it shows, whatever draws it.

A chart holds the series of all its views. A view is a choice of the mode (absolute, or as a ratio to the baseline), of
a value of each setting of the grid, and of each thing that the chart itself lets one pick, such as a size class. A
series that says nothing of one of these is in all views.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

Mode = Literal["absolute", "normalised"]
MODES: tuple[Mode, ...] = ("absolute", "normalised")

# Bars stand side by side, stacks upon each other; steps are lines that stay as they are until the next point.
Kind = Literal["lines", "steps", "bars", "stacks"]

Numbers = tuple[float | None, ...]


@dataclass(frozen=True)
class Axis:
    """What an axis shows. With `log` its scale is logarithmic."""

    says: str
    unit: str = ""
    log: bool = False

    @property
    def title(self) -> str:
        """What is written at the axis."""
        return f"{self.says}, {self.unit}" if self.unit else self.says


@dataclass(frozen=True)
class Series:
    """Points of one scheme; `part` tells several of a scheme in one view apart, and None is a value that is not there.

    `low` and `high` are the bounds of 95 % confidence intervals of `y`, and empty where there are none at all.
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
    """What is chosen of a chart."""

    mode: Mode
    at: Mapping[str, str]
    pick: Mapping[str, str]

    def shows(self, series: Series) -> bool:
        """Whether a series is in it."""
        return (
            series.mode in (None, self.mode)
            and all(self.at.get(key) == value for key, value in series.at.items())
            and all(self.pick.get(key) == value for key, value in series.pick.items())
        )


@dataclass(frozen=True)
class Chart:
    """A chart. `ratio_x` or `ratio_y` takes the axis's place in the normalised mode; 1 is the baseline there."""

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
        """Modes in which it differs."""
        told = {series.mode for series in self.series}
        return tuple(mode for mode in MODES if mode in told)

    @property
    def settings(self) -> dict[str, tuple[str, ...]]:
        """Settings of the grid that one chooses a value of, with the values there are."""
        return _values(series.at for series in self.series)

    @property
    def picks(self) -> dict[str, tuple[str, ...]]:
        """What the chart itself lets one pick, with what there is."""
        return _values(series.pick for series in self.series)

    def axes(self, mode: Mode) -> tuple[Axis, Axis]:
        """Axes in a mode."""
        if mode == "normalised" and mode in self.modes:
            return self.ratio_x or self.x, self.ratio_y or self.y
        return self.x, self.y

    def views(self) -> Iterator[tuple[View, tuple[Series, ...]]]:
        """All views in which there is something, each with its series."""
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
    """Charts that belong together. `notes` say what is not there, and why."""

    title: str
    charts: tuple[Chart, ...]
    notes: tuple[str, ...] = ()


def _values(choices: Iterable[Mapping[str, str]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for choice in choices:
        for key, value in choice.items():
            found.setdefault(key, {})[value] = None
    return {key: tuple(values) for key, values in found.items()}
