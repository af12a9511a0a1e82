# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rules about how far a metric may change, and what the seeds of two runs show of them.

A change is that of `compare`: the geometric mean of the ratios over the places, with the 95 % interval of its seeds. A
rule is kept if all of the interval keeps it, broken if none of it does, and otherwise not shown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from marklab.comparison.differences import Difference, difference, values_of, with_intervals
from marklab.results.metric import Metric
from marklab.results.summary import SeedResult

# The least number that is more than nothing.
_LEAST = math.nextafter(0.0, 1.0)

# What more seeds than this would show is too little to matter.
_MOST_SEEDS = 1000


class Outcome(Enum):
    """What came of a rule, or of a gate."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_SHOWN = "not shown"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Check:
    """A rule, what was found, and what that says of the rule."""

    rule: str
    found: str
    outcome: Outcome


def finding(rule: str, found: str, *, holds: bool) -> Check:
    """One whose number has no noise."""
    return Check(rule, found, Outcome.PASSED if holds else Outcome.FAILED)


@dataclass(frozen=True)
class Rule:
    """Changes that are allowed, from `least` to `most`, as parts of what is compared with; both ends included."""

    text: str
    least: float = -math.inf
    most: float = math.inf


def better(metric: Metric, than: str) -> Rule:
    """Any improvement, in the metric's own direction."""
    return _towards(metric, f"{metric.name} better than that of {than}", -_LEAST)


def not_worse(metric: Metric, bound: float) -> Rule:
    """At most so much worse."""
    return _towards(metric, f"{metric.name} worse by {100 * bound:g} % at most", bound)


def within(metric: Metric, bound: float) -> Rule:
    """No further away than that, to either side."""
    return Rule(f"{metric.name} of the twin within {100 * bound:g} %", -bound, bound)


def _towards(metric: Metric, text: str, worse_by: float) -> Rule:
    return Rule(text, most=worse_by) if metric.worse > 0 else Rule(text, least=-worse_by)


def changes(
    metrics: Sequence[Metric], before: Sequence[Sequence[SeedResult]], after: Sequence[Sequence[SeedResult]]
) -> dict[str, Difference]:
    """How each metric changed over all places, each with its seeds; without those that no place has."""
    found = []
    for metric in metrics:
        places = [values_of(metric, *both) for both in zip(before, after, strict=True)]
        if there := [values for values in places if values is not None]:
            found.append(difference("", metric, None, there, smallest_effect=0))
    return {each.metric.name: each for each in with_intervals(found)}


def shown(rule: Rule, change: Difference | None) -> Check:
    """What a change says of a rule."""
    if change is None:
        return Check(rule.text, "no such flow in any run", Outcome.NOT_SHOWN)
    said = _in_words(change, change.absolute if change.relative is None else change.relative)
    if change.interval is None:
        return Check(rule.text, f"{said} in one seed, whose noise is unknown: 2 at least", Outcome.NOT_SHOWN)
    low, high = change.interval
    said = f"{said} ({_in_words(change, low)} to {_in_words(change, high)})"
    # Of nothing any part is nothing.
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
    """Seeds whose interval would no longer reach a bound, were the estimate right: its width falls with their root."""
    low, high = change.interval or (math.nan, math.nan)
    middle = change.absolute if change.relative is None else change.relative
    reach = (high - middle if bound > middle else middle - low) / abs(bound - middle) if bound != middle else math.inf
    seeds = change.seeds.fewest * reach**2
    # Half a seed is one; what floating point adds is none.
    return math.ceil(round(seeds, 6)) if math.isfinite(seeds) else math.inf


def worst(findings: Sequence[Check]) -> Outcome:
    """What all of them come to: passed only if each is."""
    outcomes = {each.outcome for each in findings}
    return next((each for each in (Outcome.FAILED, Outcome.NOT_SHOWN) if each in outcomes), Outcome.PASSED)
