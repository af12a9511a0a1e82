# SPDX-License-Identifier: MIT OR Apache-2.0
"""The table at the head of a report: the numbers that papers compare, for each point and scheme."""

from __future__ import annotations

from dataclasses import dataclass

from marklab.comparison.differences import Verdict, judge
from marklab.report.grid import Grid
from marklab.results.metric import HEADLINE, METRICS, with_interval
from marklab.results.summary import SchemeResult

_COUNTS = ("timeouts", "drops", "unfinished")


@dataclass(frozen=True)
class Number:
    """A number as text, its ratio to the baseline's number, and the verdict on the ratio."""

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
    """Rows by point. The label of a point is empty if there is only one."""

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
    return KeyNumbers(tuple(METRICS[f"{group}.{stat}"].title for group, stat in HEADLINE), _COUNTS, points)


def _row(result: SchemeResult, is_baseline: bool) -> Row:
    fct = [_fct(result, group, statistic) for group, statistic in HEADLINE]
    counts = [
        Number(METRICS[name].text(result.seeds), bad=name == "unfinished" and result.unfinished > 0) for name in _COUNTS
    ]
    return Row(result.label, is_baseline, len(result.seeds), (*fct, *counts))


def _fct(result: SchemeResult, group: str, statistic: str) -> Number:
    metric = METRICS[f"{group}.{statistic}"]
    text = metric.text(result.seeds, "no flow")
    relative = (result.normalised or {}).get(group)
    value = getattr(relative, statistic, None)
    if relative is None or value is None:
        return Number(text)
    interval = getattr(relative.ci95, statistic)
    verdict = Verdict.UNCLEAR if interval is None else judge(interval, 1, metric.worse)
    return Number(text, with_interval(value, interval, "{:.3f}"), verdict)
