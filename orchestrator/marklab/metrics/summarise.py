# SPDX-License-Identifier: MIT OR Apache-2.0
"""Summarises a fabric's observations of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from marklab.metrics.cell import seed_result
from marklab.metrics.doubts import doubts
from marklab.prepare.experiment import Experiment, ReadyScheme
from marklab.results.observation import Observation
from marklab.results.seeds import joined, scheme_result
from marklab.results.summary import (
    Summary,
)


def summarise(experiment: Experiment, observations: Sequence[Observation], versions: dict[str, Any]) -> Summary:
    """Summarise the cells of a run."""
    results = []
    for scheme in experiment.schemes:
        seeds = [seed_result(experiment, scheme, seen) for seen in observations if seen.scheme == scheme.label]
        result = scheme_result(scheme.label, scheme.program.digest, parameters_of(scheme), seeds)
        results.append(result.model_copy(update={"doubts": tuple(doubts(experiment, scheme, result))}))
    return joined(results, experiment.spec.to_plain(), experiment.baseline, versions)


def parameters_of(scheme: ReadyScheme) -> dict[str, str]:
    """Parameters of a scheme as reports show them."""
    fitted = scheme.fitted
    return {name: setting.text(fitted.setup) for name, setting in fitted.reported.items()} or dict(fitted.choice.params)
