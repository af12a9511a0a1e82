"""`report`: a folder of results as one HTML file, and as figures for papers."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from orchestrator.archive import open_collection
from orchestrator.collection import Collection


class Form(StrEnum):
    """Format of figures."""

    PDF = "pdf"
    PNG = "png"


def report(
    folder: Annotated[Path, typer.Argument(help="Folder of a run, a sweep or a reproduction.")],
    figures: Annotated[
        Form | None, typer.Option(help="Draw each view of each chart into a file of the folder `figures` as well.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="The file.  [default: report.html in the folder]")
    ] = None,
) -> None:
    """Write results into one HTML file that needs nothing else: tables, charts, their data, and what made them."""
    console = Console(highlight=False)
    for path in write_report(open_collection(folder), out or folder / REPORT, figures):
        console.print(Text.assemble((f"{'wrote':9}", "dim"), str(path)), soft_wrap=True)


REPORT = "report.html"


def write_report(collection: Collection, page: Path, figures: Form | None = None) -> list[Path]:
    """Write the page, and figures into a folder beside it; gives the page and the folder."""
    # Templates and tables take a while to load, which other commands need not wait for; Matplotlib still longer.
    from orchestrator.report.page import write_page  # noqa: PLC0415

    write_page(collection, page)
    if figures is None:
        return [page]
    from orchestrator.report.figures import FOLDER, draw_figures  # noqa: PLC0415

    drawn = list(draw_figures(collection, page.parent / FOLDER, figures.value))
    return [page, *{path.parent for path in drawn}]
