# SPDX-License-Identifier: MIT OR Apache-2.0
"""A result exists as a whole, or not at all."""

import errno
import os
from pathlib import Path

import polars as pl
import pytest

from marklab.errors import BadInput, RunFailed
from marklab.execution.folder import write_run
from marklab.results.folders import load_run, new_folder
from runs import small


def test_a_run_is_written_and_read_back(tmp_path: Path) -> None:
    experiment, observations, summary = small()
    with new_folder(tmp_path / "deep" / "run") as staging:
        write_run(staging, experiment, observations, summary)
    folder = tmp_path / "deep" / "run"
    assert {path.name for path in folder.iterdir()} == {"spec.yaml", "summary.json", "versions.json", "flows.parquet"}
    assert load_run(folder) == summary
    table = pl.read_parquet(folder / "flows.parquet")
    assert len(table) == sum(len(seen.flows) for seen in observations)
    assert table["fct_ns"].null_count() == 0
    assert os.listdir(folder.parent) == ["run"]  # noqa: PTH208 - hidden files as well


def test_the_same_flows_give_the_same_bytes(tmp_path: Path) -> None:
    experiment, observations, summary = small()
    files = []
    for order in (observations, list(reversed(observations))):
        with new_folder(tmp_path / "run") as staging:
            write_run(staging, experiment, order, summary)
        files.append((tmp_path / "run" / "flows.parquet").read_bytes())
    assert files[0] == files[1]


def test_a_failure_leaves_nothing_and_keeps_the_older_result(tmp_path: Path) -> None:
    target = tmp_path / "run"
    with new_folder(target) as staging:
        (staging / "old").touch()

    def fail() -> None:
        with new_folder(target) as staging:
            (staging / "new").touch()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(staging / "new"))

    with pytest.raises(RunFailed, match="No space left on device") as error:
        fail()
    assert error.value.remedy is not None
    assert "--out" in error.value.remedy
    assert [path.name for path in tmp_path.rglob("*")] == ["run", "old"]


def test_a_new_result_takes_the_place_of_the_old(tmp_path: Path) -> None:
    for name in ("one", "two"):
        with new_folder(tmp_path / "run") as staging:
            (staging / name).touch()
    assert [path.name for path in tmp_path.rglob("*")] == ["run", "two"]


def test_leftovers_of_dead_processes_are_removed_and_those_of_living_ones_not(tmp_path: Path) -> None:
    dead = next(pid for pid in range(4_000_000, 4_200_000) if not Path(f"/proc/{pid}").exists())
    (tmp_path / f".x.{dead}.tmp").mkdir()
    (tmp_path / f".y.{os.getppid()}.tmp").mkdir()
    with new_folder(tmp_path / "run"):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == [f".y.{os.getppid()}.tmp", "run"]


@pytest.mark.parametrize("content", [None, "{", '{"spec": {}}', "[]"])
def test_what_is_no_result_is_refused(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "summary.json").write_text(content)
    with pytest.raises(BadInput, match=r"is not a result|is not the summary"):
        load_run(tmp_path)
