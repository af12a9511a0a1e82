"""Cells on all cores: the engine works without Python's lock, so threads are enough."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait

from orchestrator import engine
from orchestrator.fabrics import Cell, Fabric
from orchestrator.observation import Observation

# Between two looks at the progress of running cells.
_TICK_S = 0.1

# Called with the number of flows that have finished so far, in all cells.
OnProgress = Callable[[int], None]


def default_workers() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


def total_flows(cells: Sequence[Cell]) -> int:
    """Flows of all cells together."""
    return sum(len(cell.experiment.flow_lists[cell.seed]) for cell in cells)


def run_cells(fabric: Fabric, cells: Sequence[Cell], workers: int, on_progress: OnProgress) -> list[Observation]:
    """Run cells, and give what they observed in the order of the cells.

    Whatever ends this early, an error of a cell or an exception in the calling thread such as Ctrl-C, ends all cells.
    """
    watches = [engine.new_watch() for _ in cells]
    with ThreadPoolExecutor(workers, thread_name_prefix="cell") as pool:
        futures = [pool.submit(fabric.run, cell, watch) for cell, watch in zip(cells, watches, strict=True)]
        try:
            _wait(futures, watches, on_progress)
            return [future.result() for future in futures]
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for watch in watches:
                watch.cancel()


def _wait(futures: Sequence[Future[Observation]], watches: Sequence[engine.Watch], on_progress: OnProgress) -> None:
    waiting: set[Future[Observation]] = set(futures)
    while waiting:
        done, waiting = wait(waiting, timeout=_TICK_S, return_when=FIRST_EXCEPTION)
        on_progress(sum(watch.finished for watch in watches))
        for future in done:
            future.result()
