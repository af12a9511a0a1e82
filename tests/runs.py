# SPDX-License-Identifier: MIT OR Apache-2.0
"""Small runs for tests."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from marklab.experiment import Experiment, prepare
from marklab.fabrics import Cell, Sim
from marklab.metrics import summarise
from marklab.observation import Observation
from marklab.runs import run_cells
from marklab.spec import make_spec
from marklab.summary import Summary


def run(workers: int = 2, **settings: object) -> tuple[Experiment, Sequence[Observation], Summary]:
    """Run a description that differs from the default in these settings."""
    experiment = prepare(make_spec({"schemes": ["ecn-sharp"], "flows": 300, "seeds": 2, "load": 0.8} | settings))
    cells = [Cell(experiment, scheme, seed) for seed in experiment.spec.seed_numbers for scheme in experiment.schemes]
    observations = run_cells(Sim(), cells, workers, lambda _: None)
    return experiment, observations, summarise(experiment, observations, {"engine": "test", "marklab": "test"})


@functools.cache
def small() -> tuple[Experiment, Sequence[Observation], Summary]:
    """A run that several tests look at."""
    return run()
