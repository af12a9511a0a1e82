# SPDX-License-Identifier: MIT OR Apache-2.0
"""Whether the seeds of two runs pass a rule, fail it, or do not decide it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from marklab.comparison.differences import Difference
from marklab.promotion.rules import Check, Outcome, Rule, better, finding, not_worse, shown, within, worst
from marklab.results.metric import find_metric
from marklab.statistics.bootstrap import EstimatedDifference, Seeds
from marklab.statistics.randomness import Floats
from marklab.statistics.samples import Interval

SHORT, UTILISATION, TIMEOUTS = (find_metric(name) for name in ("short.mean", "utilisation", "timeouts"))


def changed(value: float, interval: Interval | None, seeds: int = 4, metric: str = "short.mean") -> Difference:
    """A change in percent, with its interval."""
    numbers: Floats = np.zeros(seeds)
    same = Seeds(tuple(range(seeds)), tuple(range(seeds)), paired=True)
    new = 100 * (1 + value)
    ratio = EstimatedDifference(math.log1p(value), numbers, numbers, same, 1.0)
    change = EstimatedDifference(new - 100, numbers, numbers, same, 100.0)
    return Difference("", find_metric(metric), None, 100, new, same, ratio, change, interval=interval)


@pytest.mark.parametrize(
    ("rule", "interval", "outcome"),
    [
        (better(SHORT, "b"), (-0.2, -0.1), Outcome.PASSED),
        (better(SHORT, "b"), (-0.2, -1e-9), Outcome.PASSED),
        (better(SHORT, "b"), (-0.2, 0.0), Outcome.NOT_SHOWN),
        (better(SHORT, "b"), (-0.2, 0.1), Outcome.NOT_SHOWN),
        (better(SHORT, "b"), (0.0, 0.1), Outcome.FAILED),
        (better(SHORT, "b"), (0.0, 0.0), Outcome.FAILED),
        (not_worse(SHORT, 0.05), (-0.2, 0.05), Outcome.PASSED),
        (not_worse(SHORT, 0.05), (-0.2, 0.0501), Outcome.NOT_SHOWN),
        (not_worse(SHORT, 0.05), (0.05, 0.2), Outcome.NOT_SHOWN),
        (not_worse(SHORT, 0.05), (0.0501, 0.2), Outcome.FAILED),
        # Lower utilisation is worse.
        (better(UTILISATION, "b"), (-0.2, -0.1), Outcome.FAILED),
        (better(UTILISATION, "b"), (0.1, 0.2), Outcome.PASSED),
        (better(UTILISATION, "b"), (0.0, 0.2), Outcome.NOT_SHOWN),
        (not_worse(UTILISATION, 0.05), (-0.05, 0.2), Outcome.PASSED),
        (not_worse(UTILISATION, 0.05), (-0.2, 0.2), Outcome.NOT_SHOWN),
        (not_worse(UTILISATION, 0.05), (-0.2, -0.0501), Outcome.FAILED),
        (within(SHORT, 0.02), (-0.02, 0.02), Outcome.PASSED),
        (within(SHORT, 0.02), (-0.0201, 0.02), Outcome.NOT_SHOWN),
        (within(SHORT, 0.02), (-0.02, 0.0201), Outcome.NOT_SHOWN),
        (within(SHORT, 0.02), (-0.5, 0.5), Outcome.NOT_SHOWN),
        (within(SHORT, 0.02), (0.0201, 0.5), Outcome.FAILED),
        (within(SHORT, 0.02), (-0.5, -0.0201), Outcome.FAILED),
    ],
)
def test_all_of_an_interval_has_to_keep_a_rule(rule: Rule, interval: Interval, outcome: Outcome) -> None:
    assert shown(rule, changed(sum(interval) / 2, interval)).outcome is outcome


@pytest.mark.parametrize(
    ("rule", "value", "interval", "said"),
    [
        # An interval of half the width would end at the bound.
        (better(SHORT, "b"), -0.1, (-0.3, 0.1), "some 16 seeds would tell"),
        (not_worse(SHORT, 0.05), 0.01, (-0.07, 0.09), "some 16 seeds would tell"),
        (not_worse(SHORT, 0.05), 0.09, (0.01, 0.17), "some 16 seeds would tell"),
        # The widths of the two sides differ.
        (not_worse(SHORT, 0.05), 0.01, (-0.5, 0.13), "some 36 seeds would tell"),
        (within(SHORT, 0.02), 0.01, (-0.03, 0.05), "some 64 seeds would tell"),
        (within(SHORT, 0.02), 0.0, (-0.04, 0.04), "some 16 seeds would tell"),
        (better(SHORT, "b"), -0.001, (-0.101, 0.1), "1,000 seeds would not tell"),
        (better(SHORT, "b"), 0.0, (-0.1, 0.1), "1,000 seeds would not tell"),
    ],
)
def test_what_is_not_shown_says_how_many_seeds_it_takes(
    rule: Rule, value: float, interval: Interval, said: str
) -> None:
    found = shown(rule, changed(value, interval))
    assert found.outcome is Outcome.NOT_SHOWN
    assert found.found.endswith(f"; {said}")


def test_without_an_interval_or_without_a_number_nothing_is_shown() -> None:
    rule = not_worse(SHORT, 0.05)
    assert shown(rule, changed(-0.5, None, seeds=1)).outcome is Outcome.NOT_SHOWN
    assert shown(rule, None) == Check(rule.text, "no such flow in any run", Outcome.NOT_SHOWN)


@pytest.mark.parametrize(
    ("change", "interval", "outcome"),
    [
        (0.0, (0.0, 0.0), Outcome.PASSED),
        (3.0, (1.0, 5.0), Outcome.FAILED),
        (3.0, (-1.0, 7.0), Outcome.NOT_SHOWN),
    ],
)
def test_of_nothing_any_part_is_nothing(change: float, interval: Interval, outcome: Outcome) -> None:
    like = changed(0.0, interval, metric="timeouts")
    of_nothing = replace(like, base=0.0, new=change, ratio=None, change=replace(like.change, value=change))
    found = shown(not_worse(TIMEOUTS, 0.05), of_nothing)
    assert found.outcome is outcome
    assert found.found.startswith(f"{change:+g} (")


@pytest.mark.parametrize(
    ("outcomes", "all_of_them"),
    [
        ((), Outcome.PASSED),
        ((Outcome.PASSED, Outcome.NOT_SHOWN), Outcome.NOT_SHOWN),
        ((Outcome.NOT_SHOWN, Outcome.FAILED, Outcome.PASSED), Outcome.FAILED),
    ],
)
def test_a_gate_passes_if_all_its_rules_are_shown(outcomes: tuple[Outcome, ...], all_of_them: Outcome) -> None:
    assert worst([Check("rule", "found", outcome) for outcome in outcomes]) is all_of_them


def test_a_number_without_noise_holds_or_not() -> None:
    assert [finding("rule", "1", holds=holds).outcome for holds in (True, False)] == [Outcome.PASSED, Outcome.FAILED]
