# SPDX-License-Identifier: MIT OR Apache-2.0
"""`plot`: pictures of the traces of a run."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from marklab.errors import BadInput
from marklab.units import parse_time


class Form(StrEnum):
    """Format of a picture."""

    PNG = "png"
    SVG = "svg"


def plot(
    folder: Annotated[Path, typer.Argument(help="A result of a run with --trace-queue, --trace-flows or --probe.")],
    form: Annotated[Form, typer.Option("--format", help="Format of the pictures.")] = Form.PNG,
    begin: Annotated[str, typer.Option("--from", metavar="TIME", help="Start of the time axis.")] = "0",
    end: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="End of the time axis. Default: end of the trace.")
    ] = None,
) -> None:
    """Draw each trace of a run, into files beside the traces."""
    begin_ns, end_ns = parse_time(begin), None if end is None else parse_time(end)
    if end_ns is not None and end_ns <= begin_ns:
        raise BadInput(f"--to {end} is not after --from {begin}")
    # Matplotlib takes half a second to load, so other commands do not import it.
    from marklab.report.plots import draw_traces  # noqa: PLC0415

    console = Console(highlight=False)
    for path in draw_traces(folder, form, begin_ns, end_ns):
        console.print(Text.assemble((f"{'wrote':9}", "dim"), str(path)), soft_wrap=True)
