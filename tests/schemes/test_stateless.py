# SPDX-License-Identifier: MIT OR Apache-2.0
"""Drop-tail, DCTCP-RED and TCN: decisions without memory."""

from __future__ import annotations

import pytest
from frames import CE, ECT0, ECT1, NOT_ECT
from hypothesis import given
from hypothesis import strategies as st
from switches import PORTS, Fate, Switch

from marklab.catalog.parameters import Setup
from marklab.devices.queueing import Queues
from marklab.traffic.rtt import parse_rtt

LONGEST = 2**19 - 1
LATEST = 2**32 - 1
THRESHOLDS = {"dctcp-red": "dctcp-red:k=7", "tcn": "tcn:t=7us"}


@given(
    st.integers(0, 2**48),
    st.integers(0, LATEST),
    st.integers(0, 2**20),
    st.integers(0, 2**20),
    st.sampled_from((NOT_ECT, ECT1, ECT0, CE)),
)
def test_droptail_marks_nothing(now: int, sojourn: int, found: int, left: int, ecn: int) -> None:
    switch = Switch("droptail")
    assert switch.send(max(now, sojourn), sojourn, found, left, ecn=ecn) is Fate.PASSED
    assert switch.counts() == {}


def beside(threshold: int) -> list[tuple[int, bool]]:
    return [(value, value > threshold) for value in (threshold - 1, threshold, threshold + 1) if value >= 0]


@pytest.mark.parametrize("k", [0, 1, 167, LONGEST - 1, LONGEST])
def test_dctcp_red_marks_above_k(k: int) -> None:
    """A depth beyond 19 bits saturates, so the largest K never marks."""
    switch = Switch(f"dctcp-red:k={k}")
    for depth, marked in beside(k):
        assert switch.marks(enq=depth) == (marked and depth <= LONGEST), depth
        assert not switch.marks(10**6, 10**6, 0, depth), "neither the depth left behind nor the sojourn counts"


@pytest.mark.parametrize("t", [0, 1, 200, LATEST - 1, LATEST])
def test_tcn_marks_above_t(t: int) -> None:
    switch = Switch(f"tcn:t={t}us")
    for sojourn, marked in beside(t):
        if sojourn <= LATEST:
            assert switch.marks(sojourn_us=sojourn, now_us=2 * LATEST) == marked, sojourn
        assert switch.marks(10**6, 0, sojourn, sojourn) is False, "no depth counts"


@pytest.mark.parametrize("t", [0, 7])
@pytest.mark.parametrize("since", [0, 1, 3, 8, 20])
def test_tcn_is_right_across_the_wrap_of_enq_timestamp(t: int, since: int) -> None:
    """Sojourns are the same if the packet arrived before the 32-bit time wrapped."""
    switch = Switch(f"tcn:t={t}us")
    for sojourn in (0, t, t + 1):
        assert switch.marks(2**32 + since, sojourn) == (sojourn > t)
        assert switch.marks(2**48 + since, sojourn) == (sojourn > t)


@pytest.mark.parametrize("scheme", THRESHOLDS)
@pytest.mark.parametrize("port", PORTS)
def test_marks_are_counted_by_port_and_packets_that_cannot_be_marked_pass(scheme: str, port: int) -> None:
    switch = Switch(THRESHOLDS[scheme])
    for ecn, fate in ((NOT_ECT, Fate.PASSED), (ECT1, Fate.MARKED), (ECT0, Fate.MARKED), (CE, Fate.PASSED)):
        assert switch.send(100, 8, 8, 0, port=port, ecn=ecn) is fate
        assert switch.send(100, 7, 7, 0, port=port, ecn=ecn) is Fate.PASSED
    assert switch.counts() == {("marks", port, 1): 2, ("not_capable", port, 1): 1}


@pytest.mark.parametrize("scheme", THRESHOLDS)
def test_a_packet_does_not_depend_on_those_before_it(scheme: str) -> None:
    switch = Switch(THRESHOLDS[scheme])
    assert [switch.marks(100, at, at, 0) for at in (8, 7, 8, 8, 0, 8)] == [True, False, True, True, False, True]


def test_a_queue_at_time_0() -> None:
    """No packet has waited at time 0; a packet that found others is judged by the length that it found."""
    assert not Switch("tcn:t=0us").marks(0, 0, 9, 9)
    assert Switch("dctcp-red:k=8").marks(0, 0, 9, 9)


@pytest.mark.parametrize("share", ["standard", "minimum"])
def test_per_queue_has_a_threshold_for_each_queue(share: str) -> None:
    """MQ-ECN paper, Eq. 2: one below, at and one above K, or K's fraction by the quantum."""
    queues = Queues.model_validate("dwrr:count=5,quantum=1mtu/2mtu/3mtu/4mtu,strict=1")
    setup = Setup(10**10, parse_rtt("80us"), 1.0, 600, queues)
    switch = Switch(f"per-queue:share={share},k=60packets", setup)
    parts = {0: 6, 1: 12, 2: 18, 3: 24} if share == "minimum" else dict.fromkeys(range(4), 60)
    # The queue above the others has the line to itself.
    # A packet that counts itself finds one packet more.
    own = Switch(f"per-queue:share={share},k=60packets,own=on", setup)
    for queue, k in {**parts, 127: 60}.items():
        assert [switch.marks(enq=found, queue=queue) for found in (k - 1, k, k + 1)] == [False, False, True]
        assert [own.marks(enq=found, queue=queue) for found in (k - 2, k - 1, k)] == [False, False, True]
