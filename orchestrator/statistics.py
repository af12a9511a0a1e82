"""Means, percentiles and their confidence over few seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

Interval = tuple[float, float]

# Two-sided 95 % quantiles of Student's t for 1 to 30 degrees of freedom.
_T95 = (
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
    2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
    2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423,
)  # fmt: skip
_Z95 = 1.959964


def t95(freedom: int) -> float:
    """Two-sided 95 % quantile of Student's t."""
    if freedom <= len(_T95):
        return _T95[freedom - 1]
    # The first terms of its expansion around the normal quantile; exact to 1e-5 from here on.
    z = _Z95
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def nearest_rank(ordered: NDArray[Any], part: float) -> float:
    """The smallest of the sorted values that is not exceeded by this part of them."""
    # Of 200 values 0.99 is the 198th, whatever 0.99 * 200 is in floating point.
    return float(ordered[max(0, math.ceil(round(part * len(ordered), 9)) - 1)])


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


def difference_interval(over: Sequence[float], under: Sequence[float], paired: bool) -> Interval | None:
    """95 % confidence interval of the difference of two means; Welch's where the values are not paired."""
    if paired:
        return mean_interval([a - b for a, b in zip(over, under, strict=True)])
    if len(over) < 2 or len(under) < 2:
        return None
    parts = [
        (_deviation([value - mean(values) for value in values]) ** 2 / len(values), len(values) - 1)
        for values in (over, under)
    ]
    variance = sum(part for part, _ in parts)
    middle = mean(over) - mean(under)
    if variance == 0:
        return (middle, middle)
    freedom = variance**2 / sum(part**2 / free for part, free in parts)
    half = t95(max(1, math.floor(freedom))) * math.sqrt(variance)
    return (middle - half, middle + half)


def _deviation(rest: Sequence[float]) -> float:
    return math.sqrt(math.fsum(value * value for value in rest) / (len(rest) - 1))
