# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes a sweep as a table or as plain data. It computes nothing."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from marklab.results.collection import Collection, Point
from marklab.results.metric import HEADLINE
from marklab.results.summary import Estimates, SchemeResult

_NUMBER_WIDTH = 13  # 123,456 (0.99)
_WIDEST_LABEL = 30

# Most lines of a kind that are printed.
_MOST_LINES = 10


def print_sweep(collection: Collection, console: Console) -> None:
    """Print the results of each scheme at each point, then doubts and failed cells."""
    width = max([len(label) for point in collection.points for label in point.summary.schemes], default=0)
    label_width = min(width, _WIDEST_LABEL)
    # On a narrower terminal lines wrap instead of losing numbers.
    console.width = max(console.width, label_width + len(HEADLINE) * (_NUMBER_WIDTH + 1) + len(" timeouts") + 1)
    for point in collection.points:
        console.print(_table(point, label_width))
    if any(point.summary.baseline for point in collection.points):
        console.print(Text("In brackets: the ratio to the baseline on the same flows.", style="dim"))
    _doubts(collection, console)


def _table(point: Point, label_width: int) -> Table:
    """The table of one point. All points have columns of the same width, so they are easy to compare."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim", title_justify="left")
    table.title, table.title_style = point.label or None, "bold"
    table.add_column("FCT, µs", width=label_width, overflow="fold")
    for name, statistic in HEADLINE:
        table.add_column(f"{name} {statistic}", justify="right", min_width=_NUMBER_WIDTH)
    table.add_column("timeouts", justify="right", width=8)
    for label, result in point.summary.schemes.items():
        table.add_row(label, *_cells(result), f"{result.timeouts:,}")
    return table


def _cells(result: SchemeResult) -> list[str]:
    return [_cell(result.fct_us, result.normalised, name, statistic) for name, statistic in HEADLINE]


def _cell(fct_us: Estimates, normalised: Estimates | None, name: str, statistic: str) -> str:
    value = getattr(fct_us[name], statistic)
    if value is None:
        return "–"
    ratio = getattr(normalised[name], statistic) if normalised else None
    return f"{value:,.0f}" + (f" ({ratio:.2f})" if ratio is not None else "")


def _doubts(collection: Collection, console: Console) -> None:
    warnings = collection.warnings
    for text in warnings[:_MOST_LINES]:
        console.print(Text(f"! {text}", style="bold yellow"))
    if len(warnings) > _MOST_LINES:
        console.print(Text(f"! and {len(warnings) - _MOST_LINES} more, in the report", style="bold yellow"))
    for failed in collection.failed:
        at = "".join(f"{key} {value}, " for key, value in failed.settings.items())
        console.print(Text(f"FAILED: {at}{failed.scheme}, seed {failed.seed}: {failed.error}", style="bold red"))
    for text in collection.damaged:
        console.print(Text(f"DAMAGED: {text}", style="bold red"))
    if collection.missing:
        console.print(Text(f"{collection.missing} cells have not run", style="bold red"))


def to_json(collection: Collection) -> dict[str, Any]:
    """Plain data: each point with its settings and its summary."""
    return {
        "kind": collection.kind,
        "title": collection.title,
        "folder": str(collection.folder),
        "points": [{"settings": dict(point.settings), **point.summary.to_json()} for point in collection.points],
        "failed": [asdict(each) for each in collection.failed],
        "damaged": list(collection.damaged),
        "missing": collection.missing,
        "versions": dict(collection.versions),
    }
