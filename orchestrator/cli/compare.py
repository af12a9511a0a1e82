"""`compare`: two runs side by side."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from orchestrator import compare as library
from orchestrator.comparison_report import render, to_junit, to_markdown
from orchestrator.errors import RunFailed
from orchestrator.results import DEFAULT_FOLDER, load_run


def compare(
    run_a: Annotated[str, typer.Argument(help="Folder of a run, or its name in results/.")],
    run_b: Annotated[str, typer.Argument(help="The run that is compared with it.")],
    fail_on: Annotated[
        list[str] | None, typer.Option(help="What must not be: 'short.p99 > +5%', 'unfinished > 0'; may be repeated.")
    ] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the comparison to a Markdown file.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write the rules to a JUnit XML file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the table.")] = False,
) -> None:
    """Compare two runs; exit with 1 if a rule of --fail-on is broken beyond the noise of the seeds."""
    rules = [library.parse_rule(text) for text in fail_on or []]
    summaries = [load_run(_folder(name)) for name in (run_a, run_b)]
    comparison = library.compare(summaries[0], summaries[1], rules, (run_a, run_b))
    if as_json:
        sys.stdout.write(json.dumps(library.to_json(comparison)) + "\n")
    else:
        render(comparison, Console(highlight=False))
    for path, text in ((markdown, to_markdown), (junit, to_junit)):
        if path is not None:
            _write(path, text(comparison))
    if comparison.broken:
        raise typer.Exit(1)


def _folder(name: str) -> Path:
    path = Path(name)
    return path if path.exists() or path.is_absolute() else DEFAULT_FOLDER / name


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise RunFailed(f"cannot write {path}: {error.strerror}") from error
