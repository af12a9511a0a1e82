# SPDX-License-Identifier: MIT OR Apache-2.0
"""REM against Athuraliya, Li, Low and Yin (2001), and its exponential against the exact one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from math import log, log2

import pytest
from frames import CE, ECT0, ECT1, NOT_ECT
from hypothesis import given
from hypothesis import strategies as st
from oracles import Rem
from probes import Probe
from sequences import STARTS, Packet, in_order, levels, packets
from switches import PLACES, TESTBED, Fate, Switch, fitted, params

from marklab.devices.queueing import Queues
from marklab.errors import BadInput

B_STAR, PERIOD = 20, 10
REM = f"rem:b_star={B_STAR},period={PERIOD}us,gamma=1,phi=1.01,alpha=0.25"
ONE = 2**40
HIGHEST = 2**63 - 1

# Chords of 2^-x over 64ths are above it by up to (ln 2 / 64)^2 / 8; the switch's rounding adds 2^-30 at most.
CHORDS = (log(2) / 64) ** 2 / 8
BOUND = CHORDS + 2.0**-30


def constants(scheme: str) -> tuple[int, int, int, int, int]:
    """b_star; the changes by a queued packet, by an arrival and by a period, in 2^-40; and the period in us."""
    own = params(scheme)
    names = ("b_star_pkts", "per_queued_q40", "per_arrived_q40", "per_period_q40")
    return *(own[name] for name in names), params(scheme, "marking.periods.length")["period_us"]  # type: ignore[return-value]


def oracle(scheme: str) -> Rem:
    b_star, queued, arrived, drained, period = constants(scheme)
    return Rem(b_star, *(Fraction(each, ONE) for each in (arrived, queued, drained)), period, Fraction(HIGHEST, ONE))


def passes(price: int, scheme: str = REM) -> Fraction:
    """2 ^ -price as the switch computes it, in whole 2^-32."""
    chords = {
        entry["match"]["step"]["exact"]: (entry["params"]["value_q32"], entry["params"]["fall_q32"])
        for entry in fitted(scheme).entries
        if entry["table"] == "marking.power"
    }
    halvings, part = divmod(price, ONE)
    step, rest = divmod(part, ONE // 64)
    value, fall = chords[step]
    return Fraction((value - fall * rest // (ONE // 64)) >> halvings, 2**32)


def priced(switch: Switch, found: int, came: int = 0, price: int = 0) -> int:
    """The price in 2^-40 after a period with this many arrivals, and this many packets waiting at its end."""
    switch.send(1000)
    switch.set_state("price", price)
    switch.set_state("arrived", came)
    switch.send(1000 + PERIOD, 0, found)
    assert switch.state("arrived") == 1
    return switch.state("price")


@pytest.mark.parametrize("by", [-1, 0, 1])
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_an_update_is_by_the_queue_and_by_the_rate(by: int, more: int) -> None:
    """c is 8.13 packets: at 10 Gb/s a frame of 1538 bytes takes 1.2304 us."""
    _, queued, arrived, drained, _ = constants(REM)
    assert drained == pytest.approx(arrived * 10 / 1.2304, rel=1e-9)
    assert queued == pytest.approx(arrived / 4, abs=1)
    expected = 9 * ONE + queued * by + arrived * (8 + more) - drained
    assert priced(Switch(REM), B_STAR + by, 8 + more, 9 * ONE) == expected


def test_a_price_is_never_negative_and_has_a_bound() -> None:
    _, _, _, drained, _ = constants(REM)
    assert [priced(Switch(REM), B_STAR, 0, price) for price in (drained - 1, drained, drained + 1)] == [0, 0, 1]
    assert priced(Switch(REM), 2**19 - 1, 2**31, HIGHEST - 1) == HIGHEST
    assert priced(Switch(REM), 0, 0, HIGHEST) == HIGHEST - drained - B_STAR * constants(REM)[1]


def test_a_packet_counts_in_the_period_in_which_it_came() -> None:
    switch = Switch(REM)
    for at in (0, 0, 3, PERIOD - 1):
        switch.send(1000 + at, 0, B_STAR)
    assert switch.state("arrived") == 4
    _, _, arrived, drained, _ = constants(REM)
    switch.set_state("price", ONE)
    switch.send(1000 + PERIOD, 0, B_STAR)
    assert (switch.state("price"), switch.state("arrived")) == (ONE + 4 * arrived - drained, 1)
    switch.set_state("arrived", 2**32 - 1)
    switch.send(1001 + PERIOD, 0, B_STAR)
    assert switch.state("arrived") == 2**32 - 1, "the count does not wrap"


@pytest.mark.parametrize("periods", [1, 2, 3, 2**20])
def test_further_periods_had_no_packets(periods: int) -> None:
    switch = Switch("rem:b_star=20,period=10us,gamma=0.001,alpha=0.1")
    _, queued, arrived, drained, period = constants("rem:b_star=20,period=10us,gamma=0.001,alpha=0.1")
    switch.send(1000)
    switch.set_state("price", HIGHEST)
    switch.set_state("arrived", 7)
    switch.send(1000 + period * periods, 0, 19)
    assert switch.state("price") == HIGHEST + min(7 * arrived - queued - drained, 0) - (periods - 1) * (
        queued + drained
    )


@given(st.integers(0, 40 * ONE))
def test_the_exponential_is_within_its_bound(price: int) -> None:
    """Chords lie above the curve, so a packet passes at least as often as it should, except for rounding."""
    exact = 2.0 ** -(price / ONE)
    error = float(passes(price)) - exact
    assert -(2.0**-30) <= error <= exact * CHORDS + 2.0**-30


def test_the_bound_is_reached() -> None:
    """Halfway between two 64ths: the bound is tight."""
    price = ONE // 128
    assert float(passes(price)) - 2.0 ** -(price / ONE) > 0.99 * 2.0 ** -(price / ONE) * CHORDS


@pytest.mark.parametrize("phi", [1.001, 2.0])
@pytest.mark.parametrize("seed", range(8))
def test_packets_are_marked_by_the_exact_exponential(phi: float, seed: int) -> None:
    """A draw equals 1 - phi^-price at one price. At the bound below and above it, the packet passes and is marked."""
    draw = Probe(seed=seed).draw() / 2**32

    def marked(p: float) -> bool:
        switch = Switch(f"rem:phi={phi},period=1s,gamma=0.001", seed=seed)
        price = -log(1 - p) / log(phi)
        switch.set_state("price", round(ONE * price * log2(phi)))
        return switch.send(1000) is Fate.MARKED

    assert (marked(draw - BOUND), marked(draw + BOUND)) == (False, True)


@pytest.mark.parametrize(("halvings", "marks"), [(0, 0), (32, None), (33, 2000), (2**22, 2000)])
def test_the_ends_of_the_exponential(halvings: int, marks: int | None) -> None:
    switch = Switch("rem:period=1s")
    switch.set_state("price", halvings * ONE)
    found = sum(switch.send(1000, 0, 9) is Fate.MARKED for _ in range(2000))
    assert found == marks if marks is not None else found >= 1999


def test_rem_is_for_ports_with_one_queue() -> None:
    """The packets that the line sends in a period are not those of one of several queues."""
    with pytest.raises(BadInput, match="does not work on ports with a dwrr scheduler: it needs fifo") as caught:
        _ = fitted("rem", replace(TESTBED, queues=Queues.model_validate("dwrr:count=4"))).queues
    assert caught.value.remedy == "--queues fifo"


def agrees(scheme: str, sequence: Iterable[Packet], seed: int = 0) -> Counter[tuple[str, int, int]]:
    """Compare fates, states and counters with the paper's, on the switch's draws; returns the counts."""
    switch, lot = Switch(scheme, seed=seed), Probe(seed=seed)
    rems = {place: oracle(scheme) for place in PLACES}
    drops = "drop_not_ect=on" in scheme
    counts: Counter[tuple[str, int, int]] = Counter()
    for packet in sequence:
        rem = rems[packet.place]
        rem.comes(packet.now - packet.sojourn, packet.found)
        hit = Fraction(lot.draw(), 2**32) < 1 - passes(int(rem.price * ONE), scheme)
        fate = switch.send(
            packet.now, packet.sojourn, packet.found, packet.left, port=packet.port, queue=packet.queue, ecn=packet.ecn
        )
        what = {NOT_ECT: "drops" if drops else "not_capable", ECT0: "marks", ECT1: "marks", CE: None}[packet.ecn]
        if hit and what:
            counts[what, packet.port, 1] += 1
        expected = {"marks": Fate.MARKED, "drops": Fate.DROPPED}.get(what or "", Fate.PASSED)
        assert fate is (expected if hit else Fate.PASSED), packet
        assert switch.state("price", *packet.place) == rem.price * ONE
        assert switch.state("arrived", *packet.place) == rem.came
    assert switch.counts() == counts
    return counts


@pytest.mark.parametrize(
    "scheme",
    [
        REM,
        f"{REM},drop_not_ect=on",
        "rem:b_star=0,period=1us,gamma=0.1",
        "rem:b_star=3,period=7us,phi=2,gamma=0.4,alpha=1",
    ],
)
@given(packets(sojourns=[0, 5], gaps=[0, 1, 10, 600], depths=[0, 1, 20, 26]))
def test_any_sequence_agrees_with_the_paper(scheme: str, sequence: list[Packet]) -> None:
    agrees(scheme, in_order(sequence))


@pytest.mark.parametrize("start", STARTS)
def test_long_congestion_agrees_with_the_paper(start: int) -> None:
    counts = agrees("rem:b_star=60,period=50us,gamma=0.01", levels(start), seed=5)
    assert 100 < counts["marks", 1, 1] < 23_900
