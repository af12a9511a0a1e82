# SPDX-License-Identifier: MIT OR Apache-2.0
"""A cell of a run's folder, ready to run again."""

from __future__ import annotations

from pathlib import Path

from marklab.errors import BadInput, unknown
from marklab.fabrics import Cell
from marklab.prepare.experiment import prepare
from marklab.results.folders import load_run
from marklab.spec.description import make_spec, read_spec


def stored_cell(folder: Path, scheme: str | None = None, seed: int | None = None) -> Cell:
    """The cell of a scheme and a seed, the first ones unless they are given.

    Raises BadInput if the folder is not that of a simulated run, or if its programs are others now.
    """
    versions = load_run(folder).versions
    path = folder / "spec.yaml"
    spec = make_spec(read_spec(path), str(path))
    if spec.mininet is not None:
        raise BadInput(
            f"{folder} ran on real hosts, which cannot be run again packet by packet", "a run of --fabric sim"
        )
    experiment = prepare(spec)
    labels = [each.label for each in experiment.schemes]
    if scheme is not None and scheme not in labels:
        raise unknown("scheme of the run", scheme, labels)
    ready = experiment.schemes[labels.index(scheme) if scheme is not None else 0]
    if (then := versions["programs"].get(ready.label)) != ready.program.digest:
        path = ready.fitted.scheme.program
        raise BadInput(
            f"{path} has changed since the run: its digest was {then}", "run it again with the present program"
        )
    if seed is not None and seed not in spec.seed_numbers:
        raise unknown("seed of the run", str(seed), [str(each) for each in spec.seed_numbers])
    return Cell(experiment, ready, spec.seed_numbers[0] if seed is None else seed)
