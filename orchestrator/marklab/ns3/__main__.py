# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs scenarios here and in ns-3: `python -m marklab.ns3 [NAME or FILE.yaml ...] [--record] [--again]`.

Of kept lists (`kept`), only the lab's side is run, so ns-3 need not be there; `--again` runs ns-3 too, and keeps that.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from marklab.errors import MarklabError, unknown
from marklab.ns3 import kept, peer
from marklab.ns3.agreement import agree
from marklab.ns3.comparison import compare
from marklab.ns3.page import PAGE, agreement_tables, record, table
from marklab.ns3.scenario import Scenario, known_scenarios, read_scenario
from marklab.paths import REPOSITORY, require_tree


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare; gives the exit code."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(_main)
    try:
        return app(arguments, prog_name="python -m marklab.ns3", standalone_mode=False) or 0
    except typer.TyperException as error:
        sys.stderr.write(f"error: {error.format_message()}\n  try: python -m marklab.ns3 --help\n")
        return 2


def _main(
    scenarios: Annotated[
        list[str] | None, typer.Argument(metavar="SCENARIO", help="A name, or FILE.yaml; all of them if left out.")
    ] = None,
    is_again: Annotated[bool, typer.Option("--again", help="Run ns-3 on kept lists again.")] = False,
    is_recorded: Annotated[
        bool, typer.Option("--record", help=f"Write the tables into {PAGE.relative_to(REPOSITORY)}.")
    ] = False,
) -> int:
    """Run the same flows here and in ns-3."""
    try:
        paths = [_path(name) for name in scenarios or (*known_scenarios(), *kept.known_lists())]
        lists = [path for path in paths if path in kept.known_lists().values()]
        _with_ns3(paths if is_again else [path for path in paths if path not in lists], is_recorded)
        for path in lists:
            tables = agreement_tables(path.stem, agree(*_kept(path)))
            _show(path, tables, is_recorded)
    except MarklabError as error:
        sys.stderr.write(f"error: {error}\n" + (f"  try: {error.remedy}\n" if error.remedy else ""))
        return error.exit_code
    return 0


def _with_ns3(paths: Sequence[Path], is_recorded: bool) -> None:
    """Run what needs ns-3, if it is there."""
    if not paths:
        return
    if absent := peer.missing():
        sys.stdout.write(f"skipped: not found: {', '.join(absent)}\n  try: {peer.REMEDY}\n")
        return
    require_tree("the program that links ns-3")
    program = peer.build()
    for path in paths:
        scenario = read_scenario(path)
        if path in kept.known_lists().values():
            kept.write(kept.results_path(path), scenario, kept.run_ns3(scenario, program, _progress))
        else:
            _show(path, {path.stem: table(compare(scenario, program))}, is_recorded)


def _kept(path: Path) -> tuple[Scenario, dict[int, kept.FlowResults]]:
    scenario = read_scenario(path)
    return scenario, kept.read(kept.results_path(path), scenario)


def _progress(seed: int) -> None:
    sys.stderr.write(f"ns-3 has run seed {seed}\n")


def _show(path: Path, tables: Mapping[str, str], is_recorded: bool) -> None:
    texts = "\n".join(tables.values())
    sys.stdout.write(f"{path.stem}: {read_scenario(path).title}\n\n{texts}\n")
    sys.stdout.flush()
    if is_recorded:
        record(tables)


def _path(name: str) -> Path:
    if name.endswith((".yaml", ".yml")):
        return Path(name)
    known = known_scenarios() | kept.known_lists()
    if name not in known:
        raise unknown("scenario", name, known)
    return known[name]


if __name__ == "__main__":
    sys.exit(main())
