# SPDX-License-Identifier: MIT OR Apache-2.0
"""Verdicts on claims: a claim agrees or disagrees only if the whole 95 % interval says so (docs/scoring.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from marklab.papers.claims import Claim
from marklab.results.metric import find_metric
from marklab.statistics.samples import Interval, t95


class Verdict(StrEnum):
    """What a run says about a claim."""

    AGREES = "agrees"
    DISAGREES = "disagrees"
    UNDETERMINED = "undetermined"
    NOT_RUN = "not run"


# Distances from the paper's number that still agree: percentage points for changes and fractions, and a relative
# difference for any other number. An increase is a number of times, of which it may be a tenth, if that is more. A
# change below NIL_POINTS is no change; a bound may be exceeded by as much.
NEAR_POINTS = 10.0
NEAR_RATIO = 0.1
NIL_POINTS = 2.0

# More seeds than these are not proposed.
MOST_SEEDS = 1000


@dataclass(frozen=True)
class Range:
    """Values of the lab that agree with a claim: from `low` to `high`, both included."""

    low: float
    high: float

    def has(self, interval: Interval) -> bool:
        """Whether all of an interval lies inside."""
        return self.low <= interval[0] and interval[1] <= self.high

    def misses(self, interval: Interval) -> bool:
        """Whether all of an interval lies outside, on one side."""
        return interval[1] < self.low or interval[0] > self.high

    def margin(self, value: float) -> float:
        """Distance of a value from the nearest end."""
        return min(abs(value - self.low), abs(value - self.high))


# The smallest number above 0.
_ABOVE_0 = math.ulp(0.0)


def agreeing(claim: Claim, scale: float = 1.0) -> Range:
    """The values that agree with a claim; `scale` multiplies the tolerance."""
    number = claim.paper
    if isinstance(number, str):
        return Range(NIL_POINTS, math.inf) if number == "higher" else Range(-math.inf, -NIL_POINTS)
    tolerance = scale * _tolerance(claim, number)
    if claim.bound == "within":
        return Range(-number - tolerance, number + tolerance)
    if claim.bound == "at least":
        return Range(number - tolerance, math.inf)
    if claim.bound == "at most":
        return Range(-math.inf, number + tolerance)
    low, high = number - tolerance, number + tolerance
    if claim.over is not None and abs(number) >= NIL_POINTS:
        # A change has the paper's sign.
        return Range(max(low, _ABOVE_0), high) if number > 0 else Range(low, min(high, -_ABOVE_0))
    return Range(low, high)


def _tolerance(claim: Claim, number: float) -> float:
    if claim.over is None and find_metric(claim.metric).in_percent:
        # A fraction of 1, which is shown in percent.
        return _of_percent(claim, 100 * number) / 100
    return _of_percent(claim, number) if claim.over is not None or claim.unit == "%" else NEAR_RATIO * abs(number)


def _of_percent(claim: Claim, number: float) -> float:
    """Tolerance of a change or a fraction, in points."""
    if claim.bound is not None:
        return min(NIL_POINTS, abs(number))
    if claim.over is not None:
        return max(NEAR_POINTS, NEAR_RATIO * (100 + number))
    # A fraction of 97 % is 3 points from all: 87 % would be four times as far.
    return min(NEAR_POINTS, max(NIL_POINTS, min(number, 100 - number)))


def judge(claim: Claim, interval: Interval | None, scale: float = 1.0) -> Verdict:
    """The verdict on a claim by the lab's 95 % interval; None if there is none, since there was a single seed.

    A result that is the same for every seed has an interval of width 0.
    """
    if interval is None:
        return Verdict.UNDETERMINED
    agrees = agreeing(claim, scale)
    if agrees.has(interval):
        return Verdict.AGREES
    return Verdict.DISAGREES if agrees.misses(interval) else Verdict.UNDETERMINED


def seeds_needed(claim: Claim, value: float, interval: Interval, seeds: int) -> int | None:
    """How many seeds, of as many flows, would decide an undetermined claim if the lab's value stayed where it is.

    None if not even MOST_SEEDS would: the value lies on the edge of the tolerance.
    """
    margin = agreeing(claim).margin(value)
    half = max(interval[1] - value, value - interval[0])
    spread = half * math.sqrt(seeds) / t95(seeds - 1)
    return next((n for n in range(seeds, MOST_SEEDS + 1) if _half_width(spread, n) <= margin), None)


def _half_width(spread: float, seeds: int) -> float:
    return t95(seeds - 1) * spread / math.sqrt(seeds)
