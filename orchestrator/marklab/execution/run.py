# SPDX-License-Identifier: MIT OR Apache-2.0
"""One run, from its description to its folder."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from marklab.errors import RunFailed
from marklab.execution.cells import run_cells, total_flows
from marklab.execution.folder import write_run
from marklab.execution.memory import fitting
from marklab.execution.pictures import Pictures
from marklab.execution.progress import progress_bar
from marklab.fabrics import Cell, Fabric, fabric_of
from marklab.metrics.summarise import summarise
from marklab.prepare.experiment import Experiment, prepare
from marklab.prepare.versions import versions
from marklab.results.folders import new_folder
from marklab.results.observation import Observation
from marklab.results.parallelism import Parallelism, together
from marklab.results.summary import Summary
from marklab.spec.description import Spec


@dataclass(frozen=True)
class Ran:
    """A finished run, and its folder."""

    summary: Summary
    folder: Path
    # Of all cells together, if it was asked for.
    parallelism: Parallelism | None


def run_spec(
    spec: Spec,
    out: Path,
    workers: int,
    threads: int | None = None,
    *,
    measures_threads: bool = False,
    pictures: Pictures | None = None,
) -> Ran:
    """Run a description.

    Of `workers` cells that may run at a time, those that are left over where there are fewer cells go to threads of the
    cells, unless `threads` says how many threads each cell has. The result does not depend on it. With
    `measures_threads`, cells run one after the other on one thread, so that they do not disturb each other's times.
    `pictures` are of the first cell, and cells have one thread then.
    """
    fabric = fabric_of(spec)
    experiment = prepare(spec)
    fabric.check(experiment)
    experiment = fabric.settled(experiment)
    folder = out / experiment.folder_name
    with new_folder(folder) as staging:
        most = _at_a_time(fabric, experiment, workers)
        # The engine takes pictures of cells on one thread.
        each = 1 if pictures is not None else threads
        sharing = _Sharing(1, 1, measured=True) if measures_threads else _Sharing(most, each)
        experiment, observations = _run(fabric, experiment, staging, sharing, pictures)
        _tell_of_fewer_threads(threads, observations)
        summary = summarise(experiment, observations, versions(experiment))
        write_run(staging, experiment, observations, summary)
    measured = [seen.parallelism for seen in observations if seen.parallelism is not None]
    return Ran(summary, folder, together(measured) if measured else None)


def _at_a_time(fabric: Fabric, experiment: Experiment, workers: int) -> int:
    """How many cells may run at a time; fewer than `workers` if the fabric or the memory allows no more."""
    most = min(workers, fabric.max_workers or workers)
    wanted = min(most, len(experiment.schemes) * len(experiment.spec.seed_numbers))
    fit = fitting(experiment, fabric.cell_bytes(experiment), wanted)
    return fit if fit < wanted else most


def _tell_of_fewer_threads(asked: int | None, observations: Sequence[Observation]) -> None:
    used = max(seen.threads for seen in observations)
    if asked is not None and used < asked:
        logging.getLogger(__name__).warning(
            "a cell ran on %d of %d threads: the network has no more parts with a delay between them", used, asked
        )


@dataclass(frozen=True)
class _Sharing:
    """How cells share the cores: so many at a time, each on so many threads, or on what few cells leave."""

    workers: int
    threads: int | None
    measured: bool = False

    def each(self, cells: Sequence[Cell]) -> int:
        return self.threads or max(1, self.workers // len(cells))


def _run(
    fabric: Fabric, experiment: Experiment, captures: Path, sharing: _Sharing, pictures: Pictures | None
) -> tuple[Experiment, list[Observation]]:
    """Run all cells in one way: where a cell fails and the fabric knows another way, all of them again."""
    given_up: list[str] = []
    while True:
        cells = _cells(experiment, captures)
        each = sharing.each(cells)
        cells = [replace(cell, threads=each, measured=sharing.measured) for cell in cells]
        if pictures is not None:
            pictures.begin(cells[0])
        on_watch = pictures.note if pictures is not None else lambda _: None
        try:
            with progress_bar("running", total_flows(cells)) as on_progress:
                observations = run_cells(fabric, cells, max(1, sharing.workers // each), on_progress, on_watch)
        except RunFailed as error:
            slower = fabric.slower(experiment, error)
            if slower is None:
                raise
            given_up.append(f"dilation {experiment.dilation}: {error}")
            logging.getLogger(__name__).warning("%s; all again at a dilation of %d", error, slower.dilation)
            experiment = slower
        else:
            return experiment, [seen.after(given_up) for seen in observations]


def _cells(experiment: Experiment, captures: Path) -> list[Cell]:
    """All schemes on the flows of a seed, then on those of the next. Only the first cell is captured: pcap is large."""
    cells = [Cell(experiment, scheme, seed) for seed in experiment.spec.seed_numbers for scheme in experiment.schemes]
    first = cells[0]
    return [Cell(first.experiment, first.scheme, first.seed, captures), *cells[1:]]
