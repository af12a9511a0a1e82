# SPDX-License-Identifier: MIT OR Apache-2.0
"""`check --arch tna`: whether Tofino can run a program, and which of its resources the program needs."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

import typer
from rich.console import Console
from rich.text import Text

from marklab.catalog.twin import CHIPS, Arch, chip_number, known_twins, twin_spec
from marklab.p4tools import tofino

# Columns of the table of stages, and the field of a stage that each column shows.
_COLUMNS = {
    "logical": "logical_tables",
    "gateways": "gateways",
    "ALUs": "stateful_alus",
    "SRAM": "sram",
    "TCAM": "tcam",
    "map RAM": "map_ram",
    "hash bits": "hash_bits",
}


def check_tofino(program: str, arch: Arch, *, as_json: bool) -> None:
    """Show the resources that a program needs on Tofino; exit with 1 if it breaks a limit."""
    path = tofino.find_program(program)
    if program in known_twins():
        twin_spec(program, arch)
    found = tofino.examine(path, [("MARKLAB_CHIP", str(chip_number(CHIPS[arch])))])
    if as_json:
        sys.stdout.write(json.dumps(asdict(found)) + "\n")
    else:
        _show(path.name, found, Console(highlight=False))
    if found.errors:
        raise typer.Exit(1)


def _show(name: str, found: tofino.Examination, console: Console) -> None:
    for text in (found.warnings, *(message.rendering for message in found.messages)):
        if text:
            console.print(Text(text.rstrip()), soft_wrap=True)
    for line in _stages(found.estimate):
        console.print(line, soft_wrap=True)
    for label, fact in _facts(found.estimate):
        console.print(Text.assemble((f"{label:10}", "dim"), fact), soft_wrap=True)
    count = len(found.errors)
    if count:
        limits = "1 limit" if count == 1 else f"{count} limits"
        console.print(Text(f"{name} breaks {limits} of Tofino: see above", style="bold red"))
    else:
        console.print(Text(f"{name} breaks no limit that is checked", style="bold green"))


def _stages(estimate: tofino.ChipEstimate) -> list[Text]:
    """A line per stage. The tables come last and are not wrapped, as they can be long."""

    def line(label: str, of: tofino.StageUse | tofino.Total, tables: str, style: str = "") -> Text:
        numbers = (f"{getattr(of, field):>{len(column)}}" for column, field in _COLUMNS.items())
        return Text("  ".join((f"{label:>5}", *numbers, tables)), style=style)

    lines = [Text("  ".join(("stage", *_COLUMNS, "tables")), style="dim")]
    lines += [line(str(use.stage), use, ", ".join(dict.fromkeys(use.tables))) for use in estimate.by_stage]
    return [*lines, line("all", estimate.total, f"{estimate.total.tables} of the program", "bold")]


def _facts(estimate: tofino.ChipEstimate) -> list[tuple[str, str]]:
    vector = estimate.vector
    bits = vector.headers + vector.metadata + vector.intrinsic
    parts = f"{vector.headers} of headers, {vector.metadata} of metadata, {vector.intrinsic} intrinsic"
    registers = ", ".join(
        f"{arrays.arrays} of {arrays.bits} bits ({arrays.elements} elements)" for arrays in estimate.registers
    )
    return [
        ("stages", f"{estimate.stages_used} of {estimate.stages}, {estimate.stages_by_dependencies} by dependencies"),
        ("chain", ", ".join(estimate.longest_chain) or "none"),
        ("registers", registers or "none"),
        ("vector", f"{bits} of {vector.available} bits: {parts}"),
    ]
