# SPDX-License-Identifier: MIT OR Apache-2.0
"""How the lines of a network stand over a run: samples at equal distances, whose number has a bound."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from marklab.engine import binding as engine
from marklab.execution.pictures import COLUMNS

# Samples beyond which every second one is given up.
MOST = 1024
_FIRST_INTERVAL_NS = 1_000


class Timeline:
    """Samples of a session. The length of a run is not known before its end, so their distance doubles."""

    def __init__(self) -> None:
        self.interval_ns = _FIRST_INTERVAL_NS
        self._times_ns: list[int] = []
        self._finished: list[int] = []
        self._views: list[dict[str, NDArray[np.uint64]]] = []

    @property
    def next_ns(self) -> int:
        """When the next sample is due."""
        return len(self._times_ns) * self.interval_ns

    def note(self, session: engine.Session) -> None:
        """Take the sample that is due; the session has run up to that time, or has ended."""
        self._times_ns.append(self.next_ns)
        self._finished.append(session.finished)
        self._views.append(session.view())
        if len(self._times_ns) >= MOST:
            for kept in (self._times_ns, self._finished, self._views):
                del kept[1::2]
            self.interval_ns *= 2

    def __len__(self) -> int:
        """Number of samples."""
        return len(self._times_ns)

    def table(self, column: str) -> NDArray[np.uint64]:
        """A column of the views: a row per sample, a value per line."""
        return np.stack([view[column] for view in self._views])

    def to_plain(self) -> dict[str, Any]:
        """For programs: per sample its time and finished flows, per column a list of samples with a value per line."""
        columns = {name: self.table(name).tolist() for name in COLUMNS}
        return {"time_ns": list(self._times_ns), "finished": list(self._finished), **columns}
