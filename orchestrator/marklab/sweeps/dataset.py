# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes the folder of a sweep (`results.sweep` describes it), which is complete after every cell.

A cell that ends is written as a separate file. When all cells have ended, their rows are joined in one file. So killing
a sweep loses only the running cells, and the next start continues with the others.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from marklab.errors import RunFailed
from marklab.prepare.versions import code_digest, lab_versions
from marklab.results import traces
from marklab.results.collection import Kind
from marklab.results.folders import write_json
from marklab.results.metric import METRICS
from marklab.results.sweep import CELLS, COLUMNS, FAILED, FINISHED, JOINED, PLAN, SWEEP, cell_files, read_cells
from marklab.sweeps.cluster import Failure
from marklab.sweeps.plan import Plan, PlannedCell
from marklab.sweeps.work import FLOWS, Outcome
from marklab.tables.parquet import to_parquet


@dataclass(frozen=True)
class Job:
    """A plan to run, its folder, the folder's description, and whether flow records are kept."""

    plan: Plan
    folder: Path
    description: str
    kind: Kind
    title: str
    keep_flows: bool = True


@dataclass(frozen=True)
class Dataset:
    """A folder that this process writes, with or without flow records."""

    folder: Path
    plan: Plan
    keep_flows: bool = False

    def finished(self) -> set[str]:
        """Keys of the cells that need not run, because the current code has already written them completely."""
        rows, damaged = read_cells(self.folder)
        # Cells whose files cannot be read are run again.
        for path, _ in damaged:
            path.unlink()
        done = set(rows.filter((pl.col("status") == FINISHED) & (pl.col("code") == code_digest()))["key"])
        return {
            cell.key
            for number, cell in enumerate(self.plan.cells)
            if cell.key in done and (not self.keep_flows or (self.folder / FLOWS / f"{number:06}.parquet").exists())
        }

    def add(self, number: int, cell: PlannedCell, outcome: Outcome | Failure) -> None:
        """Write a cell. Its tables are written first, so a cell that exists is complete."""
        name = f"{number:06}"
        # Remove tables of the cell that other code has left.
        for table in (FLOWS, traces.FOLDER):
            for path in (self.folder / table).glob(f"{name}*.parquet"):
                path.unlink()
        if isinstance(outcome, Outcome):
            for table, content in outcome.tables.items():
                folder, _, what = table.partition("/")
                write_whole(self.folder / folder / (f"{name}-{what}.parquet" if what else f"{name}.parquet"), content)
        write_whole(self.folder / CELLS / f"{name}.parquet", to_parquet(_row(cell, outcome)))

    def join(self) -> None:
        """Join the files of all cells into one."""
        rows, damaged = read_cells(self.folder)
        place = {cell.key: number for number, cell in enumerate(self.plan.cells)}
        rows = rows.filter(pl.col("key").is_in(list(place)))
        order = pl.col("key").replace_strict(place, return_dtype=pl.UInt32)
        write_whole(self.folder / CELLS / JOINED, to_parquet(rows.sort(order)))
        for path in cell_files(self.folder):
            if path.name != JOINED and path not in [bad for bad, _ in damaged]:
                path.unlink()


def take_cells(known: Path, folder: Path) -> None:
    """Give a new folder the finished cells of another plan. Those that are not its own go when its cells are joined."""
    for path in cell_files(known):
        write_whole(folder / CELLS / f"{known.name}-{path.name}", path.read_bytes())


@contextmanager
def written(job: Job) -> Iterator[Dataset]:
    """Open a folder for writing, either a new one or the folder of an interrupted sweep.

    Raises RunFailed if another process is writing it, or if the file system fails.
    """
    folder = job.folder
    try:
        (folder / CELLS).mkdir(parents=True, exist_ok=True)
        with (folder / ".lock").open("w", encoding="ascii") as lock:
            _take(lock.fileno(), folder)
            write_whole(folder / SWEEP, job.description.encode())
            write_json(folder / PLAN, {"kind": job.kind, "title": job.title, "cells": len(job.plan.cells)})
            write_json(folder / "versions.json", lab_versions())
            yield Dataset(folder, job.plan, job.keep_flows)
    except OSError as error:
        raise RunFailed(
            f"cannot write {error.filename or folder}: {error.strerror or error}",
            "free some space or choose another folder with --out; the same command then continues",
        ) from error


def _take(file: int, folder: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise RunFailed(
            f"another process is at work on this sweep ({folder})", "wait for it, or choose another folder with --out"
        ) from error


def write_whole(path: Path, content: bytes) -> None:
    """Write a file completely or not at all, even if this process is killed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    partial.rename(path)


def _row(cell: PlannedCell, outcome: Outcome | Failure) -> pl.DataFrame:
    known: dict[str, Any] = {
        "key": cell.key,
        "code": code_digest(),
        "settings": json.dumps(dict(cell.point.settings)),
        "spec": json.dumps(cell.point.spec),
        "baseline": cell.point.baseline,
    }
    metrics: dict[str, float | None] = dict.fromkeys(METRICS)
    if isinstance(outcome, Failure):
        known |= {"status": FAILED, "error": outcome.error}
    else:
        known |= {
            "status": FINISHED,
            "wall_s": outcome.wall_s,
            "engine_cpu_s": outcome.result.engine_cpu_s,
            **{name: outcome.versions[name] for name in ("marklab", "engine", "commit")},
            "result": outcome.result.model_dump_json(),
            "curves": outcome.curves.model_dump_json(),
            "scheme_at_point": json.dumps({"program": outcome.program, "parameters": outcome.parameters}),
            "warnings": json.dumps([each.model_dump(mode="json") for each in outcome.doubts]),
        }
        metrics = {name: metric.of(outcome.result) for name, metric in METRICS.items()}
    placed = cell.columns()
    types = {name: kind for name, (kind, _) in COLUMNS.items()}
    settings = {key: pl.Float64() if isinstance(value, float) else pl.String() for key, value in placed.items()}
    first = ("point", *(key for key in placed if key not in COLUMNS))
    schema = {
        **{name: types.get(name, settings.get(name)) for name in first},
        **types,
        **dict.fromkeys(METRICS, pl.Float64()),
    }
    values = {**placed, **known, **metrics}
    return pl.DataFrame({name: [values.get(name)] for name in schema}, schema=schema)
