# SPDX-License-Identifier: MIT OR Apache-2.0
"""The table that a report begins with: of each point and scheme the numbers that the papers compare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from marklab.comparison.differences import Verdict, judge
from marklab.report.grid import Grid
from marklab.report.terminal import with_interval
from marklab.results.quantities import find_metric
from marklab.results.summary import SchemeResult

_FCT = (
    ("overall", "mean", "all, mean"),
    ("short", "mean", "≤ 100 KB, mean"),
    ("short", "p99", "≤ 100 KB, p99"),
    ("large", "mean", "> 10 MB, mean"),
)
_COUNTS: tuple[tuple[str, Callable[[SchemeResult], int]], ...] = (
    ("timeouts", lambda result: result.timeouts),
    ("drops", lambda result: result.drops.total),
    ("unfinished", lambda result: result.unfinished),
)


@dataclass(frozen=True)
class Number:
    """A number as text, its ratio to the baseline's, and what that says."""

    text: str
    ratio: str = ""
    verdict: Verdict = Verdict.UNCLEAR
    bad: bool = False


@dataclass(frozen=True)
class Row:
    """A scheme."""

    scheme: str
    is_baseline: bool
    seeds: int
    numbers: tuple[Number, ...]


@dataclass(frozen=True)
class KeyNumbers:
    """Rows by point, whose label is empty where there is one point only."""

    fct_columns: tuple[str, ...]
    count_columns: tuple[str, ...]
    points: tuple[tuple[str, tuple[Row, ...]], ...]


def key_numbers(grid: Grid) -> KeyNumbers:
    """The table of a collection."""
    points = tuple(
        (
            point.label,
            tuple(
                _row(point.summary.schemes[scheme], scheme == grid.baseline)
                for scheme in grid.schemes
                if scheme in point.summary.schemes
            ),
        )
        for point in grid.points
    )
    return KeyNumbers(tuple(name for *_, name in _FCT), tuple(name for name, _ in _COUNTS), points)


def _row(result: SchemeResult, is_baseline: bool) -> Row:
    fct = [_fct(result, size_class, statistic) for size_class, statistic, _ in _FCT]
    counts = [Number(f"{of(result):,}", bad=name == "unfinished" and of(result) > 0) for name, of in _COUNTS]
    return Row(result.label, is_baseline, len(result.seeds), (*fct, *counts))


def _fct(result: SchemeResult, size_class: str, statistic: str) -> Number:
    estimate = result.fct_us[size_class]
    text = with_interval(getattr(estimate, statistic), getattr(estimate.ci95, statistic), "{:,.0f}")
    relative = (result.normalised or {}).get(size_class)
    value = getattr(relative, statistic, None)
    if relative is None or value is None:
        return Number(text)
    interval = getattr(relative.ci95, statistic)
    worse = find_metric(f"{size_class}.{statistic}").worse
    verdict = Verdict.UNCLEAR if interval is None else judge(interval, 1, worse)
    return Number(text, with_interval(value, interval, "{:.3f}"), verdict)
