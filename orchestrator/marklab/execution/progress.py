# SPDX-License-Identifier: MIT OR Apache-2.0
"""Signs of life, never on stdout: a bar on a terminal, for sweeps a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from marklab.execution.cells import OnProgress


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


# Between two lines where there is no terminal.
_LINE_EVERY_S = 30


@dataclass(frozen=True)
class Cells:
    """How far a sweep is. `kept` are cells of an earlier start, among those that are done."""

    planned: int
    done: int
    failed: int
    kept: int


OnCells = Callable[[Cells], None]


@contextmanager
def cells_bar(title: str) -> Iterator[OnCells]:
    """Show how far a sweep is and how long it may take, as long as the block runs."""
    console = Console(stderr=True)
    if not (console.is_terminal and sys.stderr.isatty()):
        yield _Lines(title, console)
        return
    wide, tiny = console.width >= 80, console.width < 40
    columns = [
        *([] if tiny else [TextColumn("{task.description}"), BarColumn(bar_width=None if wide else 12)]),
        TextColumn("{task.completed:.0f}/{task.total:.0f} cells{task.fields[failed]}"),
        *([TimeElapsedColumn()] if wide else []),
        *([] if console.width < 30 else [TimeRemainingColumn(elapsed_when_finished=True)]),
    ]
    # Cells take long and differ, so the speed is that of minutes.
    with Progress(*columns, console=console, transient=True, expand=wide, speed_estimate_period=600) as bar:
        task = bar.add_task(title, total=0, failed="")

        def show(cells: Cells) -> None:
            # What is kept from before says nothing about the speed.
            failed = f", {cells.failed} failed" if cells.failed else ""
            bar.update(task, total=cells.planned - cells.kept, completed=cells.done - cells.kept, failed=failed)

        yield show


class _Lines:
    """A line now and then, for logs."""

    def __init__(self, title: str, console: Console) -> None:
        self.title = title
        self.console = console
        self.began_s = self.written_s = time.monotonic()

    def __call__(self, cells: Cells) -> None:
        now_s = time.monotonic()
        if now_s - self.written_s < _LINE_EVERY_S:
            return
        self.written_s = now_s
        new, left = cells.done - cells.kept, cells.planned - cells.done
        left_s = (now_s - self.began_s) / new * left if new else None
        eta = f", {timedelta(seconds=round(left_s))} left" if left_s is not None else ""
        failed = f", {cells.failed} failed" if cells.failed else ""
        self.console.print(f"{self.title}: {cells.done}/{cells.planned} cells{failed}{eta}", soft_wrap=True)
