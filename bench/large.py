# SPDX-License-Identifier: MIT OR Apache-2.0
"""Large networks: cost of a transmission, memory, start, and two threads against one.

    .venv/bin/python bench/large.py
    .venv/bin/python bench/large.py "fat-tree, 1,024 hosts" --pairs 5

Web search at 40 %, DCTCP-RED, one seed. Each run is a process of its own; runs on one and on two threads take turns.
The speed-up is that of the engine's call, construction of the network included; its interval is that of the mean ratio
of pairs (Student's t).
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from marklab.statistics.samples import mean, mean_interval

ROOT = Path(__file__).resolve().parent.parent

CHILD = """
import json, resource, sys, time
from marklab.engine import binding as engine
from marklab.fabrics import Cell, Sim
from marklab.prepare.experiment import prepare
from marklab.spec.description import make_spec

topology, flows, threads, measured = sys.argv[1], *map(int, sys.argv[2:])
described = {"schemes": ["dctcp-red"], "baseline": "none", "seeds": 1, "load": 0.4}
start = time.monotonic()
experiment = prepare(make_spec(described | {"topology": topology, "flows": flows}))
experiment.flow_lists
(routes,) = experiment.routes.values()
routes.as_json
begun = time.monotonic()
cell = Cell(experiment, experiment.schemes[0], 1, threads=threads, measured=bool(measured))
seen = Sim().run(cell, engine.new_watch())
found = {
    "hosts": len(experiment.network.graph.hosts),
    "start_s": begun - start,
    "wall_s": time.monotonic() - begun,
    "cpu_s": seen.cpu_s,
    "gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    "transmissions": seen.report["link_transmissions"],
    "end_ns": seen.report["end_ns"],
    "fct_ns": int(seen.fct_ns.sum()),
}
if seen.parallelism is not None:
    found |= seen.parallelism.to_json()
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Case:
    """A network, and what it has to reach."""

    topology: str
    flows: int
    # Million transmissions per CPU second on one thread, and GB.
    at_least: float | None = None
    most_gb: float | None = None
    # Whether two threads are compared with one, and whether more are estimated.
    threads: bool = True


CASES = {
    "8 x 8 x 16": Case("leaf-spine:leaves=8,spines=8,hosts=16", 5000),
    "fat-tree, 128 hosts": Case("fat-tree:radix=8", 5000, at_least=5),
    "fat-tree, 1,024 hosts": Case("fat-tree:radix=16", 5000, at_least=4, most_gb=0.7),
    "fat-tree, 3,456 hosts": Case("fat-tree:radix=24", 5000, at_least=3, most_gb=1.5),
    "fat-tree, 11,664 hosts": Case("fat-tree:radix=36", 20_000, most_gb=4, threads=False),
    "fat-tree, 65,536 hosts": Case("fat-tree:radix=64", 1000, most_gb=16, threads=False),
}


def run(case: Case, threads: int = 1, *, measured: bool = False) -> dict[str, Any]:
    """What a run of its own process measured."""
    arguments = [case.topology, str(case.flows), str(threads), str(int(measured))]
    # Threads of numpy's BLAS spin for a while after a call.
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", CHILD, *arguments]
    done = subprocess.run(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        raise SystemExit(f"{case.topology} on {threads} threads failed")
    return dict(json.loads(done.stdout))


def main(
    names: Annotated[list[str] | None, typer.Argument(metavar="|".join(CASES))] = None,
    pairs: Annotated[int, typer.Option(min=2, help="runs on one and on two threads")] = 5,
) -> None:
    """Measure, and end with 1 if a bound is missed or two threads give another result."""
    if unknown := set(names or ()) - set(CASES):
        raise typer.BadParameter(f"there is no case {', '.join(sorted(unknown))}: {', '.join(CASES)}")
    alone = Table("one thread", "transmissions", "start s", "run s", "M per CPU s", "at least", "GB", "at most")
    both = Table("two threads", "wall s on one", "on two", "speed-up", "95 % interval")
    bounds = Table("at most, by events (by time)", "2 threads", "4", "8", "16", "32", "64")
    missed = False
    for name in names or CASES:
        case = CASES[name]
        threads = (1, 2) if case.threads else (1,)
        rounds = track(range(pairs if case.threads else 1), name, console=Console(stderr=True))
        runs = [[run(case, number) for number in threads] for _ in rounds]
        ones = [each[0] for each in runs]
        one = min(ones, key=lambda found: found["cpu_s"])
        rate = mean([found["transmissions"] / found["cpu_s"] / 1e6 for found in ones])
        missed |= rate < (case.at_least or 0) or one["gb"] > (case.most_gb or math.inf)
        numbers = f"{one['transmissions']:,}", f"{one['start_s']:.1f}", f"{one['wall_s']:.1f}", f"{rate:.2f}"
        wanted = f"{case.at_least or '':}", f"{one['gb']:.2f}", f"{case.most_gb or '':}"
        alone.add_row(name, *numbers, *wanted)
        if not case.threads:
            continue
        missed |= any(a[key] != b[key] for a, b in runs for key in ("transmissions", "end_ns", "fct_ns"))
        ratios = [math.log(a["wall_s"] / b["wall_s"]) for a, b in runs]
        low, high = (math.exp(bound) for bound in mean_interval(ratios) or (math.nan, math.nan))
        walls = (f"{mean([each[side]['wall_s'] for each in runs]):.2f}" for side in (0, 1))
        both.add_row(name, *walls, f"{math.exp(mean(ratios)):.2f}", f"{low:.2f} to {high:.2f}")
        found = run(case, measured=True)["bounds"]
        bounds.add_row(name, *(f"{bound['by_events']:.1f} ({bound['by_time']:.1f})" for bound in found))
    console = Console(width=max(110, Console().width))
    for table in (alone, both, bounds):
        console.print(table)
    sys.exit(missed)


if __name__ == "__main__":
    typer.run(main)
