# SPDX-License-Identifier: MIT OR Apache-2.0
"""ACC's switch: marks between two thresholds, which a port may have of its own."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from frames import CE, ECT0, ECT1, NOT_ECT
from hypothesis import given
from hypothesis import strategies as st
from probes import Probe
from switches import PORTS, Fate, Switch, params

K_MIN, K_MAX = 10, 26
BETWEEN = f"acc:k_min={K_MIN},k_max={K_MAX}"
LONGEST = 2**19 - 1

ports = pytest.mark.parametrize("port", PORTS)


def probability(found: int, k_min: int, k_max: int, p_max: Fraction) -> Fraction:
    """Of a mark, by figure 4 of the RED paper (Floyd and Jacobson 1993) on the queue itself. Exact."""
    if found <= k_min:
        return Fraction(0)
    return p_max * (found - k_min) / (k_max - k_min) if found <= k_max else Fraction(1)


def write(switch: Switch, port: int, **thresholds: int) -> None:
    """Write the entry of a port, as a controller does."""
    entry = {"table": "marking.params", "match": {"port": {"exact": port}}, "action": "set_params"}
    switch.harness.add_entry(json.dumps(entry | {"params": thresholds}))


@pytest.mark.parametrize("k", [0, 1, 167, LONGEST - 1, LONGEST])
@ports
def test_without_a_controller_it_marks_as_dctcp_red(k: int, port: int) -> None:
    acc, dctcp_red = Switch(f"acc:k_max={k}"), Switch(f"dctcp-red:k={k}")
    for found in (max(k - 1, 0), k, k + 1):
        marked = k < found <= LONGEST
        assert acc.marks(enq=found, port=port) == dctcp_red.marks(enq=found, port=port) == marked, found
        assert not acc.marks(10**6, 10**6, 0, found, port=port), "neither the depth left behind nor the sojourn counts"


def test_by_rule_the_threshold_is_that_of_dctcp_red() -> None:
    k = params("dctcp-red")["k_pkts"]
    own = params("acc")
    assert (own["k_min_pkts"], own["k_max_pkts"]) == (k, k)


def test_a_lower_threshold_above_the_upper_one_is_none() -> None:
    switch = Switch(f"acc:k_min=40,k_max={K_MAX}")
    assert [switch.marks(enq=found) for found in (K_MAX - 1, K_MAX, K_MAX + 1)] == [False, False, True]


@pytest.mark.parametrize("k", [K_MIN, K_MAX])
def test_marks_are_random_between_the_thresholds_alone(k: int) -> None:
    """One below, at and one above each, with a probability that is 1 at k_max."""
    for found in (k - 1, k, k + 1):
        switch, probe = Switch(BETWEEN, seed=5), Probe(seed=5)
        p = probability(found, K_MIN, K_MAX, Fraction(1))
        marked = Fraction(probe.draw(), 2**32) < p if K_MIN < found <= K_MAX else p == 1
        assert switch.marks(enq=found) is marked, found
        # The next random number is the second, or still the first.
        assert switch.marks(enq=(K_MIN + K_MAX) // 2) is (probe.draw() < 2**31), found


@given(st.lists(st.integers(0, K_MAX + 3), max_size=40), st.sampled_from((1, 0.5, 0.01)), st.integers(0, 99))
def test_any_queue_agrees_with_the_probability(depths: list[int], p_max: float, seed: int) -> None:
    switch, probe = Switch(f"{BETWEEN},p_max={p_max}", seed=seed), Probe(seed=seed)
    for found in depths:
        p = probability(found, K_MIN, K_MAX, Fraction(p_max))
        marked = switch.marks(enq=found)
        if K_MIN < found <= K_MAX:
            draw = Fraction(probe.draw(), 2**32)
            # The slope is rounded to 2^-32 per packet.
            assert marked is (draw < p) or abs(draw - p) <= Fraction(found - K_MIN, 2**32), found
        else:
            assert marked is (p == 1), found


@ports
def test_an_entry_holds_for_its_port_alone(port: int) -> None:
    switch = Switch("acc:k_max=20")
    write(switch, port, k_min_pkts=7, k_max_pkts=7, slope_q32=0)
    for other in PORTS:
        k = 7 if other == port else 20
        assert [switch.marks(enq=found, port=other) for found in (k - 1, k, k + 1)] == [False, False, True]


def test_all_queues_of_a_port_have_its_thresholds() -> None:
    switch = Switch("acc:k_max=20")
    write(switch, 2, k_min_pkts=7, k_max_pkts=7, slope_q32=0)
    for place in ((2, 0), (2, 1), (2, 127)):
        assert [switch.marks(enq=found, port=place[0], queue=place[1]) for found in (7, 8)] == [False, True]


@ports
def test_marks_are_counted_by_port_and_packets_that_cannot_be_marked_pass(port: int) -> None:
    switch = Switch("acc:k_max=7")
    for ecn, fate in ((NOT_ECT, Fate.PASSED), (ECT1, Fate.MARKED), (ECT0, Fate.MARKED), (CE, Fate.PASSED)):
        assert switch.send(100, 8, 8, 0, port=port, ecn=ecn) is fate
        assert switch.send(100, 7, 7, 0, port=port, ecn=ecn) is Fate.PASSED
    assert switch.counts() == {("marks", port, 1): 2, ("not_capable", port, 1): 1}
