# SPDX-License-Identifier: MIT OR Apache-2.0
"""The formula of a queue with bursts of arrivals, against closed forms and against the simulator."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marklab.metrics.burst_queue import (
    RECEIVE_WINDOWS,
    _counted,
    burst_sizes,
    bursts_of,
    mean_queue,
    part_beyond,
    queue_lengths,
)
from marklab.traffic.workload import Workload, load_workload
from runs import run

LOADS = st.floats(0.05, 0.95)


def distribution(weights: list[float]) -> np.ndarray:
    sizes = np.array([0.0, *weights])
    return sizes / sizes.sum()


def test_windows_double_up_to_the_receive_window() -> None:
    assert bursts_of(20, 2, 100) == [2, 4, 8, 6]
    assert bursts_of(30, 2, 5) == [2, 4, 5, 5, 5, 5, 4]
    assert bursts_of(1, 2, 5) == [1]
    assert bursts_of(3, 2, 1) == [1, 1, 1]


@given(st.integers(1, 3000), st.integers(1, 20), st.integers(1, 60))
def test_bursts_that_are_counted_are_those_that_are_sent(packets: int, initial: int, most: int) -> None:
    sent = bursts_of(packets, initial, most)
    assert sum(sent) == packets
    assert max(sent) <= most
    counted = _counted(packets, initial, most)
    assert {burst: sent.count(burst) for burst in set(sent)} == counted


@given(LOADS)
def test_single_packets_are_m_m_1(load: float) -> None:
    one = distribution([1])
    expected = [(1 - load) * load**n for n in range(60)]
    assert queue_lengths(load, one, 59) == pytest.approx(expected, abs=1e-12)
    assert mean_queue(load, one) == pytest.approx(load / (1 - load))
    assert part_beyond(load, one, 10) == pytest.approx(load**11, abs=1e-12)


@given(LOADS, st.lists(st.floats(0.01, 1), min_size=1, max_size=12))
def test_the_distribution_has_the_mean_of_equation_1(load: float, weights: list[float]) -> None:
    sizes = distribution(weights)
    lengths = queue_lengths(load, sizes, 4000)
    assert (lengths >= 0).all()
    assert lengths.sum() == pytest.approx(1, abs=1e-6)
    assert float(np.dot(np.arange(4001), lengths)) == pytest.approx(mean_queue(load, sizes), rel=1e-3)


@given(LOADS, st.lists(st.floats(0.01, 1), min_size=1, max_size=8))
def test_all_rates_balance(load: float, weights: list[float]) -> None:
    """Second implementation: the balance of each state, instead of cuts."""
    sizes = distribution(weights)
    lengths = queue_lengths(load, sizes, 50)
    rate = load / float(np.dot(np.arange(len(sizes)), sizes))
    for n in range(1, 50):
        comes = sum(rate * sizes[n - k] * lengths[k] for k in range(n) if n - k < len(sizes))
        assert (rate + 1) * lengths[n] == pytest.approx(comes + lengths[n + 1], abs=1e-12)


def test_bursts_of_the_webs_objects() -> None:
    sizes = burst_sizes(load_workload("web_objects"), 1000, 2, RECEIVE_WINDOWS)
    assert sizes.sum() == pytest.approx(1)
    assert len(sizes) == 65
    # Most objects have a packet or two; large ones arrive in windows of their receivers.
    assert sizes[1] + sizes[2] > 0.3
    assert all(sizes[window] > sizes[window - 1] for window in (8, 16, 64))


def simulated_queue(packets: int, load: float) -> float:
    """Mean number of packets that wait behind the one being sent, for flows of equal size."""
    workload = Workload("one-size", ((packets * 1460.0, 0.0), (packets * 1460.0, 1.0)))
    transport = {"control": "reno", "initial_window": 2, "initial_rto": "3s", "min_rto": "1s"}
    summary = run(
        schemes=["droptail"], baseline="none", topology="topologies/web.yaml", rate="100M", workload=workload,
        rtt="10ms..150ms,mean=80ms,p90=136ms", transport=transport,
        connections="asked", queue=10_000, load=load, flows=100_000 // packets, seeds=1, sample_queues="1ms",
    )[2]  # fmt: skip
    # One of ten ports is the bottleneck's; the others are ten times as fast and almost always empty.
    found = summary.main.seeds[0].queues_packets["R"]
    return 10 * (found.mean or 0.0)


# Flows of one packet have about as many handshake packets, which the formula does not include.
@pytest.mark.parametrize("packets", [6, 14, 30])
def test_the_simulator_is_near_the_formula_and_below_it(packets: int) -> None:
    """ECN+ paper, Figure 7: load 0.8. Packets take equal times on a line, so fewer wait than in the formula."""
    load = 0.8
    sizes = np.bincount(bursts_of(packets, 2, 1000), minlength=2) / len(bursts_of(packets, 2, 1000))
    formula = mean_queue(load, sizes)
    # With equal service times the mean of a queue of bursts has a formula, too (Pollaczek and Khinchine, with batches):
    # load^2 / (2 (1 - load)) + load / (2 (1 - load)) * (E[X^2] / E[X] - 1), without the one that is being sent.
    numbers = np.arange(len(sizes))
    spread = float(np.dot(numbers**2, sizes) / np.dot(numbers, sizes)) - 1
    line = load * load / (2 * (1 - load)) + load / (2 * (1 - load)) * spread
    found = simulated_queue(packets, load)
    assert found < formula
    assert found == pytest.approx(line, rel=0.3)


# 4 in 5 packets belong to flows with more than 100 packets.
_POINTS = ((1, 0.0), (10, 0.7), (100, 0.92), (1000, 0.99), (3000, 1.0))
GENERAL = Workload("general", tuple((1460.0 * packets, part) for packets, part in _POINTS))


def beyond_target(workload: Workload, load: float, until: str, target_packets: int) -> tuple[float, float]:
    """Fractions of time in which the bottleneck's queue is beyond a target, and in which the line is busy."""
    windows = {f"{window}B": part for window, part in RECEIVE_WINDOWS.items()}
    transport = {
        "control": "reno",
        "initial_window": 2,
        "initial_rto": "3s",
        "min_rto": "1s",
        "receive_window": windows,
    }
    (seen,) = run(
        schemes=["droptail"], baseline="none", topology="topologies/web.yaml", rate="100M", workload=workload,
        rtt="10ms..150ms,mean=80ms,p90=136ms", transport=transport,
        connections="asked", queue=10_000, load=load, flows=30_000, seeds=1, sample_queues="1ms", until=until,
    )[1]  # fmt: skip
    (line,) = (line for line in seen.report["lines"] if (line["from"][0], line["to"][0]) == ("R2", "R1"))
    samples = seen.queue_samples
    assert samples is not None
    at = (samples["node"] == "R2") & (samples["port"] == line["from"][1])
    packets, looks = samples["packets"][at], samples["looks"][at]
    return float(looks[packets > target_packets].sum() / looks.sum()), line["busy_ns"] / seen.report["end_ns"]


def test_the_simulator_is_beyond_the_target_a_little_less_often_than_the_formula() -> None:
    """ECN+ paper, Figures 8 and 9: flows and receive windows of all sizes, 5 ms at 100 Mb/s, which are 41 packets.

    The formula uses the load of the line in the simulator. It is an upper bound in the paper, too:
    acknowledgements spread the bursts of long flows, and packets on a line take equal times.
    """
    found = {}
    for workload, until in ((load_workload("web_objects"), "20s"), (GENERAL, "80s")):
        sizes = burst_sizes(workload, 1460, 2, RECEIVE_WINDOWS)
        for load in (0.7, 0.9):
            part, utilisation = beyond_target(workload, load, until, 41)
            formula = part_beyond(utilisation, sizes, 41)
            assert formula - 0.2 < part < formula, (workload.name, load, utilisation, part, formula)
            found[workload.name, load] = part
    for load in (0.7, 0.9):
        assert found["general", load] > found["web_objects", load]
    for name in ("general", "web_objects"):
        assert found[name, 0.9] > 2 * found[name, 0.7]


def test_a_load_of_nothing_waits_for_nothing() -> None:
    for load, packets in itertools.product((1e-9,), (0, 5)):
        assert part_beyond(load, distribution([1, 1]), packets) < 1e-6
