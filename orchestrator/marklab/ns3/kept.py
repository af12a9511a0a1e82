# SPDX-License-Identifier: MIT OR Apache-2.0
"""Flow lists with what ns-3 made of them, kept in files, so that ns-3 runs once.

NAME.csv.gz beside NAME.yaml of bench/peers/ns3/lists/ begins with the version and the options of ns-3 as a comment. Its
rows are flows, by seed and in their order, with ns-3's completion time (empty if it did not finish), retransmissions
and timeouts. A file is refused if its flows or options are not the description's.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marklab.errors import BadInput
from marklab.ns3.peer import FOLDER, Played, play
from marklab.ns3.scenario import Scenario
from marklab.traffic.flows import FlowList

LISTS = FOLDER / "lists"
REMEDY = "python -m marklab.ns3 --again NAME, which runs ns-3"

_FLOW = ("start_ns", "src", "dst", "size_bytes")
_RESULT = ("fct_ns", "retransmissions", "timeouts")
_COLUMNS = ("seed", *_FLOW, *_RESULT)
# Runs of ns-3 at a time.
_WORKERS = 2


@dataclass(frozen=True)
class FlowResults:
    """What a simulator made of the flows of a seed."""

    fct_ns: NDArray[np.int64]  # -1 where the flow did not finish
    retransmissions: NDArray[np.int64]
    timeouts: NDArray[np.int64]


def known_lists() -> dict[str, Path]:
    """Descriptions of kept lists by name."""
    return {path.stem: path for path in sorted(LISTS.glob("*.yaml"))}


def results_path(description: Path) -> Path:
    """The file of ns-3's results."""
    return description.with_suffix(".csv.gz")


def run_ns3(
    scenario: Scenario, program: Path, done: Callable[[int], None], kept: Mapping[int, FlowResults] | None = None
) -> dict[int, FlowResults]:
    """Run all lists in ns-3, except those of `kept`; `done` is told of each seed."""
    known = kept or {}

    def run(seed: int) -> FlowResults:
        if seed in known:
            return known[seed]
        found = of_played(play(program, scenario.flows(seed), scenario.options(seed)))
        done(seed)
        return found

    seeds = list(scenario.experiment.flow_lists)
    with ThreadPoolExecutor(_WORKERS) as pool:
        return dict(zip(seeds, pool.map(run, seeds), strict=True))


def of_played(played: Played) -> FlowResults:
    """Results of a run of the peer."""
    return FlowResults(played.fct_ns, played.retransmissions, played.timeouts)


def write(path: Path, scenario: Scenario, results: Mapping[int, FlowResults]) -> None:
    """Write lists and results; equal ones as equal bytes."""
    text = io.StringIO()
    text.write(_heading(scenario))
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(_COLUMNS)
    for seed, found in results.items():
        flows = scenario.flows(seed)
        columns = [getattr(flows, name) for name in _FLOW] + [getattr(found, name) for name in _RESULT]
        for row in zip(*(column.tolist() for column in columns), strict=True):
            rows.writerow((seed, *("" if value < 0 else value for value in row)))
    with path.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(text.getvalue().encode())


def read(path: Path, scenario: Scenario, *, is_partial: bool = False) -> dict[int, FlowResults]:
    """Read results of exactly the flows and options that the description has.

    If it may be partial, seeds without any result are left out, and so are all if there is no file.
    """
    if is_partial and not path.exists():
        return {}
    try:
        heading, _, rows = gzip.decompress(path.read_bytes()).decode().partition("\n")
    except (OSError, EOFError, ValueError) as error:
        raise BadInput(f"cannot read ns-3's results in {path}: {error}", REMEDY) from error
    if f"{heading}\n" != _heading(scenario):
        raise BadInput(f"{path.name} is of other options than the description's: {heading}", REMEDY)
    listed = list(csv.DictReader(io.StringIO(rows)))
    if not listed or tuple(listed[0]) != _COLUMNS:
        raise BadInput(f"{path.name} has not the columns {', '.join(_COLUMNS)}", REMEDY)
    columns = {name: np.array([int(row[name] or -1) for row in listed], dtype=np.int64) for name in _COLUMNS}
    seeds = scenario.experiment.flow_lists.items()
    there = set(columns["seed"].tolist())
    return {seed: _of_seed(path, columns, seed, flows) for seed, flows in seeds if not is_partial or seed in there}


def _of_seed(path: Path, columns: Mapping[str, NDArray[np.int64]], seed: int, flows: FlowList) -> FlowResults:
    of_seed = columns["seed"] == seed
    if not all(np.array_equal(columns[name][of_seed], getattr(flows, name)) for name in _FLOW):
        raise BadInput(f"{path.name} has other flows of seed {seed} than the description", REMEDY)
    return FlowResults(*(columns[name][of_seed] for name in _RESULT))


def _heading(scenario: Scenario) -> str:
    """The options of all seeds."""
    (first, *_) = scenario.experiment.flow_lists
    return f"# {' '.join(option for option in scenario.options(first) if not _is_of_seed(option))}\n"


def _is_of_seed(option: str) -> bool:
    return option.startswith("--RngRun=")


def columns_of(results: Mapping[int, FlowResults], name: str) -> NDArray[Any]:
    """A column of all seeds, one after the other."""
    return np.concatenate([getattr(found, name) for found in results.values()])
