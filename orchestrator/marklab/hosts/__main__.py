# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs scripts through simulated hosts and Linux or ns-2: `python -m marklab.hosts [NAME or FILE.yaml ...]`."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Annotated, Any

import typer

from marklab.errors import BadInput, MarklabError, SetupError, unknown
from marklab.hosts import linux, ns2, page
from marklab.hosts.causes import Difference, known_differences, unexplained
from marklab.hosts.comparison import CaseCompared
from marklab.hosts.generation import random_cases
from marklab.hosts.recording import RECORDING, Recording, write_recording
from marklab.hosts.run import Both, against, through_both, through_ns2
from marklab.hosts.script import CONTROLS, Case, cases, read_script, written_scripts
from marklab.paths import require_tree

# Simulated hosts are compared with these, as they were recorded.
_LINUX, _NS_2 = "linux", "ns-2"
_TITLES = {_LINUX: "Linux", _NS_2: ns2.RELEASE}
_RECORDINGS = {_LINUX: RECORDING, _NS_2: ns2.RECORDING}
# More comparisons than this are not shown round trip by round trip.
_SHOWN = 12


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare; gives the exit code."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(_main)
    try:
        return app(arguments, prog_name="python -m marklab.hosts", standalone_mode=False) or 0
    except typer.TyperException as error:
        sys.stderr.write(f"error: {error.format_message()}\n  try: python -m marklab.hosts --help\n")
        return 2


def _main(  # noqa: PLR0913 - one argument per option of the command line
    scripts: Annotated[
        list[str] | None, typer.Argument(metavar="SCRIPT", help="KIND/NAME, with `*`, or FILE.yaml; all if left out.")
    ] = None,
    *,
    transports: Annotated[list[str] | None, typer.Option("--transport", help="Only these.")] = None,
    random: Annotated[int, typer.Option(help="So many random scripts beside them.")] = 0,
    seed: Annotated[int, typer.Option(help="Of the random scripts.")] = 1,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting of simulated hosts.")
    ] = None,
    other: Annotated[str, typer.Option("--against", help=f"{_LINUX}, or {_NS_2}, which has fewer scripts.")] = _LINUX,
    is_recorded: Annotated[
        bool, typer.Option("--record", help="Write the tables of docs/hosts.md, and what the other did.")
    ] = False,
    is_offline: Annotated[
        bool, typer.Option("--offline", help="Compare with what the other did when it was recorded.")
    ] = False,
) -> int:
    """Run scripts through simulated hosts and Linux or ns-2, and compare them round trip by round trip."""
    try:
        if is_recorded and (scripts or transports):
            raise BadInput(
                "`--record` is of all scripts and transports", "leave out what chooses among them, or --record"
            )
        if is_recorded:
            require_tree("the page of comparisons")
        chosen = _chosen(scripts or [], transports or list(CONTROLS)) + random_cases(random, seed)
        changed = _settings(settings or [])
        if other == _NS_2:
            chosen = [case for case in chosen if ns2.can_run(case)]
            changed = {**ns2.SETTINGS, **changed}
        begin = time.monotonic()
        both = _through(other, chosen, changed, is_offline=is_offline)
        if both is None:
            return 0
        if is_recorded and not is_offline:
            unsteady = [each.case for each in both.compared if each.is_unsteady]
            release = ns2.RELEASE if other == _NS_2 else None
            write_recording(both.linux.values(), unsteady, _RECORDINGS[other], release)
        return _report(other, both.compared, time.monotonic() - begin, is_recorded=is_recorded)
    except MarklabError as error:
        sys.stderr.write(f"error: {error}\n" + (f"  try: {error.remedy}\n" if error.remedy else ""))
        return error.exit_code


def _through(other: str, chosen: Sequence[Case], changed: dict[str, Any], *, is_offline: bool) -> Both | None:
    """Run through both; where this machine lacks something, say so."""
    if other not in _RECORDINGS:
        raise unknown("other hosts", other, _RECORDINGS)
    if is_offline:
        return against(Recording(_RECORDINGS[other]), chosen, changed, _TITLES[other])
    try:
        if other == _NS_2:
            return through_ns2(chosen, changed)
        linux.check()
        return through_both(chosen, changed, lambda text: print(text, file=sys.stderr))  # noqa: T201 - the progress
    except SetupError as error:
        sys.stdout.write(f"skipped: {error}\n  try: {error.remedy or '--offline'}\n")
        return None


def _chosen(names: Sequence[str], transports: Sequence[str]) -> list[Case]:
    for transport in transports:
        if transport not in CONTROLS:
            raise unknown("transport", transport, CONTROLS)
    written = written_scripts()
    found = {}
    for name in names:
        if name.endswith((".yaml", ".yml")):
            found[Path(name).stem] = read_script(Path(name))
            continue
        matching = {known: script for known, script in written.items() if fnmatch(known, name)}
        if not matching:
            raise unknown("script", name, written)
        found |= matching
    return cases((found if names else written).items(), transports)


def _settings(texts: Sequence[str]) -> dict[str, Any]:
    pairs = [text.partition("=") for text in texts]
    for text, (name, separator, value) in zip(texts, pairs, strict=True):
        if not (name and separator and value):
            raise BadInput(f"`{text}` is no setting", "--set min_rto=10ms")
    return {name: value for name, _, value in pairs}


def _tables(other: str, compared: Sequence[CaseCompared], differences: Sequence[Difference]) -> dict[str, str]:
    """The tables of docs/hosts.md, by name."""
    found = page.of_differences(compared, differences)
    if other == _NS_2:
        return {"kinds, ns-2": page.by_kind(compared), "differences, ns-2": found}
    return {"kinds": page.by_kind(compared), "quantities": page.by_quantity(compared), "differences": found}


def _report(other: str, compared: Sequence[CaseCompared], seconds: float, *, is_recorded: bool) -> int:
    different = [each for each in compared if not each.same]
    in_full = compared if len(compared) <= _SHOWN else different if len(different) <= _SHOWN else []
    for each in in_full:
        sys.stdout.write(page.side_by_side(each) + "\n\n")
    if not in_full and different:
        sys.stdout.write("different:\n" + "".join(f"  {each.case}\n" for each in different) + "\n")
    differences = known_differences(ns2.DIFFERENCES) if other == _NS_2 else known_differences()
    tables = _tables(other, compared, differences)
    sys.stdout.write("\n".join(tables.values()))
    left = unexplained(compared, differences)
    never = [each for each in compared if each.never]
    for each in never:
        sys.stdout.write(
            f"\n{each.case}: not all of its events happened:\n" + "".join(f"  {text}\n" for text in each.never)
        )
    sys.stdout.write(f"\n{len(compared)} scripts in {seconds:.0f} s; {len(left)} differ without a known cause\n")
    if is_recorded:
        page.record(tables)
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
