"""`check --arch tna`: whether Tofino can run a program, and what the program needs of it."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

import typer
from rich.console import Console
from rich.text import Text

from orchestrator import tofino


def check_tofino(program: str, *, as_json: bool) -> None:
    """Say what a program asks of Tofino; exit with 1 if it is too much."""
    path = tofino.find_program(program)
    found = tofino.examine(path)
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
    count = len(found.errors)
    if count:
        limits = "1 limit" if count == 1 else f"{count} limits"
        console.print(Text(f"{name} breaks {limits} of Tofino: see above", style="bold red"))
    else:
        console.print(Text(f"{name} breaks no limit that is checked", style="bold green"))
