# SPDX-License-Identifier: MIT OR Apache-2.0
"""A TCP receiver written from the RFCs: it keeps all arrivals, and works out everything from them."""

from __future__ import annotations

from dataclasses import dataclass

Ack = tuple[int, bool, list[tuple[int, int]]]


@dataclass(frozen=True)
class Freedoms:
    """What the RFCs leave open, as the lab chooses, with the source of the choice."""

    # RFC 8257 section 3.2: "MAY choose to send two ACKs: one for previously unacknowledged packets and another
    # acknowledging the most recently received packet". Linux does.
    two_acks_at_a_change: bool = True
    # The first of them acknowledges what came before the new segment, and Linux sends it before it looks at that
    # segment. RFC 2018 section 4 wants the block of the segment that triggered the ACK, which is the new one.
    first_of_two_reports_the_new_segment: bool = True
    # RFC 2018 section 3 wants as many blocks as fit: four, or three beside timestamps, which the lab does without.
    most_blocks: int = 4


@dataclass(frozen=True)
class Settings:
    """What a host can choose. RFC 5681 section 4.2 wants an ACK for every second segment, within 500 ms."""

    echo: str  # none, latched (RFC 3168), exact (RFC 8257)
    ack_every: int
    ack_delay_ns: int


class RfcReceiver:
    def __init__(self, settings: Settings, freedoms: Freedoms | None = None) -> None:
        self.settings, self.freedoms = settings, freedoms or Freedoms()
        self.arrivals: list[tuple[int, int]] = []
        self.waiting = 0  # segments since the last ACK
        self.echo = False
        self.deadline_ns: int | None = None

    def blocks(self) -> list[tuple[int, int]]:
        """All ranges that have arrived, merged."""
        merged: list[tuple[int, int]] = []
        for start, end in sorted(self.arrivals):
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(merged[-1][1], end))
            else:
                merged.append((start, end))
        return merged

    @property
    def rcv_nxt(self) -> int:
        return next((end for start, end in self.blocks() if start == 0), 0)

    def sacks(self) -> list[tuple[int, int]]:
        """RFC 2018 section 4: the block with the latest arrival first, then those reported before it."""
        islands = [block for block in self.blocks() if block[0] > self.rcv_nxt]
        latest_first: list[tuple[int, int]] = []
        for start, end in reversed(self.arrivals):
            for block in islands:
                if block[0] <= start and end <= block[1] and block not in latest_first:
                    latest_first.append(block)
        return latest_first[: self.freedoms.most_blocks]

    def on_segment(self, now_ns: int, offset: int, length: int, ce: bool, cwr: bool) -> list[Ack]:
        acks: list[Ack] = []
        before, gaps = self.rcv_nxt, len(self.blocks()) > (self.rcv_nxt > 0)
        reported = self.sacks()
        self.arrivals.append((offset, offset + length))
        changed = self.settings.echo == "exact" and ce != self.echo
        if changed and self.waiting and self.freedoms.two_acks_at_a_change:
            new = self.freedoms.first_of_two_reports_the_new_segment
            acks.append((before, self.echo, self.sacks() if new else reported))
            self.waiting = 0
        if self.settings.echo == "exact":
            self.echo = ce  # RFC 8257 section 3.2
        elif self.settings.echo == "latched":
            self.echo = ce or (self.echo and not cwr)  # RFC 3168 section 6.1.3
        self.waiting += 1
        # RFC 5681 section 4.2: out of order or into a gap means at once.
        at_once = self.rcv_nxt == before or gaps or changed
        if at_once or self.waiting >= self.settings.ack_every:
            acks.append(self._acknowledge())
        elif self.deadline_ns is None:
            self.deadline_ns = now_ns + self.settings.ack_delay_ns
        return acks

    def on_ack_timer(self, _now_ns: int) -> Ack:
        return self._acknowledge()

    def _acknowledge(self) -> Ack:
        self.waiting, self.deadline_ns = 0, None
        return self.rcv_nxt, self.echo, self.sacks()
