# SPDX-License-Identifier: MIT OR Apache-2.0
"""PI against Hollot, Misra, Towsley and Gong (2001), and the periods that it shares with REM."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

import pytest
from frames import CE, ECT0, ECT1, NOT_ECT
from hypothesis import example, given
from hypothesis import strategies as st
from oracles import Pi
from probes import Probe
from sequences import STARTS, Packet, in_order, levels, packets
from switches import PLACES, Fate, Switch, params

Q_REF, PERIOD = 20, 10
PI = f"pi:q_ref={Q_REF},period={PERIOD}us,a=0.01,b=0.009"
ONE = 2**40


def constants(scheme: str) -> tuple[int, int, int, int]:
    """q_ref, a and b in 2^-40, and the period in us."""
    own = params(scheme)
    return own["q_ref_pkts"], own["a_q40"], own["b_q40"], params(scheme, "marking.periods.length")["period_us"]


def oracle(scheme: str) -> Pi:
    q_ref, a, b, period = constants(scheme)
    return Pi(q_ref, Fraction(a, ONE), Fraction(b, ONE), period)


def updated(switch: Switch, found: int, was: int = Q_REF, p: int = 0) -> int:
    """The probability in 2^-40 after an update in which the queue goes from `was` to `found`."""
    switch.send(1000)
    switch.set_state("probability", p)
    switch.set_state("old_length", was)
    switch.send(1000 + PERIOD, 0, found)
    assert switch.state("old_length") == found
    return switch.state("probability")


@pytest.mark.parametrize("found", [Q_REF - 1, Q_REF, Q_REF + 1])
@pytest.mark.parametrize("was", [Q_REF - 1, Q_REF, Q_REF + 1])
def test_an_update_is_by_the_queue_and_by_what_it_was(found: int, was: int) -> None:
    _, a, b, _ = constants(PI)
    assert updated(Switch(PI), found, was, ONE // 2) == ONE // 2 + a * (found - Q_REF) - b * (was - Q_REF)


def test_a_probability_stays_within_0_and_1() -> None:
    _, a, _, _ = constants(PI)
    assert [updated(Switch(PI), Q_REF - 1, p=p) for p in (a - 1, a, a + 1)] == [0, 0, 1]
    assert [updated(Switch(PI), Q_REF + 1, p=p) for p in (ONE - a - 1, ONE - a, ONE - a + 1)] == [ONE - 1, ONE, ONE]
    assert updated(Switch(PI), 2**19 - 1, 0, ONE) == ONE
    assert updated(Switch(PI), 0, 2**19 - 1, ONE) == 0


@pytest.mark.parametrize(("by", "marked"), [(-1, False), (0, False), (1, True)])
def test_a_packet_is_marked_if_its_draw_is_below_p(by: int, marked: bool) -> None:
    switch, draw = Switch(PI, seed=3), Probe(seed=3).draw()
    switch.set_state("probability", 256 * draw + by)
    assert (switch.send(1000) is Fate.MARKED) == marked
    assert switch.counts() == ({("marks", 1, 1): 1} if marked else {})


@pytest.mark.parametrize(("p", "marks"), [(0, 0), (ONE, 2000)])
def test_probabilities_0_and_1_leave_nothing_to_the_lot(p: int, marks: int) -> None:
    switch = Switch("pi:period=1s")
    switch.set_state("probability", p)
    assert sum(switch.send(1000, 0, 9) is Fate.MARKED for _ in range(2000)) == marks


def test_packets_are_marked_as_often_as_p_says() -> None:
    switch = Switch("pi:period=1s")
    switch.set_state("probability", ONE // 10)
    marks = sum(switch.send(1000, 0, 9) is Fate.MARKED for _ in range(20_000))
    assert abs(marks - 2000) < 5 * (20_000 * 0.1 * 0.9) ** 0.5


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize(("after", "updates"), [(PERIOD - 1, 0), (PERIOD, 1), (PERIOD + 1, 1), (2 * PERIOD - 1, 1)])
def test_a_period_begins_with_the_first_packet(start: int, after: int, updates: int) -> None:
    switch = Switch(PI)
    _, a, b, _ = constants(PI)
    switch.send(start, 0, Q_REF + 1)
    assert switch.state("probability") == 0
    switch.send(start + after, 0, Q_REF + 1)
    assert switch.state("probability") == updates * (a + b * Q_REF)


def test_time_is_that_of_arrival() -> None:
    """Sojourns of 5 us and of 0: the second packet left a period after the first, and arrived 5 us earlier."""
    switch = Switch(PI)
    switch.send(1000, 0, Q_REF + 1)
    switch.send(1000 + PERIOD, 5, Q_REF + 1)
    assert switch.state("probability") == 0
    switch.send(1005 + PERIOD, 5, Q_REF + 1)
    assert switch.state("probability") > 0


@given(st.sampled_from(STARTS), st.integers(1, 2**32 - 1), st.integers(0, 2**32 + 5) | st.integers(2**40, 2**47 - 1))
@example(0, 1, 2**32 - 1)
@example(0, 1, 2**32)
@example(0, 3, 2**32 - 1)
@example(0, 2**31, 2**32 - 1)
@example(0, 2**32 - 1, 2**32 - 1)
@example(0, 2**32 - 1, 2**32 - 2)
@example(0, 1, 2**47 - 1)
def test_periods_are_counted_as_division_would(start: int, period: int, elapsed: int) -> None:
    """By the effect of each on a probability of 1, and by the start of the present one; the horizon is 2^32 us.

    Differences of 48-bit times have a sign, so that 2^47 us (4.5 years) without a packet would be a time to come.
    """
    scheme = f"pi:q_ref=1,period={period}us,a={2.0**-33!r},b={2.0**-34!r}"
    assert constants(scheme) == (1, 128, 64, period)
    switch = Switch(scheme)
    switch.send(start, 0, 1)
    switch.set_state("probability", ONE)
    switch.set_state("old_length", 1)
    now = start + elapsed
    switch.send(now, 0, 0)
    ended, rest = divmod(min(elapsed, 2**32 - 1), period)
    exact = ONE - 128 - 64 * (ended - 1) if ended else ONE
    assert switch.state("probability") == max(exact, 0)
    began = now - rest if ended else start
    assert switch.state("periods.start") == 2**48 + began % 2**48


def test_a_queue_that_is_never_used_has_no_state() -> None:
    switch = Switch(PI)
    switch.send(1000, 0, 9, port=2, queue=1)
    switch.send(1000 + PERIOD, 0, 99, port=2, queue=1)
    assert switch.state("probability", 2, 1) > 0
    assert [switch.state(name, 1) for name in ("probability", "old_length", "periods.start")] == [0, 0, 0]


def agrees(scheme: str, sequence: Iterable[Packet], seed: int = 0) -> Counter[tuple[str, int, int]]:
    """Compare fates, states and counters with the paper's, on the switch's draws; returns the counts."""
    switch, lot = Switch(scheme, seed=seed), Probe(seed=seed)
    pis = {place: oracle(scheme) for place in PLACES}
    drops = "drop_not_ect=on" in scheme
    counts: Counter[tuple[str, int, int]] = Counter()
    for packet in sequence:
        pi = pis[packet.place]
        pi.comes(packet.now - packet.sojourn, packet.found)
        hit = Fraction(lot.draw(), 2**32) < pi.p
        fate = switch.send(
            packet.now, packet.sojourn, packet.found, packet.left, port=packet.port, queue=packet.queue, ecn=packet.ecn
        )
        what = {NOT_ECT: "drops" if drops else "not_capable", ECT0: "marks", ECT1: "marks", CE: None}[packet.ecn]
        if hit and what:
            counts[what, packet.port, 1] += 1
        expected = {"marks": Fate.MARKED, "drops": Fate.DROPPED}.get(what or "", Fate.PASSED)
        assert fate is (expected if hit else Fate.PASSED), packet
        assert switch.state("probability", *packet.place) == pi.p * ONE
        assert switch.state("old_length", *packet.place) == pi.q_old
    assert switch.counts() == counts
    return counts


@pytest.mark.parametrize(
    "scheme", [PI, f"{PI},drop_not_ect=on", "pi:q_ref=3,period=7us,a=0.3,b=0.1", "pi:q_ref=0,period=1us,a=0.001,b=0"]
)
@given(packets(sojourns=[0, 5], gaps=[0, 1, 10, 600], depths=[0, 1, 20, 26]))
def test_any_sequence_agrees_with_the_paper(scheme: str, sequence: list[Packet]) -> None:
    agrees(scheme, in_order(sequence))


@pytest.mark.parametrize("start", STARTS)
def test_long_congestion_agrees_with_the_paper(start: int) -> None:
    counts = agrees("pi:q_ref=60,period=5us,a=0.00002,b=0.0000199", levels(start), seed=5)
    assert counts["marks", 1, 1] > 100


@pytest.mark.parametrize("scheme", [PI, "rem:b_star=20,period=10us,gamma=0.4,phi=1.5,alpha=0.3"])
def test_the_interpreter_agrees_with_the_machine_code(scheme: str) -> None:
    """On numbers of 96 bits, of either sign."""
    state = "probability" if scheme == PI else "price"
    seen = []
    for interpret in (False, True):
        switch = Switch(scheme, interpret=interpret, seed=7)
        seen.append([(switch.send(at, 0, 77 * at % 41), switch.state(state)) for at in range(600)])
    assert seen[0] == seen[1]
    assert {fate for fate, _ in seen[0]} == {Fate.PASSED, Fate.MARKED}
