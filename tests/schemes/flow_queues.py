# SPDX-License-Identifier: MIT OR Apache-2.0
"""A second implementation of DiffECN, from its paper (section IV, Algorithm 1): queues of flows, and marks."""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Mapping:
    """A flow in the flow map."""

    queue: int
    passed: int
    last: int
    # The queue's turn when the flow came to it.
    turn: int = 0


@dataclass
class QueueMapping:
    """The queue mapping unit of a port. Queue numbers 0 .. queues - 2 are ordinary, the last has high priority."""

    queues: int
    t_period: int
    pass_limit: int
    # Whether flows are active as long as they are queued, not by periods.
    while_queued: bool = False
    # Whether a flow keeps its queue for a period in which it sends nothing (section VII-B).
    owned: bool = False
    flow_map: dict[int, Mapping] = field(default_factory=dict)
    depth: dict[int, int] = field(default_factory=dict)
    # Time of the last arrival or departure of each queue, and the queue that is checked next.
    used: dict[int, int] = field(default_factory=dict)
    # How often it was given to a flow because it was empty.
    turns: Counter[int] = field(default_factory=Counter)
    doubted: int = 0

    @property
    def high(self) -> int:
        return self.queues - 1

    def steer(self, flow: int, now: int, length: int) -> int:
        """The queue of a packet."""
        index = (flow >> 18) % (512 * self.queues)
        mapping = self.flow_map.get(index)
        if mapping is None or not self._active(mapping, now):
            mapping = self.flow_map[index] = Mapping(self.high, 0, now)
        if mapping.queue == self.high:
            if mapping.passed <= self.pass_limit:
                mapping.queue = self._empty(now)
                self.turns[mapping.queue] += 1
            else:
                mapping.queue = self._shortest()
            mapping.turn = self.turns[mapping.queue]
        if mapping.queue == self.high:
            mapping.passed += length
        mapping.last = now
        self.depth[mapping.queue] = self.depth.get(mapping.queue, 0) + 1
        self.used[mapping.queue] = now
        return mapping.queue

    def _active(self, mapping: Mapping, now: int) -> bool:
        if self.while_queued and not self.owned and mapping.queue != self.high:
            return self.depth.get(mapping.queue, 0) > 0 and self.turns[mapping.queue] == mapping.turn
        return now - mapping.last <= self.t_period

    def _empty(self, now: int) -> int:
        for queue in range(self.high):
            owned = self.owned and queue in self.used and now - self.used[queue] <= self.t_period
            if self.depth.get(queue, 0) == 0 and not owned:
                return queue
        queue, self.doubted = self.doubted, (self.doubted + 1) % self.high
        if now - self.used.get(queue, 0) > 10 * self.t_period:
            self.depth[queue] = 0
            return queue
        return self.high

    def _shortest(self) -> int:
        return min(range(self.high), key=lambda queue: self.depth.get(queue, 0))

    def busy(self) -> int:
        """How many queues hold packets."""
        return sum(depth > 0 for depth in self.depth.values())

    def left(self, queue: int, now: int, left: int) -> None:
        """Record that a packet has left a queue."""
        self.depth[queue] = left
        self.used[queue] = now


@dataclass
class FlowCount:
    """Algorithm 1, lines 26 to 39, of a port; the array of section V-B has 2^14 places."""

    t_period: int
    t_start: int = 0
    seq: int = 0
    n_now: int = 0
    n_last: int = 0
    seen: dict[int, int] = field(default_factory=dict)

    def flows(self, flow: int, now: int) -> int:
        """N_flow when this packet leaves."""
        if now - self.t_start > self.t_period:
            self.seq += 1
            self.n_last, self.n_now, self.t_start = self.n_now, 0, now
        else:
            new = zlib.crc32(struct.pack("!IH", flow, self.seq % 2**16))
            if self.seen.get(new % 2**14, 0) != new:
                self.seen[new % 2**14] = new
                self.n_now += 1
        return max(self.n_last, self.n_now)
