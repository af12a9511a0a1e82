# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs a plan into a folder. Cells that the folder already has are not run again."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from marklab.errors import Interrupted
from marklab.execution.progress import Cells, OnCells
from marklab.prepare.versions import origin
from marklab.sweeps.cluster import Failure, Workers, completed
from marklab.sweeps.dataset import Dataset, Job, written
from marklab.sweeps.description import Sweep
from marklab.sweeps.plan import plan_sweep


def run_sweep(sweep: Sweep, out: Path, workers: Workers, on_cells: OnCells, *, keep_flows: bool = True) -> Path:
    """Run a sweep. Returns its folder in `out`, which is the same for the same sweep."""
    plan = plan_sweep(sweep)
    name = str(sweep.settings.get("name") or "sweep")
    job = Job(plan, out / f"{name}-{plan.digest()[:8]}", sweep.to_yaml(), "sweep", name, keep_flows)
    execute(job, workers, on_cells)
    return job.folder


def execute(job: Job, workers: Workers, on_cells: OnCells) -> Cells:
    """Run the cells that have not finished. A cell that fails does not end the others."""
    with written(job) as dataset:
        finished = dataset.finished()
        progress = Cells(len(job.plan.cells), len(finished), 0, len(finished))
        on_cells(progress)
        try:
            progress = _run(job, dataset, finished, workers, on_cells)
        except Interrupted as error:
            done = len(dataset.finished())
            raise error.saying(
                f"interrupted: {done} of {progress.planned} cells are kept, and the same command continues from there"
            ) from None
        dataset.join()
    return progress


def _run(job: Job, dataset: Dataset, finished: set[str], workers: Workers, on_cells: OnCells) -> Cells:
    cells = [(number, cell) for number, cell in enumerate(job.plan.cells) if cell.key not in finished]
    failed, done = 0, len(finished)
    if not cells:
        return Cells(len(job.plan.cells), done, failed, done)
    tasks = [cell.task(keep_flows=job.keep_flows) for _, cell in cells]
    if workers.scheduler is not None:
        # Its workers were started by somebody else, perhaps long ago or from other files.
        tasks = [task | {"origin": origin()} for task in tasks]
    limit = job.plan.max_workers
    count = min(workers.count, limit or workers.count, max(1, len(tasks)))
    with closing(completed(tasks, Workers(count, workers.scheduler))) as events:
        for event in events:
            if event is not None:
                place, outcome = event
                dataset.add(*cells[place], outcome)
                failed += isinstance(outcome, Failure)
                done += 1
            on_cells(Cells(len(job.plan.cells), done, failed, len(finished)))
    return Cells(len(job.plan.cells), done, failed, len(finished))
