# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pictures of traces, one file per trace: a column of panels over time, with a curve for each queue or flow.

A curve shows the largest value, or the mean rate, of each bin of time (`marklab.results.bins`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from marklab.errors import BadInput
from marklab.results import traces
from marklab.results.bins import Bins, intervals_ns
from marklab.results.folders import load_run
from marklab.results.observation import ACTIVE_FLOWS, ESTIMATED
from marklab.statistics.randomness import Floats

_WIDTH_INCHES, _PANEL_INCHES = 10.0, 2.1
_DPI = 120
# More names than this do not help a reader.
_MOST_NAMES = 32
_FEW_COLOURS = 10


def draw_traces(folder: Path, form: str, begin_ns: int, end_ns: int | None) -> Iterator[Path]:
    """Draw each trace of a result. Yields the files that were written."""
    steps_ns = intervals_ns(load_run(folder).spec)
    paths = sorted((folder / traces.FOLDER).glob("*.parquet"))
    paths = [path for path in paths if traces.kind_of(path) != traces.PACKETS]
    if not paths:
        raise BadInput(f"{folder} holds no traces", "run it again with --trace-queue, --trace-flows or --probe")
    drawn = 0
    for path in paths:
        kind = traces.kind_of(path)
        step_ns = steps_ns[kind]
        table = traces.read(path)
        shown = table.filter(pl.col("time_ns") >= begin_ns // step_ns * step_ns)
        shown = shown if end_ns is None else shown.filter(pl.col("time_ns") < end_ns)
        if shown.is_empty():
            continue
        bins = Bins.over(shown, step_ns)
        figure = _DRAWN[kind](shown, bins)
        figure.suptitle(path.stem, fontsize="medium")
        picture = path.with_suffix(f".{form}")
        # Without the date, and with a fixed salt for identifiers, the same trace gives the same bytes.
        with rc_context({"svg.hashsalt": path.stem}):
            figure.savefig(picture, dpi=_DPI, metadata={"Date": None} if form == "svg" else None)
        drawn += 1
        yield picture
    if not drawn:
        raise BadInput("nothing happened in the time to be shown", "choose another --from and --to")


def _queues(rows: pl.DataFrame, bins: Bins) -> Figure:
    """Length, wait, rate and marks of a port's queues, and the scheduler's rounds if it has any."""
    numbers = rows["queue"].drop_nulls().unique().sort().to_list()
    port = rows.filter(pl.col("queue").is_null())
    curves = [(f"queue {number}", rows.filter(pl.col("queue") == number)) for number in numbers] or [("port", port)]
    panels: list[tuple[str, Callable[[pl.DataFrame], Floats]]] = [
        ("length, packets", bins.lengths),
        ("longest wait, µs", bins.longest_waits_us),
        ("sent, Gb/s", lambda part: bins.sums(part, "sent_bytes") * 8 / bins.width_ns),
        ("marked, %", lambda part: _ratio(bins.sums(part, "marked") * 100, bins.sums(part, "departed"))),
    ]
    of_port = _of_port(port, bins)
    figure, axes = _figure(len(panels) + len(of_port))
    for (title, values), panel in zip(panels, axes, strict=False):
        _draw(panel, title, bins, [(name, values(part)) for name, part in curves])
    for (title, known), panel in zip(of_port.items(), axes[len(panels) :], strict=True):
        _draw(panel, title, bins, known)
        panel.legend(loc="upper left", fontsize="small", frameon=False)
    _name(figure, axes[0], len(curves))
    return figure


def _of_port(port: pl.DataFrame, bins: Bins) -> dict[str, list[tuple[str, Floats]]]:
    """The scheduler's rounds, if it has any, and the scheme's estimates, beside the true values if they are known."""
    panels: dict[str, list[tuple[str, Floats]]] = {}
    if port["rounds"].sum() > 0:
        panels["mean_round_ns"] = [("scheduler", _mean(port, "mean_round_ns", "rounds", bins))]
    if ACTIVE_FLOWS in port.columns:
        panels[ACTIVE_FLOWS] = [("port", _mean(port.with_columns(rows=1), ACTIVE_FLOWS, "rows", bins))]
    for column in port.columns:
        if column.startswith(ESTIMATED):
            rows = port.with_columns(rows=1)
            name = column.removeprefix(ESTIMATED)
            panels.setdefault(name, []).append(("estimate", _mean(rows, column, "rows", bins)))
    return panels


def _mean(rows: pl.DataFrame, column: str, count: str, bins: Bins) -> Floats:
    """Mean in each bin of a column whose values are means, weighted by their counts."""
    weighted = rows.with_columns(total=pl.col(column).fill_null(0) * pl.col(count))
    return _ratio(bins.sums(weighted, "total"), bins.sums(rows, count))


def _flows(rows: pl.DataFrame, bins: Bins) -> Figure:
    """Rates of flows."""
    figure, axes = _figure(1)
    parts = rows.partition_by("flow", maintain_order=True)
    parts.sort(key=lambda part: part["flow"][0])
    rate = [(f"flow {part['flow'][0]}", bins.sums(part, "bytes") * 8 / bins.width_ns) for part in parts]
    _draw(axes[0], "received, Gb/s", bins, rate)
    _name(figure, axes[0], len(rate))
    return figure


def _probes(rows: pl.DataFrame, bins: Bins) -> Figure:
    """Longest round trips of each probe."""
    figure, axes = _figure(1)
    parts = rows.drop_nulls("rtt_ns").partition_by("probe", maintain_order=True)
    trips = [(str(part["probe"][0]), bins.largest(part, "rtt_ns") / 1e3) for part in parts]
    _draw(axes[0], "longest round trip, µs", bins, trips)
    _name(figure, axes[0], len(trips))
    return figure


_DRAWN = {traces.PORT: _queues, traces.FLOWS: _flows, traces.PROBES: _probes}


def _ratio(over: Floats, under: Floats) -> Floats:
    """Ratio of two curves; NaN, which is not drawn, where the denominator is 0."""
    return np.divide(over, under, out=np.full_like(over, np.nan), where=under > 0)


def _figure(panels: int) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(_WIDTH_INCHES, 0.9 + _PANEL_INCHES * panels), layout="constrained")
    axes = figure.subplots(panels, 1, sharex=True, squeeze=False)[:, 0].tolist()
    axes[-1].set_xlabel("time, ms")
    return figure, axes


def _draw(panel: Axes, title: str, bins: Bins, curves: list[tuple[str, Floats]]) -> None:
    for number, (name, values) in enumerate(curves):
        panel.plot(bins.centres_ms, values, label=name, color=_colour(number, len(curves)), linewidth=1.0)
    panel.set_ylabel(title)
    panel.set_ylim(bottom=0)
    panel.margins(x=0.01)
    panel.grid(visible=True, alpha=0.3, linewidth=0.5)
    panel.spines[["top", "right"]].set_visible(False)


def _colour(number: int, of: int) -> Any:
    return colormaps["tab10"](number) if of <= _FEW_COLOURS else colormaps["viridis"](number / (of - 1))


def _name(figure: Figure, panel: Axes, curves: int) -> None:
    """Add a legend, unless there is only one curve, or there are too many."""
    if 1 < curves <= _MOST_NAMES:
        handles, names = panel.get_legend_handles_labels()
        figure.legend(handles, names, loc="outside right upper", fontsize="small", frameon=False)
