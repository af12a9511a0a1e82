# SPDX-License-Identifier: MIT OR Apache-2.0
"""The folder of a sweep: tables as plain Parquet files, complete after every cell.

sweep.yaml      what was asked for
plan.json       how many cells that makes
versions.json   what made them
cells/          one row per cell: place in the grid, status, every metric, and the rest of the result as JSON
flows/          one row per flow
traces/         only if something was traced
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import TypeAdapter

from marklab.errors import BadInput
from marklab.model import validate
from marklab.results.collection import Collection, FailedCell, Point
from marklab.results.curves import Curves
from marklab.results.doubts import Doubt, merged
from marklab.results.seeds import joined, scheme_result
from marklab.results.summary import SchemeResult, SeedResult

SWEEP, PLAN, CELLS = "sweep.yaml", "plan.json", "cells"
JOINED = "cells.parquet"

FINISHED, FAILED = "finished", "failed"

# Columns of cells/, beside the settings of the grid (after `point`) and the metrics (at the end).
COLUMNS: Mapping[str, tuple[pl.DataType, str]] = {
    "point": (pl.UInt32(), "number of the point of the grid"),
    "scheme": (pl.String(), "its name at all points"),
    "seed": (pl.UInt32(), "number of the seed"),
    "status": (pl.String(), f"`{FINISHED}` or `{FAILED}`"),
    "error": (pl.String(), "why it failed; null otherwise"),
    "key": (pl.String(), "digest of all that decides the result"),
    "wall_s": (pl.Float64(), "seconds of wall-clock time"),
    "engine_cpu_s": (pl.Float64(), "CPU seconds in the engine"),
    "marklab": (pl.String(), "version of the lab"),
    "engine": (pl.String(), "version of the engine"),
    "commit": (pl.String(), "commit that was checked out"),
    "code": (pl.String(), "digest of the code that started it"),
    "result": (pl.String(), "all its numbers, as in `schemes.SCHEME.seeds` of a summary (JSON)"),
    "curves": (pl.String(), "distribution of FCTs and slowdown by size (JSON)"),
    "scheme_at_point": (pl.String(), "program and parameters (JSON)"),
    "warnings": (pl.String(), "doubts about its numbers (JSON, a list of kind, subject and values)"),
    "settings": (pl.String(), "settings of the point (JSON)"),
    "spec": (pl.String(), "spec of the point's run (JSON)"),
    "baseline": (pl.String(), "scheme that others are compared with; null without one"),
}

_DOUBTS = TypeAdapter(list[Doubt])
_VERSIONS = ("marklab", "engine", "commit")


def open_sweep(folder: Path) -> Collection:
    """Read a sweep, complete or not. Raises BadInput for a folder that holds none."""
    try:
        plan = json.loads((folder / PLAN).read_text(encoding="utf-8"))
        description = (folder / SWEEP).read_text(encoding="utf-8")
        versions = json.loads((folder / "versions.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(
            f"{folder} is not a sweep: {error}", "the folder of a sweep has sweep.yaml, plan.json and cells/"
        ) from error
    rows, damaged = read_cells(folder)
    return Collection(
        folder=folder,
        kind=plan["kind"],
        title=plan["title"],
        description=description,
        points=tuple(_points(rows.filter(pl.col("status") == FINISHED), versions)),
        versions=versions | _made_by(rows),
        failed=tuple(_failed(rows.filter(pl.col("status") == FAILED))),
        damaged=tuple(f"{path}: {why}" for path, why in damaged),
        missing=max(0, plan["cells"] - rows.height),
    )


def cell_files(folder: Path) -> list[Path]:
    """Files of cells: the file of joined cells first, as files of single cells are newer."""
    files = sorted((folder / CELLS).glob("*.parquet"))
    return sorted(files, key=lambda path: path.name != JOINED)


def read_cells(folder: Path) -> tuple[pl.DataFrame, list[tuple[Path, str]]]:
    """All cells that can be read, and the files that cannot, each with the reason."""
    found, damaged = [], []
    for path in cell_files(folder):
        try:
            rows = pl.read_parquet(path)
            missing = [name for name in COLUMNS if name not in rows.columns]
        except (OSError, pl.exceptions.PolarsError) as error:
            damaged.append((path, str(error).splitlines()[0]))
            continue
        if missing:
            damaged.append((path, f"it has no column `{missing[0]}`"))
        else:
            found.append(rows)
    if not found:
        return pl.DataFrame(schema={name: kind for name, (kind, _) in COLUMNS.items()}), damaged
    rows = pl.concat(found, how="diagonal_relaxed")
    return rows.unique("key", keep="last", maintain_order=True), damaged


def _made_by(rows: pl.DataFrame) -> dict[str, Any]:
    """Versions that made the cells, joined by commas if cells differ."""
    made = {name: rows[name].drop_nulls().unique().sort().to_list() for name in _VERSIONS}
    return {name: ", ".join(values) for name, values in made.items() if values}


def _failed(rows: pl.DataFrame) -> Iterator[FailedCell]:
    for row in rows.iter_rows(named=True):
        yield FailedCell(json.loads(row["settings"]), row["scheme"], row["seed"], row["error"])


def _points(rows: pl.DataFrame, versions: Mapping[str, Any]) -> Iterator[Point]:
    for (_,), of_point in rows.sort("point", maintain_order=True).group_by("point", maintain_order=True):
        first = of_point.row(0, named=True)
        results = [_result(each) for _, each in of_point.group_by("scheme", maintain_order=True)]
        yield Point(
            settings=json.loads(first["settings"]),
            summary=joined(results, json.loads(first["spec"]), first["baseline"], dict(versions)),
            curves={
                str(scheme): {
                    row["seed"]: validate(Curves, json.loads(row["curves"]), "curves")
                    for row in each.iter_rows(named=True)
                }
                for (scheme,), each in of_point.group_by("scheme", maintain_order=True)
            },
            number=first["point"],
        )


def _result(rows: pl.DataFrame) -> SchemeResult:
    """A scheme at a point."""
    ordered = rows.sort("seed")
    at_point = json.loads(ordered["scheme_at_point"][0])
    seeds = [SeedResult.model_validate_json(text) for text in ordered["result"]]
    result = scheme_result(ordered["scheme"][0], at_point["program"], at_point["parameters"], seeds)
    doubts = merged([_DOUBTS.validate_json(text) for text in ordered["warnings"]])
    return result.model_copy(update={"doubts": tuple(doubts)})
