# SPDX-License-Identifier: MIT OR Apache-2.0
"""`artifact`: packs experiments of papers for committees that evaluate artifacts; `repeat`: repeats an artifact."""

from __future__ import annotations

import json
import math
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from marklab.cli.papers.size import Flows, Part, Seeds, size_of
from marklab.execution.cells import default_workers
from marklab.papers.papers import columns_of, experiments_called
from marklab.papers.reproduction import Reproduction, lost, reproduce_one
from marklab.papers.table import tally
from marklab.paths import ARTIFACTS, COMMAND, RESULTS
from marklab.report.chart import Form

if TYPE_CHECKING:  # They load slowly, so other commands do not import them.
    from marklab.artifact.equality import Difference
    from marklab.artifact.repetition import Repetition

# Differences of an experiment that are shown; the others are in the file only.
_SHOWN = 10

_WIDTH = 9

_JOBS = typer.Option("--jobs", "-j", min=1, help="Cells in parallel. Default: cores.")
_SCHEDULER = typer.Option(metavar="ADDRESS", help="Run on the workers of this Dask scheduler.")


def artifact(
    name: Annotated[
        str, typer.Argument(metavar="ID", help="An experiment or a paper, as in `reproduce list`, or all.")
    ],
    quick: Annotated[bool, typer.Option("--quick", help="Fewer flows, seeds and points.")] = False,
    flows: Flows = None,
    part: Part = None,
    seeds: Seeds = None,
    figures: Annotated[Form, typer.Option(help="Format of the charts.")] = Form.PDF,
    out: Annotated[Path, typer.Option(help="Folder for the artifact's folder and its archive.")] = ARTIFACTS,
    results: Annotated[
        Path, typer.Option(help="Folder of results: cells that the same code left there do not run again.")
    ] = RESULTS,
    jobs: Annotated[int | None, _JOBS] = None,
    scheduler: Annotated[str | None, _SCHEDULER] = None,
) -> None:
    """Pack experiments for a committee: descriptions, results, figures, claims, versions, and how to repeat them."""
    from marklab.artifact.contents import check, write_artifact  # noqa: PLC0415

    loaded = {
        column.prefix(each): paper for each in experiments_called(name) for column, paper in columns_of(each).items()
    }
    if quick:
        loaded = {each: paper.with_effort(paper.quick) for each, paper in loaded.items()}
    papers = {each: paper.with_effort(size_of(flows, part, seeds)) for each, paper in loaded.items()}
    for each, paper in papers.items():
        check(each, paper)
    console, progress = Console(highlight=False), Console(stderr=True, highlight=False)
    done: list[Reproduction] = []
    for each, paper in papers.items():
        prefix = f"{each}-quick" if quick else each
        done.append(reproduce_one(each, paper, results, prefix, jobs or default_workers(), scheduler))
        _say(console, each, _cells(done[-1]))
    for one in done:
        if one.failed:
            raise lost(one)
    target = out / f"marklab-{name}{'-quick' if quick else ''}"
    made = write_artifact(target, done, figures, lambda part: progress.print(f"[dim]writing {part}[/dim]"))
    if made.no_source is not None:
        console.print(Text(f"! without the lab's source: {made.no_source}", style="bold yellow"), soft_wrap=True)
    _say(console, "folder", str(made.folder))
    _say(console, "archive", f"{made.archive}, {made.archive.stat().st_size / 1e6:,.1f} MB")
    _say(console, "repeat", f"{COMMAND} repeat {shlex.quote(str(made.folder))}")


def _cells(done: Reproduction) -> str:
    cells = sum(len(result.seeds) for summary in done.summaries if summary for result in summary.schemes.values())
    claims, agree, *_ = tally(done.findings)
    there = f", {done.kept:,} of them from earlier runs" if done.kept else ""
    return f"{_counted(cells + len(done.failed), 'cell')}{there}; {agree} of {_counted(claims, 'claim')} agree"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _say(console: Console, what: str, text: str) -> None:
    console.print(Text.assemble((f"{what:{_WIDTH}} ", "dim"), text), soft_wrap=True)


def repeat(
    folder: Annotated[Path, typer.Argument(help="Folder of an artifact, as unpacked from its archive.")],
    cells: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only this many cells, spread over the artifact.")
    ] = None,
    experiment: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Only this experiment; repeatable.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("repeated"),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of lines.")] = False,
    jobs: Annotated[int | None, _JOBS] = None,
    scheduler: Annotated[str | None, _SCHEDULER] = None,
) -> None:
    """Run the experiments of an artifact again and compare all numbers; exit with 0 only if they are the same."""
    from marklab.artifact.repetition import repeat as repeated  # noqa: PLC0415
    from marklab.results.folders import new_file, write_json  # noqa: PLC0415
    from marklab.sweeps.cluster import Workers  # noqa: PLC0415

    found = repeated(folder, out, Workers(jobs or default_workers(), scheduler), cells, experiment or [])
    path = out / "repetition.json"
    with new_file(path) as file:
        write_json(file, found.to_json())
    if as_json:
        sys.stdout.write(json.dumps(found.to_json()) + "\n")
    else:
        _show(found, path, Console(highlight=False))
    if not found.is_same:
        raise typer.Exit(1)


def _show(found: Repetition, path: Path, console: Console) -> None:
    for one in found.experiments:
        before = f", {one.kept:,} of them repeated here earlier" if one.kept else ""
        said = _counted(len(one.differences), "difference") if one.differences else "all the same"
        _say(console, one.name, f"{one.cells:,} of {_counted(one.of, 'cell')}{before}; {one.values:,} values, {said}")
        _list(console, one.differences)
    _list(console, found.claims)
    for name in found.changed:
        console.print(Text(f"! {name} has changed since it was packed", style="bold yellow"), soft_wrap=True)
    for name, (stored, here) in found.versions.items():
        _say(console, "version", f"{name}: {stored or 'unknown'}, here {here or 'unknown'}")
    if found.differences:
        _say(console, "all", str(path))
    console.print(Text(_verdict(found), style="bold"), soft_wrap=True)


def _list(console: Console, differences: Sequence[Difference]) -> None:
    for each in differences[:_SHOWN]:
        console.print(Text(f"  {each}"), soft_wrap=True)
    if len(differences) > _SHOWN:
        console.print(f"  and {len(differences) - _SHOWN:,} more")


def _verdict(found: Repetition) -> str:
    """The outcome of the repetition in a sentence."""
    cells, values = (sum(getattr(one, what) for one in found.experiments) for what in ("cells", "values"))
    if found.is_same:
        return f"the same: all {values:,} values of {_counted(cells, 'cell')}"
    if not found.differences:
        return f"changed since it was packed, though all {values:,} values of {_counted(cells, 'cell')} are the same"
    why = "versions differ, too" if found.versions else "with the same versions"
    far = "" if found.largest is None else f"; the largest relative difference is {_relative(found.largest)}"
    return f"not the same: {_counted(len(found.differences), 'difference')}, {why}{far}"


def _relative(difference: Difference) -> str:
    far = difference.relative or 0.0
    size = "from 0" if math.isinf(far) else f"{far:.2g}"
    return f"{size} ({difference.where}: {difference.what})"
