# SPDX-License-Identifier: MIT OR Apache-2.0
"""Intervals and probabilities by resampling seeds."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from marklab.statistics.bootstrap import (
    FEWEST,
    EstimatedDifference,
    Seeds,
    half_widths,
    percentile_interval,
    probabilities,
    seed_weights,
)
from marklab.statistics.randomness import Floats

Draw = Callable[[np.random.Generator, int], Floats]


def estimate(base: Floats, new: Floats, *, paired: bool) -> EstimatedDifference:
    """The estimate of a difference of means."""
    seeds = Seeds(tuple(range(len(base))), tuple(range(len(new))), paired)
    return EstimatedDifference(float(new.mean() - base.mean()), base - base.mean(), new - new.mean(), seeds, scale=1.0)


def normal(random: np.random.Generator, count: int) -> Floats:
    return random.normal(0, 1, count)


def skewed(random: np.random.Generator, count: int) -> Floats:
    """Skewed as FCTs over seeds, or slightly more: skewness 1.6."""
    return np.asarray((np.exp(random.normal(0, 0.47, count)) - np.exp(0.47**2 / 2)) / 0.55)


@pytest.mark.parametrize("draw", [normal, skewed])
@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("count", [2, 5, 8, 10, 20])
def test_intervals_hold_the_truth_nineteen_times_of_twenty(draw: Draw, paired: bool, count: int) -> None:
    """Never much less often. With few pairs more often, because little is known about the tails."""
    random, trials = np.random.default_rng(7), 1000
    found = []
    for _ in range(trials):
        common = random.normal(0, 5, count) if paired else np.zeros(count)
        found.append(estimate(common + draw(random, count), common + 3 + draw(random, count), paired=paired))
    halves = half_widths(found)
    held = np.mean([abs(each.value - 3) <= (half or 0) for each, half in zip(found, halves, strict=True)])
    # 1000 trials are accurate to 1.4 %.
    assert 0.93 <= held <= 0.985


def test_plain_percentiles_would_be_too_narrow() -> None:
    """This is the reason for studentised intervals."""
    random, trials, count = np.random.default_rng(7), 2000, 8
    values = random.normal(0, 1, (trials, count))
    means = values[:, random.integers(0, count, (500, count))].mean(axis=2)
    low, high = np.quantile(means, [0.025, 0.975], axis=1)
    assert np.mean((low <= 0) & (high >= 0)) < 0.92


@pytest.mark.parametrize("draw", [normal, skewed])
def test_of_forty_seeds_percentiles_hold_the_truth_nearly_as_often_as_they_say(draw: Draw) -> None:
    random, trials, count = np.random.default_rng(7), 1000, 40
    weights = seed_weights(range(count), 1000)
    intervals = [percentile_interval(weights @ draw(random, count)) for _ in range(trials)]
    held = np.mean([low <= 0 <= high for low, high in intervals])
    # 1000 trials are accurate to 1.4 %.
    assert 0.92 <= held <= 0.965


def test_seeds_have_the_same_weights_on_every_machine() -> None:
    weights = seed_weights((1, 2, 3), 4)
    assert np.allclose(weights.sum(axis=1), 1)
    assert (weights == seed_weights([1, 2, 3], 4)).all()
    assert (seed_weights((1, 2, 3), 400)[:4] == weights).all()


@pytest.mark.parametrize("paired", [True, False])
def test_of_normal_numbers_they_are_students(paired: bool) -> None:
    random = np.random.default_rng(3)
    ratios = []
    for _ in range(200):
        base, new = random.normal(0, 1, 20), random.normal(0, 1, 20)
        (half,) = half_widths([estimate(base, new, paired=paired)])
        test = stats.ttest_rel(new, base) if paired else stats.ttest_ind(new, base, equal_var=False)
        low, high = test.confidence_interval(0.95)
        assert half is not None
        ratios.append(half / ((high - low) / 2))
    assert np.median(ratios) == pytest.approx(1, abs=0.04)
    assert np.quantile(ratios, [0.05, 0.95]) == pytest.approx([1, 1], abs=0.15)


@pytest.mark.parametrize("paired", [True, False])
def test_of_few_seeds_they_are_students_to_the_digit(paired: bool) -> None:
    random = np.random.default_rng(3)
    for count in range(2, FEWEST):
        base, new = random.normal(0, 1, count), random.normal(0, 1, count if paired else count + 3)
        each = estimate(base, new, paired=paired)
        test = stats.ttest_rel(new, base) if paired else stats.ttest_ind(new, base, equal_var=False)
        low, high = test.confidence_interval(0.95)
        assert half_widths([each]) == [pytest.approx((high - low) / 2)]
        assert probabilities([each], 0.01) == [pytest.approx(test.pvalue)]


@pytest.mark.parametrize("draw", [normal, skewed])
@pytest.mark.parametrize(("paired", "level"), [(True, 0.05), (False, 0.05), (True, 0.01), (False, 0.01)])
def test_equal_things_look_different_as_seldom_as_is_said(draw: Draw, paired: bool, level: float) -> None:
    random, trials = np.random.default_rng(11), 2000
    found = [estimate(draw(random, 10), draw(random, 10), paired=paired) for _ in range(trials)]
    alarms = np.mean([(chance or 0) <= level for chance in probabilities(found, level)])
    assert level * 0.3 <= alarms <= level * 1.4


def test_probability_and_interval_say_the_same() -> None:
    random = np.random.default_rng(5)
    found = [estimate(random.normal(0, 1, 10), random.normal(0.8, 1, 10), paired=True) for _ in range(300)]
    for each, half, chance in zip(found, half_widths(found), probabilities(found, 0.05), strict=True):
        assert half is not None
        assert chance is not None
        assert (abs(each.value) > half) == (chance < 0.05) or abs(chance - 0.05) < 1e-3


def test_what_has_no_noise_and_what_is_not_known() -> None:
    ten = np.arange(10.0)
    same, all_by_one = estimate(ten, ten, paired=True), estimate(ten, ten + 1, paired=True)
    zeros = estimate(np.zeros(10), np.zeros(10), paired=False)
    single, alone = (estimate(ten[:1], ten[:count] + 1, paired=count == 1) for count in (1, 3))
    assert half_widths([same, all_by_one, zeros, single, alone]) == [0, 0, 0, None, None]
    assert probabilities([same, all_by_one, zeros, single, alone], 0.01) == [1, 0, 1, None, None]


def test_a_seed_that_stands_alone_is_no_evidence() -> None:
    """Most resamples without it have a standard error of 0; the interval stays finite, and shows no change."""
    one = np.zeros(10)
    one[3] = 5.0
    for paired in (True, False):
        each = estimate(np.zeros(10), one, paired=paired)
        ((half,), (chance,)) = half_widths([each]), probabilities([each], 0.001)
        assert half is not None
        assert each.value < half < 10
        assert (chance or 0) > 0.3


def test_seeds_decide_the_draws() -> None:
    random = np.random.default_rng(5)
    values = random.normal(0, 1, 10), random.normal(1, 1, 10)
    one = estimate(*values, paired=False)
    other_seeds = Seeds(one.seeds.base, tuple(range(100, 110)), paired=False)
    other = EstimatedDifference(one.value, one.base, one.new, other_seeds, 1.0)
    (again,) = half_widths([estimate(*values, paired=False)])
    assert half_widths([one]) == [again]
    assert half_widths([one]) != half_widths([other])
    # Together with others it is the same as alone.
    assert half_widths([other, one, other])[1] == pytest.approx(again)


def test_thousands_take_a_few_seconds() -> None:
    random = np.random.default_rng(5)
    found = [estimate(random.normal(0, 1, 10), random.normal(1, 1, 10), paired=True) for _ in range(5000)]
    start_s = time.process_time()
    half_widths(found)
    assert time.process_time() - start_s < 5
