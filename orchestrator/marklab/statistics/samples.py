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
    return _around(middle, _errors(over, under, middle))


Pairs = tuple[Sequence[float], Sequence[float]]


def ratio_difference_interval(pairs: Pairs, less: Pairs) -> Interval | None:
    """95 % confidence interval of a ratio of means of paired values minus another such ratio, from the same seeds.

    The errors of both, as in `ratio_interval`, are subtracted seed by seed.
    """
    one, other = ratio(*pairs), ratio(*less)
    if one is None or other is None or len(pairs[0]) < 2:
        return None
    errors = zip(_errors(*pairs, one), _errors(*less, other), strict=True)
    return _around(one - other, [a - b for a, b in errors])


def _errors(over: Sequence[float], under: Sequence[float], middle: float) -> list[float]:
    """What each pair contributes to the error of a ratio, to first order."""
    below = abs(mean(under))
    return [(a - middle * b) / below for a, b in zip(over, under, strict=True)]


def _around(middle: float, errors: Sequence[float]) -> Interval:
    half = t95(len(errors) - 1) * _deviation(errors) / math.sqrt(len(errors))
    return (middle - half, middle + half)


def _deviation(rest: Sequence[float]) -> float:
    return math.sqrt(math.fsum(value * value for value in rest) / (len(rest) - 1))
