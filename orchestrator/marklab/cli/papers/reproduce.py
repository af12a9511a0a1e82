# SPDX-License-Identifier: MIT OR Apache-2.0
"""`reproduce`: runs experiments of papers."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from marklab.cli.papers.size import Flows, Part, Seeds, size_of
from marklab.errors import BadInput, Interrupted, MarklabError, RunFailed
from marklab.execution.cells import default_workers
from marklab.papers.deciding import sizes_to_decide
from marklab.papers.experiment import Column, Effort, PaperExperiment, load_experiment
from marklab.papers.findings import Finding
from marklab.papers.papers import ALL, columns_of, experiments_called, papers
from marklab.papers.reading import varied
from marklab.papers.records import keep_record, read_record, staleness
from marklab.papers.reproduction import Reproduction, lost, reproduce_one
from marklab.papers.table import print_claims, render_overview
from marklab.paths import RESULTS
from marklab.report.files import REPORT, write_report
from marklab.results.archive import open_collection
from marklab.units import parse_setting


@dataclass(frozen=True)
class _How:
    """How experiments are run: what part and how much of them, and where."""

    quick: bool
    size: Effort
    points: Mapping[str, Sequence[str]]
    varied: Sequence[str]
    columns: tuple[Column, ...]
    record: bool
    out: Path
    report: bool
    jobs: int
    scheduler: str | None
    decide: int | None

    def sized(self, paper: PaperExperiment) -> PaperExperiment:
        """An experiment of the wanted size."""
        paper = paper.with_effort(paper.quick) if self.quick else paper
        paper = paper.with_effort(self.size).narrowed(self.points)
        for setting in self.varied:
            paper = varied(paper, *parse_setting(setting))
        return paper

    def run(self, name: str, column: Column, paper: PaperExperiment) -> Reproduction:
        """Run an experiment in one column, and keep what was asked for."""
        done = self._run(name, column, self.sized(paper))
        more = sizes_to_decide(done, self.decide) if self.decide is not None else ()
        if more:
            done = self._run(name, column, done.paper.with_seeds(more), done.folder)
        if self.report:
            write_report(open_collection(done.folder), done.folder / REPORT)
        # A run with failed cells is not a record of the experiment.
        if self.record and not done.failed:
            keep_record(done, self.size, more)
        return done

    def _run(self, name: str, column: Column, paper: PaperExperiment, known: Path | None = None) -> Reproduction:
        prefix = f"{column.prefix(name)}-quick" if self.quick else column.prefix(name)
        return reproduce_one(name, paper, self.out, prefix, self.jobs, self.scheduler, known)


_COLUMN = typer.Option(help="Only as printed, or only with the paper's one reading. Default: both.")
_DECIDE = typer.Option(
    min=2,
    metavar="SEEDS",
    help="Then run more seeds for claims that are undetermined: as many as each needs, but none that needs more than "
    "this.",
)
_RECORD = typer.Option(
    "--record",
    help="Store the findings in experiments/found, for docs/fidelity.md; of several experiments, only where what is "
    "stored is out of date.",
)


def reproduce(
    name: Annotated[str | None, typer.Argument(help="Name of an experiment or of a paper, all, or list.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer flows, seeds and points.")] = False,
    flows: Flows = None,
    part: Part = None,
    seeds: Seeds = None,
    at: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Only this part of the experiment's grid: load=0.9; repeatable."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Vary a setting of the experiment's setup; repeatable."),
    ] = None,
    decide: Annotated[int | None, _DECIDE] = None,
    column: Annotated[Column | None, _COLUMN] = None,
    record: Annotated[bool, _RECORD] = False,
    stale: Annotated[bool, typer.Option("--stale", help="Run nothing: list the records that are out of date.")] = False,
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
    if name is None and not stale:
        raise BadInput("no experiment was named", "`reproduce list` shows all")
    names = experiments_called(name or ALL)
    columns = tuple(Column) if column is None else (column,)
    if stale:
        _print_stale(names, columns, console)
        return
    if at and len(names) > 1:
        raise BadInput(
            f"--at narrows one experiment, and `{name}` names {len(names)}", f"name one of them: {', '.join(names)}"
        )
    if record and (quick or at or settings):
        raise BadInput("a record has all of an experiment, as it is", "leave out --quick, --at and --set, or --record")
    how = _How(
        quick, size_of(flows, part, seeds), _points(at or []), settings or [], columns, record, out, not no_report,
        jobs or default_workers(), scheduler, decide,
    )  # fmt: skip
    if len(names) == 1:
        _run_one(names[0], how, as_json, console)
    else:
        _run_all(names, how, as_json, console)


def _wanted(name: str, columns: Sequence[Column]) -> dict[Column, PaperExperiment]:
    """The columns of an experiment that are wanted; without a reading of its own it has one."""
    return {column: paper for column, paper in columns_of(name).items() if column in columns}


def _run_one(name: str, how: _How, as_json: bool, console: Console) -> None:
    wanted = _wanted(name, how.columns)
    if not wanted:
        raise BadInput(f"the reading of its paper leaves {name} as it is printed", "--column printed")
    done = [how.run(name, column, paper) for column, paper in wanted.items()]
    if as_json:
        _write_json({"columns": [each.plain for each in done]})
    else:
        _show(done, console)
    for each in done:
        if each.failed:
            raise lost(each)


def _run_all(names: list[str], how: _How, as_json: bool, console: Console) -> None:
    """Run experiments one after the other. Raises RunFailed at the end if some failed."""
    wanted = {name: _wanted(name, how.columns) for name in names}
    if how.record:
        wanted = _out_of_date(wanted, how, console)
    plain: list[Mapping[str, Any]] = []
    failed: dict[str, MarklabError] = {}
    rows: dict[tuple[str, Column], tuple[Sequence[Finding], float]] = {}
    for name, columns in wanted.items():
        done: list[Reproduction] = []
        for column, paper in columns.items():
            began_s = time.monotonic()
            try:
                done.append(how.run(name, column, paper))
            except Interrupted:
                raise
            except MarklabError as error:
                failed[name] = error
                continue
            rows[name, column] = (done[-1].findings, time.monotonic() - began_s)
            if done[-1].failed:
                failed[name] = lost(done[-1])
        if as_json:
            plain += [each.plain for each in done]
        elif done:
            _show(done, console)
            console.print()
    _conclude(names, rows, plain if as_json else None, failed, console)


def _conclude(
    names: Sequence[str],
    rows: Mapping[tuple[str, Column], tuple[Sequence[Finding], float]],
    plain: list[Mapping[str, Any]] | None,
    failed: Mapping[str, MarklabError],
    console: Console,
) -> None:
    """Print the overview, or everything as JSON. Raises RunFailed if an experiment failed."""
    if plain is not None:
        errors = [{"experiment": name, "error": str(error), "remedy": error.remedy} for name, error in failed.items()]
        _write_json({"experiments": plain, "failed": errors})
    elif rows:
        render_overview(rows, console)
    if failed:
        said = "; ".join(f"{name}: {error}" for name, error in failed.items())
        remedy = next(iter(failed.values())).remedy
        raise RunFailed(f"{len(failed)} of {len(names)} experiments failed: {said}", remedy)


def _show(done: Sequence[Reproduction], console: Console) -> None:
    """Print an experiment's claims, as they come out in each column."""
    columns = {each.paper.column: each.findings for each in done}
    print_claims(done[0].paper, columns, [summary for each in done for summary in each.summaries], console)
    for each in done:
        console.print(f"[dim]{each.folder}[/dim]", soft_wrap=True)


def _write_json(plain: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(plain) + "\n")


Experiments = Mapping[str, Mapping[Column, PaperExperiment]]


def _out_of_date(wanted: Experiments, how: _How, console: Console) -> dict[str, dict[Column, PaperExperiment]]:
    """What has no record, or one that is out of date. Says how long these will take, by what the last ones took."""
    left: dict[str, dict[Column, PaperExperiment]] = {}
    known_s, unknown = 0.0, 0
    for name, columns in wanted.items():
        runs = read_record(name).runs
        for column, paper in columns.items():
            run = runs.get(column)
            if staleness(paper, run) is None and run is not None and run.effort == how.size:
                continue
            left.setdefault(name, {})[column] = paper
            known_s += run.cpu_s if run is not None else 0
            unknown += run is None
    count, of = (sum(map(len, each.values())) for each in (left, wanted))
    said = f"{of - count} of {of} records are up to date"
    if count:
        hours = known_s / 3600 / how.jobs
        said += f"; the others took {hours:,.1f} h on {how.jobs} cores" if known_s else ""
        said += f"; {unknown} have no record, and so no known time" if unknown else ""
    console.print(Text(said, style="dim"))
    return left


def _print_stale(names: Sequence[str], columns: Sequence[Column], console: Console) -> None:
    """Print the records that are out of date, and end with 1 if there are any."""
    count = 0
    for name in names:
        runs = read_record(name).runs
        for column, paper in _wanted(name, columns).items():
            why = staleness(paper, runs.get(column))
            if why is not None:
                count += 1
                console.print(Text.assemble((f"{name:22}", "bold"), f"{column.head:12}", why), soft_wrap=True)
    if count:
        console.print("[dim]`reproduce all --record` brings them up to date[/dim]")
        raise typer.Exit(1)
    console.print("all records are up to date")


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
