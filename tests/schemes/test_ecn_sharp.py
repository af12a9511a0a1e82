# SPDX-License-Identifier: MIT OR Apache-2.0
"""ECN# against section 3.2 and Algorithm 1 of its paper."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from fractions import Fraction
from math import sqrt

import pytest
from frames import CE, ECT0, ECT1, NOT_ECT
from hypothesis import given
from oracles import TABLE, EcnSharp, over_count, over_root
from sequences import STARTS, Packet, congestion, packets
from switches import PLACES, Fate, Switch, params

INS, PST, INTERVAL = 200, 85, 201
SOJOURN = f"ecn-sharp:ins_target={INS}us,pst_target={PST}us,pst_interval={INTERVAL}us"
# The same numbers as packets, each of which takes 1.2 us.
LENGTH = f"ecn-sharp:signal=qlen,ins_target={INS * 12 // 10}us,pst_target={PST * 12 // 10}us,pst_interval={INTERVAL}us"
HIGH = PST + 5


class Signal:
    """A switch by the signal that it uses; the other signal indicates the opposite."""

    def __init__(self, name: str, options: str = "", start: int | None = None) -> None:
        self.by_length = name == "qlen"
        self.switch = Switch((LENGTH if self.by_length else SOJOURN) + options)
        if start is not None:
            assert not self.marks(start)

    def marks(self, now: int, signal: int = HIGH, ecn: int = ECT0) -> bool:
        if self.by_length:
            return self.switch.marks(now, 0, signal, 0, ecn=ecn)
        return self.switch.marks(now, signal, 0, 0, ecn=ecn)


@pytest.fixture(params=["sojourn", "qlen"])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_both_signals_have_the_same_targets_here() -> None:
    wanted = {"ins": INS, "pst": PST, "pst_interval_us": INTERVAL, "next_from_now": 0}
    assert params(SOJOURN) == wanted | {"by_queue_length": 0}
    assert params(LENGTH) == wanted | {"by_queue_length": 1}


@pytest.mark.parametrize(("signal", "marked"), [(INS - 1, False), (INS, False), (INS + 1, True)])
def test_marks_begin_above_ins_target(name: str, signal: int, marked: bool) -> None:
    queue = Signal(name)
    assert queue.marks(1000, signal) == marked
    assert queue.switch.counts() == ({("marks", 1, 1): 1} if marked else {})


def test_the_other_signal_marks_nothing() -> None:
    by_sojourn, by_length = Switch(SOJOURN), Switch(LENGTH)
    for now in range(1000, 2000, 10):
        assert not by_sojourn.marks(now, PST - 1, 2**19 - 1, 2**19 - 1)
        assert not by_length.marks(now, 900, PST - 1, 2**19 - 1)


@pytest.mark.parametrize(("signal", "marked"), [(PST - 1, False), (PST, True), (PST + 1, True)])
def test_a_signal_at_pst_target_is_persistent(name: str, signal: int, marked: bool) -> None:
    queue = Signal(name, start=1000)
    assert not queue.marks(1001, signal)
    assert queue.marks(1000 + INTERVAL + 1) == marked


@pytest.mark.parametrize(("after", "marked"), [(INTERVAL - 1, False), (INTERVAL, False), (INTERVAL + 1, True)])
@pytest.mark.parametrize("start", [HIGH, 1000, 2**32 - 1, 2**32 - INTERVAL, 2**48 - 1, 2**48 - INTERVAL])
def test_a_queue_is_persistent_after_more_than_an_interval(name: str, start: int, after: int, marked: bool) -> None:
    queue = Signal(name, start=start)
    assert queue.marks(start + after) == marked
    assert queue.switch.counts() == ({("marks", 1, 2): 1} if marked else {})


@pytest.mark.parametrize(("after", "marked"), [(INTERVAL - 1, False), (INTERVAL, False), (INTERVAL + 1, True)])
def test_an_interval_from_time_0(after: int, marked: bool) -> None:
    assert Signal("qlen", start=0).marks(after) == marked
    by_sojourn = Switch(f"ecn-sharp:ins_target={INS}us,pst_target=0us,pst_interval={INTERVAL}us")
    assert not by_sojourn.marks(0, 0)
    assert by_sojourn.marks(after, 0) == marked


@pytest.mark.parametrize("start", [1000, 2**32 - INTERVAL - 2, 2**48 - INTERVAL - 2])
@pytest.mark.parametrize(("after", "marked"), [(-1, False), (0, False), (1, True)])
def test_the_second_mark_comes_more_than_an_interval_after_the_first(start: int, after: int, marked: bool) -> None:
    queue = Signal("sojourn", start=start)
    assert queue.marks(start + INTERVAL + 1)
    assert queue.marks(start + 2 * INTERVAL + 1 + after) == marked


@pytest.mark.parametrize("start", [1000, 2**32 - 2 * INTERVAL - 2, 2**48 - 2 * INTERVAL - 2])
def test_halves_of_a_microsecond_are_kept(start: int) -> None:
    """The third mark is due 100.5 us after the time of the second, not after its packet."""
    queue = Signal("sojourn", start=start)
    first = start + INTERVAL + 1
    assert queue.marks(first)
    assert queue.marks(first + INTERVAL + 10)
    assert not queue.marks(first + INTERVAL + 100)
    assert queue.marks(first + INTERVAL + 101)


def test_with_the_simulators_law_the_next_mark_is_due_from_the_packet() -> None:
    """After 201 / sqrt(2) = 142.13 us."""
    queue = Signal("sojourn", ",control_law=sqrt", start=1000)
    first = 1000 + INTERVAL + 1
    assert queue.marks(first)
    assert queue.marks(first + INTERVAL + 10)
    assert not queue.marks(first + INTERVAL + 10 + 142)
    assert queue.marks(first + INTERVAL + 10 + 143)


def test_marks_come_interval_over_count_after_each_other() -> None:
    """A packet in every microsecond: mark n + 1 comes with the first packet after the exact time.

    Each step is within 1/512 us of pst_interval / count, so n steps are within n / 512.
    """
    queue = Signal("sojourn", start=1000)
    first = 1000 + INTERVAL + 1
    seen = [now for now in range(first, first + 7 * INTERVAL) if queue.marks(now)]
    assert len(seen) > 200
    steps = (Fraction(INTERVAL, count) for count in itertools.count(1))
    exact = itertools.accumulate(steps, initial=Fraction(first))
    assert seen[0] == next(exact)
    for number, (now, at) in enumerate(zip(seen[1:200], exact, strict=False), 1):
        error = Fraction(number, 512)
        assert -error < now - at <= 1 + error, number


@pytest.mark.parametrize("law", ["paper", "sqrt"])
def test_the_step_is_the_interval_by_count(law: str) -> None:
    """Within 1/512 us for each count in the table; beyond the table, its last step."""
    queue = Signal("sojourn", f",control_law={law}", start=1000)
    now = 1000 + INTERVAL + 1
    for count in (*range(2, TABLE + 3), 2000, 2**31, 2**32 - 1):
        queue.switch.set_state("marking_state", 1)
        queue.switch.set_state("marking_count", count - 1)
        queue.switch.set_state("marking_next", 0)
        assert queue.marks(now)
        known = min(count, TABLE)
        step = queue.switch.state("marking_next") - (256 * now if law == "sqrt" else 0)
        assert step == (over_count if law == "paper" else over_root)(INTERVAL, known)
        exact = Fraction(INTERVAL, known) if law == "paper" else Fraction(INTERVAL / sqrt(known))
        assert abs(Fraction(step, 256) - exact) <= Fraction(1, 512)
        assert queue.switch.state("marking_count") == count


def test_the_count_does_not_wrap() -> None:
    queue = Signal("sojourn", start=1000)
    queue.switch.set_state("marking_state", 1)
    queue.switch.set_state("marking_count", 2**32 - 1)
    assert queue.marks(1000 + INTERVAL + 1)
    assert queue.switch.state("marking_count") == 2**32 - 1


def test_the_longest_interval_fits_its_steps() -> None:
    longest = 16777215
    switch = Switch(f"ecn-sharp:ins_target={INS}us,pst_target={PST}us,pst_interval={longest}us")
    assert not switch.marks(1000, HIGH)
    first = 1000 + longest + 1
    assert not switch.marks(first - 1, HIGH)
    assert switch.marks(first, HIGH)
    assert not switch.marks(first + longest, HIGH)
    assert switch.marks(first + longest + 1, HIGH)
    assert switch.state("marking_next") == 256 * (first + longest) + over_count(longest, 2)


def test_a_mark_ends_with_the_queue() -> None:
    queue = Signal("sojourn", start=1000)
    first = 1000 + INTERVAL + 1
    assert queue.marks(first)
    assert not queue.marks(first + 10, PST - 1)
    assert not queue.marks(first + 11)
    assert not queue.marks(first + 11 + INTERVAL)
    assert queue.marks(first + 12 + INTERVAL)
    assert queue.switch.state("marking_count") == 1


def test_a_packet_above_both_targets_is_counted_as_instantaneous() -> None:
    queue = Signal("sojourn", start=1000)
    assert queue.marks(1000 + INTERVAL + 1, INS + 1)
    assert queue.switch.counts() == {("marks", 1, 1): 1}
    assert queue.switch.state("marking_state") == 1, "and is the first mark of the persistent queue as well"


@pytest.mark.parametrize("ecn", [NOT_ECT, CE])
def test_packets_that_cannot_be_marked_use_up_marks(ecn: int) -> None:
    queue = Signal("sojourn", start=1000)
    assert queue.switch.send(1000 + INTERVAL + 1, HIGH, ecn=ecn) is Fate.PASSED
    assert not queue.marks(1000 + INTERVAL + 2)
    assert queue.switch.counts() == ({("not_capable", 1, 2): 1} if ecn == NOT_ECT else {})


def agrees(scheme: str, oracle: EcnSharp, sequence: Iterable[Packet]) -> int:
    """Compare fates, states and counters with Algorithm 1; returns the number of persistent marks."""
    switch = Switch(scheme)
    by_length = params(scheme)["by_queue_length"] == 1
    settings = (oracle.ins_target, oracle.pst_target, oracle.pst_interval, oracle.sqrt)
    oracles = {place: EcnSharp(*settings) for place in PLACES}
    counts: dict[tuple[str, int, int], int] = {}
    for packet in sequence:
        cause = oracles[packet.place].cause(packet.now, packet.found if by_length else packet.sojourn)
        fate = switch.send(
            packet.now, packet.sojourn, packet.found, packet.left, port=packet.port, queue=packet.queue, ecn=packet.ecn
        )
        capable = packet.ecn in {ECT0, ECT1}
        assert fate == (Fate.MARKED if cause and capable else Fate.PASSED), packet
        if cause and packet.ecn != CE:
            place = ("marks" if capable else "not_capable", packet.port, cause)
            counts[place] = counts.get(place, 0) + 1
    assert switch.counts() == counts
    for place, expected in oracles.items():
        assert switch.state("marking_state", *place) == expected.marking_state
        assert switch.state("marking_count", *place) == expected.marking_count
        assert switch.state("marking_next", *place) == expected.marking_next % 2**56
        assert (switch.state("first_above_time", *place) != 0) == (expected.first_above_time is not None)
    return counts.get(("marks", 1, 2), 0)


@pytest.mark.parametrize("law", ["paper", "sqrt"])
@given(packets(sojourns=[0, 85, 200], gaps=[0, 1, 50, 101, 201], depths=[0, 85]))
def test_any_sequence_of_sojourns_agrees_with_the_paper(law: str, sequence: list[Packet]) -> None:
    agrees(f"{SOJOURN},control_law={law}", EcnSharp(INS, PST, INTERVAL, law == "sqrt"), sequence)


@given(packets(sojourns=[0, 1, 8], gaps=[0, 1, 3], depths=[0]))
def test_any_sequence_of_a_short_interval_agrees_with_the_paper(sequence: list[Packet]) -> None:
    agrees("ecn-sharp:ins_target=8us,pst_target=1us,pst_interval=3us", EcnSharp(8, 1, 3), sequence)


@given(packets(sojourns=[0, 85], gaps=[0, 1, 50, 101, 201], depths=[0, 85, 200]))
def test_any_sequence_of_lengths_agrees_with_the_paper(sequence: list[Packet]) -> None:
    agrees(LENGTH, EcnSharp(INS, PST, INTERVAL), sequence)


@pytest.mark.parametrize("law", ["paper", "sqrt"])
@pytest.mark.parametrize("start", STARTS)
def test_long_congestion_agrees_with_the_paper(law: str, start: int) -> None:
    sequence = congestion(start, PST, start, 20_000)
    assert agrees(f"{SOJOURN},control_law={law}", EcnSharp(INS, PST, INTERVAL, law == "sqrt"), sequence) > 100
