# SPDX-License-Identifier: MIT OR Apache-2.0
"""What experiments take in full size: recorded, or scaled from a smaller run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from marklab.papers.experiment import Column, Effort, PaperExperiment, runs_of
from marklab.papers.pages.recorded import RecordedExperiment
from marklab.papers.papers import papers
from marklab.tables import markdown


def hours_table(experiments: Mapping[str, Sequence[RecordedExperiment]]) -> Iterator[str]:
    """CPU hours of each paper in full size, by its two runs."""
    rows: list[tuple[object, ...]] = []
    for name, each in experiments.items():
        for column in Column:
            # Where the reading changes nothing, there is nothing more to run.
            own = [one for one in each if column in one.papers]
            recorded = [recorded_hours(one, column) for one in own]
            scaled = [scaled_hours(one, column) for one, hours in zip(own, recorded, strict=True) if hours is None]
            known, guessed = (sum(hours or 0 for hours in some) for some in (recorded, scaled))
            without = sum(hours is None for hours in scaled)
            rows.append(
                (papers()[name].title, column.head, f"{known:.1f}", f"{guessed:.1f}", f"{known + guessed:.1f}", without)
            )
    heads = ("paper", "run", "recorded, CPU h", "scaled, CPU h", "both", "experiments without a record")
    yield from markdown.table(heads, rows, "llrrrr")


def recorded_hours(one: RecordedExperiment, column: Column) -> float | None:
    """CPU hours of a run in full size; None if there was none."""
    run = one.runs.get(column)
    return None if run is None or run.effort != Effort() else run.cpu_s / 3600


def scaled_hours(one: RecordedExperiment, column: Column) -> float | None:
    """CPU hours of the full size by those of a smaller run, or else of the other column, and the bytes of both."""
    for near in (column, *Column):
        run = one.runs.get(near)
        if run is not None and (ran := _bytes(run.sized(one.papers[near]))):
            return run.cpu_s / 3600 * _bytes(one.papers[column]) / ran
    return None


def _bytes(paper: PaperExperiment) -> float:
    """Bytes of all flows of an experiment, about."""
    cells = ((len(labels) * len(spec.seed_numbers), spec) for _, spec, labels in runs_of(paper))
    return sum(count * spec.flows * spec.workload.mean_bytes() for count, spec in cells)
