# SPDX-License-Identifier: MIT OR Apache-2.0
"""A cell that has been run again: its time line, and copies that answer questions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from marklab.fabrics import Cell
from marklab.fabrics.sim import session
from marklab.playback.checkpoints import Checkpoints
from marklab.playback.explain import Explained, explain
from marklab.playback.lives import passed
from marklab.playback.questions import Life, Wanted
from marklab.playback.timeline import Timeline
from marklab.topology import Port

# Looks at a sender in its life.
_LOOKS = 400


class Playback:
    """A cell from its first event to its last. `on_progress` is told virtual times, and the flows finished by then."""

    def __init__(self, cell: Cell, on_progress: Callable[[int, int], None]) -> None:
        self.cell, self.timeline = cell, Timeline()
        self._session = session(cell)
        self.past = Checkpoints(self._session)
        while not self._session.ended:
            if self._session.run(self.timeline.next_ns, max(1, self.past.room)):
                self.timeline.note(self._session)
                on_progress(self._session.now_ns, self._session.finished)
            self.past.note()

    @property
    def end_ns(self) -> int:
        """When the run ended."""
        return self._session.now_ns

    def explain(self, at: Port, from_ns: int, wanted: Wanted) -> Explained:
        """The first packet that does what is wanted at a port, from a time on."""
        return explain(self.cell, self.past, at, from_ns, wanted)

    def life(self, flow: int, begin_ns: int, end_ns: int) -> dict[str, Any]:
        """A flow's life: `time_ns` at equal distances, its `sender` then, and the `ports` that its packets passed."""
        step = max(1, (end_ns - begin_ns) // _LOOKS)
        times = tuple(range(max(1, begin_ns), max(end_ns, 1) + step, step))
        lived = self.past.ask(Life(flow, times))
        ports = passed(self.cell.experiment.network.graph.names, lived["packets"])
        return {"time_ns": list(times), "sender": lived["sender"], "ports": ports}

    def end(self) -> None:
        """End the copies."""
        self.past.end()
