# SPDX-License-Identifier: MIT OR Apache-2.0
"""`vary`: looks for the causes of what disagrees with the papers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from marklab.cli.papers.size import Flows, Part, Seeds, size_of
from marklab.errors import BadInput
from marklab.execution.cells import default_workers
from marklab.papers.claims import Claim
from marklab.papers.experiment import Column, Effort, PaperExperiment
from marklab.papers.findings import Finding
from marklab.papers.papers import experiments_called
from marklab.papers.reading import with_change
from marklab.papers.records import keep_variations, read_record, recorded_findings
from marklab.papers.reproduction import Reproduction, lost, reproduce_one
from marklab.papers.table import brief_text, paper_text
from marklab.papers.variations import Tried, about, variations_of, varied_experiment
from marklab.papers.verdicts import Verdict
from marklab.paths import RESULTS


def vary(
    name: Annotated[str, typer.Argument(help="Name of an experiment or of a paper, or all.")],
    flows: Flows = None,
    part: Part = None,
    seeds: Seeds = None,
    record: Annotated[
        bool, typer.Option("--record", help="Store what came out in experiments/found, for docs/fidelity.md.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for the folders of the results.")] = RESULTS,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Cells in parallel. Default: cores.")] = None,
) -> None:
    """Vary what may explain the recorded claims that disagree: the paper's variations, one at a time."""
    console = Console(highlight=False)
    names = [each for each in experiments_called(name) if _disagreeing(each) and variations_of(each)]
    if not names:
        said = f"`{name}` has no recorded claim that disagrees and for which something can be varied"
        raise BadInput(said, "`reproduce NAME --record` records claims; experiments/papers.yaml has the variations")
    for each in names:
        _vary(each, size_of(flows, part, seeds), record, out, jobs or default_workers(), console)


def _disagreeing(name: str) -> list[Claim]:
    """The recorded claims that disagree with the paper's reading."""
    paper = varied_experiment(name)
    found = recorded_findings(name, paper, read_record(name).runs.get(paper.column))
    return [each.claim for each in found if each.verdict() is Verdict.DISAGREES]


def _vary(name: str, size: Effort, record: bool, out: Path, jobs: int, console: Console) -> None:
    paper = about(varied_experiment(name), _disagreeing(name)).with_effort(size)
    changes = variations_of(name)
    papers = [paper, *(with_change(paper, change) for change in changes)]
    done = [_run(name, each, out, jobs) for each in papers]
    _show(paper, [change.says for change in changes], done, console)
    if record:
        keep_variations(
            name, done[0], {change.says: each for change, each in zip(changes, done[1:], strict=True)}, size
        )


def _run(name: str, paper: PaperExperiment, out: Path, jobs: int) -> Reproduction:
    done = reproduce_one(name, paper, out, f"{Column.READING.prefix(name)}-vary", jobs)
    if done.failed:
        raise lost(done)
    return done


def _show(paper: PaperExperiment, changes: Sequence[str], done: Sequence[Reproduction], console: Console) -> None:
    console.print(Text(paper.title, style="bold"))
    for claim, findings in zip(paper.claims, zip(*(each.findings for each in done), strict=True), strict=True):
        console.print(f"\n{claim.says}: {paper_text(claim).splitlines()[0]}")
        table = Table(box=None, pad_edge=False)
        for head in ("change", "lab", "verdict", "effect"):
            table.add_column(head, header_style="dim", justify="right" if head == "lab" else "left", overflow="fold")
        for says, found in zip(("as it is", *changes), findings, strict=True):
            table.add_row(says, brief_text(found), str(found.verdict()), _effect(says, found, findings[0]))
        console.print(table)


def _effect(says: str, found: Finding, as_it_is: Finding) -> str:
    return "" if found is as_it_is else str(Tried(says, found, as_it_is).effect)
