# SPDX-License-Identifier: MIT OR Apache-2.0
"""What differs between a simulated host and Linux, or ns-2, on the same script, round trip by round trip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from marklab.hosts.rounds import FlowSeen, RoundTrip, WindowRow
from marklab.hosts.script import Case
from marklab.hosts.simulated import CaseSeen

# Of windows that count as the same.
CLOSE_SEGMENTS = 1.0
CLOSE_ALPHA = 0.02
# Linux's timers of 64 ticks and more are late by up to an eighth (kernel/time/timer.c); the machine, by some ms.
_LATE = 1 / 8
_MACHINE_NS = 10 * 10**6


@dataclass(frozen=True)
class RoundPair:
    """A round trip of both; None where one has no such round trip."""

    number: int
    sim: RoundTrip | None
    linux: RoundTrip | None

    @property
    def sends_same(self) -> bool:
        """Whether both sent as many segments, and as many of them again."""
        if self.sim is None or self.linux is None:
            return False
        return (self.sim.segments, self.sim.retransmissions) == (self.linux.segments, self.linux.retransmissions)

    @property
    def cwnd_close(self) -> bool | None:
        """Whether the windows differ by a segment at most; None where one is not known."""
        ours, theirs = self._windows
        return None if ours is None or theirs is None else abs(ours.cwnd - theirs.cwnd) <= CLOSE_SEGMENTS

    @property
    def ssthresh_close(self) -> bool | None:
        """The same of the thresholds; having none is the same as having none only."""
        ours, theirs = self._windows
        if ours is None or theirs is None:
            return None
        if ours.ssthresh is None or theirs.ssthresh is None:
            return ours.ssthresh == theirs.ssthresh
        return abs(ours.ssthresh - theirs.ssthresh) <= CLOSE_SEGMENTS

    @property
    def state_same(self) -> bool | None:
        """Whether the states are the same."""
        ours, theirs = self._windows
        return None if ours is None or theirs is None else ours.state == theirs.state

    @property
    def alpha_close(self) -> bool | None:
        """Whether DCTCP's alpha is the same within `CLOSE_ALPHA`; None for other transports."""
        if self.sim is None or self.linux is None or self.sim.alpha is None or self.linux.alpha is None:
            return None
        return abs(self.sim.alpha - self.linux.alpha) <= CLOSE_ALPHA

    @property
    def _windows(self) -> tuple[WindowRow | None, WindowRow | None]:
        ours = None if self.sim is None else self.sim.window
        theirs = None if self.linux is None else self.linux.window
        return ours, theirs


@dataclass(frozen=True)
class FlowCompared:
    """A flow of both."""

    sim: FlowSeen
    linux: FlowSeen
    rtt_ns: int

    @property
    def rounds(self) -> list[RoundPair]:
        """All round trips of either."""
        return [
            RoundPair(number, *pair)
            for number, pair in enumerate(zip_longest(self.sim.rounds, self.linux.rounds), start=1)
        ]

    @property
    def rounds_same(self) -> bool:
        """Whether all round trips have the same segments."""
        return all(pair.sends_same for pair in self.rounds)

    @property
    def end_same(self) -> bool:
        """Whether both ended within half a round trip of each other, or as late as Linux's timers may be."""
        if self.sim.end_ns is None or self.linux.end_ns is None:
            return self.sim.end_ns == self.linux.end_ns
        allowed = self.rtt_ns / 2 + _MACHINE_NS + _LATE * self.sim.silence_ns
        return abs(self.sim.end_ns - self.linux.end_ns) <= allowed


@dataclass(frozen=True)
class CaseCompared:
    """A case of both."""

    case: Case
    flows: tuple[FlowCompared, ...]
    never: tuple[str, ...]  # events that did not happen in one of them, with its name
    # Linux differed from itself when it ran again; only cases that differ run again.
    is_unsteady: bool = False
    other: str = "Linux"  # what simulated hosts are compared with

    @property
    def same(self) -> bool:
        """Whether segments of each round trip and ends are the same, and all events happened."""
        return not self.never and self.same_but_events

    @property
    def same_but_events(self) -> bool:
        """Whether segments of each round trip and ends are the same."""
        return all(flow.rounds_same and flow.end_same for flow in self.flows)


def compare(sim: CaseSeen, linux: CaseSeen, other: str = "Linux") -> CaseCompared:
    """Compare what became of a case, in simulated hosts and in Linux or others."""
    rtt_ns = sim.case.script.rtt_ns
    flows = [FlowCompared(ours, theirs, rtt_ns) for ours, theirs in zip(sim.flows, linux.flows, strict=True)]
    never = [f"{name}: {text}" for name, seen in (("sim", sim), (other, linux)) for text in seen.never]
    return CaseCompared(sim.case, tuple(flows), tuple(never), other=other)


def shares(compared: Sequence[CaseCompared]) -> dict[str, tuple[int, int]]:
    """How many of how many scripts or round trips are the same, by quantity."""
    rounds = [pair for each in compared for flow in each.flows for pair in flow.rounds]
    scripts = {
        "segments and retransmissions of each round trip": [
            all(flow.rounds_same for flow in each.flows) for each in compared
        ],
        "end of the flow": [all(flow.end_same for flow in each.flows) for each in compared],
        "both, and all events happened": [each.same for each in compared],
    }
    windows = {
        "cwnd within a segment": [pair.cwnd_close for pair in rounds],
        "ssthresh within a segment": [pair.ssthresh_close for pair in rounds],
        "state": [pair.state_same for pair in rounds],
        f"alpha within {CLOSE_ALPHA}": [pair.alpha_close for pair in rounds],
    }
    known = {f"round trips: {name}": [each for each in found if each is not None] for name, found in windows.items()}
    return {name: (sum(found), len(found)) for name, found in (scripts | known).items()}
