# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs experiments of an artifact again, or some of their cells, and compares what comes out with what is stored."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from marklab.artifact.contents import CLAIMS, VERSIONS, claim_rows
from marklab.artifact.equality import Difference, Value, differences, leaves, read_table, table_differences, values_of
from marklab.artifact.packing import changed_files
from marklab.artifact.stored import Place, Stored, StoredCell, chosen, place_of, read_artifact, read_rows
from marklab.errors import BadInput
from marklab.execution.progress import cells_bar
from marklab.papers.experiment import runs_of
from marklab.papers.reproduction import read_reproduction
from marklab.prepare.versions import lab_versions
from marklab.results.traces import FOLDER as TRACES
from marklab.sweeps.cluster import Workers
from marklab.sweeps.dataset import Job
from marklab.sweeps.execute import execute
from marklab.sweeps.plan import Plan, PlannedCell, plan_of


@dataclass(frozen=True)
class Repeated:
    """An experiment that was run again: `cells` in all, `kept` of them repeated before, and `values` compared."""

    name: str
    cells: int
    of: int
    kept: int
    values: int
    differences: tuple[Difference, ...]


@dataclass(frozen=True)
class Repetition:
    """What came of an artifact: changes of its own files and claims, versions that are others here, experiments.

    `versions` are those that differ, stored and here.
    """

    experiments: tuple[Repeated, ...]
    changed: tuple[str, ...]
    claims: tuple[Difference, ...]
    versions: Mapping[str, tuple[Value, Value]]

    @cached_property
    def differences(self) -> list[Difference]:
        """All values that differ."""
        return [*self.claims, *(each for one in self.experiments for each in one.differences)]

    @property
    def is_same(self) -> bool:
        """Whether all that was compared is the same, to the last bit."""
        return not self.differences and not self.changed

    @property
    def largest(self) -> Difference | None:
        """The number that differs most, relative to what is stored."""
        numbers = [each for each in self.differences if each.relative is not None]
        return max(numbers, key=lambda each: each.relative or 0.0, default=None)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        largest = self.largest.relative if self.largest else None
        return {
            "same": self.is_same,
            "cells": sum(one.cells for one in self.experiments),
            "values": sum(one.values for one in self.experiments),
            "versions": {name: {"stored": old, "here": new} for name, (old, new) in self.versions.items()},
            "changed_files": list(self.changed),
            "claims": [asdict(each) for each in self.claims],
            "largest_relative_difference": largest if largest is None or math.isfinite(largest) else "from 0",
            "experiments": {
                one.name: {"cells": one.cells, "of": one.of, "values": one.values}
                | {"differences": [asdict(each) for each in one.differences]}
                for one in self.experiments
            },
        }


def repeat(artifact: Path, out: Path, workers: Workers, count: int | None, only: Sequence[str]) -> Repetition:
    """Run the cells of an artifact again, or `count` of them, into folders in `out`, and compare.

    `only` names experiments, if not all of them are wanted. Cells that were repeated there before, by the same code,
    are not run again. Raises BadInput for an artifact that is damaged, and for what cannot be run here.
    """
    stored = read_artifact(artifact, only)
    changed = changed_files(artifact)
    for name in changed:
        # Files that cannot be read are refused now, not when all cells have run.
        if name.endswith(".parquet") and (artifact / name).exists():
            read_table(artifact / name)
    claims = tuple(_claims(artifact, stored))
    versions = _versions(artifact)
    taken = chosen(stored, count)
    plans = {each.name: _plan(each, taken[each.name]) for each in stored if each.name in taken}
    repeated = [_repeat(each, plans[each.name], out, workers) for each in stored if each.name in plans]
    programs = {cell.label: cell.scheme.program.digest for plan in plans.values() for cell in plan.cells}
    here = lab_versions() | _programs(programs)
    others = {name: (versions.get(name), value) for name, value in here.items() if versions.get(name) != value}
    return Repetition(tuple(repeated), tuple(changed), claims, others)


def _claims(artifact: Path, stored: Sequence[Stored]) -> Iterator[Difference]:
    """Where the table of claims is not what the stored cells say."""
    path = artifact / f"{CLAIMS}.json"
    with _reading(path):
        rows = {(row["experiment"], row["says"]): row for row in json.loads(path.read_text(encoding="utf-8"))}
    for each in stored:
        for computed in claim_rows(read_reproduction(each.name, each.paper, each.folder)):
            row = rows.get((each.name, computed["says"]), {})
            where = f"claims.json: {each.name}, {computed['says']}"
            # Through JSON, which knows no tuples.
            yield from differences(where, leaves(row, "claim"), leaves(json.loads(json.dumps(computed)), "claim"))


def _versions(artifact: Path) -> dict[str, Value]:
    """What made an artifact, programs by the names of their schemes included."""
    path = artifact / VERSIONS
    with _reading(path):
        found = json.loads(path.read_text(encoding="utf-8"))
        return {name: value for name, value in found.items() if name != "programs"} | _programs(found["programs"])


def _programs(digests: Mapping[str, str]) -> dict[str, Value]:
    return {f"program of {name}": digest for name, digest in digests.items()}


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"{path} cannot be read: {error}", "unpack the archive again") from error


def _plan(stored: Stored, places: frozenset[Place]) -> Plan:
    """The plan of these cells of an experiment."""
    plan = plan_of(runs_of(stored.paper))
    planned = {_place(cell): cell.key for cell in plan.cells}
    if planned.keys() != stored.cells.keys():
        raise BadInput(
            f"the cells of {stored.folder} are not those of its sweep.yaml",
            "unpack the archive again, and take the lab of its versions.json",
        )
    return replace(plan, only=frozenset(planned[place] for place in places))


def _place(cell: PlannedCell) -> Place:
    return place_of(cell.point.settings, cell.label, cell.seed)


def _repeat(stored: Stored, plan: Plan, out: Path, workers: Workers) -> Repeated:
    folder = out / f"{stored.name}-{plan.digest()[:8]}"
    job = Job(plan, folder, stored.paper.to_yaml(), "reproduction", stored.paper.title, keep_flows=False)
    with cells_bar(stored.name) as on_cells:
        progress = execute(job, workers, on_cells)
    rows, values, found = read_rows(folder), 0, []
    for number, cell in enumerate(plan.cells):
        old, new = stored.cells[_place(cell)], rows[_place(cell)]
        if new.error is not None:
            found.append(Difference(old.at, "status", "finished", f"failed: {new.error}"))
            continue
        expected = values_of(old.row)
        values += len(expected)
        found += differences(old.at, expected, values_of(new.row))
        found += _of_traces(old, stored.folder / TRACES, number, folder / TRACES)
    return Repeated(stored.name, len(plan.cells), len(stored.cells), progress.kept, values, tuple(found))


def _of_traces(cell: StoredCell, stored: Path, number: int, repeated: Path) -> Iterator[Difference]:
    """Differences of what was recorded over time."""
    old, new = _traces(stored, cell.number), _traces(repeated, number)
    for what in sorted(old.keys() | new.keys()):
        yield from table_differences(cell.at, f"trace {what}", old.get(what), new.get(what))


def _traces(folder: Path, number: int) -> dict[str, Path]:
    """Tables of a cell by what they are of."""
    begin = f"{number:06}-"
    return {path.stem.removeprefix(begin): path for path in folder.glob(f"{begin}*.parquet")}
