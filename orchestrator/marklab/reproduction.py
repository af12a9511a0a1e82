# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs an experiment of a paper, and keeps what came of it in a folder of results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from marklab.collection import FailedCell
from marklab.progress import cells_bar
from marklab.reproduce import Finding, PaperExperiment, examine, runs_of, to_json
from marklab.reproduction_report import to_markdown
from marklab.results import to_text
from marklab.summary import Summary


@dataclass(frozen=True)
class Reproduction:
    """An experiment as it was run: what the lab says to each claim, a summary of each point of its grid, failed cells.

    A point where nothing finished has no summary.
    """

    name: str
    paper: PaperExperiment
    findings: list[Finding]
    summaries: list[Summary | None]
    folder: Path
    failed: tuple[FailedCell, ...] = ()

    @cached_property
    def plain(self) -> Mapping[str, Any]:
        """Everything found, as plain data."""
        return to_json(self.name, self.paper, self.findings, self.summaries)


def reproduce_one(
    name: str, paper: PaperExperiment, out: Path, prefix: str, jobs: int, scheduler: str | None = None
) -> Reproduction:
    """Run an experiment, `jobs` cells at a time, and keep it in `out` in a folder that begins with `prefix`.

    As in a sweep, cells that have finished there are not run again, and one that fails does not end the others.
    """
    # Dask takes long to load, which a list of the experiments need not wait for.
    from marklab.sweeps.cluster import Workers  # noqa: PLC0415
    from marklab.sweeps.collect import open_sweep  # noqa: PLC0415
    from marklab.sweeps.dataset import Job, write_whole  # noqa: PLC0415
    from marklab.sweeps.execute import execute  # noqa: PLC0415
    from marklab.sweeps.plan import plan_of  # noqa: PLC0415

    plan = plan_of(runs_of(paper))
    folder = out / f"{prefix}-{plan.digest()[:8]}"
    description = yaml.safe_dump(
        paper.model_dump(mode="json", exclude_defaults=True), sort_keys=False, allow_unicode=True
    )
    with cells_bar(prefix) as on_cells:
        job = Job(plan, folder, description, "reproduction", paper.title, keep_flows=False)
        execute(job, Workers(jobs, scheduler), on_cells)
    collection = open_sweep(folder)
    known = {_key(point.settings): point.summary for point in collection.points}
    summaries = [known.get(_key(point)) for point in paper.points()]
    done = Reproduction(name, paper, examine(paper, summaries), summaries, folder, collection.failed)
    write_whole(folder / "reproduction.json", to_text(done.plain).encode())
    write_whole(folder / "claims.md", to_markdown(paper, done.findings).encode())
    return done


def _key(settings: Mapping[str, Any]) -> str:
    """Settings as they are kept."""
    return json.dumps(dict(settings), sort_keys=True)
