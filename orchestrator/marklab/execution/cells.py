# SPDX-License-Identifier: MIT OR Apache-2.0
"""Cells on all cores: the engine works without Python's lock, so threads are enough."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread

from marklab.engine import binding as engine
from marklab.fabrics import Cell, Fabric
from marklab.results.observation import Observation

# Between two looks at the progress of running cells: more than ten a second.
_TICK_S = 0.08

# Called with the number of flows that have finished so far, in all cells.
OnProgress = Callable[[int], None]

# Called as often with the watch of the first cell.
OnWatch = Callable[[engine.Watch], None]


def default_workers() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


def total_flows(cells: Sequence[Cell]) -> int:
    """Flows of all cells together."""
    return sum(len(cell.experiment.flow_lists[cell.seed]) for cell in cells)


def run_cells(
    fabric: Fabric,
    cells: Sequence[Cell],
    workers: int,
    on_progress: OnProgress,
    on_watch: OnWatch = lambda _: None,
) -> list[Observation]:
    """Run cells, and give what they observed in the order of the cells.

    Whatever ends this early, an error of a cell or an exception in the calling thread such as Ctrl-C, ends all cells.
    """
    watches = [engine.new_watch() for _ in cells]
    # The exception of a signal comes wherever the calling thread is, in the middle of taking a lock as well, which the
    # pool's threads would then wait for without end. So this thread takes none: it looks into a queue that has none.
    outcome: SimpleQueue[list[Observation] | BaseException] = SimpleQueue()
    driver = Thread(target=_drive, args=(fabric, cells, watches, workers, outcome), name="cells")
    result = None
    try:
        driver.start()
        while result is None:
            with suppress(Empty):
                result = outcome.get(timeout=_TICK_S)
            on_progress(sum(watch.finished for watch in watches))
            on_watch(watches[0])
    finally:
        for watch in watches:
            watch.cancel()
        if driver.is_alive():
            driver.join()
    if isinstance(result, BaseException):
        raise result
    return result


def _drive(
    fabric: Fabric,
    cells: Sequence[Cell],
    watches: Sequence[engine.Watch],
    workers: int,
    outcome: SimpleQueue[list[Observation] | BaseException],
) -> None:
    try:
        with ThreadPoolExecutor(workers, thread_name_prefix="cell") as pool:
            futures = [pool.submit(fabric.run, cell, watch) for cell, watch in zip(cells, watches, strict=True)]
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            failed = next((future for future in done if future.exception() is not None), None)
            if failed is not None:
                pool.shutdown(wait=False, cancel_futures=True)
                for watch in watches:
                    watch.cancel()
                failed.result()
        outcome.put([future.result() for future in futures])
    except BaseException as error:  # noqa: BLE001 - the calling thread raises it
        outcome.put(error)
