# SPDX-License-Identifier: MIT OR Apache-2.0
"""DualPI2 against the pseudo-code of RFC 9332, packet by packet, and against a timer that sees the queues."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction

import pytest
from frames import CE, ECT0, ECT1, NOT_ECT
from hypothesis import given
from hypothesis import strategies as st
from oracles import DualPi2
from ports import Arrival, Departure, round_robin
from sequences import STARTS, Packet, packets
from switches import TESTBED, Fate, Switch, fitted, params

from marklab.errors import BadInput
from marklab.prepare.experiment import prepare
from marklab.spec.description import make_spec
from marklab.traffic.rtt import parse_rtt

SMALL = "dualpi2:target=20us,rtt_max=100us,t_update=10us,alpha=0.002,beta=0.006,step=15us"
LINE_BPS = 40_000_000
# The line of the RFC's experiments.
SLOW = replace(TESTBED, rate_bps=LINE_BPS, rtt=parse_rtt("10ms"), queue_packets=1000)


def oracle(scheme: str, setup: object = TESTBED) -> DualPi2:
    own = params(scheme, setup=setup)  # type: ignore[arg-type]
    period = params(scheme, "marking.periods.length", setup)["period_us"]  # type: ignore[arg-type]
    gains = (Fraction(own[name], 2**40) for name in ("alpha_q40", "beta_q40"))
    k = Fraction(own["k_q16"], 2**16)
    return DualPi2(own["target_us"], *gains, period, k, own["step_us"], own["step_left_pkts"])


def in_l(ecn: int) -> bool:
    return ecn in (ECT1, CE)


def test_the_defaults_are_the_rfcs() -> None:
    """Appendix A.1: target 15 ms, RTT_max 100 ms, Tupdate 15 ms, alpha 0.15 Hz, beta 3 Hz, k 2."""
    own = params("dualpi2", setup=SLOW)
    assert (own["target_us"], own["step_us"], own["k_q16"], own["step_left_pkts"]) == (15_000, 1000, 2 * 2**16, 1)
    assert own["alpha_q40"] == round(0.15e-6 * 2**40)
    assert own["beta_q40"] == round(3e-6 * 2**40)
    assert params("dualpi2", "marking.periods.length", SLOW)["period_us"] == 15_000


def test_its_queues_take_turns_of_one_and_nine_packets() -> None:
    queues = fitted("dualpi2").queues
    assert (queues.scheduler, queues.count, queues.quantum) == ("wrr", 2, ("1mtu", "9mtu"))


def test_a_period_in_which_no_packet_could_leave_is_refused() -> None:
    with pytest.raises(BadInput, match="parameter `t_update` is 299"):
        fitted("dualpi2:t_update=299us", SLOW)
    fitted("dualpi2:t_update=300us", SLOW)


@pytest.mark.parametrize("transport", ["dctcp", "ear", "dcqcn", "delay-dctcp"])
def test_hosts_that_take_its_marks_for_something_else_are_named(transport: str) -> None:
    with pytest.raises(BadInput, match=f"hosts with {transport} do not read the marks of dualpi2") as caught:
        prepare(make_spec({"schemes": "dualpi2", "transport": transport, "baseline": "none"}))
    assert caught.value.remedy == "--transport prague, or another scheme"


def agrees(scheme: str, sequence: Iterable[Packet]) -> Counter[tuple[str, int, int]]:
    """Compare fates, states and counters with the RFC's; returns the counts."""
    switch = Switch(scheme)
    ports = {port: oracle(scheme) for port in (1, 2, 510)}
    counts: Counter[tuple[str, int, int]] = Counter()
    for packet in sequence:
        rfc = ports[packet.port]
        what, cause = rfc.departs(packet.now, packet.sojourn, packet.left, l4s=in_l(packet.ecn))
        drops = what == "drop" or (what == "mark or drop" and packet.ecn == NOT_ECT)
        marks = what in ("mark", "mark or drop") and packet.ecn in (ECT0, ECT1)
        if drops or marks:
            counts["drops" if drops else "marks", packet.port, cause] += 1
        fate = switch.send(packet.now, packet.sojourn, packet.found, packet.left, port=packet.port, ecn=packet.ecn)
        assert fate is (Fate.DROPPED if drops else Fate.MARKED if marks else Fate.PASSED), packet
        assert switch.state("base_probability", packet.port) == rfc.p * 2**40, packet
        assert switch.state("recur.count", packet.port, in_l(packet.ecn)) == rfc.count[in_l(packet.ecn)] * 2**32
    assert switch.counts() == counts
    return counts


@pytest.mark.parametrize(
    "scheme",
    [
        SMALL,
        "dualpi2:target=5us,rtt_max=100us,t_update=7us,alpha=0.01,beta=0.05,step=3us,k=1.19,step_left=0",
        "dualpi2:target=50us,rtt_max=100us,t_update=2us,alpha=0.0001,beta=0,step=100us,k=4,step_left=3",
    ],
)
@given(packets(sojourns=[0, 15, 20, 60], gaps=[0, 1, 10, 20, 600], depths=[0, 1, 3]))
def test_any_sequence_agrees_with_the_rfc(scheme: str, sequence: list[Packet]) -> None:
    agrees(scheme, sequence)


def congested(start: int, number: int) -> Iterator[Packet]:
    """Both queues of a port, one packet per us: below the target, above it, far above it, and empty for a while."""
    lot = random.Random(start)  # noqa: S311
    now = start
    for at in range(number):
        now += 1 if at % 3000 else 500
        delay = [10, 22, 40, 21, 0][at // 800 % 5]
        ecn = lot.choice((NOT_ECT, ECT0, ECT1, ECT1, CE))
        sojourn = min(now, lot.randint(0, 25) if in_l(ecn) else max(delay + lot.randint(-3, 3), 0))
        yield Packet(now, sojourn, 0, lot.randint(0, 3), 1, 0, ecn)


@pytest.mark.parametrize("start", STARTS)
def test_long_congestion_agrees_with_the_rfc(start: int) -> None:
    counts = agrees(SMALL, congested(start, 12_000))
    for what, cause in [("marks", 1), ("marks", 2), ("marks", 3), ("drops", 3), ("marks", 4), ("drops", 4)]:
        assert counts[what, 1, cause] > 10, (what, cause)


def arrivals(seconds: float) -> list[Arrival]:
    """Packets of L at half of the line's rate, and of C at a rate around the other half, in bursts."""
    lot = random.Random(7)  # noqa: S311
    frame_ns = round(1538 * 8e9 / LINE_BPS)
    result, now = [], 0
    while now < seconds * 1e9:
        result.append(Arrival(now, 1, 1514))
        now += round(lot.uniform(1.5, 2.5) * frame_ns)
    now = 0
    while now < seconds * 1e9:
        slow = int(now / 0.5e9) % 2
        burst = lot.randint(1, 6)
        result += [Arrival(now, 0, 1514)] * burst
        now += round(burst * (2.3 if slow else 1.75) * frame_ns)
    return sorted(result, key=lambda arrival: arrival.ns)


def head_us(departures: list[Departure], queue: int, at_us: int) -> int:
    """How long the first packet of a queue has waited."""
    waiting = (each for each in departures if each.queue == queue and each.now_us >= at_us > each.enqueued_us)
    return max((at_us - each.enqueued_us for each in waiting), default=0)


def test_updates_by_packets_follow_a_timer_that_sees_the_queues() -> None:
    """The delay of the queue that does not send is that of its latest packet, up to a burst older than its first one.

    A burst of six packets changes p' by 3 Hz * 4.2 ms. Such differences do not add up: beta's terms cancel each other.
    """
    departures = list(round_robin(arrivals(3), [1514, 9 * 1514], LINE_BPS, carries=False))
    switch, rfc = Switch("dualpi2", SLOW), oracle("dualpi2", SLOW)
    # Its state is read when a period has ended: the timer's own, from departures to come.
    due = departures[0].now_us + rfc.period
    recent: list[Departure] = []
    seen, true = [], []
    hits = 0
    expected = Fraction(0)
    for at, each in enumerate(departures):
        while each.now_us >= due:
            recent = departures[max(at - 3, 0) : at + 400]
            rfc.update(max(head_us(recent, queue, due) for queue in (0, 1)))
            due += rfc.period
        ecn = ECT1 if each.queue else ECT0
        fate = switch.send(each.now_us, each.now_us - each.enqueued_us, each.found, each.left, ecn=ecn)
        if each.queue == 0:
            hits += fate is not Fate.PASSED
            expected += rfc.p**2
        seen.append(switch.state("base_probability") / 2**40)
        true.append(float(rfc.p))
    assert max(true) > 0.1
    differences = [ours - timers for ours, timers in zip(seen, true, strict=True)]
    assert max(map(abs, differences)) < 0.02
    assert abs(sum(differences)) / len(differences) < 0.005
    assert abs(hits - expected) < 2 + 0.05 * expected


@given(st.integers(0, 2**32))
def test_a_long_silence_ends_with_probability_0(silence_us: int) -> None:
    switch = Switch(SMALL)
    switch.send(1000, 0)
    switch.set_state("base_probability", 2**40)
    switch.set_state("old_delay", 40)
    switch.send(1000 + silence_us, 0)
    ended = silence_us // 10
    rfc = replace(oracle(SMALL), p=Fraction(1), prevq=40, begun=1000)
    rfc.timer(1000 + min(ended, 10**6) * 10)
    assert switch.state("base_probability") == rfc.p * 2**40
