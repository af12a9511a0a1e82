# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs cells on Dask's workers: processes of this machine, or the workers of a scheduler."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread
from types import ModuleType
from typing import Any
from uuid import uuid4

import dask
from distributed import Client, Future, KilledWorker, LocalCluster

from marklab.errors import BadInput, MarklabError, RunFailed
from marklab.sweeps.work import Outcome, run_cell

# Time between two checks for results.
_TICK_S = 0.1
_CONNECT_S = 5
# How long a scheduler may be without workers, and the time between two checks for workers.
_DESERTED_S, _LOOK_S = 60, 5

_SETTINGS = {
    # A cell whose worker is lost is run once more. If that worker is lost too, the cell fails.
    "distributed.scheduler.allowed-failures": 1,
    # A worker holds no cells in reserve, as they would be lost with it.
    "distributed.scheduler.worker-saturation": 1.0,
    # Monitoring themselves many times a second would cost scheduler and workers 3 % of a core.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.limit": "60s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.client.scheduler-info-interval": "30s",
    "logging.distributed": "critical",
}


@dataclass(frozen=True)
class Failure:
    """A cell without a result, and why."""

    error: str


# The index of a task, and its result.
Event = tuple[int, Outcome | Failure]
Work = Callable[[dict[str, Any]], Outcome | Failure]


@dataclass(frozen=True)
class Workers:
    """A number of processes of this machine, or the workers of the scheduler at an address."""

    count: int
    scheduler: str | None = None


def attempt(task: dict[str, Any]) -> Outcome | Failure:
    """Run a cell. An error in it becomes a Failure, so only a lost worker is an error of Dask's."""
    try:
        return run_cell(task)
    except MarklabError as error:
        return Failure(f"{error} (try: {error.remedy})" if error.remedy else str(error))
    except Exception as error:  # noqa: BLE001 - one cell must not end the others
        return Failure(f"{type(error).__name__}: {error}")


def completed(tasks: Sequence[dict[str, Any]], workers: Workers, work: Work = attempt) -> Generator[Event | None]:
    """Run tasks, and yield the result of each as it ends, and None regularly. Closing the generator ends all tasks.

    Raises BadInput if no scheduler answers or a worker lacks the lab, and RunFailed if the scheduler is lost or has
    lost all its workers.
    """
    # As in `runs.run_cells`, this thread takes no lock that another thread needs, as a signal may come at any time.
    events: SimpleQueue[Event | Exception] = SimpleQueue()
    stop: SimpleQueue[None] = SimpleQueue()
    driver = Thread(target=_drive, args=(tasks, workers, work, events, stop), name="cells")
    driver.start()
    try:
        left = len(tasks)
        while left:
            try:
                event = events.get(timeout=_TICK_S)
            except Empty:
                yield None
                continue
            if isinstance(event, Exception):
                raise event
            left -= 1
            yield event
    finally:
        stop.put(None)
        driver.join()


def _drive(
    tasks: Sequence[dict[str, Any]],
    workers: Workers,
    work: Work,
    events: SimpleQueue[Event | Exception],
    stop: SimpleQueue[None],
) -> None:
    try:
        with _client(workers) as client:
            # Another sweep may use the same scheduler.
            sweep = uuid4().hex
            for number, task in enumerate(tasks):
                future = client.submit(work, task, key=f"cell-{sweep}-{number}", pure=False, priority=-number)
                future.add_done_callback(_Arrival(number, events, workers))
            _attend(client, workers, stop)
    except Exception as error:  # noqa: BLE001 - the calling thread raises it
        events.put(error)


def _attend(client: Client, workers: Workers, stop: SimpleQueue[None]) -> None:
    """Wait until the caller stops, and check that there are workers."""
    deserted_s = 0
    while True:
        try:
            stop.get(timeout=_LOOK_S)
        except Empty:
            # Empty while the scheduler does not answer. That is an event of the cells.
            info = client.scheduler_info(n_workers=-1)
            deserted_s = 0 if info.get("workers", True) else deserted_s + _LOOK_S
            if deserted_s > _DESERTED_S:
                raise RunFailed(
                    f"{workers.scheduler or 'the cluster'} has lost all its workers",
                    "start workers and repeat the command: finished cells are kept",
                ) from None
        else:
            return


class _Arrival:
    """Hands over the result of a future. It keeps the future alive until then, as Dask drops unreferenced futures."""

    def __init__(self, number: int, events: SimpleQueue[Event | Exception], workers: Workers) -> None:
        self.number = number
        self.events = events
        self.workers = workers

    def __call__(self, future: Future[Any]) -> None:
        if future.cancelled():
            # Dask cancels all futures when it loses its scheduler. When the caller stops, nobody reads this.
            lost = f"the scheduler at {self.workers.scheduler}" if self.workers.scheduler else "Dask's scheduler"
            remedy = "start the scheduler and its workers again, and repeat the command: finished cells are kept"
            self.events.put(RunFailed(f"{lost} has ended, was restarted, or cannot be reached any more", remedy))
            return
        try:
            self.events.put((self.number, future.result()))
        except KilledWorker:
            self.events.put((self.number, Failure("its worker ended twice: killed, or out of memory")))
        except Exception as error:  # noqa: BLE001 - whatever the cluster says of this cell
            self.events.put((self.number, Failure(f"{type(error).__name__}: {error}")))
        future.release()


@contextmanager
def _client(workers: Workers) -> Iterator[Client]:
    # The second has a level of its own.
    for logger in ("distributed", "distributed.client"):
        logging.getLogger(logger).setLevel(logging.CRITICAL)
    with dask.config.set(_SETTINGS):
        if workers.scheduler is not None:
            with _remote(workers.scheduler) as client:
                yield client
            return
        with (
            dask.config.set({"distributed.worker.preload": ["marklab.sweeps.work"]}),
            _without_main(),
            LocalCluster(
                n_workers=workers.count,
                threads_per_worker=1,
                processes=True,
                # A free port: several sweeps may run.
                dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": False},
                silence_logs=logging.CRITICAL,
            ) as cluster,
            Client(cluster) as client,
        ):
            yield client


@contextmanager
def _remote(address: str) -> Iterator[Client]:
    remedy = "an address as tcp://HOST:8786, where `dask scheduler` runs"
    try:
        client = Client(address, timeout=_CONNECT_S)
    except (OSError, ValueError, TypeError) as error:
        raise BadInput(f"no scheduler answers at {address}", remedy) from error
    with client:
        try:
            # The same script may have just started them.
            client.wait_for_workers(1, timeout=_CONNECT_S)
        except TimeoutError as error:
            remedy = f"dask worker {address} --nthreads 1"
            raise BadInput(f"the scheduler at {address} has no workers", remedy) from error
        _require_lab(client)
        yield client


def _require_lab(client: Client) -> None:
    """Raise BadInput if a worker lacks the lab. Dask would end it at its first cell, and not say why."""
    found: Any = client.get_versions(packages=["marklab"])
    without = [address for address, versions in found["workers"].items() if versions["packages"].get("marklab") is None]
    if without:
        more = f" and {len(without) - 1} others" if len(without) > 1 else ""
        raise BadInput(
            f"the worker at {without[0]}{more} runs a Python without the lab",
            "start it with the tree's `.venv/bin/dask worker`, or install the lab's wheel for it",
        )


@contextmanager
def _without_main() -> Iterator[None]:
    """Keep new processes from running the main module.

    Python runs the main module of a process again in the processes that it spawns. A script that calls the lab would
    then start a sweep in each of them, unless its author guarded against it.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
