# SPDX-License-Identifier: MIT OR Apache-2.0
"""Round trips of a flow, as they were seen at the bottleneck, with the sender's window in each.

A round trip begins with the acknowledgement that covers the first segment of the one before, as in scripted.p4. The
window is looked at when the answers to the acknowledgements of that time have been sent, and no others have come.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from marklab.hosts.capture import Captured, Packet

# Linux's numbers of states, and the simulator's.
STATES = ("open", "disorder", "cwr", "recovery", "loss")

# Linux: no threshold yet.
INFINITE_SEGMENTS = 0x7FFFFFFF


@dataclass(frozen=True)
class WindowRow:
    """A sender's window since a time, in segments."""

    time_ns: int  # of the capture's clock
    cwnd: float
    ssthresh: float | None  # None before the first reduction
    state: str


@dataclass(frozen=True)
class AlphaRow:
    """DCTCP's alpha since a time."""

    time_ns: int
    alpha: float


@dataclass(frozen=True)
class RoundTrip:
    """A round trip."""

    begin_ns: int  # since the flow's first SYN
    segments: int
    retransmissions: int
    acks: int
    window: WindowRow | None
    alpha: float | None


@dataclass(frozen=True)
class FlowSeen:
    """What became of a flow."""

    rounds: tuple[RoundTrip, ...]
    # When the acknowledgement of its last byte passed, since its first SYN; None if that did not come.
    end_ns: int | None
    # Longest time without a segment of it.
    silence_ns: int
    captured: Captured
    rows: Sequence[WindowRow]


class _Counting:
    """Round trips as far as packets have been read."""

    def __init__(self) -> None:
        self.begun: list[list[int]] = []  # begin, segments, retransmissions, acknowledgements
        self.silence_ns = 0
        # Byte behind the first segment of the present round trip, 0 until that has passed; behind all segments so far.
        self._until = self._high = 0
        self._last_ns = 0

    def data(self, packet: Packet) -> None:
        """A segment passes."""
        self._until = self._until or packet.end
        if not self.begun:
            self.begun.append([packet.time_ns, 0, 0, 0])
        self.begun[-1][1] += 1
        self.begun[-1][2] += packet.begin < self._high
        self._high = max(self._high, packet.end)
        self.silence_ns = max(self.silence_ns, packet.time_ns - self._last_ns)
        self._last_ns = packet.time_ns

    def ack(self, packet: Packet) -> None:
        """An acknowledgement passes."""
        if self._until and packet.ack >= self._until:
            self.begun.append([packet.time_ns, 0, 0, 0])
            self._until = 0
        if self.begun:
            self.begun[-1][3] += 1


def flow_seen(
    captured: Captured, size_bytes: int, rtt_ns: int, rows: Sequence[WindowRow], alphas: Sequence[AlphaRow] = ()
) -> FlowSeen:
    """Divide a flow into round trips."""
    counting = _Counting()
    end_ns: int | None = None
    for packet in captured.packets:
        if packet.syn or packet.rst:
            continue
        if not packet.is_data:
            counting.ack(packet)
            if packet.ack >= size_bytes and end_ns is None:
                end_ns = packet.time_ns
        elif packet.end > packet.begin:
            counting.data(packet)
    # What the last acknowledgement began has no data, and does not count.
    begun = counting.begun[: -1 if counting.begun and not counting.begun[-1][1] else None]
    # A quarter of a round trip to the sender, and half of one before the next acknowledgements can come.
    looks_ns = [captured.started_ns + begin_ns + rtt_ns * 3 // 4 for begin_ns, *_ in begun]
    windows = [_at(rows, look_ns) for look_ns in looks_ns]
    seen = [_at(alphas, look_ns) for look_ns in looks_ns]
    rounds = tuple(
        RoundTrip(begin_ns, segments, again, acks, window, None if alpha is None else alpha.alpha)
        for (begin_ns, segments, again, acks), window, alpha in zip(begun, windows, seen, strict=True)
    )
    return FlowSeen(rounds, end_ns, counting.silence_ns, captured, rows)


Row = TypeVar("Row", WindowRow, AlphaRow)


def _at(rows: Sequence[Row], time_ns: int) -> Row | None:
    """The last row up to a time."""
    place = bisect_right([row.time_ns for row in rows], time_ns)
    return rows[place - 1] if place else None
