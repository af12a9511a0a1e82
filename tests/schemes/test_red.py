# SPDX-License-Identifier: MIT OR Apache-2.0
"""RED against Floyd and Jacobson (1993), figure 2, and RED*, which marks where RED drops."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

import pytest
from frames import CE, ECT0, ECT1, NOT_ECT
from hypothesis import given
from hypothesis import strategies as st
from oracles import AdaptiveRed, Red
from probes import Probe
from sequences import STARTS, Packet, in_order, levels, packets
from switches import PLACES, TESTBED, Fate, Switch, fitted, params

from marklab.catalog.parameters import Setup

MIN, MAX = 10, 26
# The smallest probability, so that tests of edges meet no random mark.
RED = f"red:min={MIN},max={MAX},p_max=0.000001,weight=0.5"
STAR = RED.replace("red:", "red:star,")
UNIT = 65536


def decay(scheme: str, setup: Setup = TESTBED) -> list[tuple[int, int, int]]:
    """First and last idle time in us, and the remaining fraction of the average."""
    table = [entry for entry in fitted(scheme, setup).entries if entry["table"] == "marking.decay"]
    return [(*entry["match"]["idle_us"]["range"], entry["params"]["left_q16"]) for entry in table]


def oracle(scheme: str) -> Red:
    own = params(scheme)
    red = own["min_pkts"], own["max_pkts"], own["slope_q32"], own["weight_shift"], decay(scheme)
    if "adapt" not in scheme:
        return Red(*red)
    adaptation = params(scheme, "marking.adaptation")
    return AdaptiveRed(
        *red,
        interval=params(scheme, "marking.intervals.length")["period_us"],
        target=(adaptation["low_q16"], adaptation["high_q16"]),
        alpha=adaptation["alpha_slope_q32"],
        bottom=adaptation["bottom_slope_q32"],
        top=adaptation["top_slope_q32"],
    )


def steer(switch: Switch, average: int, ecn: int = ECT0) -> Fate:
    """Send a packet that sets the average, with weight 1/2, to this many 1/65536 packets."""
    found = average // UNIT
    switch.set_state("average", 2 * average - found * UNIT)
    fate = switch.send(1000, 0, found, 9, ecn=ecn)
    assert switch.state("average") == average
    return fate


@pytest.mark.parametrize(("by", "since"), [(-1, 0), (0, 1), (1, 1)])
def test_packets_count_from_min_on(by: int, since: int) -> None:
    switch = Switch(RED)
    assert steer(switch, MIN * UNIT + by) is Fate.PASSED
    assert switch.state("since_mark") == since
    assert switch.counts() == {}


def test_an_average_below_min_forgets_the_count() -> None:
    switch = Switch(RED)
    switch.set_state("since_mark", 7)
    steer(switch, MIN * UNIT)
    assert switch.state("since_mark") == 8
    steer(switch, MIN * UNIT - 1)
    assert switch.state("since_mark") == 0


@pytest.mark.parametrize(("by", "above"), [(-1, False), (0, True), (1, True)])
@pytest.mark.parametrize("scheme", [RED, STAR])
def test_every_packet_is_hit_from_max_on(scheme: str, by: int, above: bool) -> None:
    switch = Switch(scheme)
    hit = Fate.MARKED if scheme == STAR else Fate.DROPPED
    assert steer(switch, MAX * UNIT + by) is (hit if above else Fate.PASSED)
    assert switch.counts() == ({("marks" if scheme == STAR else "drops", 1, 2): 1} if above else {})
    # Figure 2: count is 0 after it, so the next packet is the first that counts.
    assert switch.state("since_mark") == 1
    steer(switch, MIN * UNIT)
    assert switch.state("since_mark") == 2


def test_above_max_red_drops_whatever_the_packet_and_red_star_marks_what_it_can() -> None:
    red, star = Switch(RED), Switch(STAR)
    every = (NOT_ECT, ECT1, ECT0, CE)
    assert [steer(red, MAX * UNIT, ecn) for ecn in every] == 4 * [Fate.DROPPED]
    assert red.counts() == {("drops", 1, 2): 4}
    assert [steer(star, MAX * UNIT, ecn) for ecn in every] == [Fate.PASSED, Fate.MARKED, Fate.MARKED, Fate.PASSED]
    assert star.counts() == {("marks", 1, 2): 2, ("not_capable", 1, 2): 1}


@pytest.mark.parametrize("low", [100, 101])
def test_min_at_or_above_max_leaves_no_lot(low: int) -> None:
    switch = Switch(f"red:min={low},max=100,weight=0.5,p_max=1")
    assert steer(switch, 100 * UNIT - 1) is Fate.PASSED
    assert steer(switch, 100 * UNIT) is Fate.DROPPED


@pytest.mark.parametrize(("by", "marked"), [(0, False), (1, True)])
def test_a_packet_is_marked_if_its_draw_is_below_p(by: int, marked: bool) -> None:
    """With the average one packet above min, p_b is slope, to 2^-32; the packet is the first of its count."""
    seed, draw = next((seed, draw) for seed in range(999) if 1000 < (draw := Probe(seed=seed).draw()) < 2**28)
    scheme = f"red:min=10,max=26,weight=0.5,p_max={(draw + by) / 2**28!r}"
    assert params(scheme)["slope_q32"] == draw + by
    assert steer(Switch(scheme, seed=seed), 11 * UNIT) is (Fate.MARKED if marked else Fate.PASSED)


@pytest.mark.parametrize(("since", "marked"), [(14, False), (15, False), (16, True), (17, True), (2**32 - 1, True)])
def test_a_packet_is_marked_for_sure_when_count_times_p_b_is_1(since: int, marked: bool) -> None:
    """p_b is 1/16. At count 15 the quotient is 2^-4 / 2^-4 = 1, and any draw is below it."""
    seed = next(seed for seed in range(999) if Probe(seed=seed).draw() > 0.9 * 2**32)
    switch = Switch("red:min=10,max=26,weight=0.5,p_max=1", seed=seed)
    switch.set_state("since_mark", since)
    assert (steer(switch, 11 * UNIT) is Fate.MARKED) == (marked or since == 15)
    assert switch.state("since_mark") == (1 if marked or since == 15 else since + 1)


def test_the_count_does_not_wrap() -> None:
    switch = Switch(RED)
    switch.set_state("since_mark", 2**32 - 1)
    assert steer(switch, MIN * UNIT) is Fate.PASSED, "p_b is 0 at min"
    assert switch.state("since_mark") == 2**32 - 1


def test_marks_are_spread_evenly() -> None:
    """At a constant p_b of 1/16 the distance of marks is uniform in 1..15: figure 2 counts a packet before its draw."""
    switch = Switch("red:min=10,max=26,weight=0.5,p_max=1", seed=3)
    seen = [at for at in range(40_000) if steer(switch, 11 * UNIT) is Fate.MARKED]
    gaps = Counter(later - sooner for sooner, later in itertools.pairwise(seen))
    assert set(gaps) == set(range(1, 16))
    mean = len(seen) / 15
    assert all(abs(count - mean) < 5 * mean**0.5 for count in gaps.values()), gaps


@given(st.data())
def test_p_b_is_within_its_bound(data: st.DataObject) -> None:
    """slope is within half of 2^-32 per packet, and p_b loses less than 2^-32 more."""
    low = data.draw(st.integers(0, 2000))
    span = data.draw(st.integers(1, 4000))
    p_max = data.draw(st.sampled_from((1, 0.5, 0.1, 0.02, 0.001, 0.000001)))
    scheme = f"red:min={low},max={low + span},p_max={p_max:f}"
    red = replace(oracle(scheme), average=UNIT * low + data.draw(st.integers(0, UNIT * span - 1)))
    above = Fraction(red.average, UNIT) - low
    exact = Fraction(p_max) * above / span
    assert abs(Fraction(red.p_b(), 2**32) - exact) <= (above + 2) / 2**33


def test_the_steepest_slope_fits() -> None:
    assert params("red:min=100,max=101,p_max=1")["slope_q32"] == 2**32 - 1
    switch = Switch("red:min=100,max=101,p_max=1,weight=0.5")
    assert steer(switch, 101 * UNIT - 1) is Fate.MARKED
    assert switch.counts() == {("marks", 1, 1): 1}


@pytest.mark.parametrize(("weight", "shift"), [("0.5", 1), ("0.07", 4), ("0.001953125", 9), ("0.000001", 20)])
@given(lengths=st.lists(st.sampled_from((0, 1, 7, 300, 2**19 - 1)) | st.integers(0, 600), max_size=80))
def test_the_average_is_within_its_bound(weight: str, shift: int, lengths: list[int]) -> None:
    """A step rounds off less than 2^-16 packets, and each further step removes a fraction of 2^-weight of this error.

    So the average is within 2^(weight - 16) packets of the exact one: 1/128 packet at the default weight of 2^-9.
    """
    switch = Switch(f"red:weight={weight},min=500000,max=500001")
    exact = Fraction(0)
    for length in lengths:
        switch.send(1000, 0, length, 9)
        exact += (length - exact) / 2**shift
        assert abs(Fraction(switch.state("average"), UNIT) - exact) <= Fraction(2**shift, UNIT)


def idled(left_behind: int, until: int, start: int = 1000, sojourn: int = 0, scheme: str = RED) -> int:
    """The average, 1 packet before, after a packet that arrived at `until` at an empty queue."""
    switch = Switch(scheme)
    switch.send(start, 0, 0, left_behind)
    switch.set_state("average", UNIT)
    switch.send(until + sojourn, sojourn, 0, 9)
    return switch.state("average")


@pytest.mark.parametrize("start", [0, 1000, 2**32 - 1, 2**48 - 1])
@pytest.mark.parametrize("sojourn", [0, 50])
def test_an_idle_time_begins_when_the_queue_is_empty(start: int, sojourn: int) -> None:
    """If the queue is not left empty, or a packet arrives at once, the average moves by one step of 1/2."""
    slow = RED.replace("0.5", "0.015625")
    one = UNIT * 63 // 64
    assert idled(1, start + 100, start, sojourn, slow) == one
    assert idled(0, start, start, sojourn, slow) == one
    left = {first: left for first, _, left in decay(slow)}
    assert 2 in left
    assert idled(0, start + 1, start, sojourn, slow) == left[0]
    assert idled(0, start + 2, start, sojourn, slow) == left[2]


def test_a_packet_that_stays_ends_the_idle_time() -> None:
    switch = Switch(RED)
    switch.send(1000, 0, 0, 0)
    switch.send(1010, 0, 0, 9)
    switch.set_state("average", UNIT)
    switch.send(9999, 0, 0, 9)
    assert switch.state("average") == UNIT // 2


@pytest.mark.parametrize("idle", [2**32 - 2, 2**32 - 1, 2**32, 2**32 + 1, 2**32 + 5, 2**40])
def test_nothing_is_left_after_a_long_idle_time(idle: int) -> None:
    assert idled(0, 1000 + idle) == 0


@pytest.mark.parametrize("weight", ["0.5", "0.1", "0.001953125", "0.000001"])
@pytest.mark.parametrize("rate", [10**8, 10**10, 4 * 10**11])
def test_the_decay_is_within_its_bound(weight: str, rate: int) -> None:
    """(1 - weight) ^ packets within 1/124, half a step of the table, and 2^-16; 0 if less than 2^-12 remains."""
    setup = replace(TESTBED, rate_bps=rate)
    scheme = f"red:min=10,max=5000,weight={weight}"
    shrink = 1 - 2.0 ** -params(scheme, setup=setup)["weight_shift"]
    switch = Switch(scheme, setup)
    last = max((last for _, last, _ in decay(scheme, setup)), default=0)
    edges = {edge + by for first, last, _ in decay(scheme, setup) for edge in (first, last) for by in (-1, 0, 1)}
    for idle in sorted(edges | {1, 2, 3, last + 1, last + 2, 2 * last + 3}):
        if idle > 0:
            switch.send(1000, 0, 0, 0)
            switch.set_state("average", 1000 * UNIT)
            switch.send(1000 + idle, 0, 0, 0)
            exact = shrink ** (idle * setup.packets_per_us)
            bound = 1 / 124 + 2**-16 if idle <= last else 2**-12
            assert abs(switch.state("average") / (1000 * UNIT) - exact) <= bound, idle


def test_a_slow_line_has_idle_times_as_long_as_the_table_can_hold() -> None:
    slow = replace(TESTBED, rate_bps=10**5)
    assert max(last for _, last, _ in decay("red:min=10,max=300,weight=0.000001", slow)) == 2**32 - 1


def agrees(scheme: str, sequence: Iterable[Packet], seed: int = 0) -> Counter[tuple[str, int, int]]:
    """Compare fates, states and counters with figure 2, on the switch's draws; returns the counts."""
    switch, lot = Switch(scheme, seed=seed), Probe(seed=seed)
    reds = {place: oracle(scheme) for place in PLACES}
    marks_above = params(scheme)["mark_above"] == 1
    counts: Counter[tuple[str, int, int]] = Counter()
    for packet in sequence:
        cause = reds[packet.place].cause(packet.now, packet.sojourn, packet.found, packet.left, lot.draw())
        fate = switch.send(
            packet.now, packet.sojourn, packet.found, packet.left, port=packet.port, queue=packet.queue, ecn=packet.ecn
        )
        capable = packet.ecn in {ECT0, ECT1}
        if cause == 2 and not marks_above:
            assert fate is Fate.DROPPED, packet
            counts["drops", packet.port, 2] += 1
        else:
            assert fate is (Fate.MARKED if cause and capable else Fate.PASSED), packet
            if cause and packet.ecn != CE:
                counts["marks" if capable else "not_capable", packet.port, cause] += 1
        assert switch.state("average", *packet.place) == reds[packet.place].average
        assert switch.state("since_mark", *packet.place) == reds[packet.place].count + 1
        if switch.state("own_slope", *packet.place):
            assert switch.state("own_slope", *packet.place) == reds[packet.place].slope
    assert switch.counts() == counts
    return counts


@pytest.mark.parametrize(
    "scheme",
    [
        "red:min=10,max=26,p_max=0.2,weight=0.5",
        "red:star,min=10,max=26,p_max=1,weight=0.5",
        "red:star,min=1,max=3,p_max=0.5,weight=0.002",
        "red:min=10,max=10,weight=0.1",
    ],
)
@given(packets(sojourns=[0, 5], gaps=[0, 1, 10, 600], depths=[0, 1, 10, 26]))
def test_any_sequence_agrees_with_the_paper(scheme: str, sequence: list[Packet]) -> None:
    agrees(scheme, sequence)


@pytest.mark.parametrize(
    "scheme",
    [
        "red:adapt=on,interval=10us,min=10,max=26,p_max=0.2,weight=0.5",
        "red:adaptive-star,interval=7us,min=10,max=26,p_max=0.01,weight=0.5",
        "red:adapt=on,interval=1us,min=1,max=3,p_max=0.5,weight=0.1",
        "red:adapt=on,interval=10us,min=10,max=10,weight=0.1",
    ],
)
@given(packets(sojourns=[0, 5], gaps=[0, 1, 10, 600], depths=[0, 1, 16, 26]))
def test_any_sequence_agrees_with_adaptive_red(scheme: str, sequence: list[Packet]) -> None:
    agrees(scheme, in_order(sequence))


@pytest.mark.parametrize("start", STARTS)
def test_long_congestion_agrees_with_the_paper(start: int) -> None:
    counts = agrees("red:min=50,max=150,p_max=0.1,weight=0.002", levels(start), seed=5)
    assert counts["marks", 1, 1] > 100
    assert counts["drops", 1, 2] > 100


# Adaptive RED: max - min is 20, so the target range is 18 to 22.
ADAPTIVE = "red:adapt=on,interval=10us,min=10,max=30,weight=0.5"


def slope(p_max: float) -> int:
    return round(p_max * 2**32 / 20)


def adapted(average: int, p_max: float = 0.1) -> float:
    """p_max after an interval that ends with this average, in 1/65536 packets."""
    switch = Switch(ADAPTIVE)
    switch.send(1000, 0, 0, 9)
    switch.set_state("own_slope", slope(p_max))
    found = average // UNIT
    switch.set_state("average", 2 * average - found * UNIT)
    switch.send(1010, 0, found, 9)
    assert switch.state("average") == average
    return switch.state("own_slope") * 20 / 2**32


@pytest.mark.parametrize(
    ("average", "p_max"),
    [
        (18 * UNIT - 1, 0.09), (18 * UNIT, 0.1), (18 * UNIT + 1, 0.1),
        (22 * UNIT - 1, 0.1), (22 * UNIT, 0.1), (22 * UNIT + 1, 0.11),
        (0, 0.09), (99 * UNIT, 0.11),
    ],
)  # fmt: skip
def test_p_max_moves_if_the_average_is_not_in_the_target_range(average: int, p_max: float) -> None:
    assert adapted(average) == pytest.approx(p_max, abs=2**-24)


@pytest.mark.parametrize(("p_max", "more"), [(0.01, 0.0125), (0.02, 0.025), (0.04, 0.05), (0.041, 0.051), (0.49, 0.5)])
def test_p_max_rises_by_a_quarter_and_by_0_01_at_most(p_max: float, more: float) -> None:
    assert adapted(25 * UNIT, p_max) == pytest.approx(more, abs=2**-24)


@pytest.mark.parametrize(("by", "rises"), [(-1, True), (0, True), (1, False)])
def test_p_max_does_not_rise_above_one_half(by: int, rises: bool) -> None:
    p_max = 0.5 + by * 20 / 2**32
    assert adapted(25 * UNIT, p_max) == pytest.approx(p_max + 0.01 * rises, abs=2**-24)


@pytest.mark.parametrize(("by", "falls"), [(-1, False), (0, True), (1, True)])
def test_p_max_does_not_fall_below_one_hundredth(by: int, falls: bool) -> None:
    p_max = 0.01 + by * 20 / 2**32
    assert adapted(12 * UNIT, p_max) == pytest.approx(0.9 * p_max if falls else p_max, abs=2**-24)


@pytest.mark.parametrize("start", STARTS)
def test_p_max_moves_once_for_any_number_of_intervals(start: int) -> None:
    """And not before the first one has ended, which begins with the first packet."""
    switch = Switch(ADAPTIVE)
    switch.send(start, 0, 0, 9)
    switch.send(start + 9, 0, 0, 9)
    assert switch.state("own_slope") == 0
    switch.send(start + 10, 0, 0, 9)
    assert switch.state("own_slope") * 20 / 2**32 == pytest.approx(0.09, abs=2**-24)
    switch.send(start + 95, 0, 0, 9)
    switch.send(start + 99, 0, 0, 9)
    assert switch.state("own_slope") * 20 / 2**32 == pytest.approx(0.081, abs=2**-24)
    switch.send(start + 100, 0, 0, 9)
    assert switch.state("own_slope") * 20 / 2**32 == pytest.approx(0.0729, abs=2**-24)


def test_what_is_marked_follows_p_max() -> None:
    """At an average of 20, p_b is half of p_max, for p_max of 0.1 and 0.4."""
    marks = []
    for p_max in (0.1, 0.4):
        switch = Switch(ADAPTIVE.replace("10us", "1s"), seed=3)
        switch.set_state("own_slope", slope(p_max))
        marks.append(sum(steer(switch, 20 * UNIT) is Fate.MARKED for _ in range(20_000)))
    # Gaps are uniform between 1 and 1 / p_b: their mean is half of it.
    assert marks == [pytest.approx(20_000 * 0.1, rel=0.05), pytest.approx(20_000 * 0.4, rel=0.05)]


def test_without_adapt_p_max_stays() -> None:
    switch = Switch("red:interval=10us,min=10,max=30,weight=0.5")
    for at in range(100):
        switch.send(1000 + at, 0, 25, 9)
    assert switch.state("own_slope") == 0
