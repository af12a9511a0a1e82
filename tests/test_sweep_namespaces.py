# SPDX-License-Identifier: MIT OR Apache-2.0
"""A sweep on several machines, one of which is lost.

Each machine is a network namespace with its own subnet behind a router, and each process on it has PIDs and mounts of
its own. So nothing is reached by 127.0.0.1, and the end of the first process of a machine is the end of all of them.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import polars as pl
import pytest

from marklab.paths import REPOSITORY
from marklab.sweeps.cluster import Workers
from marklab.sweeps.description import read_sweep
from marklab.sweeps.execute import run_sweep
from namespaces import Namespace

pytestmark = pytest.mark.needs("privileges", "namespaces", "network tools", "veth")

SWEEP = {
    "schemes": ["ecn-sharp", "tcn"],
    "baseline": "none",
    "flows": 500,
    "seeds": 4,
    "grid": {"load": [0.5, 0.8], "workload": ["web_search", "cache"]},
}
CELLS = 2 * 4 * 2 * 2

# Columns of `cells` that depend on the machine.
_SECONDS = ("wall_s", "engine_cpu_s")

# Answers each line of input with the number of cells that each worker has.
_WATCH = """
import json, sys
from distributed import Client

with Client(sys.argv[1]) as client:
    for _ in sys.stdin:
        print(json.dumps({worker: len(cells) for worker, cells in client.processing().items()}), flush=True)
"""


class Machine(Namespace):
    """A machine on a subnet of its own."""

    def __init__(self, router: Namespace, number: int) -> None:
        super().__init__()
        self.address = f"10.79.{number}.2"
        gateway = f"10.79.{number}.1"
        self.ip("link", "add", "eth0", "type", "veth", "peer", "name", f"p{number}", "netns", router.pid)
        for place, interface, address in ((self, "eth0", self.address), (router, f"p{number}", gateway)):
            place.ip("address", "add", f"{address}/24", "dev", interface)
            place.ip("link", "set", interface, "up")
        # A worker talks to its nanny by its own address.
        self.ip("link", "set", "lo", "up")
        self.ip("route", "add", "default", "via", gateway)

    @contextmanager
    def running(self, log: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """Run Python on it. The process and all that it starts end with the block, or with this process."""
        # /proc is made private before it is mounted, so that the mount stays in the namespace. `/` is left alone, since
        # in a chroot it is no mount point.
        own = 'mount --make-private /proc && mount -t proc proc /proc && exec "$@"'
        apart = ("unshare", "--pid", "--fork", "--kill-child", "--mount", "--propagation", "unchanged")
        command = ("setpriv", "--pdeathsig", "KILL", *self.inside, *apart, "sh", "-c", own, "sh")
        with log.open("a") as stderr:
            process = subprocess.Popen(
                [*command, sys.executable, *arguments],
                cwd=REPOSITORY,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()


@contextmanager
def machines(count: int) -> Iterator[list[Machine]]:
    """This many machines that reach each other."""
    with ExitStack() as stack:
        router = Namespace()
        stack.callback(router.remove)
        router.run("sysctl", "--quiet", "--write", "net.ipv4.ip_forward=1")
        made = []
        for number in range(count):
            made.append(Machine(router, number))
            stack.callback(made[-1].remove)
        yield made


def cells_at(watch: subprocess.Popen[str], worker: Machine) -> int | None:
    """How many cells a worker has, as the scheduler knows it; None if it has no such worker."""
    assert watch.stdin is not None
    assert watch.stdout is not None
    watch.stdin.write("\n")
    watch.stdin.flush()
    found: dict[str, int] = json.loads(watch.stdout.readline())
    return next((cells for address, cells in found.items() if f"/{worker.address}:" in address), None)


def started_by(pid: int) -> Iterator[int]:
    """The processes that a process has started, each before those that it has started itself."""
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in children.read_text().split():
            yield int(child)
            yield from started_by(int(child))


def kill_with_a_cell(process: subprocess.Popen[str], worker: Machine, watch: subprocess.Popen[str]) -> None:
    """Kill a worker while it has a cell. It is stopped before that, so it cannot finish the cell meanwhile."""
    end = time.monotonic() + 30
    while True:
        assert time.monotonic() < end, "the worker had no cell"
        # The first of them is the first process of its PID namespace, with which the kernel ends all others.
        inside = list(started_by(process.pid))
        for pid in inside:
            os.kill(pid, signal.SIGSTOP)
        # What it had sent before arrives.
        time.sleep(0.2)
        if cells_at(watch, worker):
            os.kill(inside[0], signal.SIGKILL)
            process.wait(10)
            return
        for pid in inside:
            os.kill(pid, signal.SIGCONT)
        time.sleep(0.1)


def dataset(folder: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Cells and flows of the only sweep in a folder, without what depends on the machine."""
    (sweep,) = folder.iterdir()
    cells = pl.read_parquet(sweep / "cells" / "*.parquet").drop(_SECONDS)
    results = [json.loads(text) for text in cells["result"]]
    cells = cells.with_columns(
        pl.Series("result", [json.dumps({k: v for k, v in each.items() if k not in _SECONDS}) for each in results])
    )
    return cells, pl.read_parquet(sweep / "flows" / "*.parquet")


def until(condition: Callable[[], bool], timeout_s: float = 60) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_sweep_outlives_a_machine_and_gives_the_dataset_of_one_machine(tmp_path: Path) -> None:
    file, spread, here, logs = (tmp_path / name for name in ("sweep.yaml", "spread", "here", "logs"))
    file.write_text(json.dumps(SWEEP))

    def finished() -> int:
        return len(list(spread.glob("*/cells/0*.parquet")))

    with ExitStack() as stack:
        scheduler, client, *workers = stack.enter_context(machines(5))
        address = f"tcp://{scheduler.address}:8786"
        listens = ("--host", scheduler.address, "--port", "8786", "--no-dashboard")
        stack.enter_context(scheduler.running(logs, "-m", "dask", "scheduler", *listens))
        joins = ("-m", "dask", "worker", address, "--nthreads", "1", "--no-dashboard")
        own = ("--local-directory", str(tmp_path))
        processes = [stack.enter_context(each.running(logs, *joins, *own)) for each in workers]
        # It waits for the scheduler to listen.
        watch = stack.enter_context(client.running(logs, "-c", _WATCH, address))
        until(lambda: None not in [cells_at(watch, each) for each in workers])

        given = ("--scheduler", address, "--no-report", "--out", str(spread))
        sweep = stack.enter_context(client.running(logs, "orchestrator.py", "sweep", str(file), *given))
        until(lambda: sweep.poll() is not None or finished() >= CELLS // 4)
        assert sweep.poll() is None, logs.read_text()
        kill_with_a_cell(processes[0], workers[0], watch)
        assert finished() < CELLS
        assert sweep.wait(60) == 0, logs.read_text()
        assert [cells_at(watch, each) for each in workers] == [None, 0, 0]
    run_sweep(read_sweep(file, {}, [], []), here, Workers(2), lambda _: None)

    (cells, flows), (cells_here, flows_here) = dataset(spread), dataset(here)
    assert cells["status"].to_list() == ["finished"] * CELLS
    assert cells.equals(cells_here)
    assert flows.equals(flows_here)
