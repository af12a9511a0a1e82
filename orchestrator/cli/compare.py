"""`compare`: two runs side by side."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from orchestrator import comparison as library
from orchestrator.comparison_report import render, to_junit, to_markdown
from orchestrator.errors import RunFailed
from orchestrator.results import DEFAULT_FOLDER, load_run, new_folder


def compare(
    run_a: Annotated[str, typer.Argument(help="Folder of a run, or its name in results/.")],
    run_b: Annotated[str, typer.Argument(help="The run that is compared with it.")],
    fail_on: Annotated[
        list[str] | None, typer.Option(help="What must not be: 'short.p99 > +5%', 'unfinished > 0'; may be repeated.")
    ] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the comparison to this Markdown file instead.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write the rules to this JUnit XML file instead.")] = None,
    out: Annotated[
        Path, typer.Option(help="Where the folder of the comparison goes.", show_default=False)
    ] = DEFAULT_FOLDER,
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
    texts = {"comparison.md": to_markdown(comparison), "junit.xml": to_junit(comparison)}
    stated = {"comparison.md": markdown, "junit.xml": junit}
    for name, path in stated.items():
        if path is not None:
            _write(path, texts[name])
    if markdown is None and junit is None:
        folder = out / f"compare-{_name(run_a)}-{_name(run_b)}"
        with new_folder(folder) as staging:
            for name, text in texts.items():
                _write(staging / name, text)
        if not as_json:
            Console(highlight=False).print(f"[dim]{folder}[/dim]", soft_wrap=True)
    if comparison.broken:
        raise typer.Exit(1)


def _folder(name: str) -> Path:
    path = Path(name)
    return path if path.exists() or path.is_absolute() else DEFAULT_FOLDER / name


def _name(run: str) -> str:
    folder = _folder(run).resolve()
    return folder.parent.name if folder.is_file() else folder.name


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise RunFailed(f"cannot write {path}: {error.strerror}") from error
