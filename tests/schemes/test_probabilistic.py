# SPDX-License-Identifier: MIT OR Apache-2.0
"""Probabilistic marking between two thresholds: ECN# (its paper's section 3.5) and MQ-ECN (section 3.4)."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

import pytest
from frames import CE, ECT0, NOT_ECT, Frame
from hypothesis import given
from oracles import EcnSharp, MqEcn
from ports import Arrival, Departure, round_robin
from probes import Probe
from sequences import Packet, congestion, packets
from switches import PLACES, QUEUES, Fate, Switch, fitted, params

from marklab.catalog.parameters import Setup
from marklab.devices.queueing import Queues
from marklab.traffic.rtt import parse_rtt

K_MIN, K_MAX = 10, 26
# By signal; both thresholds are in its unit.
ECN_SHARP = {
    "sojourn": f"ecn-sharp:k_min={K_MIN}us,k_max={K_MAX}us",
    "qlen": f"ecn-sharp:signal=qlen,k_min={K_MIN}packets,k_max={K_MAX}packets",
}
DWRR = "dwrr:count=4"
GIGABIT = Setup(10**9, parse_rtt("250us"), 1.0, 64, Queues.model_validate(DWRR), 1514)
STRICT = Setup(10**9, parse_rtt("250us"), 1.0, 64, Queues.model_validate("dwrr:count=2,strict=1"), 1514)


def a_draw() -> tuple[int, int]:
    """A seed, and the first random number of its switch; small enough that p_max = draw / 2^28 is below 1."""
    return next((seed, draw) for seed in range(999) if 1000 < (draw := Probe(seed=seed).draw()) < 2**28)


class EcnSharpQueue:
    """One queue, by the signal that the scheme uses."""

    def __init__(self, name: str, options: str = "", seed: int = 0) -> None:
        self.by_length = name == "qlen"
        self.switch = Switch(ECN_SHARP[name] + options, seed=seed)

    def send(self, signal: int, ecn: int = ECT0) -> Fate:
        stayed, found = (0, signal) if self.by_length else (signal, 0)
        return self.switch.send(1000, stayed, found, 9, ecn=ecn)


@pytest.fixture(params=ECN_SHARP)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize(
    "scheme", ["ecn-sharp", "ecn-sharp:k_min=27us,k_max=26us", "mq-ecn", "mq-ecn:k_min=27,k_max=26"]
)
def test_without_two_thresholds_there_are_no_probabilities(scheme: str) -> None:
    assert not [entry for entry in fitted(scheme, GIGABIT).entries if entry["table"] == "marking.probabilities"]


@pytest.mark.parametrize(("signal", "marked"), [(25, False), (26, False), (27, True)])
def test_the_lower_of_thresholds_in_the_wrong_order_is_that_of_all_marks(signal: int, marked: bool) -> None:
    assert Switch("ecn-sharp:k_min=40us,k_max=26us").marks(1000, signal) is marked
    assert Switch("mq-ecn:k_min=40,k_max=26", GIGABIT).marks(1000, 0, signal, 9) is marked


@pytest.mark.parametrize("k", [K_MIN, K_MAX, 400])
def test_marks_are_random_between_the_thresholds_alone(name: str, k: int) -> None:
    """One below, at and one above each, with a probability that is 1 at k_max."""
    seed = 5
    for signal in (k - 1, k, k + 1):
        queue, probe = EcnSharpQueue(name, seed=seed), Probe(seed=seed)
        drawn = K_MIN < signal <= K_MAX
        marked = probe.draw() < (signal - K_MIN) * 2**32 // (K_MAX - K_MIN) if drawn else signal > K_MAX
        assert queue.send(signal) is (Fate.MARKED if marked else Fate.PASSED)
        assert queue.switch.counts() == ({("marks", 1, 1): 1} if marked else {})
        # The next random number is the second, or still the first.
        assert queue.send((K_MIN + K_MAX) // 2) is (Fate.MARKED if probe.draw() < 2**31 else Fate.PASSED)


@pytest.mark.parametrize(("by", "marked"), [(0, False), (1, True)])
def test_ecn_sharp_marks_a_packet_whose_draw_is_below_p(name: str, by: int, marked: bool) -> None:
    """At k_min + 1, p is the slope, to 2^-32."""
    seed, draw = a_draw()
    queue = EcnSharpQueue(name, f",p_max={(draw + by) / 2**28!r}", seed)
    assert queue.send(K_MIN + 1) is (Fate.MARKED if marked else Fate.PASSED)
    assert queue.send(K_MAX + 1) is Fate.MARKED


@pytest.mark.parametrize(("by", "marked"), [(0, False), (1, True)])
@pytest.mark.parametrize("queue", [1, 0])
def test_mq_ecn_marks_a_packet_whose_draw_is_below_p(queue: int, by: int, marked: bool) -> None:
    """In a queue above the others, and before the first round is known: both have the whole threshold."""
    seed, draw = a_draw()
    switch = Switch(f"mq-ecn:k_min={K_MIN},k_max={K_MAX},p_max={(draw + by) / 2**28!r}", STRICT, seed=seed)
    assert switch.marks(1000, 500, K_MIN + 1, 9, queue=queue) is marked
    assert not any(switch.marks(1000, 500, found, 9, queue=queue) for found in (0, K_MIN - 1, K_MIN))
    assert switch.marks(1000, 500, K_MAX + 1, 9, queue=queue)
    assert switch.counts() == {("marks", 1, 1): 1 + marked}


@pytest.mark.parametrize("p_max", [1, 0.25])
def test_p_grows_from_0_to_p_max(name: str, p_max: float) -> None:
    queue = EcnSharpQueue(name, f",p_max={p_max},pst_target=1s", seed=2)
    number = 4000
    for signal in (K_MIN, K_MIN + 1, (K_MIN + K_MAX) // 2, K_MAX):
        marks = sum(queue.send(signal) is Fate.MARKED for _ in range(number))
        p = p_max * (signal - K_MIN) / (K_MAX - K_MIN)
        assert abs(marks - number * p) <= 5 * (number * p * (1 - p)) ** 0.5, signal


def test_a_packet_that_cannot_be_marked_is_counted(name: str) -> None:
    queue = EcnSharpQueue(name)
    assert queue.send(K_MAX, ecn=NOT_ECT) is Fate.PASSED
    assert queue.switch.counts() == {("not_capable", 1, 1): 1}


def ecn_sharp_agrees(options: str, oracle: EcnSharp, sequence: Iterable[Packet], seed: int) -> Counter[str]:
    """Persistent marks are as without random numbers. Returns the number of each outcome."""
    scheme = f"ecn-sharp:{options}"
    switch, probe = Switch(scheme, seed=seed), Probe(seed=seed)
    k_min, (k_max, slope) = params(scheme)["ins"], params(scheme, "marking.probabilities").values()
    queues = {place: EcnSharp(*vars(oracle).values()) for place in PLACES}
    steps: Counter[str] = Counter()
    for packet in sequence:
        cause, signal = queues[packet.place].cause(packet.now, packet.sojourn), packet.sojourn
        step = ("none", "above", "persistent")[cause]
        if k_min < signal <= k_max and probe.draw() < (signal - k_min) * slope:
            cause, step = 1, "drawn"
        place = {"port": packet.port, "queue": packet.queue}
        fate = switch.send(packet.now, signal, packet.found, packet.left, **place)
        assert fate is (Fate.MARKED if cause else Fate.PASSED), packet
        steps[step] += 1
    return steps


@given(packets(sojourns=[0, 20, 85, 200], gaps=[0, 1, 50, 201], depths=[0]))
def test_any_sequence_agrees_with_ecn_sharps_paper(sequence: list[Packet]) -> None:
    options = "pst_target=85us,pst_interval=201us,k_min=20us,k_max=200us"
    ecn_sharp_agrees(options, EcnSharp(200, 85, 201), sequence, seed=9)


def test_long_congestion_agrees_with_ecn_sharps_paper() -> None:
    options = "pst_target=85us,pst_interval=201us,k_min=60us,k_max=200us,p_max=0.1"
    steps = ecn_sharp_agrees(options, EcnSharp(200, 85, 201), congestion(4, 85, 10**6, 20_000), seed=4)
    assert min(steps[step] for step in ("none", "above", "persistent", "drawn")) > 50, steps


class MqEcnPort:
    """The scheme on a port with queues in turns, and its paper's rule as the oracle."""

    def __init__(self, k_min: int, k_max: int, p_max: float, seed: int) -> None:
        scheme = f"mq-ecn:k_min={k_min},k_max={k_max},p_max={p_max}"
        self.switch, self.probe = Switch(scheme, GIGABIT, seed=seed), Probe(seed=seed)
        self.k_min, self.k_max, self.p_max = k_min, k_max, Fraction(p_max)
        packet_us = 1 / Fraction(GIGABIT.packets_per_us).limit_denominator(10**6)
        quanta = GIGABIT.queues.quanta_bytes(GIGABIT.frame_bytes)
        # quantum / C * K, of K packets.
        shares = {queue: Fraction(quantum, 1500) * packet_us * k_max for queue, quantum in enumerate(quanta)}
        self.paper = MqEcn(k_max, shares, Fraction(3, 4), packet_us, Fraction(8 * 10**6, GIGABIT.rate_bps))
        # Both thresholds of a queue in turns, as the switch gets them, rounded to 1/256 packet microseconds.
        self.limits = {
            queue: [round(256 * share * k / k_max) for k in (k_min, k_max)] for queue, share in shares.items()
        }
        self.steps: Counter[str] = Counter()

    def leave(self, out: Departure) -> str:
        """Compare the fate of a packet; returns whether it was marked surely, with a probability, or not at all."""
        marked = self.send(out)
        # test_mq_ecn.py tests T_round.
        ticks = self.switch.state("t_round")
        t_round = Fraction(ticks, 256)
        p = self.paper.probability(out, self.k_min, self.p_max, t_round)
        low, high = self.limits[out.queue]
        above, beyond = (
            out.found > k or out.found * ticks > limit for k, limit in ((self.k_min, low), (self.k_max, high))
        )
        step = "marked" if marked else "passed"
        if above and not beyond:
            draw = Fraction(self.probe.draw(), 2**32)
            # Half a unit of each limit, and of p_max.
            slack = self.p_max / (high - low) + Fraction(1, 2**32)
            if abs(draw - p) > slack:
                assert marked is (draw < p), out
            step = f"{step} at random"
        else:
            assert marked is beyond, out
            rounded = min(abs(out.found * ticks - limit) for limit in (low, high)) <= 1
            assert p == beyond or rounded, out
        self.steps[step] += 1
        return step

    def send(self, out: Departure) -> bool:
        """Whether the switch marks a packet."""
        empty = len(Frame(payload=b"").build())
        frame = Frame(dst=(10 << 24) + 1, dscp=QUEUES[out.queue], payload=bytes(out.length - empty)).build()
        sojourn = 1000 * (out.now_us - out.enqueued_us)
        _, sent, _ = self.switch.harness.process(0, frame, 1000 * out.now_us, sojourn, out.found, out.left)
        assert sent is not None
        return bool(sent[15] & 3 == CE)


@pytest.mark.parametrize("p_max", [1, 0.5, 0.01])
def test_long_congestion_agrees_with_mq_ecns_paper(p_max: float) -> None:
    rng = random.Random(12)  # noqa: S311
    now, traffic = 10**6, []
    for _ in range(1500):
        now += rng.choice((20_000, 60_000, 100_000, 400_000))
        traffic += [Arrival(now, rng.randrange(4), rng.choice((1514, 1514, 300)))] * rng.randrange(1, 12)
    port = MqEcnPort(5, 30, p_max, seed=3)
    for out in round_robin(traffic, GIGABIT.queues.quanta_bytes(GIGABIT.frame_bytes), GIGABIT.rate_bps):
        port.leave(out)
    assert min(port.steps[step] for step in ("marked", "passed", "passed at random")) > 100, port.steps
    assert port.steps["marked at random"] > 500 * p_max, port.steps


@pytest.mark.parametrize("busy", [1, 2, 4])
def test_the_part_of_a_queue_follows_the_number_of_busy_queues(busy: int) -> None:
    """Thresholds of 8 and 40 packets are 8 and 40, 4 and 20, 2 and 10: none below the first, all above the second."""
    port = MqEcnPort(8, 40, 0.001, seed=1)
    traffic = [Arrival(10**6, number % busy, 1514) for number in range(200 * busy)]
    for number, out in enumerate(round_robin(traffic, [1514] * 4, GIGABIT.rate_bps)):
        step = port.leave(out)
        # T_round does not know the first rounds yet.
        if number < 30 * busy:
            continue
        if out.found < 8 / busy - 0.5:
            assert step == "passed"
        elif out.found > 40 / busy + 0.8:
            assert step == "marked"
        elif 8 / busy + 0.5 < out.found < 40 / busy - 0.8:
            assert step.endswith("at random")
