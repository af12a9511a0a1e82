# SPDX-License-Identifier: MIT OR Apache-2.0
"""What all fabrics have in common."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from marklab.engine.binding import Watch
from marklab.errors import RunFailed
from marklab.prepare.experiment import Experiment, ReadyScheme
from marklab.results.observation import Observation


@dataclass(frozen=True)
class Cell:
    """One scheme on the flows of one seed. Captures, if any, go to `captures`.

    Simulated, it may run on several `threads`, with the same result as on one. If it is `measured`, it runs on one, and
    tells how many it could keep busy.
    """

    experiment: Experiment
    scheme: ReadyScheme
    seed: int
    captures: Path | None = None
    threads: int = 1
    measured: bool = False

    def __str__(self) -> str:
        return f"{self.scheme.label}, seed {self.seed}"


class Fabric(Protocol):
    """A place where cells run."""

    name: str
    # Cells that may run at a time; None leaves it to the user.
    max_workers: int | None

    def check(self, experiment: Experiment) -> None:
        """Refuse what this fabric cannot do, with the reason and what would work."""

    def cell_bytes(self, experiment: Experiment) -> int:
        """Memory that a cell takes, by estimate; 0 if it is not known."""

    def settled(self, experiment: Experiment) -> Experiment:
        """An experiment with what it leaves to the machine."""

    def slower(self, experiment: Experiment, error: RunFailed) -> Experiment | None:
        """All of an experiment in another way, after a cell of it failed; None if there is no other way."""

    def run(self, cell: Cell, watch: Watch) -> Observation:
        """Run a cell to its end; raises `engine.Cancelled` if the watch asks for it."""
