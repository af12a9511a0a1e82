# SPDX-License-Identifier: MIT OR Apache-2.0
"""One run, from its description to its folder."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

from marklab.errors import RunFailed
from marklab.execution.cells import run_cells, total_flows
from marklab.execution.folder import write_run
from marklab.execution.progress import progress_bar
from marklab.fabrics import Cell, Fabric, fabric_of
from marklab.metrics.summarise import summarise
from marklab.prepare.experiment import Experiment, prepare
from marklab.prepare.versions import versions
from marklab.results.folders import new_folder
from marklab.results.observation import Observation
from marklab.results.summary import Summary
from marklab.spec.description import Spec


def run_spec(spec: Spec, out: Path, workers: int, threads: int | None = None) -> tuple[Summary, Path]:
    """Run a description; gives the summary and its folder.

    Of `workers` cells that may run at a time, those that are left over where there are fewer cells go to threads of the
    cells, unless `threads` says how many threads each cell has. The result does not depend on it.
    """
    fabric = fabric_of(spec)
    experiment = prepare(spec)
    fabric.check(experiment)
    experiment = fabric.settled(experiment)
    folder = out / f"{spec.title()}-{experiment.digest()[:8]}"
    with new_folder(folder) as staging:
        experiment, observations = _run(
            fabric, experiment, staging, min(workers, fabric.max_workers or workers), threads
        )
        summary = summarise(experiment, observations, versions(experiment))
        write_run(staging, experiment, observations, summary)
    return summary, folder


def _run(
    fabric: Fabric, experiment: Experiment, captures: Path, workers: int, threads: int | None
) -> tuple[Experiment, list[Observation]]:
    """Run all cells in one way: where a cell fails and the fabric knows another way, all of them again."""
    given_up: list[str] = []
    while True:
        cells = _cells(experiment, captures)
        each = threads or max(1, workers // len(cells))
        cells = [replace(cell, threads=each) for cell in cells]
        try:
            with progress_bar("running", total_flows(cells)) as on_progress:
                observations = run_cells(fabric, cells, max(1, workers // each), on_progress)
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
