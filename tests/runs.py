# SPDX-License-Identifier: MIT OR Apache-2.0
"""Small runs for tests."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from marklab.execution.cells import run_cells
from marklab.fabrics import Cell, Sim
from marklab.metrics.summarise import summarise
from marklab.prepare.experiment import Experiment, prepare
from marklab.results.observation import Observation
from marklab.results.summary import Summary
from marklab.spec.description import make_spec


def run(workers: int = 2, **settings: object) -> tuple[Experiment, Sequence[Observation], Summary]:
    """Run a description that differs from the default in these settings."""
    experiment = prepare(make_spec({"schemes": ["ecn-sharp"], "flows": 300, "seeds": 2, "load": 0.8} | settings))
    cells = [Cell(experiment, scheme, seed) for seed in experiment.spec.seed_numbers for scheme in experiment.schemes]
    observations = run_cells(Sim(), cells, workers, lambda _: None)
    return experiment, observations, summarise(experiment, observations, {"engine": "test", "marklab": "test"})


@functools.cache
def small() -> tuple[Experiment, Sequence[Observation], Summary]:
    """A run that several tests use."""
    return run()
