# SPDX-License-Identifier: MIT OR Apache-2.0
"""Per-port and per-pool ECN against section 2.2 of the MQ-ECN paper, on queues that fill, drain and overflow."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict, deque
from pathlib import Path

import pytest
from frames import CE, ECT0, Frame, mac
from hypothesis import given
from hypothesis import strategies as st
from switches import QUEUES, compiled, fitted, routes, services

from marklab import _engine
from marklab.devices.hosts import Limit
from marklab.devices.queueing import Queues

K = 7
PORTS = (1, 2)
AMPLE, TIGHT = "dwrr:count=4,buffer=1000", "dwrr:count=4,buffer=9"
STRICT = "strict:count=4,buffer=9"
POOLS = {"per-port": lambda port: port, "per-pool": lambda _: 0}

scheme = pytest.mark.parametrize("scheme", POOLS)


class Switch:
    """The scheme with real queues, and the paper's rule as the oracle.

    A packet is marked if more than K packets of its pool waited when it arrived. The switch also counts packets that a
    queue has lost since its last departure, because v1model does not report losses earlier.
    """

    def __init__(self, scheme: str, queues: str = AMPLE, own: int = 0) -> None:
        chosen = fitted(f"{scheme}:k={K}packets{',own=on' if own else ''}")
        # What a packet counts for itself.
        self.own = own
        queueing = Queues.model_validate(queues).to_engine(Limit(packets=10**6), 1514)
        entries = json.dumps(chosen.entries + routes() + services())
        self.harness = _engine.Harness(compiled(chosen.scheme.program), entries, 0, json.dumps(queueing))
        self.pool = POOLS[scheme]
        # Per port and queue: whether each waiting packet is to be marked.
        self.waiting: defaultdict[tuple[int, int], deque[bool]] = defaultdict(deque)
        self.lost: Counter[tuple[int, int]] = Counter()
        self.steps: Counter[str] = Counter()

    def occupancy(self, port: int) -> int:
        """Packets that wait in a port's pool."""
        return sum(len(waits) for (at, _), waits in self.waiting.items() if self.pool(at) == self.pool(port))

    def unseen(self, port: int) -> int:
        """Lost packets that the switch still counts."""
        return sum(lost for (at, _), lost in self.lost.items() if self.pool(at) == self.pool(port))

    def known(self, port: int) -> int:
        """The occupancy that the program computes."""
        came, gone = (self.harness.register(name, self.pool(port)) for name in ("pool_came", "pool_gone"))
        return (came - gone) % 2**32

    def receive(self, port: int, queue: int) -> bool:
        """Whether an arriving packet is to be marked; a dropped packet is not."""
        marked = self.occupancy(port) + self.unseen(port) + self.own > K
        frame = Frame(dst=(10 << 24) + port, dscp=QUEUES[queue], payload=bytes(1000))
        if self.harness.receive(0, frame.build(), 10**6) is None:
            self.lost[port, queue] += 1
            self.steps["dropped"] += 1
            return False
        self.steps["in excess"] += marked and self.occupancy(port) <= K
        self.waiting[port, queue].append(marked)
        return marked

    def transmit(self, port: int) -> bool:
        """Whether there was a packet to send."""
        out = self.harness.transmit(port, 10**6)
        if out is None:
            assert not any(self.waiting[port, queue] for queue in range(4))
            return False
        data, queue, *_ = out
        marked = self.waiting[port, queue].popleft()
        assert (data[15] & 3 == CE) == marked
        self.lost[port, queue] = 0
        self.steps["marked" if marked else "passed"] += 1
        assert self.known(port) == self.occupancy(port) + self.unseen(port)
        return True


steps = st.lists(
    st.tuples(st.sampled_from((True, True, False)), st.sampled_from(PORTS), st.integers(0, 3)), max_size=120
)


@scheme
@pytest.mark.parametrize("queues", [AMPLE, TIGHT, STRICT])
@given(steps)
def test_any_traffic_agrees_with_the_paper(scheme: str, queues: str, traffic: list[tuple[bool, int, int]]) -> None:
    switch = Switch(scheme, queues)
    for comes, port, queue in traffic:
        if comes:
            switch.receive(port, queue)
        else:
            switch.transmit(port)


@scheme
@pytest.mark.parametrize("queues", [AMPLE, TIGHT, STRICT])
def test_long_congestion_agrees_with_the_paper(scheme: str, queues: str) -> None:
    lot = random.Random(11)  # noqa: S311
    switch, load = Switch(scheme, queues), 0.5
    for number in range(20_000):
        if number % 50 == 0:
            load = lot.choice((0.35, 0.45, 0.55, 0.65))
        port = lot.choice(PORTS)
        if lot.random() < load:
            switch.receive(port, lot.choice((0, 0, 1, 2, 3)))
        else:
            switch.transmit(port)
    assert min(switch.steps["marked"], switch.steps["passed"]) > 500, switch.steps
    drops = queues != AMPLE
    assert (switch.steps["dropped"] > 500, switch.steps["in excess"] > 100) == (drops, drops), switch.steps


@scheme
@pytest.mark.parametrize(("others", "marked"), [(K - 1, False), (K, False), (K + 1, True)])
def test_marks_begin_above_k_packets_of_all_queues_together(scheme: str, others: int, marked: bool) -> None:
    switch = Switch(scheme)
    for number in range(others):
        switch.receive(1, number % 3)
    assert switch.receive(1, 3) is marked
    while switch.transmit(1):
        pass
    assert switch.steps["marked"] == marked
    cell = 8 * 1 + 1
    assert switch.harness.counter("marks", cell)[0] == marked


@pytest.mark.parametrize(("others", "marked"), [(K - 2, False), (K - 1, False), (K, True)])
def test_a_packet_may_count_itself(others: int, marked: bool) -> None:
    switch = Switch("per-port", own=1)
    for number in range(others):
        switch.receive(1, number % 3)
    assert switch.receive(1, 3) is marked
    while switch.transmit(1):
        pass


@pytest.mark.parametrize(("scheme", "marked"), [("per-port", False), ("per-pool", True)])
def test_other_ports_are_of_the_pool_alone(scheme: str, marked: bool) -> None:
    switch = Switch(scheme)
    for number in range(K + 1):
        switch.receive(2, number % 4)
    assert switch.receive(1, 0) is marked
    assert switch.transmit(1)


@scheme
def test_a_queue_that_lost_packets_is_counted_right_again_when_it_sends(scheme: str) -> None:
    """Queue 0 has filled the buffer, so packets to queue 1 are lost; they still count when queue 0 is empty."""
    switch = Switch(scheme, TIGHT)
    for _ in range(9):
        switch.receive(1, 0)
    for _ in range(K + 1):
        switch.receive(1, 1)
    while switch.transmit(1):
        pass
    assert (switch.occupancy(1), switch.known(1)) == (0, K + 1)
    assert switch.receive(1, 2), "queue 1 has sent nothing since"
    assert switch.transmit(1)
    assert switch.known(1) == K + 1
    assert switch.receive(1, 1), "nor has it here"
    assert switch.transmit(1)
    assert switch.known(1) == 0
    assert not switch.receive(1, 2)
    assert switch.transmit(1)


@scheme
def test_counts_go_round(scheme: str) -> None:
    switch = Switch(scheme)
    for name in ("pool_came", "pool_gone"):
        switch.harness.set_register(name, switch.pool(1), 2**32 - 3)
    for name in ("queue_came", "queue_gone"):
        switch.harness.set_register(name, 512 * 2 + 1, 2**32 - 5)
    marks = [switch.receive(1, number % 3) for number in range(2 * K)]
    assert marks == [number > K for number in range(2 * K)]
    while switch.transmit(1):
        pass
    assert switch.known(1) == 0


@scheme
@pytest.mark.parametrize("frame", [Frame(dst=(11 << 24) + 1), Frame(dst=(10 << 24) + 1, ttl=1)])
def test_what_ingress_drops_never_waits(scheme: str, frame: Frame) -> None:
    switch = Switch(scheme)
    for _ in range(K + 1):
        assert switch.harness.receive(0, frame.build(), 10**6) is None
    assert not switch.receive(1, 0)
    assert switch.transmit(1)


@scheme
def test_a_packet_is_changed_as_by_any_router(scheme: str) -> None:
    frame = Frame(dst=(10 << 24) + 1, ecn=ECT0)
    assert Switch(scheme).harness.process(0, frame.build()) == (1, frame.routed(mac(1)).build(), None)


def test_packets_leave_their_pool_whatever_the_scheme_does(tmp_path: Path) -> None:
    program = tmp_path / "idle.p4"
    program.write_text(
        "#include <core.p4>\n#include <v1model.p4>\n#define MARKLAB_POOL(port) (port)\n"
        '#include "include/occupancy.p4"\n'
        "control Marking(in queue_signals_t q, out decision_t decision, out cause_t cause) {\n"
        "    apply { decision = decision_t.PASS; cause = 0; }\n}\n"
        '#include "include/switch.p4"\n'
    )
    harness = _engine.Harness(compiled(program), json.dumps(routes()), 0, None)
    for waiting in range(3):
        assert harness.receive(0, Frame(dst=(10 << 24) + 1, payload=bytes(1000)).build(), 10**6) is not None
        assert harness.register("pool_came", 1) - harness.register("pool_gone", 1) == waiting + 1
    for waiting in (2, 1, 0):
        assert harness.transmit(1, 10**6) is not None
        assert harness.register("pool_came", 1) - harness.register("pool_gone", 1) == waiting
