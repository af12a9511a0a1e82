# SPDX-License-Identifier: MIT OR Apache-2.0
"""The fingerprint of an experiment: a small cell of each scheme, whose bytes change if the lab computes otherwise."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping

from marklab.execution.cells import default_workers, run_cells
from marklab.fabrics import Cell
from marklab.fabrics.sim import Sim
from marklab.papers.claims import Label
from marklab.papers.experiment import Effort, PaperExperiment, runs_of
from marklab.prepare.experiment import prepare
from marklab.results.observation import Observation
from marklab.spec.description import Spec

# Enough for flows that overlap.
_FLOWS = 60


def fingerprint(paper: PaperExperiment) -> dict[Label, str]:
    """Digests of what small cells observe, by the schemes of an experiment."""
    cells = [
        Cell(experiment, experiment.schemes[0], experiment.spec.seed_numbers[0])
        for experiment in map(prepare, _specs(paper))
    ]
    observed = run_cells(Sim(), cells, default_workers(), lambda _: None)
    return {each.scheme: _digest(each) for each in observed}


def _specs(paper: PaperExperiment) -> Iterator[Spec]:
    """A run of each scheme, at the first point that compares it."""
    small = paper.with_effort(paper.quick)
    # Readers who ask until the end of the run need as many flows as there are.
    closed_loop = small.setup.get("sessions", {}).get("closed_loop", False)
    small = small.with_effort(Effort(flows=None if closed_loop else _FLOWS, seeds=1))
    seen: set[Label] = set()
    for _, spec, labels in runs_of(small):
        for choice, label in zip(spec.choices, labels, strict=True):
            if label not in seen:
                seen.add(label)
                yield spec.model_copy(update={"schemes": (choice,), "baseline": None})


def _digest(observed: Observation) -> str:
    report: Mapping[str, object] = dict(observed.report)
    digest = hashlib.sha256(observed.fct_ns.tobytes())
    for name in sorted(observed.per_flow):
        digest.update(name.encode() + observed.per_flow[name].tobytes())
    counts = {name: report[name] for name in ("drops", "link_transmissions", "end_ns")}
    digest.update(json.dumps(counts, sort_keys=True).encode())
    return digest.hexdigest()[:16]
