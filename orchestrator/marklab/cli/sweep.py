# SPDX-License-Identifier: MIT OR Apache-2.0
"""`sweep`: a grid of runs, on all cores or on a cluster."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from marklab.errors import BadInput
from marklab.execution.cells import default_workers
from marklab.execution.progress import cells_bar
from marklab.paths import RESULTS
from marklab.report.chart import Form
from marklab.report.files import REPORT, write_report
from marklab.report.sweep import print_sweep, to_json
from marklab.results.archive import open_collection
from marklab.sweeps.description import Sweep, read_sweep

# `sweep` asks before it runs more cells than this: they take hours, and may be a mistake.
_MANY_CELLS = 5000


def sweep(
    file: Annotated[Path | None, typer.Argument(metavar="FILE.yaml", help="A spec file with a `grid`.")] = None,
    scheme: Annotated[
        list[str] | None, typer.Option("--scheme", "-s", help="Scheme, in place of the file's; repeatable.")
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE,...", help="Values of a setting, or of param.NAME; repeatable."),
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any setting of a spec; repeatable.")
    ] = None,
    flows: Annotated[int | None, typer.Option(min=0, help="Flows of each cell.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Number of seeds; each is a cell.")] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", "-j", min=1, help="Cells in parallel. Default: cores.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run on the workers of this Dask scheduler.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the folder of the result.", show_default=False)] = RESULTS,
    name: Annotated[str | None, typer.Option(help="First part of the folder's name.")] = None,
    no_flows: Annotated[bool, typer.Option("--no-flows", help="Keep no flow records, only cells.")] = False,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no report.html.")] = False,
    figures: Annotated[
        Form | None, typer.Option(metavar="pdf|png", help="Also draw the charts of the report into files.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help=f"Do not ask about more than {_MANY_CELLS} cells.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the table.")] = False,
) -> None:
    """Run a grid of settings. Finished cells are kept; the same command later runs only the others."""
    if no_report and figures is not None:
        raise BadInput("--figures and --no-report contradict each other: figures show the charts of the report")
    given = {"schemes": scheme or None, "flows": flows, "seeds": seeds, "name": name}
    described = read_sweep(
        file, {key: value for key, value in given.items() if value is not None}, set_ or [], grid or []
    )
    _ask(described, yes=yes)
    # Dask takes a second to load, so other commands do not import it.
    from marklab.sweeps.cluster import Workers  # noqa: PLC0415
    from marklab.sweeps.execute import run_sweep  # noqa: PLC0415

    with cells_bar(str(described.settings.get("name") or "sweep")) as on_cells:
        chosen = Workers(workers or default_workers(), scheduler)
        folder = run_sweep(described, out, chosen, on_cells, keep_flows=not no_flows)
    collection = open_collection(folder)
    if not no_report:
        write_report(collection, folder / REPORT, figures)
    if as_json:
        sys.stdout.write(json.dumps(to_json(collection)) + "\n")
    else:
        console = Console(highlight=False)
        print_sweep(collection, console)
        console.print(f"[dim]{folder}[/dim]", soft_wrap=True)
    if collection.failed or collection.damaged:
        raise typer.Exit(2)


def _ask(described: Sweep, *, yes: bool) -> None:
    """Ask for confirmation of a very large grid; raises BadInput without a terminal, unless `yes`."""
    first = next(described.points())
    spec, _ = described.spec_at(first)
    cells = described.count() * len(spec.choices) * spec.seeds
    if cells <= _MANY_CELLS or yes:
        return
    shape = " x ".join(f"{len(values)} {key}" for key, values in described.grid.items())
    what = f"{cells:,} cells ({len(spec.choices)} schemes x {spec.seeds} seeds{' x ' + shape if shape else ''})"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise BadInput(f"the grid has {what}", "fewer values, or --yes to run all of them")
    if not typer.confirm(f"The grid has {what}. Run them?", err=True):
        raise typer.Exit(2)
