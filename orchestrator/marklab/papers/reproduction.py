# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs an experiment of a paper, and keeps the results in a folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from marklab.errors import RunFailed
from marklab.execution.progress import cells_bar
from marklab.papers.experiment import PaperExperiment, runs_of
from marklab.papers.findings import Finding, examine, to_json
from marklab.papers.table import to_markdown
from marklab.results.collection import FailedCell
from marklab.results.folders import to_text
from marklab.results.summary import Summary


@dataclass(frozen=True)
class Reproduction:
    """An experiment as it was run: a finding for each claim, a summary for each point of its grid, failed cells.

    A point where nothing finished has no summary. `kept` counts cells that had been run before.
    """

    name: str
    paper: PaperExperiment
    findings: list[Finding]
    summaries: list[Summary | None]
    folder: Path
    failed: tuple[FailedCell, ...] = ()
    kept: int = 0

    @property
    def cpu_s(self) -> float:
        """CPU seconds of all cells in the engine."""
        results = (result for summary in self.summaries if summary for result in summary.schemes.values())
        return sum(seed.engine_cpu_s for result in results for seed in result.seeds)

    @cached_property
    def plain(self) -> Mapping[str, Any]:
        """All findings, as plain data."""
        return to_json(self.name, self.paper, self.findings, self.summaries)


def reproduce_one(
    name: str,
    paper: PaperExperiment,
    out: Path,
    prefix: str,
    jobs: int,
    scheduler: str | None = None,
    known: Path | None = None,
) -> Reproduction:
    """Run an experiment, `jobs` cells at a time, into a folder of `out` whose name begins with `prefix`.

    As in a sweep, finished cells in that folder are not run again, nor those of `known`, the folder of another size.
    A cell that fails does not end the others.
    """
    # Dask loads slowly, so a list of the experiments does not import it.
    from marklab.sweeps.cluster import Workers  # noqa: PLC0415
    from marklab.sweeps.dataset import Job, take_cells, write_whole  # noqa: PLC0415
    from marklab.sweeps.execute import execute  # noqa: PLC0415
    from marklab.sweeps.plan import plan_of  # noqa: PLC0415

    plan = plan_of(runs_of(paper))
    folder = out / f"{prefix}-{plan.digest()[:8]}"
    if known is not None and not folder.exists():
        take_cells(known, folder)
    with cells_bar(prefix) as on_cells:
        job = Job(plan, folder, paper.to_yaml(), "reproduction", paper.title, keep_flows=False)
        progress = execute(job, Workers(jobs, scheduler), on_cells)
    done = replace(read_reproduction(name, paper, folder), kept=progress.kept)
    write_whole(folder / "reproduction.json", to_text(done.plain).encode())
    write_whole(folder / "claims.md", to_markdown(paper, done.findings).encode())
    return done


def read_reproduction(name: str, paper: PaperExperiment, folder: Path) -> Reproduction:
    """Evaluate the claims of an experiment with the cells in a folder."""
    from marklab.results.sweep import open_sweep  # noqa: PLC0415 - as above

    collection = open_sweep(folder)
    known = {_key(point.settings): point.summary for point in collection.points}
    summaries = [known.get(_key(point)) for point in paper.points()]
    return Reproduction(name, paper, examine(paper, summaries), summaries, folder, collection.failed)


def lost(done: Reproduction) -> RunFailed:
    """The error that reports the failed cells."""
    first = done.failed[0]
    at = "".join(f"{key} {value}, " for key, value in first.settings.items())
    return RunFailed(
        f"{len(done.failed)} cells failed and are not in the table: {at}{first.scheme}, seed {first.seed}: "
        f"{first.error}",
        "repeat the command to run them again; the folder's cells/ has all of them",
    )


def _key(settings: Mapping[str, Any]) -> str:
    """Settings as text that can be compared."""
    return json.dumps(dict(settings), sort_keys=True)
