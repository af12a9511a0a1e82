# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sequences of packets and queue lengths, for tests that compare a scheme with a second implementation."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from frames import CE, ECT0, ECT1, NOT_ECT
from hypothesis import strategies as st
from switches import PLACES

# First times of a sequence: the start of the switch, and just before 32 and 48 bits of microseconds wrap.
STARTS = (0, 1, 2**32 - 500, 2**48 - 500)


@dataclass(frozen=True)
class Packet:
    """A packet on its way out."""

    now: int
    sojourn: int
    found: int
    left: int
    port: int
    queue: int
    ecn: int

    @property
    def place(self) -> tuple[int, int]:
        """Port and queue."""
        return self.port, self.queue


def _near(values: Sequence[int]) -> list[int]:
    return sorted({max(value + by, 0) for value in values for by in (-1, 0, 1)})


@st.composite
def packets(draw: st.DrawFn, sojourns: Sequence[int], gaps: Sequence[int], depths: Sequence[int]) -> list[Packet]:
    """Sequences in which sojourns, gaps between packets and depths are at, next to or between the given values."""
    around = [_near(values) for values in (sojourns, gaps, depths)]
    sojourn, gap, depth = (
        st.sampled_from(values) | st.integers(0, 2 * values[-1] + 10) for values in around
    )  # fmt: skip
    step = st.tuples(
        gap, sojourn, depth, depth, st.sampled_from(PLACES), st.sampled_from((ECT0, ECT0, ECT1, NOT_ECT, CE))
    )
    now = draw(st.sampled_from(STARTS))
    result = []
    for by, stayed, found, left, place, ecn in draw(st.lists(step, max_size=120)):
        now += by
        result.append(Packet(now, min(stayed, now), found, left, *place, ecn))
    return result


def in_order(sequence: list[Packet]) -> list[Packet]:
    """The sequence without packets that arrived at their queue before a packet that left it earlier."""
    came: dict[tuple[int, int], int] = {}
    kept = []
    for packet in sequence:
        at = packet.now - packet.sojourn
        if at >= came.get(packet.place, 0):
            came[packet.place] = at
            kept.append(packet)
    return kept


def levels(start: int) -> Iterator[Packet]:
    """A packet each microsecond into a queue that has one length for 4 ms, then another, and is empty at the end."""
    lengths = [40, 100, 20, 160, 90, 0]
    for at in range(24_000):
        length = lengths[at // 4000]
        yield Packet(start + at, min(at, 30), length, length, 1, 0, ECT0)


def congestion(seed: int, target_us: int, start: int, number: int) -> Iterator[Packet]:
    """A queue that varies around a target, long above it and sometimes empty; a packet takes 1 to 3 us."""
    lot = random.Random(seed)  # noqa: S311
    now = start
    sojourn, aim = 0, 2 * target_us
    for _ in range(number):
        now += lot.randint(1, 3)
        if lot.random() < 0.002:
            aim = lot.choice([target_us // 2, target_us, 2 * target_us, 2 * target_us, 3 * target_us])
        if lot.random() < 0.0005:
            sojourn, now = 0, now + lot.randint(0, 40 * target_us)
        sojourn = max(sojourn + lot.randint(-4, 4) + (sojourn < aim) - (sojourn > aim), 0)
        depth = sojourn // 2
        yield Packet(now, min(sojourn, now), depth, depth, 1, 0, ECT0)
