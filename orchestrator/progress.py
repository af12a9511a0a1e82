"""The progress bar: flows finished in all cells, time left. Only on a terminal, and never on stdout."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from orchestrator.runs import OnProgress


@contextmanager
def progress_bar(title: str, total: int) -> Iterator[OnProgress]:
    """Show how many of `total` flows have finished, as long as the block runs."""
    console = Console(stderr=True)
    if not (console.is_terminal and sys.stderr.isatty()):
        yield lambda _: None
        return
    wide, tiny = console.width >= 80, console.width < 40
    columns = [
        *([] if tiny else [TextColumn("{task.description}"), BarColumn(bar_width=None if wide else 16)]),
        TaskProgressColumn(),
        *([TextColumn("{task.completed:,.0f}/{task.total:,.0f} flows"), TimeElapsedColumn()] if wide else []),
        *([] if console.width < 13 else [TimeRemainingColumn()]),
    ]
    with Progress(*columns, console=console, transient=True, expand=wide) as bar:
        task = bar.add_task(title, total=total)
        yield lambda finished: bar.update(task, completed=finished)
