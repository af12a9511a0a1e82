# SPDX-License-Identifier: MIT OR Apache-2.0
"""Cells of the quick experiments on 1, 2, 3, 4, 8 and 16 threads: the same bytes (`make determinism`).

    .venv/bin/python tests/determinism.py
    .venv/bin/python tests/determinism.py mqecn-testbed ecnsharp-rttvar --all

Of each run of an experiment, one cell: the last scheme on the flows of the first seed. With `--all`, all cells.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from marklab.papers.experiment import known_experiments, load_experiment, runs_of
from marklab.prepare.experiment import Experiment, ReadyScheme, prepare
from same_bytes import differing

THREADS = (2, 3, 4, 8, 16)


def cells(name: str, *, every: bool) -> Iterator[tuple[str, Experiment, ReadyScheme, int]]:
    """Cells of the quick variant of an experiment, and the names of their runs."""
    quick = load_experiment(name).with_effort(load_experiment(name).quick)
    for point, spec, _ in runs_of(quick):
        run = ", ".join(f"{key} {value}" for key, value in point.items())
        experiment = prepare(spec)
        seeds = experiment.spec.seed_numbers if every else experiment.spec.seed_numbers[:1]
        schemes = experiment.schemes if every else experiment.schemes[-1:]
        for seed in seeds:
            for scheme in schemes:
                yield run, experiment, scheme, seed


def main(
    names: Annotated[list[str] | None, typer.Argument(help="experiments; all of them if none is named")] = None,
    every: Annotated[bool, typer.Option("--all", help="all cells")] = False,
) -> None:
    """Compare, and end with 1 if a cell differs."""
    console = Console(width=100)
    table = Table("experiment", "cells", "the same on 1, 2, 3, 4, 8 and 16 threads", "s")
    differences = []
    for name in names or sorted(known_experiments()):
        start, count, same = time.monotonic(), 0, 0
        for run, experiment, scheme, seed in cells(name, every=every):
            count += 1
            found = differing(experiment, scheme, seed, THREADS)
            same += not found
            differences += [f"{name}, {run}, {scheme.label}, seed {seed}: differs on {found} threads"] * bool(found)
        table.add_row(name, str(count), str(same), f"{time.monotonic() - start:.0f}")
        console.print(f"{name}: {same} of {count}")
    console.print(table)
    for difference in differences:
        console.print(difference)
    sys.exit(bool(differences))


if __name__ == "__main__":
    typer.run(main)
