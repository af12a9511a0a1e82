# SPDX-License-Identifier: MIT OR Apache-2.0
"""`stf`: packet tests of any P4 program, and the trace of a packet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from marklab.errors import BadInput
from marklab.p4tools.stf import diff, trace
from marklab.p4tools.stf.device import Device, Exchange
from marklab.p4tools.stf.runner import Complaint, Outcome, Verdict, compiled, run_pair
from marklab.p4tools.stf.statements import Packet
from marklab.playback.explain import Lines, in_words

_STYLES = {Verdict.PASSED: "green", Verdict.FAILED: "bold red", Verdict.UNSUPPORTED: "yellow"}


def stf(
    program: Annotated[Path, typer.Argument(help="A P4 program, or a folder of pairs NAME.p4 and NAME.stf.")],
    tests: Annotated[
        list[Path] | None, typer.Argument(help="Tests, or folders of tests. Default: NAME.stf beside the program.")
    ] = None,
    show_trace: Annotated[bool, typer.Option("--trace", help="Show what the program does with each packet.")] = False,
    packet: Annotated[
        str | None, typer.Option(help="Send this packet (hexadecimal) instead, and show the resulting packets.")
    ] = None,
    port: Annotated[int, typer.Option(help="The port on which --packet arrives.")] = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object with the results instead of text.")
    ] = False,
) -> None:
    """Run packet tests in STF on the interpreter and on the JIT; exit with 1 if one fails.

    A packet that is not as expected is shown field by field, with the trace of the packet that caused it.
    """
    console = Console(highlight=False, soft_wrap=True)
    if packet is not None:
        _send(program, packet, port, console, show_trace)
        return
    pairs = list(_pairs(program, tests or []))
    if as_json:
        outcomes = [run_pair(*pair, trace=True) for pair in pairs]
        typer.echo(json.dumps({"tests": [_plain(outcome) for outcome in outcomes]}))
        if any(outcome.verdict is not Verdict.PASSED for outcome in outcomes):
            raise typer.Exit(1)
        return
    # A test that cannot run ends the command only if it is the only one.
    outcomes = [_run(*pair, console, show_trace, alone=len(pairs) == 1) for pair in pairs]
    if len(outcomes) > 1:
        counts = {verdict: sum(outcome.verdict is verdict for outcome in outcomes) for verdict in Verdict}
        console.print(Text(", ".join(f"{count} {verdict.value}" for verdict, count in counts.items()), style="bold"))
    if any(outcome.verdict is not Verdict.PASSED for outcome in outcomes):
        raise typer.Exit(1)


def _plain(outcome: Outcome) -> dict[str, Any]:
    """An outcome for programs: what the interpreter did with each packet, in words."""
    exchanges = outcome.report.exchanges if outcome.report else []
    complaints = outcome.report.complaints if outcome.report else []
    code = Lines()
    return {
        "test": str(outcome.test),
        "verdict": outcome.verdict.value,
        "message": outcome.message,
        "complaints": [{"line": each.line, "text": each.text} for each in complaints],
        "packets": [
            {
                "line": each.packet.line,
                "port": each.packet.port,
                "sent": [[port, data.hex()] for port, data in each.frames],
                "losses": each.losses,
                **in_words(each.events, code),
            }
            for each in exchanges
        ],
    }


def _pairs(program: Path, tests: list[Path]) -> Iterator[tuple[Path, Path]]:
    if program.is_dir():
        found = sorted(path for path in program.rglob("*.stf") if path.with_suffix(".p4").exists())
        if not found or tests:
            raise BadInput(f"{program} has no pairs NAME.p4 and NAME.stf", "name a program and its tests")
        yield from ((path.with_suffix(".p4"), path) for path in found)
        return
    for test in tests or [program.with_suffix(".stf")]:
        own = sorted(test.glob("*.stf")) if test.is_dir() else [test]
        if not own:
            raise BadInput(f"there are no tests NAME.stf in {test}", "name the tests, or the folder that holds them")
        for path in (program, *own):
            if not path.is_file():
                raise BadInput(f"there is no file {path}")
        yield from ((program, path) for path in own)


def _run(program: Path, test: Path, console: Console, show_trace: bool, *, alone: bool) -> Outcome:
    try:
        outcome = run_pair(program, test, trace=show_trace)
    except BadInput as error:
        if alone:
            raise
        outcome = Outcome(program, test, Verdict.UNSUPPORTED, str(error))
    if show_trace and outcome.report:
        for exchange in outcome.report.exchanges:
            console.print(Text(f"line {exchange.packet.line}: packet", style="bold"))
            _show(exchange, console)
    head = Text.assemble((outcome.verdict.value, _STYLES[outcome.verdict]), f" {test}")
    if outcome.verdict is not Verdict.PASSED:
        head.append(f": {outcome.message}")
    console.print(head)
    if outcome.verdict is Verdict.FAILED and outcome.report:
        _explain(outcome.report.complaints, console, show_trace)
    return outcome


def _explain(complaints: list[Complaint], console: Console, traced: bool) -> None:
    shown: set[int] = set()
    for complaint in complaints:
        console.print(Text(f"line {complaint.line}: {complaint.text}", style="bold"))
        for line in diff.lines(complaint):
            console.print(Text(line, style="red" if line.startswith("  ->") else ""))
        exchange = complaint.exchange
        if exchange and not traced and exchange.packet.line not in shown:
            shown.add(exchange.packet.line)
            console.print(Text(f"  trace of the packet of line {exchange.packet.line}:", style="dim"))
            _show(exchange, console)


def _show(exchange: Exchange, console: Console) -> None:
    for line in trace.lines(exchange):
        console.print(Text(f"    {line}"))


def _send(program: Path, digits: str, port: int, console: Console, show_trace: bool) -> None:
    try:
        frame = bytes.fromhex(digits)
    except ValueError as error:
        raise BadInput(f"`{digits}` is not a packet", "write its bytes in hexadecimal") from error
    exchange = Device(compiled(program, interpret=True), trace=True).send(Packet(0, port, frame))
    story = list(trace.lines(exchange))
    for line in story if show_trace else story[-max(1, len(exchange.frames) + len(exchange.losses)) :]:
        console.print(Text(line))
