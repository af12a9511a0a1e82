# SPDX-License-Identifier: MIT OR Apache-2.0
"""Confidence over seeds, by resampling them.

Intervals are those of the symmetric bootstrap-t: each resample's deviation is taken in units of its own standard error,
as Student's t is, and the size that 5 % of the resamples exceed takes the place of t's quantile. Plain percentiles of
resamples are too narrow for ten seeds: bench/compare.py measures both.

A resample draws seeds, and what an estimate makes of them follows to first order. So an estimate comes with what each
seed contributes to its error, and everything is a matter of means of contributions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from marklab.statistics.randomness import Floats, integers, uniform
from marklab.statistics.samples import Interval

# Below so many seeds a side, resamples say little about the tails, and Student's t takes their place.
FEWEST = 8

# Resamples behind an interval.
RESAMPLES = 5_000
# A probability is known from at least so many resamples that are beyond it, as far as the most of them go.
_BEYOND = 20
_MOST_RESAMPLES = 200_000

# Estimates that are resampled at a time, so that their numbers stay in a few MB.
_AT_ONCE = 8

# As part of an estimate's scale: what is below is rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Seeds:
    """Which seeds stand against which. In pairs both sides have the same, drawn together; estimates share draws."""

    base: tuple[int, ...]
    new: tuple[int, ...]
    paired: bool

    @property
    def fewest(self) -> int:
        """Seeds of the side that has fewer."""
        return min(len(self.base), len(self.new))


@dataclass(frozen=True)
class EstimatedDifference:
    """A number for the difference of NEW from BASE.

    `base` and `new` are by seed what it contributes to the error, which is the mean of `new` less that of `base`; each
    has a mean of 0. `scale` is the size of what was subtracted, which distinguishes rounding from noise.
    """

    value: float
    base: Floats
    new: Floats
    seeds: Seeds
    scale: float

    @cached_property
    def contributions(self) -> tuple[Floats, ...]:
        """What is drawn together: of each pair, or of each side."""
        return (self.new - self.base,) if self.seeds.paired else (self.base, self.new)

    @cached_property
    def error(self) -> float | None:
        """Standard error; None where a side is a single seed."""
        if self.seeds.fewest < 2:
            return None
        found = float(np.sqrt(sum(_variances(self.contributions))))
        return found if found > _ROUNDING * self.scale else 0.0

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the error, Welch's where there are two sides."""
        variances = _variances(self.contributions)
        rest = sum(found**2 / (len(each) - 1) for found, each in zip(variances, self.contributions, strict=True))
        return sum(variances) ** 2 / rest

    @property
    def is_nothing(self) -> bool:
        """Whether there is no difference but rounding."""
        return abs(self.value) <= _ROUNDING * self.scale


def _variances(contributions: Sequence[Floats]) -> list[float]:
    return [float(each.var(ddof=1)) / len(each) for each in contributions]


def half_widths(estimates: Sequence[EstimatedDifference], confidence: float = 0.95) -> list[float | None]:
    """Half the width of each estimate's interval; None where a side is a single seed."""

    def of_t(estimate: EstimatedDifference) -> float:
        from scipy.special import stdtrit  # noqa: PLC0415 - takes a while to load

        return float(stdtrit(estimate.freedom, (1 + confidence) / 2))

    def of_resamples(estimate: EstimatedDifference, sizes: Floats) -> float:
        # The smallest size that no more than the rest of the resamples exceeds.
        place = int(np.ceil(confidence * (len(sizes) + 1))) - 1
        quantile = float(np.partition(sizes, place)[place])
        # Without bound where one or two seeds alone differ, as counts of rare events do.
        return quantile if np.isfinite(quantile) else of_t(estimate)

    quantiles = _each(estimates, RESAMPLES, of_t, of_resamples)
    return [
        None if estimate.error is None else 0.0 if quantile is None else quantile * estimate.error
        for estimate, quantile in zip(estimates, quantiles, strict=True)
    ]


def probabilities(estimates: Sequence[EstimatedDifference], level: float) -> list[float | None]:
    """Of each estimate, how probable one as far from nothing is if there is no difference, known at `level` and above.

    None where a side is a single seed; 0 or 1 where all seeds say the same.
    """
    count = int(min(max(RESAMPLES, _BEYOND / level), _MOST_RESAMPLES))

    def size(estimate: EstimatedDifference) -> float:
        return abs(estimate.value) / (estimate.error or np.inf)

    def of_t(estimate: EstimatedDifference) -> float:
        from scipy.special import stdtr  # noqa: PLC0415 - takes a while to load

        return 2 * float(stdtr(estimate.freedom, -size(estimate)))

    def of_resamples(estimate: EstimatedDifference, sizes: Floats) -> float:
        return (1 + int(np.count_nonzero(sizes >= size(estimate)))) / (1 + len(sizes))

    found = _each(estimates, count, of_t, of_resamples)
    return [
        None if estimate.error is None else float(estimate.is_nothing) if probability is None else probability
        for estimate, probability in zip(estimates, found, strict=True)
    ]


def _each(
    estimates: Sequence[EstimatedDifference],
    count: int,
    of_t: Callable[[EstimatedDifference], float],
    of_resamples: Callable[[EstimatedDifference, Floats], float],
) -> list[float | None]:
    """Something of each estimate, by Student's t or by resamples as its seeds allow; None of one without error."""
    found: list[float | None] = [None] * len(estimates)
    places: dict[Seeds, list[int]] = {}
    for place, estimate in enumerate(estimates):
        if estimate.error and estimate.seeds.fewest < FEWEST:
            found[place] = of_t(estimate)
        elif estimate.error:
            places.setdefault(estimate.seeds, []).append(place)
    for seeds, alike in places.items():
        for place, sizes in zip(alike, _sizes(seeds, [estimates[place] for place in alike], count), strict=True):
            found[place] = of_resamples(estimates[place], sizes)
    return found


def _sizes(seeds: Seeds, estimates: Sequence[EstimatedDifference], count: int) -> Iterator[Floats]:
    """Of each estimate, how far its resamples are from it, in units of their own standard errors."""
    sides = (("pairs", seeds.base),) if seeds.paired else (("base", seeds.base), ("new", seeds.new))
    weights = [_weights(side, numbers, count) for side, numbers in sides]
    for start in range(0, len(estimates), _AT_ONCE):
        some = estimates[start : start + _AT_ONCE]
        deviation, variance = np.zeros((count, len(some))), np.zeros((count, len(some)))
        for side, of_side in enumerate(weights):
            contributions = np.stack([each.contributions[side] for each in some], axis=1)
            means = of_side @ contributions
            spread = of_side @ contributions**2 - means**2
            deviation = means - deviation if side else means
            variance += np.maximum(spread, 0) / (len(contributions) - 1)
        # A resample of equal seeds has no error of its own; whatever deviation it has is beyond any size.
        known = variance > np.array([(_ROUNDING * each.scale) ** 2 for each in some])
        sizes = np.abs(deviation) / np.sqrt(np.where(known, variance, 1.0))
        yield from np.where(known, sizes, np.inf).T


def percentile_interval(values: Floats, confidence: float = 0.95) -> Interval:
    """What the middle `confidence` of resampled estimates lie in. Of forty seeds or so; it is too narrow for ten."""
    rest = (1 - confidence) / 2
    low, high = np.quantile(values, [rest, 1 - rest])
    return float(low), float(high)


def seed_weights(seeds: Sequence[int], count: int) -> Floats:
    """Parts of the seeds in each of `count` resamples of pairs, a row each."""
    return _weights("pairs", seeds, count)


def _weights(side: str, numbers: Sequence[int], count: int) -> Floats:
    """Parts of the seeds in each resample, `count` rows; the same for the same seeds, on every machine."""
    name = hashlib.sha256(repr((side, tuple(numbers))).encode()).hexdigest()
    drawn = integers(uniform(0, f"bootstrap {name}", count * len(numbers)), len(numbers))
    rows = np.repeat(np.arange(count), len(numbers))
    cells = np.bincount(rows * len(numbers) + drawn, minlength=count * len(numbers))
    return cells.reshape(count, len(numbers)) / len(numbers)
