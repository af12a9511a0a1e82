# SPDX-License-Identifier: MIT OR Apache-2.0
"""`explain`: one packet of a run, step by step."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from marklab.errors import BadInput
from marklab.fabrics import Cell
from marklab.fabrics.traced import find_port
from marklab.playback.again import packet_test
from marklab.playback.capture import write_capture
from marklab.playback.explain import Explained, FromTheStart, lines
from marklab.playback.explain import explain as explained
from marklab.playback.questions import Wanted
from marklab.playback.stored import stored_cell
from marklab.promotion.beside import Beside, beside
from marklab.topology import Port
from marklab.units import parse_time


def explain(
    folder: Annotated[Path, typer.Argument(help="Folder of a run.")],
    at: Annotated[str, typer.Option(metavar="SWITCH:PORT", help="The port by which the packet leaves.")],
    time: Annotated[str, typer.Option(help="The first packet from this time of the run on: 12.5ms.")] = "0ns",
    what: Annotated[Wanted, typer.Option(help="What the packet does there.")] = Wanted.MARK,
    scheme: Annotated[str | None, typer.Option(help="A scheme of the run. Default: the first.")] = None,
    seed: Annotated[int | None, typer.Option(help="A seed of the run. Default: the first.")] = None,
    count: Annotated[int, typer.Option(min=1, max=1000, help="So many such packets, one after the other.")] = 1,
    twin: Annotated[bool, typer.Option("--twin", help="Tell what the scheme's twin for Tofino decides, too.")] = False,
    stf: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the packet as a packet test.")] = None,
    pcap: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the packets as pcapng, with the reasons as comments.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> None:
    """Find a packet of a run that is over, and tell what each switch did with it, and why.

    The run is not recorded: it is run again up to that packet, which gives the same packets.
    """
    if count > 1 and stf is not None:
        raise BadInput("a packet test has one packet", "leave out --count, or --stf")
    cell = stored_cell(folder, scheme, seed)
    port = find_port(cell.experiment.network, at)
    found = list(_packets(cell, port, parse_time(time), what, count))
    besides = [_beside(cell, port, each) for each in found] if twin else []
    _write(cell, port, found, stf, pcap)
    console = Console(highlight=False, markup=False, soft_wrap=True)
    if as_json:
        plain = [each.to_plain() for each in found]
        for told, other in zip(plain, besides, strict=False):
            told["twin"] = other.to_plain()
        console.print(json.dumps(plain[0] if count == 1 else {"packets": plain}))
        return
    for number, each in enumerate(found):
        if number:
            console.print("\n")
        for line in lines(each):
            console.print(line)
        for line in besides[number].lines() if besides else ():
            console.print(line)
    if len(found) < count:
        console.print(f"\nThere are no more: {len(found)} of {count} packets.")


def _packets(cell: Cell, at: Port, from_ns: int, what: Wanted, count: int) -> Iterator[Explained]:
    """The next packets that do what is wanted. Raises BadInput if there is none."""
    past = FromTheStart(cell)
    for number in range(count):
        try:
            found = explained(cell, past, at, from_ns, what)
        except BadInput:
            if number:
                return
            raise
        yield found
        from_ns = found.time_ns + 1


def _beside(cell: Cell, at: Port, found: Explained) -> Beside:
    """The twin's decision at the port."""
    if found.wanted is Wanted.LOSS:
        raise BadInput(
            "a lost packet did not leave, and the twin is told when packets leave", "--what mark, or departure"
        )
    return beside(cell, at, found.time_ns)


def _write(cell: Cell, at: Port, found: Sequence[Explained], stf: Path | None, pcap: Path | None) -> None:
    if stf is not None:
        node = cell.experiment.network.graph.names[at.node]
        text = packet_test(cell, found[0].way, node)
        try:
            stf.write_text(text, encoding="utf-8")
        except OSError as error:
            raise BadInput(f"cannot write {stf}: {error.strerror}", "another file") from error
    if pcap is not None:
        write_capture(pcap, found)
