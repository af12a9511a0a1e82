# SPDX-License-Identifier: MIT OR Apache-2.0
"""CoDel against RFC 8289, section 5."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from fractions import Fraction
from math import sqrt

import pytest
from frames import CE, ECT0, ECT1, NOT_ECT
from hypothesis import given
from oracles import TABLE, Codel, over_root
from sequences import STARTS, Packet, congestion, packets
from switches import PLACES, Fate, Switch

TARGET, INTERVAL = 85, 200
CODEL = f"codel:target={TARGET}us,interval={INTERVAL}us"
HIGH = TARGET + 50


def marks(switch: Switch, now: int, sojourn: int = HIGH, left: int = 9, port: int = 1) -> bool:
    return switch.marks(now, sojourn, left, left, port=port)


def standing(start: int = 1000) -> Switch:
    """A switch whose queue has been above target for an interval; its first mark comes at `start` + INTERVAL."""
    switch = Switch(CODEL)
    assert not marks(switch, start)
    return switch


@pytest.mark.parametrize(("sojourn", "marked"), [(TARGET - 1, False), (TARGET, True), (TARGET + 1, True)])
def test_a_sojourn_at_target_is_above_it(sojourn: int, marked: bool) -> None:
    switch = standing()
    assert not marks(switch, 1001, sojourn)
    assert marks(switch, 1000 + INTERVAL) == marked


@pytest.mark.parametrize(("left", "marked"), [(0, False), (1, False), (2, True), (3, True)])
def test_a_packet_that_leaves_one_behind_makes_no_queue(left: int, marked: bool) -> None:
    switch = standing()
    assert not marks(switch, 1001, left=left)
    assert marks(switch, 1000 + INTERVAL) == marked


def test_what_a_packet_found_does_not_matter() -> None:
    switch = standing()
    assert switch.marks(1000 + INTERVAL, HIGH, 0, 2)


@pytest.mark.parametrize(("after", "marked"), [(INTERVAL - 1, False), (INTERVAL, True), (INTERVAL + 1, True)])
@pytest.mark.parametrize("start", [HIGH, 1000, 2**32 - 1, 2**32 - INTERVAL, 2**48 - 1, 2**48 - INTERVAL])
def test_marks_begin_after_an_interval(start: int, after: int, marked: bool) -> None:
    assert marks(standing(start), start + after) == marked


@pytest.mark.parametrize(("after", "marked"), [(INTERVAL - 1, False), (INTERVAL, True), (INTERVAL + 1, True)])
def test_an_interval_from_time_0(after: int, marked: bool) -> None:
    """A packet at time 0 has not waited, so time 0 can be the first above target only if the target is 0."""
    switch = Switch(f"codel:target=0us,interval={INTERVAL}us")
    assert not marks(switch, 0, 0)
    assert marks(switch, after, 0) == marked


@pytest.mark.parametrize("start", [1000, 2**32 - INTERVAL - 1, 2**48 - INTERVAL - 1])
@pytest.mark.parametrize(("after", "marked"), [(-1, False), (0, True), (1, True)])
def test_the_second_mark_comes_interval_after_the_first(start: int, after: int, marked: bool) -> None:
    """At count 1 the step is a whole interval."""
    switch = standing(start)
    assert marks(switch, start + INTERVAL)
    assert marks(switch, start + 2 * INTERVAL + after) == marked


def test_marks_come_interval_over_root_of_count_after_each_other() -> None:
    """A packet in every microsecond: mark n + 1 comes with the first packet at or after the exact time.

    Each step is within 1/512 us of interval / sqrt(count), so n steps are within n / 512.
    """
    switch = standing()
    seen = [now for now in range(1000 + INTERVAL, 10_000) if marks(switch, now)]
    assert len(seen) > 400
    exact = itertools.accumulate((INTERVAL / sqrt(count) for count in itertools.count(1)), initial=1000 + INTERVAL)
    for number, (now, at) in enumerate(zip(seen, exact, strict=False)):
        assert -number / 512 <= now - at < 1 + number / 512, number


def test_the_step_is_interval_over_root_of_count() -> None:
    """Within 1/512 us for each count in the table; beyond the table, its last step."""
    switch = standing()
    for count in (*range(1, TABLE + 3), 2000, 2**31, 2**32 - 1):
        switch.set_state("marking_state", 1)
        switch.set_state("mark_count", count - 1)
        switch.set_state("mark_next", 0)
        assert marks(switch, 1000 + INTERVAL)
        step = switch.state("mark_next")
        assert step == over_root(INTERVAL, min(count, TABLE))
        assert abs(Fraction(step, 256) - Fraction(INTERVAL / sqrt(min(count, TABLE)))) <= Fraction(1, 512)
        assert switch.state("mark_count") == count


def test_the_count_does_not_wrap() -> None:
    switch = standing()
    switch.set_state("marking_state", 1)
    switch.set_state("mark_count", 2**32 - 1)
    assert marks(switch, 1000 + INTERVAL)
    assert switch.state("mark_count") == 2**32 - 1


def test_the_longest_interval_fits_its_step() -> None:
    switch = Switch(f"codel:target={TARGET}us,interval=16777215us")
    assert not marks(switch, 1000)
    assert not marks(switch, 1000 + 16777214)
    assert marks(switch, 1000 + 16777215)
    assert not marks(switch, 1000 + 2 * 16777215 - 1)
    assert marks(switch, 1000 + 2 * 16777215)


def relapsed(count: int, last_count: int, after_us: int) -> int:
    """The count with which marking begins again, this long after the next mark would have been due."""
    switch = standing()
    switch.set_state("mark_count", count)
    switch.set_state("last_count", last_count)
    switch.set_state("mark_next", 256 * (1000 + INTERVAL - after_us) % 2**56)
    assert marks(switch, 1000 + INTERVAL)
    assert switch.state("last_count") == switch.state("mark_count")
    return switch.state("mark_count")


@pytest.mark.parametrize(("delta", "count"), [(0, 1), (1, 1), (2, 2), (3, 3)])
def test_a_relapse_goes_on_near_the_last_rate(delta: int, count: int) -> None:
    assert relapsed(40 + delta, 40, after_us=0) == count


@pytest.mark.parametrize(("after", "count"), [(-1, 9), (0, 1), (1, 1)])
def test_a_relapse_after_16_intervals_begins_anew(after: int, count: int) -> None:
    assert relapsed(10, 1, after_us=16 * INTERVAL + after) == count


def test_a_mark_ends_with_the_queue() -> None:
    switch = standing()
    assert marks(switch, 1000 + INTERVAL)
    assert not marks(switch, 1000 + 2 * INTERVAL, TARGET - 1)
    # Above target again, but not for an interval.
    assert not marks(switch, 1000 + 2 * INTERVAL + 1)
    assert not marks(switch, 1000 + 3 * INTERVAL)
    assert marks(switch, 1000 + 3 * INTERVAL + 1)


@pytest.mark.parametrize("ecn", [NOT_ECT, CE])
def test_packets_that_cannot_be_marked_use_up_marks(ecn: int) -> None:
    """The algorithm runs for every packet; a mark that was counted as not capable is not made up later."""
    switch = standing()
    assert switch.send(1000 + INTERVAL, HIGH, 9, 9, ecn=ecn) is Fate.PASSED
    assert not marks(switch, 1000 + INTERVAL + 1)
    assert switch.counts() == ({("not_capable", 1, 1): 1} if ecn == NOT_ECT else {})


def agrees(target: int, interval: int, sequence: Iterable[Packet]) -> int:
    """Compare fates, states and counters with the RFC's algorithm; returns the number of marks."""
    switch = Switch(f"codel:target={target}us,interval={interval}us")
    oracles = {place: Codel(target, interval) for place in PLACES}
    counts: dict[tuple[str, int, int], int] = {}
    for packet in sequence:
        cause = oracles[packet.place].cause(packet.now, packet.sojourn, packet.left)
        fate = switch.send(
            packet.now, packet.sojourn, packet.found, packet.left, port=packet.port, queue=packet.queue, ecn=packet.ecn
        )
        capable = packet.ecn in {ECT0, ECT1}
        assert fate == (Fate.MARKED if cause and capable else Fate.PASSED), packet
        if cause and packet.ecn != CE:
            place = ("marks" if capable else "not_capable", packet.port, cause)
            counts[place] = counts.get(place, 0) + 1
    assert switch.counts() == counts
    for place, oracle in oracles.items():
        assert switch.state("marking_state", *place) == oracle.marking
        assert switch.state("mark_count", *place) == oracle.count
        assert switch.state("last_count", *place) == oracle.last_count
        assert switch.state("mark_next", *place) == oracle.mark_next % 2**56
        assert (switch.state("first_above_time", *place) != 0) == (oracle.first_above_time is not None)
    return sum(counts.values())


@given(packets(sojourns=[0, 85, 100], gaps=[0, 1, 10, 70, 200, 3200], depths=[0, 1, 2]))
def test_any_sequence_agrees_with_the_rfc(sequence: list[Packet]) -> None:
    agrees(85, 200, sequence)


@given(packets(sojourns=[0, 1, 7], gaps=[0, 1, 3, 48], depths=[0, 1, 2]))
def test_any_sequence_of_a_short_interval_agrees_with_the_rfc(sequence: list[Packet]) -> None:
    agrees(1, 3, sequence)


@pytest.mark.parametrize("start", STARTS)
def test_long_congestion_agrees_with_the_rfc(start: int) -> None:
    assert agrees(85, 200, congestion(start, 85, start, 20_000)) > 300
