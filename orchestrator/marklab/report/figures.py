# SPDX-License-Identifier: MIT OR Apache-2.0
"""The charts of a collection as files for papers, one for each view of each chart.

The same collection gives the same bytes, because files have no dates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from marklab.report.chart import Axis, Chart, Form, Series, View
from marklab.report.charts import sections, shows_uncongested
from marklab.report.grid import Grid
from marklab.report.styles import Style, styles_of
from marklab.results.collection import Collection

FOLDER = "figures"

_INCHES = (4.5, 3.2)
_DPI = 300
_LOOKS: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.linewidth": 0.4,
    "grid.alpha": 0.5,
    "axes.axisbelow": True,
    "hatch.color": "white",
    "pdf.fonttype": 42,  # TrueType fonts, which publishers ask for
}
# Matplotlib's dashes and markers by Plotly's names.
_DASHES: dict[str, Any] = {
    "solid": "-", "dash": "--", "dot": ":", "dashdot": "-.", "longdash": (0, (8, 3)),
}  # fmt: skip
_MARKERS = {
    "circle": "o", "circle-open": "o", "square": "s", "diamond": "D", "triangle-up": "^", "x": "X",
    "triangle-down": "v", "star": "*", "cross": "P", "cross-open": "P", "pentagon": "p", "hexagon": "h",
}  # fmt: skip
_HATCHES = ("", "///", "xxx", "...", "\\\\\\", "+++", "---", "|||")
# Longer lines have markers only at some points.
_MARKERS_ON_ALL, _MARKERS_ON_LONG = 15, 8
_TICKS_AT_ALL = 12
_ROOM_FOR_WHISKERS = 0.6
# Letters that fit into a row of a legend, and letters that the line before a name takes.
_LEGEND_LETTERS, _HANDLE_LETTERS = 68, 7
# Letters that fit below all bars together, and the most bars whose names are not rotated.
_TICK_LETTERS, _UPRIGHT = 56, 4


def draw_figures(collection: Collection, folder: Path, form: Form) -> Iterator[Path]:
    """Draw every view of every chart into a file of a new folder. Yields their paths."""
    grid = Grid(collection.points)
    found = sections(collection)
    styles = styles_of(grid.schemes, grid.baseline, uncongested=shows_uncongested(found))
    folder.mkdir(parents=True, exist_ok=True)
    for section in found:
        for chart in section.charts:
            for view, shown in chart.views():
                path = folder / f"{_file_name(chart, view)}.{form}"
                with rc_context(_LOOKS):
                    figure = _figure(chart, view, shown, styles)
                    figure.savefig(path, dpi=_DPI, metadata={"CreationDate": None} if form is Form.PDF else None)
                yield path


def _file_name(chart: Chart, view: View) -> str:
    """Name of the chart, with the choices that the view makes."""
    picks = [f"{key}-{view.pick[key]}" for key, values in chart.picks.items() if len(values) > 1]
    at = [f"{key}-{value}" for key, value in view.at.items()]
    mode = [view.mode] if view.mode == "normalised" else []
    return "_".join(re.sub(r"[^A-Za-z0-9._+-]+", "-", text) for text in (chart.name, *picks, *at, *mode))


def _figure(chart: Chart, view: View, shown: Sequence[Series], styles: dict[str, Style]) -> Figure:
    figure = Figure(figsize=_INCHES, layout="constrained")
    axes = figure.add_subplot()
    axes.grid(visible=chart.kind in ("lines", "steps"), axis="x")
    if chart.kind == "bars":
        _bars(axes, shown, styles)
    elif chart.kind == "stacks":
        _stacks(axes, shown, styles)
    else:
        _lines(axes, shown, styles, steps=chart.kind == "steps")
    x, y = chart.axes(view.mode)
    axes.set_xlabel(x.title)
    axes.set_ylabel(y.title)
    _scale_x(axes, x, shown)
    if y.log:
        axes.set_yscale("log")
    else:
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
    if view.mode == "normalised":
        (axes.axhline if chart.ratio_y else axes.axvline)(1, color="0.3", linestyle="--", linewidth=1)
    if not y.log:
        _cut_whiskers(axes, shown, 1 if view.mode == "normalised" and chart.ratio_y else 0)
    handles, names = axes.get_legend_handles_labels()
    if len(names) > 1 and (chart.kind != "stacks" or any(series.part for series in shown)):
        columns = max(1, _LEGEND_LETTERS // (max(map(len, names)) + _HANDLE_LETTERS))
        lines = [_broken(name, _LEGEND_LETTERS) for name in names]
        place: dict[str, Any] = {"loc": "outside lower center", "ncols": min(len(names), columns)}
        figure.legend(handles, lines, frameon=False, fontsize="small", **place)
    return figure


def _broken(name: str, letters: int) -> str:
    """A name broken at commas into lines of at most `letters`, as names of schemes have all their parameters."""
    lines = [""]
    for part in re.split(r"(?<=[,:])(?=\S)", name):
        if lines[-1] and len(lines[-1] + part) > letters:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def _scale_x(axes: Axes, axis: Axis, shown: Sequence[Series]) -> None:
    places = sorted({value for series in shown for value in series.x if not isinstance(value, str)})
    if axis.log:
        axes.set_xscale("log")
    elif 0 < len(places) <= _TICKS_AT_ALL:
        axes.set_xticks(places)


def _cut_whiskers(axes: Axes, shown: Sequence[Series], least: float) -> None:
    """Cut whiskers that go far beyond the data: with few seeds they are long, and would hide the schemes."""
    tops: dict[tuple[object, ...], float] = {}
    for series in shown:
        for x, y in zip(series.x, series.y, strict=True):
            # Parts of a scheme are stacked.
            place = (series.scheme, x) if series.part else (series.scheme, x, series.part)
            tops[place] = tops.get(place, 0) + (y or 0)
    low, high = min(least, *tops.values()), max(least, *tops.values())
    room = _ROOM_FOR_WHISKERS * (high - low)
    bottom, top = axes.get_ylim()
    if high > low:
        axes.set_ylim(max(0, bottom if least else 0, low - room), min(top, high + room))


def _lines(axes: Axes, shown: Sequence[Series], styles: dict[str, Style], *, steps: bool) -> None:
    for series in shown:
        style = styles[series.scheme]
        x, y = _plain(series.x), _plain(series.y)
        every = None if len(x) <= _MARKERS_ON_ALL else max(1, len(x) // _MARKERS_ON_LONG)
        axes.errorbar(
            x,
            y,
            yerr=_whiskers(series),
            errorevery=every or 1,
            label=series.scheme,
            color=style.colour,
            linestyle="-" if steps else _DASHES[style.dash],
            marker=_MARKERS[style.marker],
            markevery=every,
            markersize=4,
            markerfacecolor="white" if style.marker.endswith("-open") else style.colour,
            linewidth=0.8 if steps else 1.3,
            elinewidth=0.8,
            capsize=2,
            drawstyle="steps-mid" if steps else "default",
        )


def _bars(axes: Axes, shown: Sequence[Series], styles: dict[str, Style]) -> None:
    """Series side by side at each category."""
    categories = list(dict.fromkeys(str(value) for series in shown for value in series.x))
    width = 0.8 / len(shown)
    for number, series in enumerate(shown):
        places = [categories.index(str(value)) + (number - (len(shown) - 1) / 2) * width for value in series.x]
        axes.bar(
            places,
            _plain(series.y),
            width=width,
            color=styles[series.scheme].colour,
            label=series.scheme,
            yerr=_whiskers(series),
            capsize=2,
            error_kw={"elinewidth": 0.8},
        )
    axes.set_xticks(range(len(categories)), categories)


def _stacks(axes: Axes, shown: Sequence[Series], styles: dict[str, Style]) -> None:
    """Stacked series at each category."""
    below: dict[str, float] = {}
    parts: dict[str, int] = {}
    for series in shown:
        (category,), (value,) = map(str, series.x), series.y
        part = parts[series.scheme] = parts.get(series.scheme, -1) + 1
        axes.bar(
            category,
            value or 0,
            width=0.6,
            bottom=below.get(category, 0),
            # Whiskers of stacked bars would overlap, and not show which bar they belong to.
            yerr=None if series.part else _whiskers(series),
            capsize=3,
            error_kw={"elinewidth": 0.8},
            color=styles[series.scheme].colour,
            hatch=_HATCHES[part % len(_HATCHES)],
            edgecolor="white",
            label=f"{series.scheme}: {series.part}" if series.part else series.scheme,
        )
        below[category] = below.get(category, 0) + (value or 0)
    rotated = len(below) > _UPRIGHT
    axes.set_xticks(range(len(below)), [_broken(name, _TICK_LETTERS // min(len(below), _UPRIGHT)) for name in below])
    axes.tick_params(axis="x", rotation=30 if rotated else 0)


def _plain(values: Sequence[float | str | None]) -> list[Any]:
    return [float("nan") if value is None else value for value in values]


def _whiskers(series: Series) -> list[list[float]] | None:
    """Distances to the bounds of the confidence intervals, down and up; None without intervals."""
    if not series.low:
        return None
    rows = list(zip(series.y, series.low, series.high, strict=True))
    down = [0.0 if y is None or low is None else y - low for y, low, _ in rows]
    up = [0.0 if y is None or high is None else high - y for y, _, high in rows]
    return [down, up]
