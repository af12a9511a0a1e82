# SPDX-License-Identifier: MIT OR Apache-2.0
"""The difference of a scheme's metric between BASE and NEW, and whether it exceeds the noise of the seeds.

At a point of a grid, the number of a side is the mean over its seeds, as in all reports. Over several points it is the
geometric mean of these means, so the change is the mean ratio and every point has the same weight. Counts may be 0 and
are averaged arithmetically.

Seeds with the same flows are compared in pairs, which removes the variation that comes from the flows. A single pair
gives no estimate of the noise; as the simulator is deterministic, its numbers are compared as they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

import numpy as np

from marklab.results.metric import Metric
from marklab.results.summary import SeedResult
from marklab.statistics.bootstrap import EstimatedDifference, Seeds, half_widths
from marklab.statistics.randomness import Floats
from marklab.statistics.samples import Interval, mean


class Verdict(Enum):
    """The verdict on a difference."""

    BETTER = "better"
    WORSE = "worse"
    CHANGED = "changed"  # the metric is neither good nor bad
    SAME = "same"  # no difference, or none beyond the noise of the seeds
    UNCLEAR = "unclear"  # a side has a single seed, and the flows differ

    @property
    def is_difference(self) -> bool:
        """Whether there certainly is a difference."""
        return self in (Verdict.BETTER, Verdict.WORSE, Verdict.CHANGED)


def judge(interval: Interval, nothing: float, worse: int) -> Verdict:
    """Judge an interval. `nothing` is the value of no difference, such as 1 for a ratio; `worse` is as in `Metric`."""
    if interval[0] <= nothing <= interval[1]:
        return Verdict.SAME
    if worse == 0:
        return Verdict.CHANGED
    return Verdict.WORSE if (interval[0] > nothing) == (worse > 0) else Verdict.BETTER


@dataclass(frozen=True)
class Values:
    """A metric of a scheme at a point, by seed. If `paired`, both sides have the same seeds on the same flows."""

    base: Mapping[int, float]
    new: Mapping[int, float]
    paired: bool


def values_of(metric: Metric, base: Sequence[SeedResult], new: Sequence[SeedResult]) -> Values | None:
    """Values of both sides, only of pairs if there are any; None if a side has no value."""
    same_flows = {(seed.seed, seed.flow_list): seed for seed in new}
    pairs = [(seed, same_flows[key]) for seed in base if (key := (seed.seed, seed.flow_list)) in same_flows]
    of_base = _by_seed(metric, [seed for seed, _ in pairs] or base)
    of_new = _by_seed(metric, [seed for _, seed in pairs] or new)
    if pairs:
        both = sorted(of_base.keys() & of_new.keys())
        of_base, of_new = ({seed: side[seed] for seed in both} for side in (of_base, of_new))
    return Values(of_base, of_new, bool(pairs)) if of_base and of_new else None


def _by_seed(metric: Metric, seeds: Sequence[SeedResult]) -> dict[int, float]:
    return {seed.seed: value for seed in seeds if (value := metric.of(seed)) is not None}


@dataclass(frozen=True)
class Difference:
    """One metric of one scheme on both sides, at a point, or over all points if `point` is None.

    `ratio` estimates the relative difference, as a logarithm if NEW is not 0; it is None if BASE is 0. `change`
    estimates NEW minus BASE. `interval` is the 95 % confidence interval of the relative difference, or of the change if
    there is no ratio.
    """

    scheme: str
    metric: Metric
    point: str | None
    base: float
    new: float
    seeds: Seeds
    ratio: EstimatedDifference | None
    change: EstimatedDifference
    smallest_effect: float = 0.0
    interval: Interval | None = None

    @property
    def absolute(self) -> float:
        """NEW minus BASE."""
        return self.change.value

    @property
    def relative(self) -> float | None:
        """Difference as a fraction of BASE; None if BASE is 0."""
        return None if self.ratio is None else self._as_part(self.ratio.value)

    @cached_property
    def verdict(self) -> Verdict:
        """Better, worse, or no difference beyond noise."""
        if not self.seeds.paired and self.seeds.fewest < 2:
            return Verdict.UNCLEAR
        if self.change.is_nothing:
            return Verdict.SAME
        if self.relative is not None and abs(self.relative) < self.smallest_effect:
            return Verdict.SAME
        return judge(self.interval or (self.absolute, self.absolute), 0, self.metric.worse)

    def within(self, half: float | None) -> Difference:
        """The same with an interval that reaches `half` to both sides of the estimate."""
        if half is None:
            return self
        if self.ratio is None:
            return replace(self, interval=(self.absolute - half, self.absolute + half))
        low, high = (self._as_part(self.ratio.value + each) for each in (-half, half))
        # A metric cannot fall below 0.
        return replace(self, interval=(max(-1.0, low), high))

    def _as_part(self, value: float) -> float:
        return math.expm1(value) if self.new > 0 else value


def difference(
    scheme: str, metric: Metric, point: str | None, values: Sequence[Values], smallest_effect: float
) -> Difference:
    """The difference over these points, at least one, without an interval."""
    paired = all(each.paired for each in values)
    sides = [[each.base for each in values], [each.new for each in values]]
    base_seeds, new_seeds = (tuple(sorted({seed for each in side for seed in each})) for side in sides)
    seeds = Seeds(base_seeds, new_seeds, paired)
    means = [np.array([mean(list(each.values())) for each in side]) for side in sides]
    geometric = not metric.counted and all((each > 0).all() for each in means)
    base, new = (_mean(each, geometric=geometric) for each in means)
    of_base, of_new = (
        _contributions(side, each, number, level if geometric else None)
        for side, each, number, level in zip(sides, means, (base_seeds, new_seeds), (base, new), strict=True)
    )
    ratio = None
    if base > 0 and new > 0:
        ratio = EstimatedDifference(math.log(new / base), of_base / base, of_new / new, seeds, scale=1.0)
    elif base > 0:
        ratio = EstimatedDifference(new / base - 1, of_base / base, of_new / base, seeds, scale=1.0)
    change = EstimatedDifference(new - base, of_base, of_new, seeds, scale=max(abs(base), abs(new)))
    return Difference(scheme, metric, point, base, new, seeds, ratio, change, smallest_effect)


def _mean(of_points: Floats, *, geometric: bool) -> float:
    if len(of_points) == 1:
        return float(of_points[0])
    return math.exp(float(np.log(of_points).mean())) if geometric else float(of_points.mean())


def _contributions(
    points: Sequence[Mapping[int, float]], means: Floats, seeds: Sequence[int], geometric_mean: float | None
) -> Floats:
    """Contribution of each seed to the error of the mean over points: to first order, a sum over the points' errors."""
    slopes = np.full(len(means), 1.0) if geometric_mean is None else geometric_mean / means
    place = {seed: number for number, seed in enumerate(seeds)}
    found = np.zeros(len(seeds))
    for values, middle, slope in zip(points, means, slopes, strict=True):
        # A seed that a point lacks contributes nothing there, and its other seeds contribute more.
        weight = slope / len(points) * len(seeds) / len(values)
        for seed, value in values.items():
            found[place[seed]] += weight * (value - middle)
    return found


def with_intervals(differences: Sequence[Difference]) -> tuple[Difference, ...]:
    """The same differences with their intervals, which are computed together."""
    halves = half_widths([each.change if each.ratio is None else each.ratio for each in differences])
    return tuple(each.within(half) for each, half in zip(differences, halves, strict=True))
