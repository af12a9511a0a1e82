# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the folder of a sweep holds, as a collection."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from marklab.collection import Collection, FailedCell, Point
from marklab.curves import Curves
from marklab.errors import BadInput
from marklab.metrics import joined, scheme_result
from marklab.model import validate
from marklab.summary import SchemeResult, SeedResult
from marklab.sweeps.dataset import FAILED, FINISHED, PLAN, SWEEP, read_cells

# Numbers in warnings, which differ from seed to seed.
_NUMBER = re.compile(r"[0-9][0-9.,]*")
_VERSIONS = ("marklab", "engine", "commit")


def open_sweep(folder: Path) -> Collection:
    """Read a sweep, whole or not; raises BadInput for a folder that holds none."""
    try:
        plan = json.loads((folder / PLAN).read_text(encoding="utf-8"))
        description = (folder / SWEEP).read_text(encoding="utf-8")
        versions = json.loads((folder / "versions.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(
            f"{folder} is no sweep: {error}", "the folder of one has sweep.yaml, plan.json and cells/"
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


def _made_by(rows: pl.DataFrame) -> dict[str, Any]:
    """Versions that made the cells, joined by commas where cells differ."""
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
    warnings = merged_warnings([json.loads(text) for text in ordered["warnings"]])
    return result.model_copy(update={"warnings": tuple(warnings)})


def merged_warnings(seeds: Sequence[Iterable[str]]) -> Iterator[str]:
    """The warnings of several seeds, those that differ in numbers only as one."""
    alike: dict[str, list[str]] = {}
    for warnings in seeds:
        for text in warnings:
            alike.setdefault(_NUMBER.sub("#", text), []).append(text)
    for texts in alike.values():
        if len(texts) == len(seeds) and len(set(texts)) == 1:
            yield texts[0]
        elif len(seeds) == 1:
            yield from texts
        else:
            yield f"{texts[0]} ({len(texts)} of {len(seeds)} seeds alike)"
