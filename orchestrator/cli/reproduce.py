"""`reproduce`: experiments of papers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from orchestrator import reproduce as library
from orchestrator.errors import BadInput
from orchestrator.reproduction import reproduce_one
from orchestrator.reproduction_report import render
from orchestrator.results import DEFAULT_FOLDER
from orchestrator.runs import default_workers


def reproduce(
    name: Annotated[str, typer.Argument(help="Name of an experiment, or list.")],
    quick: Annotated[bool, typer.Option("--quick", help="Fewer flows, seeds and points.")] = False,
    flows: Annotated[int | None, typer.Option(min=1, help="Flows of each run, in place of the experiment's.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Runs to average, in place of the experiment's.")] = None,
    at: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Only this part of its grid, as load=0.9; repeat for more."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder that gets the result's folder.")] = DEFAULT_FOLDER,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the table.")] = False,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Cells at a time.  [default: cores]")] = None,
) -> None:
    """Run an experiment of a paper, and print what the paper states beside what the lab finds."""
    console = Console(highlight=False)
    if name == "list":
        for known in library.known_experiments():
            console.print(Text.assemble((f"{known:22}", "bold"), library.load_experiment(known).title))
        return
    paper = library.load_experiment(name)
    if quick:
        paper = paper.with_effort(paper.quick)
    paper = paper.with_effort(library.Effort(flows=flows, seeds=seeds)).narrowed(_points(at or []))
    done = reproduce_one(name, paper, out, f"{name}-quick" if quick else name, jobs or default_workers())
    if as_json:
        sys.stdout.write(json.dumps(done.plain) + "\n")
        return
    render(paper, done.findings, done.summaries, console)
    console.print(f"[dim]{done.folder}[/dim]", soft_wrap=True)


def _points(at: list[str]) -> dict[str, list[str]]:
    """What of the grid is wanted, by its setting."""
    wanted: dict[str, list[str]] = {}
    for text in at:
        key, equals, value = text.partition("=")
        if not equals:
            raise BadInput(f"--at {text}", "say a setting of the grid and its value, as load=0.9")
        wanted.setdefault(key, []).append(value)
    return wanted
