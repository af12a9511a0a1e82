# SPDX-License-Identifier: MIT OR Apache-2.0
"""Grids of runs: described, run, interrupted, resumed, stored."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

import polars as pl
import pytest
from rich.console import Console

from conftest import Finished
from marklab.errors import BadInput, RunFailed
from marklab.execution import progress
from marklab.execution.progress import Cells
from marklab.paths import REPOSITORY
from marklab.prepare.versions import origin
from marklab.report.sweep import print_sweep
from marklab.results.archive import open_collection
from marklab.results.collection import Collection
from marklab.sweeps import cluster, dataset
from marklab.sweeps.cluster import Failure, Workers, completed
from marklab.sweeps.description import Sweep, read_sweep
from marklab.sweeps.execute import run_sweep
from marklab.sweeps.plan import plan_sweep
from marklab.sweeps.work import Outcome
from runs import run as run_here

Cli = Callable[..., Finished]

SMALL = {"schemes": ["ecn-sharp", "tcn"], "baseline": "none", "flows": 60, "seeds": 2}
GRID = {"load": (0.3, 0.8), "queue": ("100", "900KB")}

FRAGILE = """
#include <core.p4>
#include <v1model.p4>
#include "include/marking.p4"

control Marking(in queue_signals_t q, out decision_t decision, out cause_t cause) {
    apply {
        decision = decision_t.PASS;
        cause = 0;
        assert(q.deq_qdepth_pkts < 150);
    }
}

#include "include/switch.p4"
"""


def swept(out: Path, settings: dict[str, object], grid: dict[str, tuple[object, ...]], workers: int = 2) -> Collection:
    return open_collection(run_sweep(Sweep(dict(settings), grid), out, Workers(workers), lambda _: None))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return swept(tmp_path_factory.mktemp("sweeps"), SMALL, GRID)


def test_points_go_through_the_last_key_first() -> None:
    points = list(Sweep({}, {"load": (0.3, 0.8), "workload": ("a", "b")}).points())
    assert [tuple(point.values()) for point in points] == [(0.3, "a"), (0.3, "b"), (0.8, "a"), (0.8, "b")]


def test_a_parameter_is_of_the_schemes_that_have_it_and_names_stay() -> None:
    sweep = read_sweep(None, {"schemes": ["dctcp-red", "tcn"]}, [], ["param.k=50KB,100KB", "transport.min_rto=5ms"])
    specs = [sweep.spec_at(point) for point in sweep.points()]
    assert [spec.choices[0].params for spec, _ in specs] == [(("k", "50KB"),), (("k", "100KB"),)]
    assert {labels for _, labels in specs} == {("dctcp-red", "tcn", "dctcp-red:tail")}
    assert {spec.transport.min_rto_ns for spec, _ in specs} == {5_000_000}


def test_a_file_is_a_spec_with_a_grid_and_words_replace_it(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("1000 0\n2000 1\n")
    (tmp_path / "a.yaml").write_text("schemes: tcn\nflows: 10\ngrid: {load: [0.1, 0.2], workload: [own.csv]}\n")
    sweep = read_sweep(tmp_path / "a.yaml", {"flows": 20}, ["seeds=3"], ["load=0.5"])
    assert sweep.grid == {"load": (0.5,), "workload": (str(tmp_path / "own.csv"),)}
    assert (sweep.settings["flows"], sweep.settings["seeds"]) == (20, 3)


@pytest.mark.parametrize(
    ("grid", "says", "remedy"),
    [
        ({"load": ()}, "the grid has no cells: `load` lists no value", "write `load: [VALUE, VALUE]`"),
        ({"laod": (0.1,)}, "unknown key of the grid `laod`", "did you mean `load`?"),
        ({"load": (0.1, 0.1)}, "lists 0.1 twice", "once"),
        ({"schemes": ("tcn",)}, "`schemes` cannot be in a grid", "beside the grid"),
        ({"seeds": (1, 2)}, "`seeds` cannot be in a grid", "each is a cell of its own"),
        ({"mininet": ({},)}, "`mininet` cannot be in a grid", "beside the grid"),
    ],
)
def test_wrong_grids_are_refused(tmp_path: Path, grid: dict[str, tuple[object, ...]], says: str, remedy: str) -> None:
    text = json.dumps({"schemes": "tcn", "grid": {key: list(values) for key, values in grid.items()}})
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(BadInput, match=re.escape(says)) as error:
        read_sweep(tmp_path / "a.yaml", {}, [], [])
    assert remedy in str(error.value.remedy)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--grid", "transport.min_rtt=1ms,2ms"), "did you mean `transport.min_rto`?"),
        (("--grid", "param.kk=1,2"), "unknown parameter `kk`"),
        (("--grid", "load=0.5,1.5"), "load: `1.5`"),
        (("--grid", "load"), "`load` is not a setting"),
        (("--set", "pcap=s0:7"), "a sweep captures no packets"),
        (("--scheduler", "tcp://127.0.0.1:1"), "no scheduler answers at tcp://127.0.0.1:1"),
    ],
)
def test_what_cannot_run_is_said_before_anything_runs(
    cli: Cli, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    result = cli("sweep", "-s", "tcn", "-s", "dctcp-red", "--flows", "20", *arguments, "--out", str(tmp_path / "out"))
    assert (result.code, result.out) == (2, "")
    assert says in result.err
    assert not list(tmp_path.glob("out/*/cells/*"))


def test_a_million_cells_are_asked_about(cli: Cli, tmp_path: Path) -> None:
    queues, flows = (",".join(str(number) for number in range(1000, 1000 + count)) for count in (1000, 100))
    grid = ("--grid", f"queue={queues}", "--grid", f"flows={flows}")
    result = cli("sweep", "-s", "tcn", *grid, "--seeds", "5", "--out", str(tmp_path))
    assert result.code == 2
    assert "the grid has 1,000,000 cells (2 schemes x 5 seeds x 1000 queue x 100 flows)" in result.err
    assert "--yes" in result.err


def test_a_cell_is_what_a_run_gives(small: Collection) -> None:
    """Same flows, same times, same numbers as `run` at one of the points."""
    _, observations, summary = run_here(**SMALL, load=0.8, queue="100")
    (point,) = (each for each in small.points if each.settings == {"load": 0.8, "queue": "100"})
    for label, result in summary.schemes.items():
        ours = point.summary.schemes[label]
        assert ours.model_copy(update={"engine_cpu_s": 0, "seeds": (), "doubts": ()}) == result.model_copy(
            update={"engine_cpu_s": 0, "seeds": (), "doubts": ()}
        )
        assert [seed.flow_list for seed in ours.seeds] == [seed.flow_list for seed in result.seeds]
    flows = pl.read_parquet(small.folder / "flows" / "*.parquet")
    one = flows.filter((pl.col("load") == 0.8) & (pl.col("queue") == "100") & (pl.col("scheme") == "tcn"))
    seen = next(each for each in observations if (each.scheme, each.seed) == ("tcn", 1))
    assert one.filter(pl.col("seed") == 1)["fct_ns"].fill_null(-1).to_list() == seen.fct_ns.tolist()


def test_the_dataset_is_one_table(small: Collection) -> None:
    cells = pl.read_parquet(small.folder / "cells" / "*.parquet")
    assert cells.height == 2 * 2 * 2 * 2
    assert cells.select("load", "queue", "scheme", "seed").is_unique().all()
    assert (cells["load"].dtype, cells["queue"].dtype) == (pl.Float64, pl.String)
    assert cells["status"].unique().to_list() == ["finished"]
    (mean,) = cells.filter((pl.col("point") == 3) & (pl.col("scheme") == "tcn") & (pl.col("seed") == 2))["short.mean"]
    assert mean == small.points[3].summary.schemes["tcn"].seeds[1].fct_us["short"].mean
    assert set(dataset.COLUMNS) <= set(cells.columns)
    assert small.points[0].curves["tcn"][1].fct_us["overall"][-1] > 0


def test_the_same_sweep_is_not_run_again(small: Collection) -> None:
    seen: list[Cells] = []
    run_sweep(Sweep(SMALL, GRID), small.folder.parent, Workers(1), seen.append)
    assert seen[-1] == Cells(planned=16, done=16, failed=0, kept=16)


def test_cells_without_flow_records_are_run_again_for_them(tmp_path: Path) -> None:
    sweep = Sweep({**SMALL, "seeds": 1}, {})
    seen: list[Cells] = []
    for keep_flows, kept in ((False, 0), (False, 2), (True, 0), (True, 2)):
        folder = run_sweep(sweep, tmp_path, Workers(1), seen.append, keep_flows=keep_flows)
        assert (seen[-1].kept, len(list(folder.glob("flows/*")))) == (kept, 2 * keep_flows)


def test_cells_of_other_code_are_run_again(small: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_sweep(Sweep(SMALL, GRID))
    assert len(dataset.Dataset(small.folder, plan).finished()) == 16
    monkeypatch.setattr(dataset, "code_digest", lambda: "other")
    assert dataset.Dataset(small.folder, plan).finished() == set()


def test_a_failed_cell_stands_beside_the_others(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "fragile.p4").write_text(FRAGILE)
    arguments = ("sweep", "-s", str(tmp_path / "fragile.p4"), "-s", "tcn", "--flows", "60", "--seeds", "1",
                 "--grid", "queue=100,600", "--set", "baseline=none", "--out", str(tmp_path / "out"))  # fmt: skip
    result = cli(*arguments)
    assert result.code == 2
    assert "FAILED: queue 600, fragile, seed 1: " in result.out
    assert "assert" in result.out
    (folder,) = (tmp_path / "out").iterdir()
    found = open_collection(folder)
    assert [(dict(each.settings), each.scheme, each.seed) for each in found.failed] == [({"queue": 600}, "fragile", 1)]
    assert [list(point.summary.schemes) for point in found.points] == [["fragile", "tcn"], ["tcn"]]
    plain = json.loads(cli(*arguments, "--json").out)
    assert [each["scheme"] for each in plain["failed"]] == ["fragile"]


def test_a_damaged_file_is_named_and_made_again(cli: Cli, tmp_path: Path) -> None:
    arguments = (
        "sweep",
        "-s",
        "tcn",
        "--set",
        "baseline=none",
        "--flows",
        "20",
        "--seeds",
        "2",
        "--out",
        str(tmp_path),
    )
    assert cli(*arguments).code == 0
    (folder,) = tmp_path.iterdir()
    joined = folder / "cells" / "cells.parquet"
    good = joined.read_bytes()
    joined.write_bytes(good[: len(good) // 2])
    found = open_collection(folder)
    assert len(found.damaged) == 1
    assert str(joined) in found.damaged[0]
    assert (found.points, found.missing) == ((), 2)
    reported = cli("report", str(folder))
    assert reported.code == 2
    assert f"DAMAGED: {joined}" in reported.out
    again = cli(*arguments)
    assert again.code == 0
    assert open_collection(folder).damaged == ()


def started(out: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "orchestrator.py", "sweep", *arguments, "--out", str(out)]
    return subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def until(condition: Callable[[], bool], timeout_s: float = 60) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


LONG = ("-s", "ecn-sharp", "--set", "baseline=none", "--flows", "1500", "--seeds", "12", "-j", "1")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_an_ended_sweep_goes_on_where_it_was(tmp_path: Path, how: signal.Signals) -> None:
    sweep = started(tmp_path, *LONG)
    until(lambda: len(list(tmp_path.glob("*/cells/0*.parquet"))) >= 2)
    sweep.send_signal(how)
    _, err = sweep.communicate(timeout=30)
    (folder,) = tmp_path.iterdir()
    kept = {path.name: path.stat().st_mtime_ns for path in folder.glob("cells/0*.parquet")}
    assert 2 <= len(kept) < 12
    if how is signal.SIGINT:
        assert sweep.returncode == 130
        assert (
            err == f"error: interrupted: {len(kept)} of 12 cells are kept, and the same command continues from there\n"
        )
    assert open_collection(folder).missing == 12 - len(kept)
    walls = {row["key"]: row["wall_s"] for row in dataset.read_cells(folder)[0].iter_rows(named=True)}
    again = started(tmp_path, *LONG)
    _, err = again.communicate(timeout=120)
    # A slow machine shows its progress.
    assert [line for line in err.splitlines() if not line.startswith("sweep: ")] == []
    rows, _ = dataset.read_cells(folder)
    assert rows["status"].to_list() == ["finished"] * 12
    # A cell that ran again would have another running time.
    assert walls.items() <= {row["key"]: row["wall_s"] for row in rows.iter_rows(named=True)}.items()


def test_a_folder_has_one_writer(tmp_path: Path) -> None:
    plan = plan_sweep(Sweep(SMALL, {}))
    job = dataset.Job(plan, tmp_path, "", "sweep", "t")
    with dataset.written(job), pytest.raises(RunFailed, match="another process"):  # noqa: SIM117
        with dataset.written(job):
            pass


def die(task: dict[str, object]) -> Failure:
    """End the worker, as many times as the task says."""
    deaths = Path(str(task["deaths"]))
    count = len(list(deaths.iterdir()))
    if count < int(str(task["times"])):
        (deaths / str(count)).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return Failure("alive")


@pytest.mark.parametrize(("times", "says", "deaths"), [(1, "alive", 1), (5, "its worker ended twice", 2)])
def test_a_cell_of_a_lost_worker_is_run_once_more(tmp_path: Path, times: int, says: str, deaths: int) -> None:
    task = {"deaths": str(tmp_path), "times": times}
    ((number, outcome),) = [event for event in completed([task], Workers(1), die) if event is not None]
    assert number == 0
    assert isinstance(outcome, Failure)
    assert says in outcome.error
    assert len(list(tmp_path.iterdir())) == deaths


@contextlib.contextmanager
def dask_process(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "dask", *arguments]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=20)


def address_of(scheduler: subprocess.Popen[str]) -> str:
    """The address that a scheduler prints at its start."""
    assert scheduler.stderr is not None
    return next(found[0] for line in scheduler.stderr if (found := re.search(r"tcp://127\S+", line)))


@pytest.fixture
def scheduler_address() -> Iterator[str]:
    """Address of a scheduler without workers."""
    with dask_process("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard") as scheduler:
        yield address_of(scheduler)


def test_a_scheduler_without_workers_is_named(
    cli: Cli, tmp_path: Path, scheduler_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "_CONNECT_S", 2)
    result = cli("sweep", "-s", "tcn", "--flows", "20", "--scheduler", scheduler_address, "--out", str(tmp_path))
    assert result.code == 2
    assert f"the scheduler at {scheduler_address} has no workers" in result.err


def test_a_scheduler_with_two_workers(cli: Cli, tmp_path: Path, small: Collection, scheduler_address: str) -> None:
    """As in docs/sweeps.md, all started at once; the numbers equal those of the sweep without a cluster."""
    settings = ("--nthreads", "1", "--no-dashboard", "--local-directory", str(tmp_path))
    worker = ("worker", scheduler_address, *settings)
    (tmp_path / "a.yaml").write_text(json.dumps({**SMALL, "grid": {key: list(each) for key, each in GRID.items()}}))
    with dask_process(*worker), dask_process(*worker):
        given = ("--scheduler", scheduler_address, "--out", str(tmp_path / "out"))
        result = cli("sweep", str(tmp_path / "a.yaml"), *given)
        assert result.code == 0, result.err
    (folder,) = (tmp_path / "out").iterdir()
    metrics = ["point", "scheme", "seed", "short.mean", "short.p99", "marks", "key"]
    ours, theirs = (pl.read_parquet(each / "cells" / "*.parquet").select(metrics) for each in (folder, small.folder))
    assert ours.equals(theirs)


def test_a_scheduler_that_ends_is_named(cli: Cli, tmp_path: Path) -> None:
    """The sweep ends with it, and says nothing else."""
    listens = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    with ExitStack() as stack:
        scheduler = stack.enter_context(dask_process("scheduler", *listens))
        address = address_of(scheduler)
        joins = ("--nthreads", "1", "--no-dashboard", "--local-directory", str(tmp_path))
        stack.enter_context(dask_process("worker", address, *joins))
        out = tmp_path / "out"
        sweep = started(out, *LONG, "--scheduler", address)
        until(lambda: sweep.poll() is not None or len(list(out.glob("*/cells/0*.parquet"))) >= 2)
        scheduler.kill()
        _, err = sweep.communicate(timeout=30)
    said = [line for line in err.splitlines() if not line.startswith("sweep: ")]
    assert sweep.returncode == 2
    assert said == [
        f"error: the scheduler at {address} has ended, was restarted, or cannot be reached any more",
        "  try: start the scheduler and its workers again, and repeat the command: finished cells are kept",
    ]


def test_a_worker_without_the_lab_is_named() -> None:
    """By the answer of a worker whose Python has no such package."""
    found = {"workers": {"tcp://10.0.0.1:1": {"packages": {"marklab": "0.1.0"}},
                         "tcp://10.0.0.2:2": {"packages": {"marklab": None}}}}  # fmt: skip
    client = mock.Mock()
    client.get_versions.return_value = found
    with pytest.raises(BadInput, match=r"the worker at tcp://10\.0\.0\.2:2 runs a Python without the lab") as error:
        cluster._require_lab(client)
    assert "`.venv/bin/dask worker`" in str(error.value.remedy)


@pytest.mark.parametrize("what", ["commit", "Python files"])
def test_a_worker_with_another_lab_fails_its_cells(what: str) -> None:
    (cell, *_) = plan_sweep(Sweep({**SMALL, "flows": 20}, {})).cells
    task = cell.task(keep_flows=False)
    assert isinstance(cluster.attempt(task | {"origin": origin()}), Outcome)
    # A lab that was copied without git.
    assert isinstance(cluster.attempt(task | {"origin": {what: None}}), Outcome)
    other = cluster.attempt(task | {"origin": {what: "other"}})
    assert isinstance(other, Failure)
    assert f"the worker has another lab than the sweep: {what} " in other.error


def test_a_baseline_that_is_the_same_run_at_several_points_is_at_each(tmp_path: Path) -> None:
    settings = {"schemes": ["ecn-sharp"], "flows": 40, "seeds": 1}
    found = swept(tmp_path, settings, {"param.ins_target": ("100us", "200us")})
    assert [list(point.summary.schemes) for point in found.points] == [["ecn-sharp", "dctcp-red:tail"]] * 2
    assert all(point.summary.schemes["ecn-sharp"].normalised for point in found.points)
    means = [point.summary.schemes["dctcp-red:tail"].fct_us["overall"].mean for point in found.points]
    assert means[0] == means[1]


@pytest.mark.parametrize("columns", [10, 80, 200])
def test_no_number_is_lost_on_any_terminal(small: Collection, columns: int) -> None:
    console = Console(width=columns, file=io.StringIO())
    print_sweep(small, console)
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    for point in small.points:
        assert f"load {point.settings['load']}, queue {point.settings['queue']}" in shown
        for result in point.summary.schemes.values():
            assert f"{result.fct_us['short'].mean:,.0f}" in shown
            assert f"{result.fct_us['overall'].mean:,.0f}" in shown


def test_progress_is_a_bar_on_a_terminal_and_lines_elsewhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock_s = itertools.count(0, 20)
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(clock_s)))
    with progress.cells_bar("grid") as on_cells:
        for done in range(5):
            on_cells(Cells(planned=10, done=done, failed=int(done == 4), kept=0))
    assert capsys.readouterr().err == "grid: 1/10 cells, 0:06:00 left\ngrid: 3/10 cells, 0:03:07 left\n"


@pytest.mark.parametrize("columns", [20, 50, 100])
def test_a_bar_has_room(tmp_path: Path, columns: int) -> None:
    sweep = f"{sys.executable} orchestrator.py sweep -s tcn --set baseline=none --flows 20 --seeds 2 --out {tmp_path}"
    command = ["script", "-qec", f"stty cols {columns}; unset COLUMNS; {sweep}", "/dev/null"]
    shown = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    assert "0/2 cells" in shown
    assert "Traceback" not in shown
