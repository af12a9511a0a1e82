# SPDX-License-Identifier: MIT OR Apache-2.0
"""`run`: one experiment, from options or a file to a table and a folder."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from marklab.cli.settings import takes_settings
from marklab.errors import BadInput
from marklab.execution.cells import default_workers
from marklab.execution.pictures import Pictures
from marklab.execution.run import Ran, run_spec
from marklab.model import as_list
from marklab.paths import RESULTS
from marklab.playback.stored import stored_cell
from marklab.report.chart import Form
from marklab.report.files import REPORT, write_report
from marklab.report.terminal import print_parallelism, print_run
from marklab.results.archive import open_collection
from marklab.spec.description import make_spec
from marklab.spec.options import OUTPUT, REAL, RUN
from marklab.spec.settings import choose_fabric, chosen_schemes, merged_settings


def _option(*names: str, says: str, value: str = " ", panel: str | None = None) -> Any:
    return typer.Option(*names, help=says, metavar=value, rich_help_panel=panel, show_default=False)


_JOBS = typer.Option(
    "--jobs", "-j", min=1, metavar="N", help="Threads of all cells. Default: cores.", rich_help_panel=OUTPUT
)
_THREADS = typer.Option(
    "--threads",
    min=1,
    metavar="N",
    help="sim: threads of each cell. Default: cores that few cells leave.",
    rich_help_panel=OUTPUT,
)
_THREADS_REPORT = typer.Option(
    "--threads-report",
    metavar=" ",
    help="sim: also print what the speed-up on several threads cannot exceed.",
    rich_help_panel=OUTPUT,
)


class TraceForm(StrEnum):
    """Forms of a trace of the whole network."""

    PERFETTO = "perfetto"


_TRACE = typer.Option(
    "--trace",
    metavar="FORM",
    help="sim: also write flows, windows, queues, marks and losses of the first cell for ui.perfetto.dev (perfetto).",
    rich_help_panel=OUTPUT,
)
_PICTURES = typer.Option(
    "--pictures",
    metavar="FILE",
    help="sim: write how queues and lines of the first cell stand, ten times a second.",
    rich_help_panel=OUTPUT,
)


@takes_settings((*RUN, *REAL))
def run(
    scheme: Annotated[
        list[str] | None,
        _option(
            "--scheme", "-s", value="SCHEME", says="NAME, NAME:PRESET, NAME:param=value,... or FILE.p4; repeatable."
        ),
    ] = None,
    param: Annotated[list[str] | None, _option(value="NAME=VALUE", says="Parameter of the scheme; repeatable.")] = None,
    settings: dict[str, Any] | None = None,
    spec: Annotated[Path | None, _option(value="FILE.yaml", says="Settings of a run; options override them.")] = None,
    set_: Annotated[
        list[str] | None,
        _option("--set", value="KEY=VALUE", says="Any setting of a spec, such as transport.min_rto=5ms; repeatable."),
    ] = None,
    out: Annotated[Path, _option(value="FOLDER", says="Folder for the folder of the result.", panel=OUTPUT)] = RESULTS,
    as_json: Annotated[bool, _option("--json", says="Print the summary as one JSON object.", panel=OUTPUT)] = False,
    no_report: Annotated[bool, _option("--no-report", says="Write no report.html.", panel=OUTPUT)] = False,
    figures: Annotated[
        Form | None, _option(value="pdf|png", says="Also draw the charts of the report into files.", panel=OUTPUT)
    ] = None,
    pictures: Annotated[Path | None, _PICTURES] = None,
    trace: Annotated[TraceForm | None, _TRACE] = None,
    jobs: Annotated[int | None, _JOBS] = None,
    threads: Annotated[int | None, _THREADS] = None,
    threads_report: Annotated[bool, _THREADS_REPORT] = False,
) -> None:
    """Run schemes and a baseline on the same flows, and report flow completion times."""
    if no_report and figures is not None:
        raise BadInput("--figures and --no-report contradict each other: figures show the charts of the report")
    given = settings or {}
    real = {option.name: given.pop(option.name, None) for option in REAL}
    described = merged_settings(spec, given, set_ or [])
    choose_fabric(described, real.pop("fabric"), real)
    described["schemes"] = chosen_schemes(scheme or as_list(described.get("schemes", [])), param or [])
    if threads_report:
        _check_threads_report(described, jobs, threads)
    if pictures is not None:
        _check_pictures(described, threads)
    if trace is not None and "mininet" in described:
        raise BadInput("--trace is of simulated cells", "--fabric sim")
    with Pictures(pictures) if pictures is not None else nullcontext() as shown:
        workers = jobs or default_workers()
        ran = run_spec(make_spec(described), out, workers, threads, measures_threads=threads_report, pictures=shown)
    if not no_report:
        # After the folder is complete, so that an error in the report does not lose the result.
        write_report(open_collection(ran.folder), ran.folder / REPORT, figures)
    if trace is not None:
        _write_trace(ran.folder)
    _tell(ran, as_json=as_json)


def _write_trace(folder: Path) -> None:
    # Protocol buffers take a moment to load, which other runs need not wait for.
    from marklab.playback.perfetto import lives_of, write_trace  # noqa: PLC0415

    cell = stored_cell(folder)
    write_trace(cell, lives_of(cell, folder), folder / "trace.pftrace")


def _check_threads_report(described: Mapping[str, Any], jobs: int | None, threads: int | None) -> None:
    if (jobs or 1) > 1 or (threads or 1) > 1:
        raise BadInput(
            "--threads-report runs one cell at a time on one thread, so that times are not disturbed",
            "leave out --jobs and --threads",
        )
    if "mininet" in described:
        raise BadInput("--threads-report is about simulated cells", "--fabric sim")


def _check_pictures(described: Mapping[str, Any], threads: int | None) -> None:
    if (threads or 1) > 1:
        raise BadInput("--pictures are of cells on one thread", "leave out --threads")
    if "mininet" in described:
        raise BadInput("--pictures are of simulated cells", "--fabric sim")


def _tell(ran: Ran, *, as_json: bool) -> None:
    measured = ran.parallelism
    if as_json:
        extra = {"folder": str(ran.folder)} | ({} if measured is None else {"parallelism": measured.to_json()})
        sys.stdout.write(json.dumps(ran.summary.to_json() | extra) + "\n")
        return
    console = Console(highlight=False)
    print_run(ran.summary, console)
    if measured is not None:
        print_parallelism(measured, console)
    console.print(f"[dim]{ran.folder}[/dim]", soft_wrap=True)
