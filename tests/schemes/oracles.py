# SPDX-License-Identifier: MIT OR Apache-2.0
"""Second implementations of the stateful algorithms, from their papers, in integers and with a clock that never wraps.

Times are in microseconds. Times of marks are in 1/256 us, to which the switches' tables round. None is "unset".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import floor, isqrt

from ports import Departure

# Entries of the tables that replace a division.
TABLE = 1024


def over_count(interval_us: int, count: int) -> int:
    """interval / count in 1/256 us, to the nearest, halves up."""
    return (2 * 256 * interval_us + count) // (2 * count)


def over_root(interval_us: int, count: int) -> int:
    """interval / sqrt(count) in 1/256 us, to the nearest, halves up."""
    return (isqrt(4 * (256 * interval_us) ** 2 // count) + 1) // 2


@dataclass
class Codel:
    """RFC 8289, section 5: dodequeue and dequeue. It marks where CoDel drops, so no packet follows at once."""

    target: int
    interval: int
    first_above_time: int | None = None
    marking: bool = False
    mark_next: int = 0
    count: int = 0
    last_count: int = 0

    def control_law(self, time: int) -> int:
        return time + over_root(self.interval, min(self.count, TABLE))

    def ok_to_mark(self, now: int, sojourn: int, left: int) -> bool:
        # bytes() <= MAXPACKET of the RFC is one packet here.
        if sojourn < self.target or left <= 1:
            self.first_above_time = None
        elif self.first_above_time is None:
            self.first_above_time = now + self.interval
        else:
            return now >= self.first_above_time
        return False

    def cause(self, now: int, sojourn: int, left: int) -> int:
        """Why the packet is to be marked; 0 if it is not."""
        ok = self.ok_to_mark(now, sojourn, left)
        now *= 256
        if self.marking:
            if not ok:
                self.marking = False
            elif now >= self.mark_next:
                self.count += 1
                self.mark_next = self.control_law(self.mark_next)
                return 1
        elif ok:
            self.marking = True
            delta = self.count - self.last_count
            self.count = 1
            if delta > 1 and now - self.mark_next < 16 * 256 * self.interval:
                self.count = delta
            self.mark_next = self.control_law(now)
            self.last_count = self.count
            return 1
        return 0


@dataclass
class EcnSharp:
    """ECN# (IEEE TCC 2022), section 3.2 and Algorithm 1; `sqrt` is the law of the authors' simulator."""

    ins_target: int
    pst_target: int
    pst_interval: int
    sqrt: bool = False
    first_above_time: int | None = None
    marking_state: bool = False
    marking_count: int = 0
    marking_next: int = 0

    def should_persistent_mark(self, now: int, signal: int) -> bool:
        detected = self.is_persistent_queue_buildups(now, signal)
        now *= 256
        if self.marking_state:
            if not detected:
                self.marking_state = False
                return False
            if now > self.marking_next:
                self.marking_count += 1
                count = min(self.marking_count, TABLE)
                if self.sqrt:
                    self.marking_next = now + over_root(self.pst_interval, count)
                else:
                    self.marking_next += over_count(self.pst_interval, count)
                return True
        elif detected:
            self.marking_state = True
            self.marking_count = 1
            self.marking_next = now + 256 * self.pst_interval
            return True
        return False

    def is_persistent_queue_buildups(self, now: int, signal: int) -> bool:
        if signal < self.pst_target:
            self.first_above_time = None
            return False
        if self.first_above_time is None:
            self.first_above_time = now
            return False
        return now > self.first_above_time + self.pst_interval

    def cause(self, now: int, signal: int) -> int:
        """Why the packet is to be marked; 0 if it is not."""
        persistent = self.should_persistent_mark(now, signal)
        if signal > self.ins_target:
            return 1
        return 2 if persistent else 0


@dataclass
class Red:
    """RED (Floyd and Jacobson 1993, figure 2), with the arithmetic of the switch.

    `average` is in 1/65536 packets. `decay` lists (first idle us, last idle us, remaining fraction in 1/65536).
    """

    min_pkts: int
    max_pkts: int
    slope: int
    weight: int
    decay: list[tuple[int, int, int]]
    average: int = 0
    count: int = -1
    q_time: int | None = None

    def left(self, idle_us: int) -> int:
        return next((left for low, high, left in self.decay if low <= idle_us <= high), 0)

    def update_average(self, now: int, sojourn: int, found: int, left: int) -> None:
        came = now - sojourn
        if self.q_time is not None and came > self.q_time:
            self.average = self.average * self.left(came - self.q_time) // 65536
        elif 65536 * found >= self.average:
            self.average += (65536 * found - self.average) // 2**self.weight
        else:
            self.average -= (self.average - 65536 * found) // 2**self.weight
        self.q_time = now if left == 0 else None

    def p_b(self) -> int:
        """The probability p_b in 2^-32."""
        return (self.average - 65536 * self.min_pkts) * self.slope // 65536

    def cause(self, now: int, sojourn: int, found: int, left: int, draw: int) -> int:
        """Why the packet is to be marked or dropped; 0 if it passes."""
        self.update_average(now, sojourn, found, left)
        if 65536 * self.min_pkts <= self.average < 65536 * self.max_pkts:
            self.count += 1
            p_b = self.p_b()
            # p_a = p_b / (1 - count p_b), against a draw in 2^-32.
            if self.count * p_b >= 2**32 or draw * (2**32 - self.count * p_b) < p_b * 2**32:
                self.count = 0
                return 1
        elif 65536 * self.max_pkts <= self.average:
            self.count = 0
            return 2
        else:
            self.count = -1
        return 0


@dataclass
class AdaptiveRed(Red):
    """Adaptive RED (Floyd, Gummadi and Shenker 2001), with p_max as a slope: p_max / (max - min), in 2^-32.

    `target` has the ends of the target range in 1/65536 packets; `alpha`, `bottom`, `top` belong to p_max, as slopes.
    """

    interval: int = 0
    target: tuple[int, int] = (0, 0)
    alpha: int = 0
    bottom: int = 0
    top: int = 0
    due: int | None = None

    def update_average(self, now: int, sojourn: int, found: int, left: int) -> None:
        super().update_average(now, sojourn, found, left)
        came = now - sojourn
        if self.due is None:
            self.due = came + self.interval
        if came < self.due:
            return
        if self.average > self.target[1] and self.slope <= self.top:
            self.slope += min(self.alpha, self.slope // 4)
        elif self.average < self.target[0] and self.slope >= self.bottom:
            self.slope = self.slope * round(0.9 * 2**32) // 2**32
        while self.due <= came:
            self.due += self.interval


@dataclass
class Pi:
    """PI (Hollot, Misra, Towsley and Gong 2001): p = a (q - q_ref) - b (q_old - q_ref) + p_old. Exact.

    Timers that have expired since the last packet take effect at the next packet, with the queue that it finds.
    """

    q_ref: int
    a: Fraction
    b: Fraction
    period: int
    p: Fraction = Fraction(0)
    q_old: int = 0
    due: int | None = None

    def comes(self, now: int, found: int) -> None:
        """A packet comes."""
        if self.due is None:
            self.due = now + self.period
        while self.due <= now:
            change = self.a * (found - self.q_ref) - self.b * (self.q_old - self.q_ref)
            self.p = min(max(self.p + change, Fraction(0)), Fraction(1))
            self.q_old = found
            self.due += self.period


@dataclass
class Rem:
    """REM (Athuraliya, Li, Low and Yin 2001): price = max(0, price + gamma (alpha (q - b_star) + x - c)).

    Exact, except that the price is at most `highest`. Timers that have expired since the last packet take effect at the
    next packet, with the queue that it finds.
    """

    b_star: int
    gamma: Fraction
    gamma_alpha: Fraction
    gamma_c: Fraction
    period: int
    highest: Fraction
    price: Fraction = Fraction(0)
    came: int = 0
    due: int | None = None

    def comes(self, now: int, found: int) -> None:
        """A packet comes."""
        if self.due is None:
            self.due = now + self.period
        while self.due <= now:
            change = self.gamma_alpha * (found - self.b_star) + self.gamma * self.came - self.gamma_c
            self.price = min(max(self.price + change, Fraction(0)), self.highest)
            self.came = 0
            self.due += self.period
        self.came += 1


@dataclass
class MqEcn:
    """MQ-ECN (NSDI 2016), Eq. 5 and 6, as the authors' simulator samples rounds: whenever a queue's service ends, with
    its last packet on the line, the time since it was put into line, or since its last packet before was on the line.
    Exact; the caller says what ends a turn."""

    k: int
    # quantum / C * k, by queue: packets times microseconds.
    quantum_rtt: dict[int, Fraction]
    beta: Fraction
    t_idle: Fraction
    us_per_byte: Fraction
    t_round: Fraction = Fraction(0)
    t_start: dict[int, Fraction] = field(default_factory=dict)
    last: int | None = None
    ended: tuple[int, Fraction] | None = None

    def leaves(self, out: Departure) -> None:
        """A packet leaves: rounds until then. A turn that ends with packets left is known with the next packet."""
        if self.ended is not None:
            self._sample(*self.ended)
            self.ended = None
        if self.last is not None and out.now_us == out.enqueued_us:
            rounds = (out.now_us - self.last) // self.t_idle - 1
            self.t_round *= self.beta ** min(max(rounds, 0), 61) if rounds <= 60 else 0
        if out.found == 0:
            self.t_start[out.queue] = max(Fraction(out.enqueued_us), self.t_start.get(out.queue, Fraction(0)))
        sent = out.now_us + out.length * self.us_per_byte
        if out.ends_turn and out.left == 0:
            self._sample(out.queue, sent)
        elif out.ends_turn:
            self.ended = (out.queue, sent)
        self.last = out.now_us

    def _sample(self, queue: int, sent: Fraction) -> None:
        # Times of dequeue are whole microseconds: a short packet behind a long one may seem to be sent before it.
        sample = max(sent - self.t_start[queue], Fraction(0))
        self.t_start[queue] = sent
        self.t_round = self.beta * self.t_round + (1 - self.beta) * sample

    def excess(self, out: Departure) -> Fraction:
        """The excess of the queue over the length that its share needs, in packets times microseconds."""
        return out.found * self.t_round - self.quantum_rtt[out.queue]

    def probability(self, out: Departure, k_min: int, p_max: Fraction, t_round: Fraction) -> Fraction:
        """Probability of a mark, by section 3.4, where k is k_max: both thresholds have the fraction, p_max not."""
        part = Fraction(1)
        if out.queue in self.quantum_rtt and t_round:
            part = min(self.quantum_rtt[out.queue] / self.k / t_round, part)
        low, high = part * k_min, part * self.k
        if out.found <= low:
            return Fraction(0)
        return Fraction(1) if out.found > high else p_max * (out.found - low) / (high - low)


def _whole_q32(value: Fraction) -> Fraction:
    """A probability in whole 2^-32, rounded down, by which the switch counts packets."""
    return Fraction(floor(value * 2**32), 2**32)


@dataclass
class DualPi2:
    """RFC 9332, appendix A.2, with a timer whose periods begin with a port's first packet.

    A step takes the place of the ramp, and `recur` has 1 instead of more than 1, so that probability 1 is certain.
    """

    target: int
    alpha: Fraction
    beta: Fraction
    period: int
    k: Fraction
    step: int
    step_left: int
    begun: int | None = None
    p: Fraction = Fraction(0)
    prevq: int = 0
    # Queuing time of the first packet of the C queue and of the L queue, as far as departures tell.
    time: list[int] = field(default_factory=lambda: [0, 0])
    count: list[Fraction] = field(default_factory=lambda: [Fraction(0), Fraction(0)])

    def update(self, curq: int) -> None:
        """`dualpi2_update`."""
        p = self.p + self.alpha * (curq - self.target) + self.beta * (curq - self.prevq)
        self.p = min(max(p, Fraction(0)), Fraction(1))
        self.prevq = curq

    def timer(self, now: int) -> None:
        """All updates that are due; a line on which nothing has left for a period had empty queues."""
        if self.begun is None:
            self.begun = now
        ended, _ = divmod(now - self.begun, self.period)
        self.begun += ended * self.period
        for left in reversed(range(ended)):
            self.update(0 if left else max(self.time))
            if left > 1 and self.p == 0 and self.prevq == 0:
                return self.update(max(self.time))
        return None

    def recur(self, queue: int, likelihood: Fraction) -> bool:
        """Whether the likelihoods of a queue's packets have come to 1 once more."""
        self.count[queue] += likelihood
        hit = self.count[queue] >= 1
        self.count[queue] -= hit
        return hit

    def departs(self, now: int, sojourn: int, left: int, *, l4s: bool) -> tuple[str, int]:
        """`dualpi2_dequeue`: what happens to a packet if it is not marked yet, and why."""
        queue = int(l4s)
        self.time[queue] = sojourn
        self.timer(now)
        self.time[queue] = sojourn if left else 0
        base = _whole_q32(self.p)
        p_c, p_cl = _whole_q32(base**2), _whole_q32(base * self.k)
        if l4s and p_cl < 1:
            native = sojourn > self.step and left >= self.step_left
            hit = self.recur(queue, max(Fraction(native), p_cl))
            return ("mark", 1 if native else 2) if hit else ("", 0)
        hit = self.recur(queue, p_c)
        if l4s:
            return ("drop" if hit else "mark", 4)
        if p_cl >= 1:
            return ("drop", 4) if hit else ("", 0)
        return ("mark or drop", 3) if hit else ("", 0)
