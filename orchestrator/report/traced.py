"""Charts of what a run recorded over time: queue length and sojourn, in bins of time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from orchestrator import traces
from orchestrator.bins import Bins, intervals_ns
from orchestrator.collection import Collection, Point
from orchestrator.randomness import Floats
from orchestrator.report.chart import Axis, Chart, Numbers, Section, Series
from orchestrator.report.grid import Grid

_TITLE = "Queues over time"
_HOW_TO_RECORD = "No queue was recorded over time; a run with --trace-queue does so."
_NOT_DRAWN = "{} recordings of ports are in traces/. Queues over time are drawn in reports of runs."
# Schedulers of services have a few queues; of hundreds, as of a queue per flow, `plot` draws pictures.
_MOST_QUEUES = 16


@dataclass(frozen=True)
class _Trace:
    """A trace of a port."""

    path: Path
    scheme: str
    seed: int
    port: str


def traced_sections(collection: Collection, grid: Grid) -> Iterator[Section]:
    """The section of queues over time; without traces it says how they are recorded, with damaged ones what is lost."""
    paths = sorted((collection.folder / traces.FOLDER).glob("*.parquet"))
    ports = [path for path in paths if traces.kind_of(path) == traces.PORT]
    if collection.kind != "run" or not ports:
        yield Section(_TITLE, (), (_NOT_DRAWN.format(len(ports)) if ports else _HOW_TO_RECORD,))
        return
    found = list(_port_traces(ports, collection.points[0], grid))
    every_ns = intervals_ns(collection.points[0].summary.spec)[traces.PORT]
    lengths, waits, notes = [], [], []
    for trace in found:
        try:
            table = traces.read(trace.path)
        except (OSError, pl.exceptions.PolarsError) as error:
            notes.append(f"{traces.FOLDER}/{trace.path.name} cannot be read: {str(error).splitlines()[0]}")
            continue
        if table.is_empty():
            notes.append(f"{traces.FOLDER}/{trace.path.name} is empty: nothing came through the port.")
            continue
        bins = Bins.over(table, every_ns)
        for queue, rows in _queues(table):
            pick = {"port": trace.port, "seed": str(trace.seed), "queue": queue}
            x = tuple(bins.centres_ms.round(6).tolist())
            lengths.append(Series(trace.scheme, x, _numbers(bins.lengths(rows)), pick=pick))
            waits.append(Series(trace.scheme, x, _numbers(bins.longest_waits_us(rows)), pick=pick))
    time = Axis("time", "ms")
    charts = (
        Chart(
            "queue-length",
            "Queue length over time",
            "Most packets that waited in each part of the time.",
            "steps",
            time,
            Axis("queue length", "packets"),
            tuple(lengths),
        ),
        Chart(
            "sojourn",
            "Sojourn time over time",
            "Longest wait of the packets that left in each part of the time; a gap where none did.",
            "steps",
            time,
            Axis("longest sojourn", "µs"),
            tuple(waits),
        ),
    )
    yield Section(_TITLE, tuple(chart for chart in charts if chart.series), tuple(notes))


def _port_traces(paths: Sequence[Path], point: Point, grid: Grid) -> Iterator[_Trace]:
    for scheme in grid.schemes:
        for seed in point.summary.schemes[scheme].seeds:
            begin = traces.file_name(scheme, seed.seed, "").removesuffix(".parquet")
            for path in paths:
                if path.stem.startswith(begin):
                    yield _Trace(path, scheme, seed.seed, path.stem.removeprefix(begin))


def _queues(table: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """All of the port, and each queue by itself if there are several."""
    yield "all of the port", table.filter(pl.col("queue").is_null())
    numbers = table["queue"].drop_nulls().unique().sort().to_list()
    for number in numbers if len(numbers) <= _MOST_QUEUES else ():
        yield str(number), table.filter(pl.col("queue") == number)


def _numbers(values: Floats) -> Numbers:
    return tuple(None if np.isnan(value) else value for value in values.tolist())
