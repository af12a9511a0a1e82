# SPDX-License-Identifier: MIT OR Apache-2.0
"""`explain`: one packet of a run, step by step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from marklab.fabrics.traced import find_port
from marklab.playback.explain import FromTheStart, lines
from marklab.playback.explain import explain as explained
from marklab.playback.questions import Wanted
from marklab.playback.stored import stored_cell
from marklab.units import parse_time


def explain(
    folder: Annotated[Path, typer.Argument(help="Folder of a run.")],
    at: Annotated[str, typer.Option(metavar="SWITCH:PORT", help="The port by which the packet leaves.")],
    time: Annotated[str, typer.Option(help="The first packet from this time of the run on: 12.5ms.")] = "0ns",
    what: Annotated[Wanted, typer.Option(help="What the packet does there.")] = Wanted.MARK,
    scheme: Annotated[str | None, typer.Option(help="A scheme of the run. Default: the first.")] = None,
    seed: Annotated[int | None, typer.Option(help="A seed of the run. Default: the first.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> None:
    """Find a packet of a run that is over, and tell what each switch did with it, and why.

    The run is not recorded: it is run again up to that packet, which gives the same packets.
    """
    cell = stored_cell(folder, scheme, seed)
    port = find_port(cell.experiment.network, at)
    found = explained(cell, FromTheStart(cell), port, parse_time(time), what)
    console = Console(highlight=False, markup=False, soft_wrap=True)
    if as_json:
        console.print(json.dumps(found.to_plain()))
        return
    for line in lines(found):
        console.print(line)
