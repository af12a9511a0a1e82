# SPDX-License-Identifier: MIT OR Apache-2.0
"""`studio`: the lab on a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from marklab.paths import RESULTS
from marklab.studio.serve import serve


def studio(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page. Default: a free one.")] = 0,
    opens: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")] = True,
    out: Annotated[Path, typer.Option(help="Folder for the folders of results.", show_default=False)] = RESULTS,
) -> None:
    """Write a scheme on a page in the browser, and run it beside the one that it came from."""
    console = Console(highlight=False, soft_wrap=True)

    def tell(address: str) -> None:
        console.print(f"The studio is at {address}")
        console.print("Ctrl-C ends it.")

    serve(port, out, tell, opens=opens)
