# SPDX-License-Identifier: MIT OR Apache-2.0
"""Charts of what was recorded over time: queue length and sojourn, in bins of time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from marklab.report.chart import Axis, Chart, Numbers, Section, Series
from marklab.report.grid import Grid
from marklab.results import traces
from marklab.results.bins import Bins, intervals_ns
from marklab.results.collection import Collection, Point
from marklab.statistics.randomness import Floats

_TITLE = "Queues over time"
_HOW_TO_RECORD = "No queue was recorded over time; a run with --trace-queue does so."
_ONE_SEED = "Of each point the first seed is drawn; the others are in traces/."
# Schedulers of services have a few queues. If there are hundreds, such as a queue per flow, use `plot`.
_MOST_QUEUES = 16


@dataclass(frozen=True)
class _Trace:
    """A trace of a port, and its place in the grid."""

    path: Path
    scheme: str
    seed: int
    port: str
    point: Point
    at: Mapping[str, str] = field(default_factory=dict)


def traced_sections(collection: Collection, grid: Grid) -> Iterator[Section]:
    """The section of queues over time. Notes say how to record traces if there are none, and which are damaged."""
    paths = sorted((collection.folder / traces.FOLDER).glob("*.parquet"))
    ports = [path for path in paths if traces.kind_of(path) == traces.PORT]
    if not ports:
        yield Section(_TITLE, (), (_HOW_TO_RECORD,))
        return
    lengths: list[Series] = []
    waits: list[Series] = []
    notes: list[str] = []
    if collection.kind == "run":
        found = list(_of_run(ports, collection.points[0], grid))
    else:
        found = list(_of_cells(ports, collection, grid, notes))
        schemes = [result for trace in found for result in trace.point.summary.schemes.values()]
        notes += [_ONE_SEED] if any(len(result.seeds) > 1 for result in schemes) else []
    for trace in found:
        every_ns = intervals_ns(trace.point.summary.spec)[traces.PORT]
        table = _read(trace.path, notes)
        if table is None:
            continue
        bins = Bins.over(table, every_ns)
        for queue, rows in _queues(table):
            pick = {"port": trace.port, "queue": queue} | ({} if trace.at else {"seed": str(trace.seed)})
            x = tuple(bins.centres_ms.round(6).tolist())
            lengths.append(Series(trace.scheme, x, _numbers(bins.lengths(rows)), at=trace.at, pick=pick))
            waits.append(Series(trace.scheme, x, _numbers(bins.longest_waits_us(rows)), at=trace.at, pick=pick))
    time = Axis("time", "ms")
    charts = (
        Chart(
            "queue-length",
            "Queue length over time",
            "Most packets that waited in each interval.",
            "steps",
            time,
            Axis("queue length", "packets"),
            tuple(lengths),
        ),
        Chart(
            "sojourn",
            "Sojourn time over time",
            "Longest wait of the packets that left in each interval; a gap where none did.",
            "steps",
            time,
            Axis("longest sojourn", "µs"),
            tuple(waits),
        ),
    )
    yield Section(_TITLE, tuple(chart for chart in charts if chart.series), tuple(notes))


def _of_run(paths: Sequence[Path], point: Point, grid: Grid) -> Iterator[_Trace]:
    """Traces of a run, found by the names of their files."""
    for scheme in grid.schemes:
        for seed in point.summary.schemes[scheme].seeds:
            begin = traces.file_name(scheme, seed.seed, "").removesuffix(".parquet")
            for path in paths:
                if path.stem.startswith(begin):
                    yield _Trace(path, scheme, seed.seed, path.stem.removeprefix(begin), point)


def _of_cells(paths: Sequence[Path], collection: Collection, grid: Grid, notes: list[str]) -> Iterator[_Trace]:
    """Traces of the first seed of each scheme at each point, found by the columns that name the cell."""
    points = {point.number: point for point in collection.points}
    for path in paths:
        rows = _read(path, notes, "point", "scheme", "seed")
        if rows is None:
            continue
        number, scheme, seed = rows.row(0)
        point = points.get(number)
        if point is not None and scheme in point.summary.schemes:
            first = min(each.seed for each in point.summary.schemes[scheme].seeds)
            if seed == first:
                port = path.stem.partition("-")[2]
                yield _Trace(path, scheme, seed, port, point, grid.at(point))


def _read(path: Path, notes: list[str], *columns: str) -> pl.DataFrame | None:
    """The trace, or the named columns of its first row; None, and a note, if there is nothing to read."""
    try:
        found = pl.scan_parquet(path)
        table = (found.select(columns).head(1) if columns else found).collect()
    except (OSError, pl.exceptions.PolarsError) as error:
        notes.append(f"{traces.FOLDER}/{path.name} cannot be read: {str(error).splitlines()[0]}")
        return None
    if table.is_empty():
        notes.append(f"{traces.FOLDER}/{path.name} is empty: nothing came through the port.")
        return None
    return table


def _queues(table: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Rows of the whole port, and of each queue if there are several."""
    yield "all of the port", table.filter(pl.col("queue").is_null())
    numbers = table["queue"].drop_nulls().unique().sort().to_list()
    for number in numbers if len(numbers) <= _MOST_QUEUES else ():
        yield str(number), table.filter(pl.col("queue") == number)


def _numbers(values: Floats) -> Numbers:
    return tuple(None if np.isnan(value) else value for value in values.tolist())
