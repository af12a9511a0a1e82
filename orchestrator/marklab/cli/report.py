# SPDX-License-Identifier: MIT OR Apache-2.0
"""`report`: a folder of results as one HTML file, and as figures for papers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from marklab.report.chart import Form
from marklab.report.files import REPORT, write_report
from marklab.results.archive import open_collection


def report(
    folder: Annotated[Path, typer.Argument(help="Folder of a run, a sweep or a reproduction.")],
    figures: Annotated[
        Form | None, typer.Option(help="Also draw each view of each chart into a file of the folder `figures`.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="The file.  [default: report.html in the folder]")
    ] = None,
) -> None:
    """Write results into one self-contained HTML file: tables, charts, their data, and versions.

    Files that cannot be read are left out and listed; the exit code is then 2.
    """
    console = Console(highlight=False)
    collection = open_collection(folder)
    for path in write_report(collection, out or folder / REPORT, figures):
        console.print(Text.assemble((f"{'wrote':9}", "dim"), str(path)), soft_wrap=True)
    for text in collection.damaged:
        console.print(Text(f"DAMAGED: {text}", style="bold red"), soft_wrap=True)
    if collection.damaged:
        raise typer.Exit(2)
