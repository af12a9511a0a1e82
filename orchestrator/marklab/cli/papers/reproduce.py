# SPDX-License-Identifier: MIT OR Apache-2.0
"""`reproduce`: runs experiments of papers."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from marklab.errors import BadInput, Interrupted, MarklabError, RunFailed
from marklab.execution.cells import default_workers
from marklab.papers.claims import Effort, Finding, load_experiment
from marklab.papers.found import keep_record
from marklab.papers.papers import experiments_called, papers
from marklab.papers.reproduction import Reproduction, lost, reproduce_one
from marklab.papers.table import print_claims, render_overview
from marklab.paths import RESULTS
from marklab.report.files import REPORT, write_report
from marklab.results.archive import open_collection


def reproduce(
    name: Annotated[str, typer.Argument(help="Name of an experiment or of a paper, all, or list.")],
    quick: Annotated[bool, typer.Option("--quick", help="Fewer flows, seeds and points.")] = False,
    flows: Annotated[
        int | None, typer.Option(min=1, help="Flows of each run, in place of the experiment's number, if it has any.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Seeds to average, in place of the experiment's number.")
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Only this part of the experiment's grid: load=0.9; repeatable."),
    ] = None,
    record: Annotated[
        bool, typer.Option("--record", help="Store the findings in experiments/found, for docs/fidelity.md.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for the folder of the result.")] = RESULTS,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no report.html.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Cells in parallel. Default: cores.")] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run on the workers of this Dask scheduler.")
    ] = None,
) -> None:
    """Run experiments of papers, and print the papers' claims beside the lab's findings."""
    console = Console(highlight=False)
    if name == "list":
        _list(console)
        return
    names = experiments_called(name)
    if at and len(names) > 1:
        raise BadInput(
            f"--at narrows one experiment, and `{name}` names {len(names)}", f"name one of them: {', '.join(names)}"
        )
    effort, points = Effort(flows=flows, seeds=seeds), _points(at or [])

    def run(each: str) -> Reproduction:
        paper = load_experiment(each)
        paper = paper.with_effort(paper.quick) if quick else paper
        paper = paper.with_effort(effort).narrowed(points)
        done = reproduce_one(each, paper, out, f"{each}-quick" if quick else each, jobs or default_workers(), scheduler)
        if not no_report:
            write_report(open_collection(done.folder), done.folder / REPORT)
        # A run with failed cells is not a record of the experiment.
        if record and not done.failed:
            keep_record(done)
        return done

    if len(names) == 1:
        done = run(names[0])
        if as_json:
            _write_json(done.plain)
        else:
            _show(done, console)
        if done.failed:
            raise lost(done)
        return
    _run_all(names, run, as_json, console)


def _run_all(names: list[str], run: Callable[[str], Reproduction], as_json: bool, console: Console) -> None:
    """Run experiments one after the other. Raises RunFailed at the end if some failed."""
    plain, failed = [], {}
    rows: dict[str, tuple[Sequence[Finding], float]] = {}
    for name in names:
        began_s = time.monotonic()
        try:
            done = run(name)
        except Interrupted:
            raise
        except MarklabError as error:
            failed[name] = error
            continue
        rows[name] = (done.findings, time.monotonic() - began_s)
        if done.failed:
            failed[name] = lost(done)
        if as_json:
            plain.append(done.plain)
        else:
            _show(done, console)
            console.print()
    if as_json:
        errors = [{"experiment": name, "error": str(error), "remedy": error.remedy} for name, error in failed.items()]
        _write_json({"experiments": plain, "failed": errors})
    else:
        render_overview(rows, console)
    if failed:
        said = "; ".join(f"{name}: {error}" for name, error in failed.items())
        remedy = next(iter(failed.values())).remedy
        raise RunFailed(f"{len(failed)} of {len(names)} experiments failed: {said}", remedy)


def _show(done: Reproduction, console: Console) -> None:
    print_claims(done.paper, done.findings, done.summaries, console)
    console.print(f"[dim]{done.folder}[/dim]", soft_wrap=True)


def _write_json(plain: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(plain) + "\n")


def _list(console: Console) -> None:
    """Print the experiments by paper, and what the lab lacks for those that it cannot run."""
    for name, paper in papers().items():
        console.print(Text.assemble((f"{name:22}", "bold underline"), paper.source))
        for each, lacks in paper.experiments.items():
            line = Text.assemble(("missing: ", "yellow"), lacks or "")
            if each in paper.runnable:
                line = Text(load_experiment(each).title)
            console.print(Text.assemble((f"{each:22}", "bold"), line))


def _points(at: list[str]) -> dict[str, list[str]]:
    """The wanted values of the grid, by setting."""
    wanted: dict[str, list[str]] = {}
    for text in at:
        key, equals, value = text.partition("=")
        if not equals:
            raise BadInput(f"--at {text}", "write a setting of the grid and its value, such as load=0.9")
        wanted.setdefault(key, []).append(value)
    return wanted
