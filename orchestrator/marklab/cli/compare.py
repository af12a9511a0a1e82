# SPDX-License-Identifier: MIT OR Apache-2.0
"""`compare`: two results side by side, runs or whole sweeps."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from marklab.comparison import side_by_side as library
from marklab.comparison.policy import Policy, read_policy
from marklab.errors import RunFailed
from marklab.paths import RESULTS
from marklab.report.comparison import print_comparison, to_json, to_junit, to_markdown
from marklab.results.archive import open_collection
from marklab.results.folders import new_folder


def compare(
    base: Annotated[str, typer.Argument(help="Folder of a run or sweep, or its name in results/.")],
    new: Annotated[str, typer.Argument(help="The result that is compared with BASE.")],
    policy: Annotated[
        Path | None, typer.Option(metavar="FILE.yaml", help="Rules, and the evidence needed to call a rule broken.")
    ] = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(help="Condition that fails the comparison: 'short.p99 > +5%', 'unfinished > 0'; repeatable."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Compare results of different versions of the lab.")] = False,
    every_point: Annotated[bool, typer.Option("--all", help="Show every point, not only those that differ.")] = False,
    markdown: Annotated[Path | None, typer.Option(help="Write the comparison to this Markdown file instead.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write the rules to this JUnit XML file instead.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the folder of the comparison.", show_default=False)] = RESULTS,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the table.")] = False,
) -> None:
    """Compare two runs or sweeps, by the rules of both --policy and --fail-on.

    The exit code is 1 if a rule is broken beyond the noise of the seeds, 2 if a file is damaged.
    """
    rules = (read_policy(policy) if policy is not None else Policy()).with_rules(fail_on or [])
    sides = [open_collection(_folder(name)) for name in (base, new)]
    comparison = library.compare(sides[0], sides[1], rules, force=force, names=(base, new))
    plain = json.dumps(to_json(comparison))
    if as_json:
        sys.stdout.write(plain + "\n")
    else:
        print_comparison(comparison, Console(highlight=False), every_point=every_point)
    texts = {"comparison.md": to_markdown(comparison), "junit.xml": to_junit(comparison), "comparison.json": plain}
    stated = {"comparison.md": markdown, "junit.xml": junit}
    for name, path in stated.items():
        if path is not None:
            _write(path, texts[name])
    if markdown is None and junit is None:
        folder = out / f"compare-{_folder(base).resolve().name}-{_folder(new).resolve().name}"
        with new_folder(folder) as staging:
            for name, text in texts.items():
                _write(staging / name, text)
        if not as_json:
            Console(highlight=False).print(f"[dim]{folder}[/dim]", soft_wrap=True)
    if comparison.exit_code:
        raise typer.Exit(comparison.exit_code)


def _folder(name: str) -> Path:
    path = Path(name)
    found = path if path.exists() or path.is_absolute() else RESULTS / name
    return found.parent if found.is_file() else found


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise RunFailed(f"cannot write {path}: {error.strerror}") from error
