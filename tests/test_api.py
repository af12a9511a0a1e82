# SPDX-License-Identifier: MIT OR Apache-2.0
"""The lab from Python."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import marklab
from marklab import compare, run, sweep
from marklab.errors import BadInput
from marklab.paths import REPOSITORY
from runs import run as run_here

SMALL = {"flows": 60, "seeds": 2, "load": 0.8}


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


def test_a_run_gives_frames_of_what_the_command_writes(out: Path) -> None:
    result = run(["ecn-sharp", "tcn:t=50us"], out=out, transport={"min_rto": "5ms"}, **SMALL)
    settings = {"schemes": ["ecn-sharp", "tcn:t=50us"], "transport": {"min_rto": "5ms"}}
    _, _, expected = run_here(**(SMALL | settings))
    (row,) = result.summary.filter(scheme="tcn:t=50us", size_class="short", statistic="p99").rows(named=True)
    known = expected.schemes["tcn:t=50us"]
    assert row["fct_us"] == known.fct_us["short"].p99
    assert (row["fct_us_low"], row["fct_us_high"]) == known.fct_us["short"].ci95.p99
    assert known.normalised is not None
    assert row["normalised"] == known.normalised["short"].p99
    assert row["n"] == known.fct_us["short"].n
    assert result.flows.height == 60 * 2 * 3
    assert result.numbers.scheme == "ecn-sharp"
    assert result.warnings == list(expected.warnings)
    assert json.loads((result.folder / "summary.json").read_text())["scheme"] == "ecn-sharp"
    assert result.report.stat().st_size < 5_000_000


def test_a_sweep_gives_frames_with_the_points(out: Path) -> None:
    grid = {"load": [0.3, 0.8], "param.ins_target": ["100us", "200us"]}
    result = sweep("ecn-sharp", grid=grid, out=out, baseline="none", flows=60, seeds=2)
    assert result.cells.height == 8
    assert result.failed.is_empty()
    assert result.flows.collect().height == 8 * 60
    assert result.summary.select("load", "param.ins_target").unique().height == 4
    one = result.summary.filter(size_class="overall", statistic="mean", load=0.8).filter(
        pl.col("param.ins_target") == "100us"
    )
    flows = result.flows.filter((pl.col("load") == 0.8) & (pl.col("param.ins_target") == "100us"))
    means = flows.group_by("seed").agg(pl.col("fct_ns").mean() / 1e3).collect()["fct_ns"]
    assert one["fct_us"].to_list() == pytest.approx([means.mean()])


def test_a_comparison_is_a_frame_and_a_verdict(out: Path) -> None:
    base = run("ecn-sharp", out=out, baseline="none", **SMALL)
    slow = run("ecn-sharp", out=out, baseline="none", queue=20, **SMALL)
    same = compare(base, base.folder, fail_on="short.mean > +5%")
    assert not same.broken
    assert same.table["verdict"].unique().to_list() == ["same"]
    worse = compare(base, slow, fail_on=["drops > 0", "unfinished > 0"])
    assert worse.broken
    assert worse.rules.filter("broken")["rule"].to_list() == ["drops > 0"]
    assert "drops > 0" in worse.markdown
    (row,) = worse.table.filter(metric="short.mean").rows(named=True)
    shorts = [result.summary.filter(size_class="short", statistic="mean")["fct_us"][0] for result in (base, slow)]
    assert [row["base"], row["new"]] == shorts


def test_what_is_wrong_says_what_to_do(out: Path) -> None:
    with pytest.raises(BadInput, match="unknown key `laod`") as error:
        run("ecn-sharp", out=out, laod=0.3)
    assert "did you mean `load`" in str(error.value.remedy)
    with pytest.raises(BadInput, match="no scheme was given"):
        run(out=out)
    with pytest.raises(BadInput, match="the grid has no cells"):
        sweep("tcn", grid={"load": []}, out=out)


def test_a_script_needs_no_guard(tmp_path: Path) -> None:
    """Processes that a sweep starts do not run the script that started the sweep."""
    script = tmp_path / "script.py"
    script.write_text(
        "from marklab import sweep\n"
        f"print(sweep('tcn', grid={{'load': [0.3, 0.8]}}, baseline='none', flows=20, seeds=1, out={str(tmp_path)!r})"
        ".cells.height)\n"
    )
    finished = subprocess.run([sys.executable, script], env={}, capture_output=True, text=True)
    assert (finished.stdout, finished.stderr) == ("2\n", "")


def test_nothing_is_loaded_before_it_is_asked_for() -> None:
    code = "import sys, marklab; print([name for name in ('polars', 'dask', 'numpy') if name in sys.modules])"
    finished = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True)
    assert finished.stdout == "[]\n"
    with pytest.raises(AttributeError, match="no attribute 'sweeep'"):
        _ = marklab.sweeep
