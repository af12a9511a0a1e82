# SPDX-License-Identifier: MIT OR Apache-2.0
"""DiffECN against its paper, on a switch whose queues fill and drain."""

from __future__ import annotations

import json
import random
import struct
import zlib
from collections import Counter
from fractions import Fraction

import pytest
from flow_queues import FlowCount, QueueMapping
from frames import CE, TCP, Frame
from hypothesis import given
from hypothesis import strategies as st
from switches import TESTBED, compiled, fitted, routes

from marklab import _engine
from marklab.devices.hosts import Limit

QUEUES = 5
SCHEME = f"diffecn:queues={QUEUES},k=12packets,t_period=100us,pass_limit=2"
T_PERIOD, PASS_LIMIT, K = 100, 3000, 12
PORTS = (1, 2)


def flow_id(frame: Frame) -> int:
    """Hash of the 5-tuple."""
    return zlib.crc32(struct.pack("!IIBHH", frame.src, frame.dst, TCP, frame.src_port, frame.dst_port))


class Switch:
    """The scheme with real queues, and the paper's algorithm as the oracle."""

    def __init__(
        self, buffer: int = 1000, active: str = "period", owner: str = "packets", *, own: bool = False
    ) -> None:
        scheme = fitted(f"{SCHEME},active={active},owner={owner}{',own=on' if own else ''}")
        queueing = scheme.queues.model_copy(update={"buffer": Limit(packets=buffer)}).to_engine(
            Limit(packets=600), 1514
        )
        entries = json.dumps(scheme.entries + routes())
        self.harness = _engine.Harness(compiled(scheme.scheme.program), entries, 0, json.dumps(queueing))
        rules = (active == "queued", owner == "period")
        self.mapping = {port: QueueMapping(QUEUES, T_PERIOD, PASS_LIMIT, *rules) for port in PORTS}
        self.by_period, self.own = active == "period", own
        self.count = {port: FlowCount(T_PERIOD) for port in PORTS}
        self.waiting: dict[tuple[int, int], list[Frame]] = {}
        self.steps: Counter[str] = Counter()

    def receive(self, port: int, number: int, now_us: int, payload: int = 1000) -> int | None:
        """A packet of a flow arrives; returns its queue, or None if the buffer is full."""
        frame = Frame(dst=(10 << 24) + port, src_port=1000 + number, payload=bytes(payload))
        data = frame.build()
        expected = self.mapping[port].steer(flow_id(frame), now_us, len(data))
        place = self.harness.receive(0, data, 1000 * now_us)
        if place is None:
            self.steps["dropped"] += 1
            return None
        assert place == (port, expected)
        self.steps["high" if expected == QUEUES - 1 else "ordinary"] += 1
        self.waiting.setdefault(place, []).append(frame)
        return int(expected)

    def transmit(self, port: int, now_us: int) -> bool | None:
        """Whether the next packet of a port leaves with a mark; None if there is none."""
        out = self.harness.transmit(port, 1000 * now_us)
        if out is None:
            return None
        data, queue, _, left, _, _ = out
        frame = self.waiting[port, queue].pop(0)
        assert left == len(self.waiting[port, queue])
        self.mapping[port].left(queue, now_us, left)
        by_period = self.count[port].flows(flow_id(frame), now_us)
        flows = by_period if self.by_period else self.mapping[port].busy()
        threshold = Fraction(K, max(1, min(flows, QUEUES)))
        marked = data[15] & 3 == CE
        assert marked == (left + self.own > threshold), (left, flows)
        self.steps["marked" if marked else "passed"] += 1
        self.steps["fell back"] += flows > QUEUES
        return marked


steps = st.lists(
    st.tuples(
        st.sampled_from((0, 0, 0, 1, 5, 99, 100, 101, 1001)), st.booleans(), st.sampled_from(PORTS), st.integers(0, 9)
    ),
    max_size=150,
)


@pytest.mark.parametrize("owner", ["packets", "period"])
@pytest.mark.parametrize("active", ["period", "queued"])
@pytest.mark.parametrize("buffer", [1000, 3])
@given(traffic=steps)
def test_any_traffic_agrees_with_the_paper(
    buffer: int, active: str, owner: str, traffic: list[tuple[int, bool, int, int]]
) -> None:
    switch, now = Switch(buffer, active, owner), 5000
    for gap, comes, port, number in traffic:
        now += gap
        if comes:
            switch.receive(port, number, now)
        else:
            switch.transmit(port, now)


@pytest.mark.parametrize(("owner", "own"), [("packets", False), ("packets", True), ("period", False)])
@pytest.mark.parametrize("active", ["period", "queued"])
@pytest.mark.parametrize("buffer", [1000, 12])
def test_long_congestion_agrees_with_the_paper(buffer: int, active: str, owner: str, own: bool) -> None:
    lot = random.Random(3)  # noqa: S311
    switch, now, flows = Switch(buffer, active, owner, own=own), 5000, 4
    for number in range(20_000):
        if number % 500 == 0:
            flows = lot.choice((1, 2, 4, 7, 12))
        now += lot.choice((0, 1, 2))
        port = lot.choice(PORTS)
        # One flow sends more than the others.
        flow = 0 if lot.random() < 0.4 else lot.randrange(flows)
        if lot.random() < 0.52:
            switch.receive(port, flow, now, lot.choice((0, 1000, 1446)))
        else:
            switch.transmit(port, now)
    wanted = {"high", "ordinary", "marked", "passed"} | ({"dropped"} if buffer < 100 else set())
    # The number of busy queues is at most the number of queues.
    wanted |= {"fell back"} if active == "period" else set()
    assert all(switch.steps[step] > 50 for step in wanted), switch.steps


def test_each_flow_has_a_queue_of_its_own() -> None:
    switch = Switch()
    assert [switch.receive(1, number, 5000 + number) for number in range(4)] == [0, 1, 2, 3]
    assert [switch.receive(1, number, 5010) for number in (2, 0, 3, 1)] == [2, 0, 3, 1]
    assert switch.receive(2, 7, 5020) == 0, "ports have queues of their own"


def test_a_flow_too_many_waits_in_the_queue_of_high_priority_until_another_is_empty() -> None:
    switch = Switch()
    for number in range(5):
        switch.receive(1, number, 5000)
    assert switch.receive(1, 4, 5001) == 4
    # Both packets of high priority leave first, then queue 0 runs empty.
    assert [switch.transmit(1, 5002) for _ in range(3)] == [False] * 3
    assert switch.receive(1, 4, 5003) == 0


@pytest.mark.parametrize(("passed", "queue"), [(2999, 4), (3000, 4), (3001, 3)])
def test_it_leaves_for_the_shortest_queue_beyond_its_limit(passed: int, queue: int) -> None:
    switch = Switch()
    for number, packets in enumerate((4, 3, 3, 2)):
        for _ in range(packets):
            switch.receive(1, number, 5000)
    headers = len(Frame(payload=b"").build())
    switch.receive(1, 9, 5000, 1500 - headers)
    switch.receive(1, 9, 5000, passed - 1500 - headers)
    assert switch.receive(1, 9, 5000) == queue


@pytest.mark.parametrize(("idle", "queue"), [(99, 1), (100, 1), (101, 0)])
def test_a_flow_that_was_idle_for_longer_than_a_period_is_new(idle: int, queue: int) -> None:
    switch = Switch()
    switch.receive(1, 0, 5000)
    switch.receive(1, 1, 5000)
    switch.transmit(1, 5000)
    switch.transmit(1, 5000)
    assert switch.receive(1, 1, 5000 + idle) == queue


@pytest.mark.parametrize(("later", "queue"), [(999, 4), (1000, 4), (1001, 3)])
def test_a_queue_whose_packet_was_dropped_is_found_again(later: int, queue: int) -> None:
    """With a full buffer, a queue seems busy although its only packet was dropped."""
    switch = Switch(buffer=4)
    for number in (1, 2, 3, 1):
        switch.receive(1, number, 5000)
    assert switch.receive(1, 0, 5000) is None, "the buffer is full, and queue 3 promised to flow 0"
    while switch.transmit(1, 5000) is not None:
        pass
    for number in (1, 2, 3):
        switch.receive(1, number, 5001)
    # Each packet checks another queue.
    for number in (20, 21, 22):
        assert switch.receive(1, number, 5000 + later) == 4
        switch.transmit(1, 5000 + later)
    assert switch.receive(1, 23, 5000 + later) == queue


@pytest.mark.parametrize("flows", range(1, 9))
def test_the_threshold_is_k_by_the_number_of_flows(flows: int) -> None:
    """Eq. 2; with more flows than queues, N is the number of queues."""
    entries = [entry for entry in fitted("diffecn:queues=8,k=43packets").entries if "n_flow" in entry.get("match", {})]
    assert len(entries) == 9
    (entry,) = (entry for entry in entries if entry["match"]["n_flow"]["exact"] == flows)
    k = entry["params"]["k_pkts"]
    assert k <= Fraction(43, flows) < k + 1, "a queue is longer than the one exactly if it is longer than the other"


@pytest.mark.parametrize(("active", "queue"), [("period", 0), ("queued", 1)])
def test_a_flow_whose_queue_was_given_away_gets_another_if_it_has_to_be_queued(active: str, queue: int) -> None:
    """A flow's queue runs empty, and another flow gets it at once."""
    switch = Switch(active=active)
    assert switch.receive(1, 0, 5000) == 0
    switch.transmit(1, 5000)
    assert switch.receive(1, 1, 5000) == 0
    assert switch.receive(1, 0, 5000) == queue


@pytest.mark.parametrize("active", ["period", "queued"])
@pytest.mark.parametrize(("idle", "queue"), [(99, 1), (100, 1), (101, 0)])
def test_an_empty_queue_stays_with_its_flow_for_a_period(active: str, idle: int, queue: int) -> None:
    """Section VII-B: another flow gets it only when the first would be new, and the first finds it until then."""
    switch = Switch(active=active, owner="period")
    assert switch.receive(1, 0, 5000) == 0
    switch.transmit(1, 5000)
    assert switch.receive(1, 1, 5000 + idle) == queue
    assert switch.receive(1, 0, 5000 + idle) == 1 - queue


def test_flows_that_keep_their_empty_queues_send_others_to_the_queue_of_high_priority() -> None:
    switch = Switch(owner="period")
    for number in range(4):
        assert switch.receive(1, number, 5000) == number
    while switch.transmit(1, 5000) is not None:
        pass
    assert switch.receive(1, 4, 5100) == 4
    assert switch.receive(1, 4, 5101) == 0, "it left once a flow had been silent for longer than a period"


@pytest.mark.parametrize(("others", "marked"), [(0, False), (1, False), (2, True)])
def test_flows_that_are_queued_count_only_while_they_are(others: int, marked: bool) -> None:
    """K / N = 12, 6, 4: five packets of each remain after the first. Once the others have left, they do not count."""
    for gone in (False, True):
        switch = Switch(active="queued")
        for number in range(6 * others):
            switch.receive(1, 1 + number % others, 5000)
        if gone:
            while switch.transmit(1, 5001) is not None:
                pass
        for _ in range(6):
            switch.receive(1, 0, 5002)
        marks = []
        while (mark := switch.transmit(1, 5003)) is not None:
            marks.append(mark)
        assert any(marks) == (marked and not gone)


@pytest.mark.parametrize(("own", "marks"), [(False, 3), (True, 4)])
def test_a_packet_may_count_itself(own: bool, marks: int) -> None:
    """Of 16 packets of one flow, K is 12: 3 leave more than 12 behind, and 4 find more than 12 with themselves."""
    switch = Switch(own=own)
    for _ in range(16):
        switch.receive(1, 0, 5000)
    assert [switch.transmit(1, 5001) for _ in range(16)] == [True] * marks + [False] * (16 - marks)


def test_the_rules_are_those_of_the_paper() -> None:
    scheme = fitted("diffecn")
    values = {name: setting.value for name, setting in scheme.settings.items()}
    assert values == {
        "k": 167,
        "queues": 32,
        "t_period": 300,
        "active": "period",
        "owner": "packets",
        "pass_limit": 10,
        "own": False,
    }
    assert (scheme.queues.scheduler, scheme.queues.count, scheme.queues.strict) == ("dwrr", 32, 1)
    (params,) = (entry["params"] for entry in scheme.entries if entry["action"] == "set_steering")
    assert params["pass_limit_bytes"] == 10 * 1500
    assert params["mask"] + 1 == 512 * 32
    assert TESTBED.rate_bps == 10**10
