# SPDX-License-Identifier: MIT OR Apache-2.0
"""`studio`: the lab on a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from urllib.parse import parse_qs, urlsplit

import typer
from rich.console import Console

from marklab.errors import BadInput
from marklab.paths import RESULTS
from marklab.studio.serve import LOCAL, Listening, serve


def studio(
    link: Annotated[str | None, typer.Argument(help="A link that a page of the studio gave, to open it here.")] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page. Default: a free one.")] = 0,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Listen at this IPv4 address of the machine, where others reach it.")
    ] = LOCAL,
    allow_lab: Annotated[
        bool, typer.Option("--allow-lab", help="Let the page start runs on real hosts (mininet), which need root.")
    ] = False,
    opens: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")] = True,
    out: Annotated[Path, typer.Option(help="Folder for the folders of results.", show_default=False)] = RESULTS,
) -> None:
    """Write a scheme on a page in the browser, and run it beside the one that it came from."""
    console = Console(highlight=False, soft_wrap=True)

    at = Listening(host, port)
    if at.warning is not None:
        Console(stderr=True, highlight=False, soft_wrap=True).print(at.warning, style="bold yellow", markup=False)

    def tell(address: str) -> None:
        console.print(f"The studio is at {address}")
        console.print("Ctrl-C ends it.")

    serve(at, out, tell, opens=opens, state=_state(link), lab=allow_lab)


def _state(link: str | None) -> str | None:
    """The state in a link."""
    if link is None:
        return None
    state = parse_qs(urlsplit(link).fragment).get("state")
    if state is None:
        raise BadInput(f"`{link[:60]}` is no link of the studio", "copy it with the page's button *Link*, and quote it")
    return state[0]
