# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs a cell on a worker, which may be on another machine with the same tree."""

from __future__ import annotations

import functools
import json
import signal
import time
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from marklab.engine import binding as engine
from marklab.errors import RunFailed
from marklab.execution.flows import flow_table
from marklab.fabrics import Cell, fabric_of
from marklab.metrics.cell import seed_result
from marklab.metrics.doubts import doubts
from marklab.metrics.summarise import parameters_of
from marklab.prepare.experiment import Experiment, prepare
from marklab.prepare.versions import lab_versions, origin
from marklab.results import traces
from marklab.results.curves import Curves, curves_of
from marklab.results.doubts import Doubt
from marklab.results.seeds import scheme_result
from marklab.results.summary import SeedResult
from marklab.spec.description import make_spec
from marklab.sweeps.plan import identity_of
from marklab.tables import parquet

# Name of the table of flows.
FLOWS = "flows"


@dataclass(frozen=True)
class Outcome:
    """A finished cell. `tables` are Parquet files by name; `versions` are the versions of the worker's lab."""

    result: SeedResult
    curves: Curves
    program: str
    parameters: dict[str, str]
    doubts: tuple[Doubt, ...]
    tables: dict[str, bytes]
    versions: dict[str, Any]
    wall_s: float


def dask_setup(_worker: object) -> None:
    """Prepare a worker process: it ignores Ctrl-C, as the process that started it handles that and ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def run_cell(task: dict[str, Any]) -> Outcome:
    """Run a cell that was planned elsewhere."""
    _require_origin(task.get("origin", {}))
    started = time.perf_counter()
    experiment = _ready(task)
    (scheme,) = experiment.schemes
    seed: int = task["seed"]
    seen = fabric_of(experiment.spec).run(Cell(experiment, scheme, seed), engine.new_watch())
    result = seed_result(experiment, scheme, seen)
    over_seeds = scheme_result(scheme.label, scheme.program.digest, parameters_of(scheme), [result])
    flows = flow_table(experiment, [seen])
    kept = {FLOWS: flows} if task["keep_flows"] else {}
    kept |= {f"{traces.FOLDER}/{what}": table for what, table in traces.recorded(experiment.spec, seen).items()}
    return Outcome(
        result=result,
        curves=curves_of(flows),
        program=over_seeds.program,
        parameters=over_seeds.parameters,
        doubts=tuple(doubts(experiment, scheme, over_seeds)),
        tables={name: parquet.to_parquet(placed_in(task["columns"], table)) for name, table in kept.items()},
        versions=lab_versions(),
        wall_s=round(time.perf_counter() - started, 6),
    )


def _require_origin(planned: dict[str, str | None]) -> None:
    """Raise an error if the lab that this process has loaded is not the one that planned the cell."""
    for what, wanted in planned.items():
        found = origin()[what]
        # A lab that was copied without git does not know its commit.
        if None not in (wanted, found) and wanted != found:
            raise RunFailed(
                f"the worker has another lab than the sweep: {what} {found}, not {wanted}",
                "check out the sweep's commit where the worker runs, `make setup`, and start the worker again",
            )


# Programs of the cells that this process has run, because compiling takes as long as a small cell.
_PROGRAMS: engine.Programs = {}


@functools.lru_cache(maxsize=256)
def _prepared(spec: str) -> tuple[Experiment, str]:
    """The run of a cell with seed 0, prepared once for all seeds, and its identity."""
    with engine.keeping(_PROGRAMS):
        experiment = prepare(make_spec(json.loads(spec)))
    return experiment, identity_of(experiment, experiment.schemes[0])


def _ready(task: dict[str, Any]) -> Experiment:
    """The run of a cell. Raises an error if it is not the run that was planned."""
    spec = json.dumps(task["spec"] | {"first_seed": 0}, sort_keys=True)
    for _ in range(2):
        experiment, identity = _prepared(spec)
        if identity == task["identity"]:
            return replace(experiment, spec=experiment.spec.model_copy(update={"first_seed": task["seed"]}))
        # A file may have changed since this process read it.
        _prepared.cache_clear()
        _PROGRAMS.clear()
    raise RunFailed(
        f"the worker would run something else than planned: its files of {experiment.schemes[0].label} differ",
        "let the worker run in the same tree, at the same commit",
    )


def placed_in(columns: dict[str, Any], table: pl.DataFrame) -> pl.DataFrame:
    """The table with columns for the place in the grid, which have the same types in all tables of a sweep."""
    rest = table.select(pl.exclude("scheme", "seed", *columns))
    placed = (pl.lit(value, dtype=_WHOLE.get(name)).alias(name) for name, value in columns.items())
    return rest.select(*placed, pl.all())


_WHOLE = {"point": pl.UInt32, "seed": pl.UInt32}
