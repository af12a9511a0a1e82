# SPDX-License-Identifier: MIT OR Apache-2.0
"""`promote`: takes a scheme through all gates, to a bundle for Tofino."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from marklab.catalog.choice import SchemeChoice
from marklab.catalog.scheme import find_scheme, known_schemes
from marklab.catalog.twin import CHIPS, Arch, known_twins, twin_spec
from marklab.errors import BadInput, unknown
from marklab.execution.cells import default_workers
from marklab.paths import PROMOTED
from marklab.promotion.bundle import plain_gate, write_bundle
from marklab.promotion.candidate import Candidate, candidate
from marklab.promotion.gates import Gate, gates, in_the_way
from marklab.promotion.policy import Policy, read_policy
from marklab.promotion.rules import Outcome
from marklab.spec.settings import chosen_schemes


def promote(
    scheme: Annotated[
        str | None, typer.Option("--scheme", "-s", metavar="SCHEME", help="NAME, NAME:PRESET or NAME:param=value,...")
    ] = None,
    param: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Parameter of the scheme; repeatable.")
    ] = None,
    all_: Annotated[
        bool, typer.Option("--all", help="Take all schemes through all gates; print a table, write no bundles.")
    ] = False,
    arch: Annotated[str, typer.Option(metavar="NAME", help="tna (Tofino), or t2na (Tofino 2).")] = "tna",
    policy: Annotated[
        Path | None, typer.Option(metavar="FILE.yaml", help="Rules of the gates. Default: the lab's own policy.yaml.")
    ] = None,
    results: Annotated[
        list[Path] | None,
        typer.Option(metavar="FOLDER", help="Use the FCTs of this run instead of running it; repeatable."),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for the bundle.")] = PROMOTED,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome of the gates as one JSON object.")] = False,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", min=1, metavar="N", help="Cells in parallel.")] = None,
) -> None:
    """Take a scheme through the gates: FCT, equivalence of its twin, limits of the chip, and p4c if installed."""
    rules = read_policy(policy)
    if arch not in CHIPS:
        raise unknown("architecture to promote to:", arch, CHIPS)
    workers = jobs or default_workers()
    if all_ == (scheme is not None):
        raise BadInput("promote takes either one scheme or all", "--scheme NAME, or --all")
    if all_ and results:
        raise BadInput("--results needs one scheme, not --all", "--scheme NAME")
    if all_:
        _all(rules, workers, arch, as_json)
        return
    (choice,) = chosen_schemes([scheme or ""], param or [])
    passed = _one(candidate(choice, rules.fct, results or [], arch), rules, workers, out, as_json)
    if not passed:
        raise typer.Exit(1)


def _one(one: Candidate, rules: Policy, workers: int, out: Path, as_json: bool) -> bool:
    choice = one.choice
    console = Console(highlight=False, stderr=as_json)
    tried: list[Gate] = []
    for gate in gates(one, rules, workers):
        tried.append(gate)
        _show(gate, console)
        if in_the_way(gate, rules):
            break
    passed = not in_the_way(tried[-1], rules)
    folder = None
    if passed:
        folder = out / choice.label.replace(":", "-").replace("=", "-").replace(",", "-")
        plain = rules.model_dump(mode="json")
        write_bundle(folder, one.ready, one.twin, tried, plain)
        console.print(f"promoted: {folder}", soft_wrap=True)
    else:
        console.print(f"not promoted: {_why(tried[-1])}", style="bold")
    if as_json:
        found = {"scheme": choice.label, "promoted": passed, "bundle": str(folder) if folder else None}
        sys.stdout.write(json.dumps(found | {"gates": [plain_gate(gate) for gate in tried]}) + "\n")
    return passed


# The outcome of a finding in a gate's table.
_FULFILLED = {Outcome.PASSED: "yes", Outcome.FAILED: "[bold]no[/bold]", Outcome.NOT_SHOWN: "[bold]not shown[/bold]"}


def _show(gate: Gate, console: Console) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for finding in gate.findings:
        table.add_row(f"  {_FULFILLED[finding.outcome]}", finding.rule, finding.found)
    because = "" if gate.skipped is None else f": {gate.skipped}"
    console.print(f"[bold]{gate.name}[/bold] {gate.outcome.value}{because}")
    if gate.findings:
        console.print(table)


def _why(gate: Gate) -> str:
    return f"{gate.name} {gate.outcome.value}: {gate.reason}"


def _all(rules: Policy, workers: int, arch: Arch, as_json: bool) -> None:
    rows: dict[str, Sequence[Gate] | str] = {}
    for name in known_schemes():
        if name not in known_twins():
            spec = find_scheme(SchemeChoice(name)).spec
            rows[name] = (spec and spec.no_twin) or "it has no twin yet"
            continue
        try:
            twin_spec(name, arch)
        except BadInput as refused:
            rows[name] = str(refused)
            continue
        rows[name] = list(gates(candidate(SchemeChoice(name), rules.fct, arch=arch), rules, workers))
    if as_json:
        sys.stdout.write(json.dumps({name: _plain_row(row) for name, row in rows.items()}) + "\n")
        return
    console = Console(highlight=False)
    names = list(dict.fromkeys(gate.name for row in rows.values() if not isinstance(row, str) for gate in row))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("scheme", *names, ""):
        table.add_column(title, overflow="fold")
    for name, row in rows.items():
        if isinstance(row, str):
            table.add_row(name, *("-" for _ in names), f"no twin: {row}")
            continue
        barring = next((gate for gate in row if in_the_way(gate, rules)), None)
        table.add_row(name, *(gate.outcome.value for gate in row), "promotable" if barring is None else _why(barring))
    console.print(table)


def _plain_row(row: Sequence[Gate] | str) -> Any:
    return {"no_twin": row} if isinstance(row, str) else [plain_gate(gate) for gate in row]
