# SPDX-License-Identifier: MIT OR Apache-2.0
"""Evaluates the claims of an experiment by the summaries of its points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from marklab.errors import BadInput
from marklab.papers.claims import Claim, Settings
from marklab.papers.experiment import PaperExperiment
from marklab.papers.verdicts import Verdict, judge, seeds_needed
from marklab.results.metric import find_metric
from marklab.results.summary import Summary
from marklab.statistics.samples import Interval, mean, mean_interval, ratio, ratio_interval


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
    return [
        finding
        for point, summary in points
        if claim.is_about(point) and (finding := _at(claim, point, summary, _over(claim, point, points), same))
    ]


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


def _over(claim: Claim, point: Settings, points: Sequence[tuple[Settings, Summary]]) -> Summary | None:
    """The run that a point is compared with, usually its own."""
    wanted = point | claim.over_at
    return next((summary for at, summary in points if at == wanted), None)


def _at(claim: Claim, point: Settings, summary: Summary, under: Summary | None, same: bool) -> Finding | None:
    of = _by_seed(claim.metric, claim.of, summary)
    if claim.over is None:
        over = dict.fromkeys(of, 1.0)
    else:
        over = _by_seed(claim.over_metric or claim.metric, claim.over, under) if under is not None else {}
    pairs = [(value, over[seed]) for seed, value in of.items() if seed in over]
    if not pairs:
        return None
    above, below = [a for a, _ in pairs], [b for _, b in pairs]
    if claim.over is None:
        value = mean(above)
        interval = (value, value) if same else mean_interval(above)
        return Finding(claim, value, interval, point, (value,), len(pairs))
    found, interval = ratio(above, below), (1.0, 1.0) if same else ratio_interval(above, below)
    if found is None:
        return None
    value = 100 * (found - 1)
    percent = (value, value) if same else (100 * (interval[0] - 1), 100 * (interval[1] - 1)) if interval else None
    return Finding(claim, value, percent, point, (mean(above), mean(below)), len(pairs))


def _by_seed(name: str, scheme: str, summary: Summary) -> dict[int, float]:
    """The metric of a scheme by seed, for the seeds that finished and have it."""
    metric = find_metric(name)
    seeds = summary.schemes[scheme].seeds if scheme in summary.schemes else ()
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
