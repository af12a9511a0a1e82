# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs scenarios here and in ns-3: `python -m marklab.ns3 [NAME or FILE.yaml ...] [--record] [--again]`.

Of kept lists (`kept`), only the lab's side is run, so ns-3 need not be there; `--again` runs ns-3 too, and keeps that.
`--missing` does so only for seeds that are not kept yet.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from marklab.errors import BadInput, MarklabError, unknown
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
    is_missing: Annotated[
        bool, typer.Option("--missing", help="Run ns-3 on the seeds that kept lists do not have.")
    ] = False,
    is_recorded: Annotated[
        bool, typer.Option("--record", help=f"Write the tables into {PAGE.relative_to(REPOSITORY)}.")
    ] = False,
) -> int:
    """Run the same flows here and in ns-3."""
    try:
        paths = [_path(name) for name in scenarios or (*known_scenarios(), *kept.known_lists())]
        lists = [path for path in paths if path in kept.known_lists().values()]
        if is_again and is_missing:
            raise BadInput("--again runs all seeds, and --missing only some", "one of them")
        _with_ns3([path for path in paths if path not in lists], is_recorded)
        if is_again or is_missing:
            _keep(lists, is_missing)
        for path in lists:
            tables = agreement_tables(path.stem, agree(*_kept(path)))
            _show(path, tables, is_recorded)
    except MarklabError as error:
        sys.stderr.write(f"error: {error}\n" + (f"  try: {error.remedy}\n" if error.remedy else ""))
        return error.exit_code
    return 0


def _with_ns3(paths: Sequence[Path], is_recorded: bool) -> None:
    """Run scenarios that need ns-3, if it is there."""
    if program := _program() if paths else None:
        for path in paths:
            _show(path, {path.stem: table(compare(read_scenario(path), program))}, is_recorded)


def _keep(paths: Sequence[Path], is_missing: bool) -> None:
    """Run ns-3 on lists, and keep its results."""
    if program := _program() if paths else None:
        for path in paths:
            scenario, results = read_scenario(path), kept.results_path(path)
            known = kept.read(results, scenario, is_partial=True) if is_missing else {}
            kept.write(results, scenario, kept.run_ns3(scenario, program, _progress, known))


def _program() -> Path | None:
    """The program that runs ns-3; None if ns-3 is not there, which is said."""
    if absent := peer.missing():
        sys.stdout.write(f"skipped: not found: {', '.join(absent)}\n  try: {peer.REMEDY}\n")
        return None
    require_tree("the program that links ns-3")
    return peer.build()


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
