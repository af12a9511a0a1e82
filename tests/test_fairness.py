# SPDX-License-Identifier: MIT OR Apache-2.0
"""Shares by water-filling, Jain's index, convergence."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marklab.statistics.fairness import convergence_ns, jain, max_min_shares

LINES = 4


@st.composite
def networks(draw: st.DrawFn) -> tuple[list[list[int]], list[float], list[float], list[float]]:
    """Paths, capacities, demands and weights."""
    path = st.lists(st.integers(0, LINES - 1), min_size=1, unique=True)
    paths = draw(st.lists(path, min_size=1, max_size=8))
    number = st.floats(0.01, 100)
    each = {"min_size": len(paths), "max_size": len(paths)}
    capacities = draw(st.lists(number, min_size=LINES, max_size=LINES))
    demands = draw(st.lists(number | st.just(0.0) | st.just(math.inf), **each))
    return paths, capacities, demands, draw(st.lists(st.floats(0.1, 10), **each))


@given(networks())
def test_shares_are_max_min_fair(network: tuple[list[list[int]], list[float], list[float], list[float]]) -> None:
    """The definition: a flow below its demand passes a full line on which no flow has more per weight."""
    paths, capacities, demands, weights = network
    shares = max_min_shares(paths, capacities, demands, weights)
    used = [sum(share for share, path in zip(shares, paths, strict=True) if line in path) for line in range(LINES)]
    assert all(use <= capacity * (1 + 1e-6) for use, capacity in zip(used, capacities, strict=True))
    levels = [share / weight for share, weight in zip(shares, weights, strict=True)]
    for flow, (share, demand) in enumerate(zip(shares, demands, strict=True)):
        assert share <= demand * (1 + 1e-6)
        if share < demand * (1 - 1e-6):
            full = [line for line in paths[flow] if used[line] >= capacities[line] * (1 - 1e-6)]
            highest = [max(level for level, path in zip(levels, paths, strict=True) if line in path) for line in full]
            assert any(levels[flow] >= level * (1 - 1e-6) for level in highest)


@pytest.mark.parametrize(
    ("demands_gbps", "shares_gbps"),
    [
        # DiffECN paper, section III-A: demands of 25, 13, 5 and 5 Gb/s on 40 Gb/s.
        ([25, 13, 5, 5], [17, 13, 5, 5]),
        ([15, 15, 15, 5], [35 / 3, 35 / 3, 35 / 3, 5]),
        ([25, 13], [25, 13]),
        ([math.inf] * 4, [10] * 4),
    ],
)
def test_shares_of_a_line(demands_gbps: list[float], shares_gbps: list[float]) -> None:
    assert max_min_shares([[0]] * len(demands_gbps), [40], demands_gbps) == pytest.approx(shares_gbps)


def test_a_flow_without_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="without limit"):
        max_min_shares([[]], [], [math.inf])


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=20))
def test_jain_lies_between_one_for_all_and_one_share(values: list[float]) -> None:
    index = jain(values)
    if not any(values):
        assert index is None
    else:
        assert index is not None
        assert 1 / len(values) * (1 - 1e-9) <= index <= 1 + 1e-9


def test_jain_of_k_equals_among_n() -> None:
    assert jain([3, 3, 3, 0]) == pytest.approx(3 / 4)
    assert jain([1, 2]) == pytest.approx(9 / 10)


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ([0, 5, 9, 10, 10], 200),  # 9 is at the edge, inside
        ([0, 5, 8.99, 10, 10], 300),
        ([0, 10, 11.01, 10], 300),
        ([10, 11, 9], 0),
        ([10, 10, 8], None),
        ([], None),
    ],
)
def test_convergence_is_when_the_rate_stays(rates: list[float], expected: int | None) -> None:
    assert convergence_ns(np.array(rates, dtype=np.float64), 100, 10.0, 0.1) == expected
