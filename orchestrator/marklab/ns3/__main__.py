# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs scenarios here and in ns-3: `python -m marklab.ns3 [NAME or FILE.yaml ...] [--record]`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from marklab.errors import MarklabError, unknown
from marklab.ns3 import peer
from marklab.ns3.comparison import compare
from marklab.ns3.page import PAGE, record, table
from marklab.ns3.scenario import known_scenarios, read_scenario
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
    is_recorded: Annotated[
        bool, typer.Option("--record", help=f"Write the tables into {PAGE.relative_to(REPOSITORY)}.")
    ] = False,
) -> int:
    """Run the same flows here and in ns-3."""
    if absent := peer.missing():
        sys.stdout.write(f"skipped: not found: {', '.join(absent)}\n  try: {peer.REMEDY}\n")
        return 0
    try:
        require_tree("the program that links ns-3")
        _compare(scenarios or list(known_scenarios()), is_recorded)
    except MarklabError as error:
        sys.stderr.write(f"error: {error}\n" + (f"  try: {error.remedy}\n" if error.remedy else ""))
        return error.exit_code
    return 0


def _compare(names: Sequence[str], is_recorded: bool) -> None:
    paths = [_path(name) for name in names]
    program = peer.build()
    for path in paths:
        scenario = read_scenario(path)
        text = table(compare(scenario, program))
        sys.stdout.write(f"{path.stem}: {scenario.title}\n\n{text}\n")
        sys.stdout.flush()
        if is_recorded:
            record({path.stem: text})


def _path(name: str) -> Path:
    if name.endswith((".yaml", ".yml")):
        return Path(name)
    known = known_scenarios()
    if name not in known:
        raise unknown("scenario", name, known)
    return known[name]


if __name__ == "__main__":
    sys.exit(main())
