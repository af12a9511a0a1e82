"""Folders of results. One is there when it is complete, or not at all."""

from __future__ import annotations

import io
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from orchestrator.errors import BadInput, RunFailed
from orchestrator.experiment import Experiment
from orchestrator.ideal import ideal_ns
from orchestrator.observation import Observation
from orchestrator.paths import REPOSITORY
from orchestrator.summary import Summary, read_summary

DEFAULT_FOLDER = REPOSITORY / "results"

# Fixed, so that the same flows give the same bytes whatever polars thinks best for the machine.
_ROW_GROUP = 1 << 18


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Give a temporary folder beside the target, which takes the target's place if the block ends well.

    A failure of the file system is one error, and nothing is left of the folder.
    """
    staging = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target.parent)
        staging.mkdir()
        try:
            yield staging
            _publish(staging, target)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    except OSError as error:
        raise RunFailed(
            f"cannot write the result: {error.strerror or error} ({error.filename or target})",
            "nothing was kept; free some space or choose another folder with --out",
        ) from error


def _publish(staging: Path, target: Path) -> None:
    """Replace an older result of the same name, which stays until the new one is in its place."""
    if not target.exists():
        staging.rename(target)
        return
    old = target.with_name(f".{target.name}.{os.getpid()}.old")
    target.rename(old)
    try:
        staging.rename(target)
    except BaseException:
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _sweep(parent: Path) -> None:
    """Remove what killed processes left behind."""
    for leftover in [*parent.glob(".*.tmp"), *parent.glob(".*.old")]:
        owner = leftover.suffixes[-2].removeprefix(".") if len(leftover.suffixes) > 1 else ""
        if owner.isdecimal() and not Path(f"/proc/{owner}").exists():
            shutil.rmtree(leftover, ignore_errors=True)


def write_run(folder: Path, experiment: Experiment, observations: Sequence[Observation], summary: Summary) -> None:
    """Write everything that is known of a run."""
    (folder / "spec.yaml").write_text(experiment.spec.to_yaml(), encoding="utf-8")
    write_json(folder / "versions.json", summary.versions)
    write_json(folder / "summary.json", summary.to_json())
    write_table(folder / "flows.parquet", flow_table(experiment, observations))
    for seen in observations:
        for port, columns in seen.traces.items():
            traces = folder / "traces"
            traces.mkdir(exist_ok=True)
            name = f"{seen.scheme.replace('/', '_')}-seed{seen.seed}-{port}.parquet"
            write_table(traces / name, pl.DataFrame(columns))


def write_json(path: Path, plain: Any) -> None:
    """Write a JSON file that is easy to read and to compare."""
    path.write_text(json.dumps(plain, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_table(path: Path, table: pl.DataFrame) -> None:
    """Write a Parquet file whose bytes depend on the table alone."""
    # By way of memory: what polars cannot write it reports as an error of its own kind.
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression="zstd", compression_level=3, statistics=True, row_group_size=_ROW_GROUP)
    path.write_bytes(buffer.getbuffer())


def flow_table(experiment: Experiment, observations: Sequence[Observation]) -> pl.DataFrame:
    """One row per scheme, seed and flow, in this order."""
    schemes = pl.Enum([scheme.label for scheme in experiment.schemes])
    ordered = sorted(observations, key=lambda seen: (schemes.categories.to_list().index(seen.scheme), seen.seed))
    return pl.concat([_rows(experiment, seen, schemes) for seen in ordered])


def _rows(experiment: Experiment, seen: Observation, schemes: pl.Enum) -> pl.DataFrame:
    count = len(seen.flows)
    ideal = np.ceil(ideal_ns(experiment.spec, experiment.network, seen.flows)).astype(np.uint64)
    return pl.DataFrame(
        {
            "scheme": pl.Series([seen.scheme], dtype=schemes).new_from_index(0, count),
            "seed": np.full(count, seen.seed, dtype=np.uint32),
            "flow": np.arange(count, dtype=np.uint32),
            **seen.flows.columns(),
            "fct_ns": pl.Series(seen.fct_ns).replace(-1, None),
            "ideal_ns": ideal,
            **seen.per_flow,
        }
    )


def load_run(folder: Path) -> Summary:
    """Read the summary of a run."""
    path = folder / "summary.json" if folder.is_dir() else folder
    try:
        return read_summary(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise BadInput(f"{folder} is no result: {error.strerror} ({path})") from error
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{path} is not the summary of a run, or of another version of the lab") from error
