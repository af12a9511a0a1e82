# SPDX-License-Identifier: MIT OR Apache-2.0
import math

import numpy as np
import pytest

from marklab.statistics.samples import (
    mean_interval,
    nearest_rank,
    rank,
    ratio,
    ratio_difference_interval,
    ratio_interval,
    t95,
)


def student_tail(t: float, freedom: int) -> float:
    """P(|T| > t), by Simpson's rule over the density."""
    scale = math.gamma((freedom + 1) / 2) / (math.sqrt(freedom * math.pi) * math.gamma(freedom / 2))
    steps = 4000
    x = np.linspace(0, t, steps + 1)
    density = scale * (1 + x * x / freedom) ** (-(freedom + 1) / 2)
    weights = np.ones(steps + 1)
    weights[1:-1:2], weights[2:-1:2] = 4, 2
    return 1 - 2 * float((density * weights).sum()) * t / steps / 3


@pytest.mark.parametrize("freedom", [*range(1, 41), 100, 169])
def test_the_quantile_leaves_five_percent(freedom: int) -> None:
    assert student_tail(t95(freedom), freedom) == pytest.approx(0.05, abs=1e-9)


def test_nearest_rank() -> None:
    values = np.arange(1, 201)
    assert (nearest_rank(values, 0.5), nearest_rank(values, 0.99), nearest_rank(values, 1)) == (100, 198, 200)
    assert nearest_rank(np.array([7]), 0.99) == 7
    assert nearest_rank(np.arange(1, 101), 0.99) == 99


def test_an_interval_of_a_mean() -> None:
    # Mean 2, deviation 1, so 2 -+ 4.3027 / sqrt(3).
    assert mean_interval([1, 2, 3]) == pytest.approx((2 - 2.48413, 2 + 2.48413), abs=1e-4)
    assert mean_interval([5]) is None


def test_ratios_of_pairs_have_no_noise_if_they_are_equal() -> None:
    under = [1.0, 5.0, 30.0]
    assert ratio([2 * x for x in under], under) == 2
    assert ratio_interval([2 * x for x in under], under) == pytest.approx((2, 2))
    assert ratio([1.0], [0.0]) is None


@pytest.mark.parametrize("interval", ["ratio", "mean", "difference"])
def test_intervals_hold_the_truth_nineteen_times_of_twenty(interval: str) -> None:
    random = np.random.default_rng(1)
    trials, held = 4000, 0
    for _ in range(trials):
        common = random.normal(100, 10, 5)
        over, under = 1.2 * common + random.normal(0, 2, 5), common + random.normal(0, 2, 5)
        found, truth = {
            "ratio": (ratio_interval(over, under), 1.2),
            "mean": (mean_interval(under), 100),
            "difference": (ratio_difference_interval((over, under), (1.5 * common, under)), -0.3),
        }[interval]
        assert found is not None
        held += found[0] <= truth <= found[1]
    # The ratio estimator is of first order, and slightly biased.
    assert held / trials == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize(
    ("part", "count", "place"),
    [
        (0.99, 1, 1),
        (0.99, 99, 99),
        (0.99, 100, 99),
        (0.99, 101, 100),
        (0.99, 200, 198),
        (0.0, 5, 1),
        (0.9, 10, 9),
        (0.9, 11, 10),
    ],
)
def test_a_rank_is_the_nearest_one_above(part: float, count: int, place: int) -> None:
    assert rank(part, count) == place
