# SPDX-License-Identifier: MIT OR Apache-2.0
"""Evaluates the claims of an experiment by the summaries of its points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from marklab.errors import BadInput
from marklab.papers.claims import Claim, Settings
from marklab.papers.experiment import PaperExperiment
from marklab.papers.verdicts import Verdict, judge, seeds_needed
from marklab.results.metric import find_metric
from marklab.results.summary import Summary
from marklab.statistics.samples import (
    Interval,
    Pairs,
    mean,
    mean_interval,
    ratio,
    ratio_difference_interval,
    ratio_interval,
)


@dataclass(frozen=True)
class Finding:
    """A claim and the lab's result in the claim's unit; `value` is None if the claim's points were not run.

    `interval` is the 95 % interval over `seeds`, and has no width if every seed gives the same; a single seed gives
    none. `point` is the one that the claim's `take` chose. `means` are those behind the value, in the metric's unit:
    of, over. `rows` are the findings of the rows below the claim.
    """

    claim: Claim
    value: float | None = None
    interval: Interval | None = None
    point: Settings | None = None
    means: tuple[float, ...] = ()
    seeds: int = 0
    rows: tuple[Finding, ...] = ()

    @property
    def difference(self) -> float | None:
        """Lab minus paper; for a bound, how far the lab is beyond it; None unless both have a number."""
        number = self.claim.paper
        if self.value is None or isinstance(number, str):
            return None
        match self.claim.bound:
            case "within":
                return max(0.0, abs(self.value) - number)
            case "at least":
                return min(0.0, self.value - number)
            case "at most":
                return max(0.0, self.value - number)
            case _:
                return self.value - number

    def verdict(self, scale: float = 1.0) -> Verdict:
        """The verdict; `scale` multiplies the tolerance."""
        return Verdict.NOT_RUN if self.value is None else judge(self.claim, self.interval, scale)

    @property
    def seeds_needed(self) -> int | None:
        """The seeds that would decide an undetermined claim; None for other claims, and if none would."""
        if self.value is None or self.interval is None or self.verdict() is not Verdict.UNDETERMINED:
            return None
        return seeds_needed(self.claim, self.value, self.interval, self.seeds)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            **self.claim.model_dump(mode="json", exclude_none=True),
            "unit": self.claim.unit,
            "lab": self.value,
            "ci95": self.interval,
            "seeds": self.seeds,
            "difference": self.difference,
            "verdict": str(self.verdict()),
            "seeds_needed": self.seeds_needed,
            "point": self.point,
            "lab_means": self.means,
            "rows": [row.to_json() for row in self.rows],
        }


def examine(paper: PaperExperiment, summaries: Sequence[Summary | None]) -> list[Finding]:
    """Evaluate each claim. The summary of a point is None if nothing finished there."""
    pairs = zip(paper.points(), summaries, strict=True)
    points = [(point, summary) for point, summary in pairs if summary is not None]
    # Without flows that a seed draws, every seed gives the same.
    same = paper.setup.get("flows") == 0 and "start_jitter" not in paper.setup
    return [
        replace(_examine(claim, points, same), rows=tuple(_examine(row, points, same) for row in claim.rows))
        for claim in paper.claims
    ]


def by_point(claim: Claim, points: Sequence[tuple[Settings, Summary]], *, same: bool = False) -> list[Finding]:
    """The finding of each point that a claim is about. `same`: every seed gives the same."""
    found = (_at(claim, point, points, same) for point, _ in points if claim.is_about(point))
    return [finding for finding in found if finding is not None]


def _examine(claim: Claim, points: Sequence[tuple[Settings, Summary]], same: bool) -> Finding:
    found = by_point(claim, points, same=same)
    if not found:
        return Finding(claim)
    if claim.take == "only":
        if len(found) > 1:
            raise BadInput(
                f"the claim `{claim.says}` fits {len(found)} points of the grid", "narrow `at`, or say `take`"
            )
        return found[0]
    return _taken(claim, found)


def _taken(claim: Claim, found: Sequence[Finding]) -> Finding:
    """The point that counts, with the interval of the extreme: several points may have it within the noise."""
    values = [finding.value or 0.0 for finding in found]
    intervals = [finding.interval for finding in found if finding.interval is not None]
    match claim.take:
        case "lowest":
            place, ends = values.index(min(values)), (min, min)
        case "highest":
            place, ends = values.index(max(values)), (max, max)
        case _:
            # A bound has to hold at every point.
            place, ends = max(range(len(values)), key=lambda at: abs(values[at])), (min, max)
    if len(intervals) < len(found):
        return replace(found[place], interval=None)
    lows, highs = zip(*intervals, strict=True)
    return replace(found[place], interval=(ends[0](lows), ends[1](highs)))


def _at(claim: Claim, point: Settings, points: Sequence[tuple[Settings, Summary]], same: bool) -> Finding | None:
    """The finding of one point, from the seeds that finished wherever it is measured; None without any."""
    measured = []
    for of, over in claim.changes(point):
        measured.append(_by_seed(claim.metric, claim.of, _summary(of, points)))
        if claim.over is not None:
            measured.append(_by_seed(claim.over_metric or claim.metric, claim.over, _summary(over, points)))
    seeds = [seed for seed in measured[0] if all(seed in values for values in measured)]
    if not seeds:
        return None
    values = [[each[seed] for seed in seeds] for each in measured]
    if claim.over is None:
        value = mean(values[0])
        number = _Number(value, mean_interval(values[0]), (value,))
    else:
        found = _change((values[0], values[1]), (values[2], values[3]) if claim.minus else None)
        if found is None:
            return None
        number = found
    interval = (number.value, number.value) if same else number.interval
    return Finding(claim, number.value, interval, point, number.means, len(seeds))


class _Number(NamedTuple):
    """A number of the lab, its interval, and what it comes from."""

    value: float
    interval: Interval | None
    means: tuple[float, ...]


def _change(pairs: Pairs, less: Pairs | None) -> _Number | None:
    """A change in percent from its means, or less another one, from both changes; None if one is from 0."""
    found = ratio(*pairs)
    if found is None:
        return None
    change = 100 * (found - 1)
    if less is None:
        ends = ratio_interval(*pairs)
        percent = (100 * (ends[0] - 1), 100 * (ends[1] - 1)) if ends else None
        return _Number(change, percent, (mean(pairs[0]), mean(pairs[1])))
    other = ratio(*less)
    if other is None:
        return None
    subtracted, ends = 100 * (other - 1), ratio_difference_interval(pairs, less)
    return _Number(change - subtracted, (100 * ends[0], 100 * ends[1]) if ends else None, (change, subtracted))


def _summary(point: Settings, points: Sequence[tuple[Settings, Summary]]) -> Summary | None:
    return next((summary for at, summary in points if at == point), None)


def _by_seed(name: str, scheme: str, summary: Summary | None) -> dict[int, float]:
    """The metric of a scheme by seed, for the seeds that finished and have it."""
    metric = find_metric(name)
    seeds = summary.schemes[scheme].seeds if summary is not None and scheme in summary.schemes else ()
    values = {seed.seed: metric.of(seed) for seed in seeds}
    return {seed: value for seed, value in values.items() if value is not None}


def to_json(
    name: str, paper: PaperExperiment, findings: Sequence[Finding], summaries: Sequence[Summary | None]
) -> Mapping[str, Any]:
    """Everything found, as plain data."""
    points = zip(paper.points(), summaries, strict=True)
    return {
        "experiment": name,
        "column": str(paper.column),
        "title": paper.title,
        "paper": paper.paper,
        "claims": [finding.to_json() for finding in findings],
        "not_run": [each.model_dump(mode="json") for each in paper.not_run],
        "remarks": list(paper.remarks),
        "points": [{"point": point, **summary.to_json()} for point, summary in points if summary],
    }
