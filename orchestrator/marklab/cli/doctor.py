# SPDX-License-Identifier: MIT OR Apache-2.0
"""`doctor`: the tools and privileges of this machine that the lab can use."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from marklab.doctor.examination import PURPOSES, Resource, examine, lacking
from marklab.errors import unknown


def doctor(
    purpose: Annotated[
        str | None,
        typer.Option("--for", metavar="|".join(PURPOSES), help="Exit with 1 if something is missing for this purpose."),
    ] = None,
    packages: Annotated[
        bool, typer.Option("--packages", help="Print only the Debian packages that are missing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Show what this machine offers, what the lab uses in place of missing tools, and how to get them."""
    if purpose is not None and purpose not in PURPOSES:
        raise unknown("purpose", purpose, PURPOSES)
    findings = examine()
    if packages:
        wanted = (
            [finding for finding in findings if not finding.found] if purpose is None else lacking(findings, purpose)
        )
        sys.stdout.write(" ".join(sorted({package for finding in wanted for package in finding.packages})) + "\n")
        return
    if as_json:
        sys.stdout.write(json.dumps(_plain(findings), indent=2) + "\n")
    else:
        _show(findings, Console(highlight=False))
    if lacking(findings, purpose or "sim"):
        raise typer.Exit(1)


def _plain(findings: Sequence[Resource]) -> dict[str, Any]:
    lacks = {purpose: [finding.name for finding in lacking(findings, purpose)] for purpose in PURPOSES}
    return {"lacks": lacks, "findings": [asdict(finding) for finding in findings]}


def _show(findings: Sequence[Resource], console: Console) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("", "what", "found", "used instead"):
        table.add_column(column, overflow="fold")
    for finding in findings:
        table.add_row(_mark(finding), finding.name, finding.detail, "" if finding.found else finding.instead)
    console.print(table)
    console.print()
    for finding in findings:
        if not finding.found and finding.get:
            console.print(Text.assemble("To have ", (finding.name, "bold"), f": {finding.get}"))
    for purpose in PURPOSES:
        names = ", ".join(finding.name for finding in lacking(findings, purpose))
        state = Text(f"lacks {names}", "bold red") if names else Text("ready", "green")
        console.print(Text.assemble((f"{purpose:9}", "bold"), state))


def _mark(finding: Resource) -> Text:
    if finding.found:
        return Text("✓", "green")
    return Text("✗", "bold red") if finding.needed_for else Text("-", "yellow")
