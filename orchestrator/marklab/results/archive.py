# SPDX-License-Identifier: MIT OR Apache-2.0
"""Opens folders of results as collections."""

from __future__ import annotations

from pathlib import Path

from marklab.errors import BadInput
from marklab.results.collection import Collection, Point
from marklab.results.curves import Curves, curves_of
from marklab.results.folders import load_run


def open_collection(folder: Path) -> Collection:
    """Open the folder of a run, a sweep or a reproduction. Raises BadInput for any other folder."""
    if (folder / "plan.json").exists():
        # Polars loads slowly, so commands that read no table do not import it.
        from marklab.results.sweep import open_sweep  # noqa: PLC0415

        return open_sweep(folder)
    return _open_run(folder)


def _open_run(folder: Path) -> Collection:
    summary = load_run(folder)
    flows = folder / "flows.parquet"
    damaged: tuple[str, ...] = ()
    curves: dict[str, dict[int, Curves]] = {}
    try:
        curves = _run_curves(flows)
    except BadInput as error:
        damaged = (str(error),)
    description = folder / "spec.yaml"
    return Collection(
        folder=folder,
        kind="run",
        title=summary.spec.get("name") or summary.scheme + (" and others" if len(summary.schemes) > 1 else ""),
        description=description.read_text(encoding="utf-8") if description.exists() else "",
        points=(Point({}, summary, curves),),
        versions=summary.versions,
        damaged=damaged,
    )


def _run_curves(path: Path) -> dict[str, dict[int, Curves]]:
    # Polars loads slowly, so commands that read no table do not import it.
    import polars as pl  # noqa: PLC0415

    try:
        table = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise BadInput(f"{path} cannot be read: {str(error).splitlines()[0]}") from error
    curves: dict[str, dict[int, Curves]] = {}
    for (scheme, seed), rows in table.group_by(["scheme", "seed"], maintain_order=True):
        curves.setdefault(str(scheme), {})[int(str(seed))] = curves_of(rows)
    return curves
