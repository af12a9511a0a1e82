# SPDX-License-Identifier: MIT OR Apache-2.0
"""Common to all schemes: the signals that they get, and the effects of their decision."""

from __future__ import annotations

import pytest
from frames import CE, ECT0, ECT1, NOT_ECT, Frame, mac
from probes import DROP, MARK, MARK_OR_DROP, PASS, Probe
from switches import CAUSES, PORTS, Fate, Switch, frame_to

from marklab.catalog.scheme import known_schemes


@pytest.mark.parametrize("port", PORTS)
def test_a_decision_is_told_the_egress_port(port: int) -> None:
    probe = Probe()
    probe.send(port=port)
    assert probe.seen("port") == port


@pytest.mark.parametrize(
    ("now_ns", "seen"),
    [
        (0, 0),
        (999, 0),
        (1000, 1),
        (10**3 * 2**32 - 1, 2**32 - 1),
        (10**3 * 2**32, 2**32),
        (10**3 * 2**48 - 1, 2**48 - 1),
        (10**3 * 2**48, 0),
    ],
)
def test_time_is_whole_microseconds_in_48_bits(now_ns: int, seen: int) -> None:
    probe = Probe()
    probe.set_state("now_us", 77, 0)
    probe.harness.process(0, frame_to(1, ECT0), now_ns)
    assert probe.seen("now_us") == seen


@pytest.mark.parametrize(
    ("now_ns", "sojourn_ns", "seen"),
    [
        (0, 0, 0),
        (1999, 999, 0),  # from 1.000 to 1.999 us
        (1000, 1, 1),  # from 0.999 to 1.000 us: BMv2 takes the difference of whole microseconds
        (10**3 * (2**32 + 5), 10**3 * 10, 10),  # enqueued before enq_timestamp wraps
        (10**3 * 2**32, 10**3 * (2**32 - 1), 2**32 - 1),
        (10**3 * 2**33, 10**3 * (2**32 + 7), 7),  # the field has no more bits
    ],
)
def test_sojourn_is_the_difference_of_whole_microseconds_in_32_bits(now_ns: int, sojourn_ns: int, seen: int) -> None:
    probe = Probe()
    probe.set_state("sojourn_us", 77, 0)
    probe.harness.process(0, frame_to(1, ECT0), now_ns, sojourn_ns)
    assert probe.seen("sojourn_us") == seen


@pytest.mark.parametrize(
    ("depth", "seen"), [(0, 0), (1, 1), (2**19 - 1, 2**19 - 1), (2**19, 2**19 - 1), (2**40, 2**19 - 1)]
)
def test_depths_are_packets_and_end_at_19_bits(depth: int, seen: int) -> None:
    probe = Probe()
    probe.send(enq=depth, deq=3)
    assert (probe.seen("enq_qdepth_pkts"), probe.seen("deq_qdepth_pkts")) == (seen, 3)
    probe.send(enq=3, deq=depth)
    assert (probe.seen("enq_qdepth_pkts"), probe.seen("deq_qdepth_pkts")) == (3, seen)


def test_draws_are_uniform_and_repeat_with_their_seed() -> None:
    def draws(seed: int) -> list[int]:
        probe = Probe(seed=seed)
        return [probe.draw() for _ in range(4096)]

    first = draws(1)
    assert first == draws(1) != draws(2)
    # Each of 32 equal bins gets 128 draws, within 5 standard deviations.
    counts = [sum(draw >> 27 == part for draw in first) for part in range(32)]
    assert all(abs(count - 128) <= 56 for count in counts), counts
    assert any(draw & 0xFFFF for draw in first)


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("cause", range(1, CAUSES))
def test_a_mark_is_ce_if_the_packet_is_capable_and_counted_if_not(port: int, cause: int) -> None:
    probe = Probe(MARK, cause)
    fates = {ecn: probe.send(port=port, ecn=ecn) for ecn in (NOT_ECT, ECT1, ECT0, CE)}
    assert fates == {NOT_ECT: Fate.PASSED, ECT1: Fate.MARKED, ECT0: Fate.MARKED, CE: Fate.PASSED}
    # Again, to distinguish the counted packet from the CE packet.
    probe.send(port=port, ecn=NOT_ECT)
    assert probe.counts() == {("marks", port, cause): 2, ("not_capable", port, cause): 2}


@pytest.mark.parametrize("ecn", [NOT_ECT, ECT1, ECT0, CE])
def test_a_packet_that_passes_is_not_counted(ecn: int) -> None:
    probe = Probe(PASS)
    assert probe.send(ecn=ecn) is Fate.PASSED
    assert probe.counts() == {}


@pytest.mark.parametrize("ecn", [NOT_ECT, ECT1, ECT0, CE])
@pytest.mark.parametrize("port", PORTS)
def test_a_drop_is_a_drop_whatever_the_packet(port: int, ecn: int) -> None:
    probe = Probe(DROP, 5)
    assert probe.send(port=port, ecn=ecn) is Fate.DROPPED
    assert probe.counts() == {("drops", port, 5): 1}


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("cause", range(1, CAUSES))
def test_a_mark_or_drop_is_ce_if_the_packet_is_capable_and_a_drop_if_not(port: int, cause: int) -> None:
    probe = Probe(MARK_OR_DROP, cause)
    fates = {ecn: probe.send(port=port, ecn=ecn) for ecn in (NOT_ECT, ECT1, ECT0, CE)}
    assert fates == {NOT_ECT: Fate.DROPPED, ECT1: Fate.MARKED, ECT0: Fate.MARKED, CE: Fate.PASSED}
    assert probe.counts() == {("marks", port, cause): 2, ("drops", port, cause): 1}


# Each certainly marks with a queue of 9, at the second packet at the latest.
DROPPING = {
    "dctcp-red": "dctcp-red:k=7",
    "red": "red:star,min=1,max=2,weight=0.5",
    "pi": "pi:q_ref=0,period=1us,a=0.9,b=0",
    "rem": "rem:b_star=0,period=1us,gamma=4,alpha=1,phi=1.1",
}


def test_schemes_that_can_drop_what_is_not_capable() -> None:
    can = {
        name for name, program in known_schemes().items() if "drop_not_ect" in program.with_suffix(".yaml").read_text()
    }
    assert can == set(DROPPING)


@pytest.mark.parametrize("scheme", DROPPING)
@pytest.mark.parametrize(("setting", "fate", "counter"), [
    ("off", Fate.PASSED, "not_capable"), ("on", Fate.DROPPED, "drops"),
])  # fmt: skip
def test_what_is_not_capable_passes_unless_the_scheme_is_to_drop_it(
    scheme: str, setting: str, fate: Fate, counter: str
) -> None:
    chosen = f"{DROPPING[scheme]},drop_not_ect={setting}"
    switch = Switch(chosen)
    for at in range(10):
        switch.send(at, 0, 9, 9, ecn=CE)
    assert [switch.send(10, 0, 9, 9, ecn=ecn) for ecn in (ECT0, NOT_ECT, CE)] == [Fate.MARKED, fate, Fate.PASSED]
    (marked, dropped) = sorted(switch.counts().items(), key=lambda each: each[0][0] != "marks")
    assert (marked[0][0], marked[1], dropped[0][0], dropped[1]) == ("marks", 1, counter, 1)
    assert Switch(chosen).send(0, 0, 0, 9, ecn=NOT_ECT) is Fate.PASSED, "what would not be marked is not dropped"


@pytest.mark.parametrize("dscp", [0, 1, 46, 63])
def test_a_mark_leaves_the_dscp_alone(dscp: int) -> None:
    frame = Frame(dst=(10 << 24) + 1, dscp=dscp)
    out = Probe(MARK, 1).harness.process(0, frame.build())
    assert out == (1, frame.routed(mac(1), CE).build(), None)


@pytest.mark.parametrize("scheme", known_schemes())
def test_no_scheme_marks_a_first_packet_that_found_no_queue(scheme: str) -> None:
    for port in PORTS:
        switch = Switch(scheme)
        assert switch.send(0, 0, 0, 0, port=port) is Fate.PASSED
        assert switch.send(1, 0, 0, 0, port=port) is Fate.PASSED
        assert switch.counts() == {}
