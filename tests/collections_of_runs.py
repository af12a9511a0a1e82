# SPDX-License-Identifier: MIT OR Apache-2.0
"""Collections of small runs."""

from __future__ import annotations

import functools
import itertools
from pathlib import Path
from typing import Any

import polars as pl

from marklab.execution.flows import flow_table
from marklab.results.collection import Collection, Kind, Point
from marklab.results.curves import Curves, curves_of
from marklab.results.summary import Summary
from runs import run

LOADS = (0.5, 0.8)
WORKLOADS = ("web_search", "data_mining")
SCHEMES = ("ecn-sharp", "tcn")


@functools.cache
def grid() -> tuple[Collection, dict[tuple[float, str], pl.DataFrame]]:
    """Two loads and two workloads, with the flows of each point."""
    points, tables = [], {}
    for load, workload in itertools.product(LOADS, WORKLOADS):
        summary, table = _run(schemes=list(SCHEMES), flows=150, load=load, workload=workload, seeds=3)
        points.append(Point({"load": load, "workload": workload}, summary, _curves(table)))
        tables[load, workload] = table
    return collection_of(tuple(points), "sweep"), tables


@functools.cache
def single() -> tuple[Collection, pl.DataFrame]:
    """A run with services and a probe, and its flows."""
    queues = {"queues": "dwrr:count=2", "services": 2, "probes": ["h0:h7,every=1ms"]}
    summary, table = _run(schemes=["mq-ecn", "tcn"], flows=150, load=0.8, seeds=2, **queues)
    return collection_of((Point({}, summary, _curves(table)),), "run"), table


def run_with_curves(**settings: Any) -> tuple[Summary, dict[str, dict[int, Curves]]]:
    """A run that differs from the default in these settings."""
    summary, table = _run(**settings)
    return summary, _curves(table)


def collection_of(points: tuple[Point, ...], kind: Kind) -> Collection:
    """A collection of these points."""
    return Collection(
        folder=Path("/nowhere"),
        kind=kind,
        title="a <title> & more",
        description="schemes: [ecn-sharp]\n",
        points=points,
        versions={"marklab": "test"},
    )


def _run(**settings: Any) -> tuple[Summary, pl.DataFrame]:
    experiment, observations, summary = run(**settings)
    return summary, flow_table(experiment, observations)


def _curves(table: pl.DataFrame) -> dict[str, dict[int, Curves]]:
    found: dict[str, dict[int, Curves]] = {}
    for (scheme, seed), rows in table.group_by(["scheme", "seed"], maintain_order=True):
        found.setdefault(str(scheme), {})[int(str(seed))] = curves_of(rows)
    return found
