# SPDX-License-Identifier: MIT OR Apache-2.0
"""Questions about a run, which a session answers that has not come as far as they ask."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from marklab.engine import binding as engine

# More events than any run has.
_ALL = (1 << 64) - 1


class Wanted(StrEnum):
    """What a packet does at a port of a switch."""

    DEPARTURE = "departure"
    MARK = "mark"
    LOSS = "loss"


class Question(Protocol):
    """A question; its answer is plain data, since it may come from another process."""

    @property
    def before_ns(self) -> int:
        """The session must not have handled events at this time or later."""

    def answer(self, session: engine.Session) -> Any:
        """Run the session on to the answer."""


@dataclass(frozen=True)
class Find:
    """The first packet that does something at a port, from a time on: [time in ns, arrival], or None.

    The arrival is None if the packet was in the network before the session began to look.
    """

    node: int
    port: int
    from_ns: int
    wanted: Wanted

    @property
    def before_ns(self) -> int:
        """See Question."""
        return self.from_ns

    def answer(self, session: engine.Session) -> Any:
        """See Question."""
        return session.find(self.node, self.port, self.from_ns, self.wanted)


@dataclass(frozen=True)
class Follow:
    """All that happens to the packet of an arrival, as `Session.follow` gives it; None if there is none."""

    arrival: engine.Arrival

    @property
    def before_ns(self) -> int:
        """See Question."""
        return self.arrival[0]

    def answer(self, session: engine.Session) -> Any:
        """See Question."""
        found = session.follow(self.arrival)
        return None if found is None else json.loads(found)


# Packets of a flow that are recorded at most: the last ones.
MOST_PACKETS = 200_000


@dataclass(frozen=True)
class Life:
    """A flow from the first to the last of some times.

    `sender` is a list with its sender at each time, None where it has not begun or was followed by another flow;
    `packets` are its packets at switches, as `Session.packets` gives them.
    """

    flow: int
    times_ns: tuple[int, ...]

    @property
    def before_ns(self) -> int:
        """See Question."""
        return self.times_ns[0]

    def answer(self, session: engine.Session) -> Any:
        """See Question."""
        session.record(self.flow, MOST_PACKETS)
        seen = []
        for time_ns in self.times_ns:
            session.run(time_ns, _ALL)
            seen.append(session.sender(self.flow))
        return {"sender": seen, "packets": session.packets()}
