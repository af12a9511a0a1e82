# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rules about how far a metric may change, and whether the seeds of two runs show that a rule is kept.

A change is computed as by `compare`: the geometric mean of the ratios over the places, with its 95 % interval over the
seeds. A rule is kept if the whole interval keeps it, broken if the whole interval breaks it, and otherwise not shown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from marklab.comparison.differences import Difference, difference, values_of, with_intervals
from marklab.results.metric import Metric
from marklab.results.summary import SeedResult

# The smallest number above 0.
_LEAST = math.nextafter(0.0, 1.0)

# A difference that needs more seeds than this is too small to matter.
_MOST_SEEDS = 1000


class Outcome(Enum):
    """The outcome of a rule or of a gate."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_SHOWN = "not shown"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Check:
    """A rule, the finding, and the outcome."""

    rule: str
    found: str
    outcome: Outcome


def finding(rule: str, found: str, *, holds: bool) -> Check:
    """A check whose number has no noise."""
    return Check(rule, found, Outcome.PASSED if holds else Outcome.FAILED)


@dataclass(frozen=True)
class Rule:
    """Allowed changes, from `least` to `most` inclusive, as fractions of the value that is compared with."""

    text: str
    least: float = -math.inf
    most: float = math.inf


def better(metric: Metric, than: str) -> Rule:
    """A rule that requires an improvement, in the metric's own direction."""
    return _towards(metric, f"{metric.name} better than that of {than}", -_LEAST)


def not_worse(metric: Metric, bound: float) -> Rule:
    """A rule that allows a metric to be worse by at most `bound`."""
    return _towards(metric, f"{metric.name} worse by {100 * bound:g} % at most", bound)


def within(metric: Metric, bound: float) -> Rule:
    """A rule that allows a change of at most `bound` in either direction."""
    return Rule(f"{metric.name} of the twin within {100 * bound:g} %", -bound, bound)


def _towards(metric: Metric, text: str, worse_by: float) -> Rule:
    return Rule(text, most=worse_by) if metric.worse > 0 else Rule(text, least=-worse_by)


def changes(
    metrics: Sequence[Metric], before: Sequence[Sequence[SeedResult]], after: Sequence[Sequence[SeedResult]]
) -> dict[str, Difference]:
    """The change of each metric over all places with their seeds. Metrics that no place has are left out."""
    found = []
    for metric in metrics:
        places = [values_of(metric, *both) for both in zip(before, after, strict=True)]
        if there := [values for values in places if values is not None]:
            found.append(difference("", metric, None, there, smallest_effect=0))
    return {each.metric.name: each for each in with_intervals(found)}


def shown(rule: Rule, change: Difference | None) -> Check:
    """Check whether a change keeps a rule."""
    if change is None:
        return Check(rule.text, "no such flow in any run", Outcome.NOT_SHOWN)
    said = _in_words(change, change.absolute if change.relative is None else change.relative)
    if change.interval is None:
        return Check(rule.text, f"{said} in one seed, whose noise is unknown: 2 at least", Outcome.NOT_SHOWN)
    low, high = change.interval
    said = f"{said} ({_in_words(change, low)} to {_in_words(change, high)})"
    # Any fraction of 0 is 0.
    least, most = (
        (end if math.isinf(end) or abs(end) == _LEAST else 0.0) if change.relative is None else end
        for end in (rule.least, rule.most)
    )
    if least <= low and high <= most:
        return Check(rule.text, said, Outcome.PASSED)
    if high < least or low > most:
        return Check(rule.text, said, Outcome.FAILED)
    seeds = max(seeds_to_tell(change, end) for end in (least, most) if low <= end <= high)
    needed = f"some {seeds:,.0f} seeds would tell" if seeds <= _MOST_SEEDS else f"{_MOST_SEEDS:,} seeds would not tell"
    return Check(rule.text, f"{said}; {needed}", Outcome.NOT_SHOWN)


def _in_words(change: Difference, value: float) -> str:
    return f"{value:+g} {change.metric.unit}".rstrip() if change.relative is None else f"{100 * value:+.2f} %"


def seeds_to_tell(change: Difference, bound: float) -> float:
    """Seeds whose interval would not reach a bound if the estimate is right: its width falls with their square root."""
    low, high = change.interval or (math.nan, math.nan)
    middle = change.absolute if change.relative is None else change.relative
    reach = (high - middle if bound > middle else middle - low) / abs(bound - middle) if bound != middle else math.inf
    seeds = change.seeds.fewest * reach**2
    # Round up to whole seeds, but first remove the errors of floating point.
    return math.ceil(round(seeds, 6)) if math.isfinite(seeds) else math.inf


def worst(findings: Sequence[Check]) -> Outcome:
    """The worst outcome of all checks: passed only if each of them passed."""
    outcomes = {each.outcome for each in findings}
    return next((each for each in (Outcome.FAILED, Outcome.NOT_SHOWN) if each in outcomes), Outcome.PASSED)
