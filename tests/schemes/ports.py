# SPDX-License-Identifier: MIT OR Apache-2.0
"""A port with queues in turns, and its departures: the true rounds of a scheduler."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# Preamble, gap and checksum of a frame on the line.
OVERHEAD_BYTES = 24


@dataclass(frozen=True)
class Arrival:
    """A frame that comes to a queue."""

    ns: int
    queue: int
    length: int


@dataclass(frozen=True)
class Departure:
    """A frame that leaves its queue, with v1model's metadata; times are in whole microseconds."""

    queue: int
    length: int
    now_us: int
    enqueued_us: int
    found: int
    left: int
    ends_turn: bool


class RoundRobin:
    """Deficit round robin (Shreedhar and Varghese, section 3); without carrying, each turn starts anew."""

    def __init__(self, quanta: Sequence[int], *, carries: bool = True) -> None:
        self.quanta = quanta
        self.carries = carries
        self.queues: list[deque[tuple[Arrival, int]]] = [deque() for _ in quanta]
        self.deficit = [0] * len(quanta)
        # Busy queues in the order of their turns, and whether that of the first has begun.
        self.line: deque[int] = deque()
        self.begun = False

    def put(self, arrival: Arrival) -> None:
        """Add a frame that arrives."""
        queue = self.queues[arrival.queue]
        if not queue:
            self.line.append(arrival.queue)
        queue.append((arrival, len(queue)))

    def take(self) -> tuple[Arrival, int, bool]:
        """The next frame, the queue that it found, and whether the queue's turn ends with it."""
        while not self._first_may_send():
            self.line.rotate(-1)
            self.begun = False
        number = self.line[0]
        queue = self.queues[number]
        arrival, found = queue.popleft()
        self.deficit[number] -= arrival.length
        ends = not queue or queue[0][0].length > self.deficit[number]
        if ends:
            self.begun = False
            self.line.popleft()
            if queue:
                self.line.append(number)
            if not queue or not self.carries:
                self.deficit[number] = 0
        return arrival, found, ends

    def _first_may_send(self) -> bool:
        number = self.line[0]
        if not self.begun:
            self.deficit[number] += self.quanta[number]
            self.begun = True
        return self.queues[number][0][0].length <= self.deficit[number]


def round_robin(
    arrivals: Sequence[Arrival], quanta: Sequence[int], rate_bps: int, *, carries: bool = True
) -> Iterator[Departure]:
    """Departures of a port, back to back while packets wait."""
    port, free_at, coming = RoundRobin(quanta, carries=carries), 0, deque(arrivals)
    while coming or port.line:
        if not port.line:
            free_at = max(free_at, coming[0].ns)
        while coming and coming[0].ns <= free_at:
            port.put(coming.popleft())
        arrival, found, ends = port.take()
        left = len(port.queues[arrival.queue])
        yield Departure(arrival.queue, arrival.length, free_at // 1000, arrival.ns // 1000, found, left, ends)
        free_at += (arrival.length + OVERHEAD_BYTES) * 8 * 10**9 // rate_bps
