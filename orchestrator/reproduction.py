"""Runs an experiment of a paper, and keeps what came of it in a folder of results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from orchestrator.fabrics import Cell, Sim
from orchestrator.progress import progress_bar
from orchestrator.reproduce import Finding, PaperExperiment, examine, prepare_points, summarise_points, to_json
from orchestrator.reproduction_report import to_markdown
from orchestrator.results import new_folder, write_json
from orchestrator.runs import run_cells, total_flows
from orchestrator.summary import Summary


@dataclass(frozen=True)
class Reproduction:
    """An experiment as it was run, with what the lab says to each claim, and a summary of each point of its grid."""

    name: str
    paper: PaperExperiment
    findings: list[Finding]
    summaries: list[Summary]
    folder: Path

    @cached_property
    def plain(self) -> Mapping[str, Any]:
        """Everything found, as plain data."""
        return to_json(self.name, self.paper, self.findings, self.summaries)


def reproduce_one(name: str, paper: PaperExperiment, out: Path, prefix: str, jobs: int) -> Reproduction:
    """Run an experiment, `jobs` cells at a time, and keep it in `out` in a folder that begins with `prefix`."""
    fabric = Sim()
    experiments = prepare_points(paper)
    for experiment in experiments:
        fabric.check(experiment)
    folder = out / f"{prefix}-{paper.digest(experiments)[:8]}"
    with new_folder(folder) as staging:
        cells = [
            Cell(experiment, scheme, seed)
            for experiment in experiments
            for seed in experiment.spec.seed_numbers
            for scheme in experiment.schemes
        ]
        with progress_bar(name, total_flows(cells)) as on_progress:
            observations = run_cells(fabric, cells, jobs, on_progress)
        summaries = summarise_points(experiments, observations)
        done = Reproduction(name, paper, examine(paper, summaries), summaries, folder)
        write_json(staging / "reproduction.json", done.plain)
        (staging / "claims.md").write_text(to_markdown(paper, done.findings), encoding="utf-8")
    return done
