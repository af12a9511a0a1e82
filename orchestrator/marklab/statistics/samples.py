# SPDX-License-Identifier: MIT OR Apache-2.0
"""Means, percentiles and their confidence over few seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

Interval = tuple[float, float]

# Parts of the values that p50, p99 and p999 are not below.
PERCENTILES = (0.5, 0.99, 0.999)


def t95(freedom: float) -> float:
    """Two-sided 95 % quantile of Student's t."""
    # Takes a quarter of a second to load, which commands that need no quantile need not wait for.
    from scipy.special import stdtrit  # noqa: PLC0415

    return float(stdtrit(freedom, 0.975))


def nearest_rank(ordered: Sequence[float] | NDArray[Any], part: float) -> float:
    """The smallest of the sorted values that is not exceeded by this part of them."""
    return float(ordered[rank(part, len(ordered)) - 1])


def rank(part: float, count: int) -> int:
    """The place, from 1, of the smallest of `count` sorted values that is not exceeded by this part of them."""
    # Of 200 values 0.99 is the 198th, whatever 0.99 * 200 is in floating point.
    return max(1, math.ceil(round(part * count, 9)))


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean."""
    return math.fsum(values) / len(values)


def mean_interval(values: Sequence[float]) -> Interval | None:
    """95 % confidence interval of a mean; one value gives none."""
    if len(values) < 2:
        return None
    middle = mean(values)
    half = t95(len(values) - 1) * _deviation([value - middle for value in values]) / math.sqrt(len(values))
    return (middle - half, middle + half)


def ratio(over: Sequence[float], under: Sequence[float]) -> float | None:
    """Ratio of the means of paired values."""
    below = mean(under)
    return mean(over) / below if below else None


def ratio_interval(over: Sequence[float], under: Sequence[float]) -> Interval | None:
    """95 % confidence interval of a ratio of means of paired values.

    The ratio estimator: to first order its error is that of the mean of over - ratio * under, in units of the mean of
    under. What pairs have in common, here the flows of a seed, cancels out.
    """
    middle = ratio(over, under)
    if middle is None or len(over) < 2:
        return None
    rest = [a - middle * b for a, b in zip(over, under, strict=True)]
    half = t95(len(over) - 1) * _deviation(rest) / math.sqrt(len(over)) / abs(mean(under))
    return (middle - half, middle + half)


def _deviation(rest: Sequence[float]) -> float:
    return math.sqrt(math.fsum(value * value for value in rest) / (len(rest) - 1))
