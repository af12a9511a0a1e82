# SPDX-License-Identifier: MIT OR Apache-2.0
"""The engine's TCP against a second implementation that was written from the RFCs."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lockstep import MSS, US, Difference, Script, play, view
from marklab._engine import EngineError
from rfc_sender import Freedoms, RfcSender
from rules import RULES
from scripts import WILD_ACKS, scripts

from marklab.engine.binding import new_tcp_receiver, new_tcp_sender
from marklab.errors import BadInput

# Small scripts that have shown a fault of the engine. Times are in us; `holes` are segments of the stream, each with
# the number of its transmissions that are lost.
FOUND = {
    "the first retransmission waits for room": Script(
        writes=((0, 10_000),), holes=((0, 1), (5, 1), (6, 1), (7, 1), (8, 1), (9, 1))
    ),
    "a timeout in recovery takes all in flight": Script(writes=((0, 30_000),), holes=((0, 9),)),
    "a timeout after a mark takes all in flight": Script(
        writes=((0, 12_000),), data=((0, 1, "drop"), (2, 1, "mark"), (3, 9, "drop")), control="ecn-star"
    ),
    "a loss after marks takes all in flight": Script(
        writes=((0, 10_000),), data=((0, 1, "mark"), (2, 1, "drop")), control="dctcp"
    ),
    "a timeout after progress holds ssthresh": Script(
        writes=((0, 5_000),), holes=((0, 1), (1, 2), (2, 2), (3, 1), (4, 1))
    ),
    "an ACK after a timeout counts all that it covers": Script(writes=((0, 10_000),), holes=((0, 2),)),
    "a loss behind the recovery point is free": Script(writes=((0, 50_000),), holes=((0, 2), (12, 1))),
    "a loss after marks sends no CWR": Script(
        writes=((0, 40_000),), data=((0, 1, "mark"), (9, 1, "drop")), control="dctcp"
    ),
    "an echo with the last ACK is free": Script(
        writes=((0, 10_000), (700, 20_000)), data=((9, 1, "mark"),), control="dctcp"
    ),
    "a mark raises a window of one segment": Script(
        writes=((0, 500), (0, 500)), data=((0, 1, "mark"),), control="ecn-star", initial_window=1
    ),
    "the ACK that ends a timeout counts all that it covers": Script(writes=((0, 3000),), acks=((0, 3, "drop"),)),
    "the loss of the segment with CWR is free": Script(
        writes=((0, 20_000),), data=((0, 1, "mark"), (10, 1, "drop")), control="ecn-star"
    ),
    "a duplicate ACK begins a window of alpha": Script(writes=((0, 3000),), data=((0, 2, "drop"),), control="dctcp"),
    "a fast retransmission is saved up": Script(writes=((0, 50_000),), holes=((7, 2), (19, 2), (26, 2))),
}

# Another choice where an RFC leaves one, and a script in which it shows.
CHOICES: dict[str, tuple[int, Script]] = {
    "loss_in_segments": (False, Script(writes=((0, 1000), (0, 100), (0, 100), (0, 100)), holes=((0, 1),))),
    "sends_again_what_is_not_lost": (True, Script(writes=((0, 5000),), holes=((0, 1), (2, 1)))),
    "sends_the_last_again": (True, Script(writes=((0, 10000),), holes=((0, 1), (9, 1)))),
    "flight_before_the_ack": (False, Script(writes=((0, 10000),), holes=((3, 1),), acks=((0, 5, "drop"),))),
    "flight_at_most_cwnd": (False, Script(writes=((0, 20000),), holes=((0, 1),))),
    "loss_after_marks_takes_all_in_flight": (False, FOUND["a loss after marks takes all in flight"]),
    "timeout_in_a_reduction_reduces": (True, Script(writes=((0, 20000),), holes=((6, 2),))),
    "min_window_segments": (
        1,
        Script(writes=((0, 6000),), control="ecn-star", initial_window=2, data=((0, 1, "mark"),)),
    ),
    "slow_start_limit_segments": (1, Script(writes=((0, 10000),), ack_every=2)),
    "timeout_limits_avoidance": (False, Script(writes=((0, 5000),), acks=((2, 5, "drop"),))),
    "slow_start_stops_at_ssthresh": (False, Script(writes=((0, 10000),), data=((5, 3, "drop"),))),
    "growth_counts_what_is_new": (False, Script(writes=((0, 20000),), holes=((6, 1),))),
    "validates_as_linux": (True, Script(writes=((0, 10000),))),
    "mark_holds_the_window_until_cwr": (
        False,
        Script(writes=((0, 5000),), control="ecn-star", data=((1, 3, "mark"),)),
    ),
    "reduction_forgets_counted_bytes": (
        False,
        Script(writes=((0, 60000),), control="ecn-star", data=((0, 1, "mark"), (22, 1, "mark")), cwnd_validation=False),
    ),
    "ending_ack_counts": (False, Script(writes=((0, 20000),), holes=((0, 1),))),
    "granularity_ns": (1000, Script(writes=((0, 60000),), min_rto_us=1, receive_window=2000)),
    "samples_from_sacks": (False, Script(writes=((0, 20000),), holes=((0, 1),), min_rto_us=1)),
    "samples_the_latest": (False, Script(writes=((0, 30000),), acks=((10, 3, "drop"),), min_rto_us=1)),
    "echo_up_to_cwr_is_old": (
        False,
        Script(writes=((0, 30000),), control="ecn-star", holes=((0, 1),), data=((5, 1, "mark"),)),
    ),
    "alpha_ends_with_the_last_byte": (False, Script(writes=((0, 20000),), control="dctcp")),
    "restart_keeps_three_quarters": (
        False,
        Script(writes=((0, 80000), (5000, 1000)), control="ecn-star", data=((0, 1, "mark"),), idle_restart=True),
    ),
    "enters_again_at_once": (False, Script(writes=((0, 50000),), holes=((0, 2), (12, 1)))),
    "acks_are_early_without_a_round_trip": (True, Script(writes=((0, 1), (0, 1)), data=((0, 3, "drop"),))),
    "uses_old_acks": (
        True,
        Script(
            writes=((0, 17000),),
            initial_window=20,
            holes=tuple((segment, 1) for segment in range(1, 16, 2)),
            data=((3, 7, 100),),
            acks=((4, 1, 150), (5, 3, "drop")),
        ),
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_a_fault_that_was_found_is_mended(name: str) -> None:
    play(FOUND[name], senders={"engine": None, "rfc": RfcSender})


@pytest.mark.parametrize("script", FOUND.values(), ids=FOUND)
def test_the_rules_hold_where_faults_were_found(script: Script) -> None:
    play(script, senders={"rfc": RfcSender}, rules=RULES)


def test_each_choice_is_listed_with_a_script() -> None:
    assert set(CHOICES) == {choice.name for choice in fields(Freedoms)}


@pytest.mark.parametrize("name", CHOICES)
def test_a_choice_changes_a_decision(name: str) -> None:
    """Otherwise it would not be one, and the comparison would not see which the engine has chosen."""
    chosen, script = CHOICES[name]
    # Where windows grow by Linux's rule, more of the other choices show.
    base = replace(Freedoms(), validates_as_linux=name != "validates_as_linux")
    other = replace(base, **{name: chosen})
    with pytest.raises(Difference, match="different"):
        play(
            script,
            senders={
                "base": lambda described: RfcSender(described, base),
                "other": lambda described: RfcSender(described, other),
            },
        )
    play(script, senders={"engine": None, "rfc": RfcSender})


@settings(max_examples=350)
@given(scripts())
def test_the_engine_and_the_rfcs_decide_the_same(script: Script) -> None:
    """Segments, ACKs, windows and timers after every event, for random writes, losses, marks, delays and settings."""
    play(script, senders={"engine": None, "rfc": RfcSender}, rules=RULES)


@settings(max_examples=100)
@given(st.sampled_from(["reno", "ecn-star", "dctcp"]), st.lists(WILD_ACKS | st.none(), max_size=25))
def test_wild_acks_and_timeouts_leave_no_sender_stuck(
    control: str, events: list[tuple[int, list[tuple[int, int]], bool] | None]
) -> None:
    """None is a timeout. Afterwards the receiver acknowledges all that comes, and the sender ends."""
    script = Script(writes=(), control=control)
    engine, rfc = new_tcp_sender(script.transport()), RfcSender(script.sender())
    senders = (engine, rfc)
    now_ns, left = 0, 40 * MSS
    for sender in senders:
        sender.write(left)
    for event in [*events, *[None] * 200]:
        while segment := engine.next_segment(now_ns):
            assert segment == rfc.next_segment(now_ns)
        assert rfc.next_segment(now_ns) is None
        assert view(engine) == view(rfc)
        if engine.snd_una == left:
            break
        deadline_ns = engine.deadline_ns
        assert deadline_ns is not None
        now_ns = deadline_ns if event is None else min(now_ns + 100 * US, deadline_ns)
        for sender in senders:
            if event is None:
                sender.on_timeout(now_ns)
                sender.next_segment(now_ns)
                sender.on_ack(now_ns, sender.snd_nxt, [], False)
            else:
                sender.on_ack(now_ns, *event)
    assert engine.snd_una == left
    assert engine.deadline_ns is None


@settings(max_examples=100)
@given(scripts())
def test_the_rules_hold_for_the_rfcs(script: Script) -> None:
    """Without the faults that the engine has."""
    play(script, senders={"rfc": RfcSender}, rules=RULES)


def test_a_difference_shows_the_script_and_the_events() -> None:
    script = Script(writes=((0, 2_000),), control="dctcp")
    with pytest.raises(Difference) as difference:
        play(script, senders={"engine": None, "rfc": lambda _: RfcSender(Script(()).sender())})
    lines = str(difference.value).splitlines()
    assert lines[0] == "Script(writes=((0, 2000),), control='dctcp')"
    assert "  engine: open cwnd=10 ssthresh=unlimited una=0 nxt=0 pipe=0 alpha=1.000000 timer=none" in lines


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"control": "dcqcn"}, "DCQCN needs rates"),
        ({"control": "vegas"}, "unknown variant `vegas`"),
        ({"mss_bytes": 0}, "segment size"),
        ({"control": "ear", "mss_bytes": 8, "delay_threshold_ns": 1}, "no room for the option"),
        ({"receive_window_bytes": 999}, "receive window"),
        ({"window": 1}, "unknown field `window`"),
    ],
)
def test_settings_that_no_host_can_have_are_refused(change: dict[str, Any], said: str) -> None:
    transport = Script(writes=()).transport() | change
    for end in (new_tcp_sender, new_tcp_receiver):
        with pytest.raises(BadInput, match=said):
            end(transport)


def test_events_that_cannot_be_are_refused() -> None:
    transport = Script(writes=()).transport()
    sender, receiver = new_tcp_sender(transport), new_tcp_receiver(transport)
    sender.write(1)
    assert sender.next_segment(5) == (0, 1, False, False, True)
    for wrong, said in [
        (lambda: sender.write(2**62), "at most 2\\^62"),
        (lambda: sender.next_segment(4), "between 5"),
        (lambda: sender.on_timeout(6), "not due"),
        (lambda: sender.on_ack(6, 0, [(3, 3)], False), "empty"),
        (lambda: receiver.on_segment(0, 0, 0, False, False), "empty"),
        (lambda: receiver.on_ack_timer(0), "not due"),
    ]:
        with pytest.raises(EngineError, match=said):
            wrong()
