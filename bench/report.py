# SPDX-License-Identifier: MIT OR Apache-2.0
"""The report of a sweep of 504 cells: its size, and Chromium's time until it has drawn the first charts.

PYTHONPATH=tests .venv/bin/python bench/report.py
"""

from __future__ import annotations

import itertools
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table

from browsing import NEEDED, chromium, opened, started
from collections_of_runs import collection_of, run_with_curves
from marklab.report.page import MOST_BYTES, write_page
from marklab.results.collection import Collection, Point
from marklab.results.curves import Curves
from marklab.results.summary import Estimates, SchemeResult

SCHEMES = ("ecn-sharp", "tcn", "codel", "red", "diffecn")  # and the baseline
SEEDS = 3
LOADS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
WORKLOADS = ("web_search", "data_mining", "cache", "hadoop")
MOST_S = 2.0
ROUNDS = 5
FIRST = "fct-overall-mean"


def synthetic() -> Collection:
    """A run of all schemes, copied to each point of a grid with its times scaled by another factor."""
    summary, curves = run_with_curves(schemes=list(SCHEMES), flows=300, load=0.8, seeds=SEEDS)
    points = []
    for number, (load, workload) in enumerate(itertools.product(LOADS, WORKLOADS)):
        factor = 1 + number / 17
        schemes = {label: _scaled(result, factor) for label, result in summary.schemes.items()}
        there = summary.model_copy(update={"schemes": schemes})
        points.append(Point({"load": load, "workload": workload}, there, _scaled_curves(curves, factor)))
    return collection_of(tuple(points), "sweep")


def _scaled(result: SchemeResult, factor: float) -> SchemeResult:
    return result.model_copy(update={"fct_us": _scaled_estimates(result.fct_us, factor)})


def _scaled_estimates(estimates: Estimates, factor: float) -> Estimates:
    return {
        name: each.model_copy(
            update={of: value * factor for of in ("mean", "p50", "p99") if (value := getattr(each, of)) is not None}
        )
        for name, each in estimates.items()
    }


def _scaled_curves(curves: Mapping[str, Mapping[int, Curves]], factor: float) -> dict[str, dict[int, Curves]]:
    def scaled(each: Curves) -> Curves:
        fct_us = {name: tuple(value * factor for value in values) for name, values in each.fct_us.items()}
        bins = tuple(
            one.model_copy(update={of: getattr(one, of) * factor for of in ("mean", "p50", "p99")})
            for one in each.slowdown_by_size
        )
        return Curves(fct_us=fct_us, slowdown_by_size=bins)

    return {scheme: {seed: scaled(each) for seed, each in seeds.items()} for scheme, seeds in curves.items()}


def main() -> None:
    """Print a table; exit code 1 if a bound is missed."""
    if chromium() is None:
        raise SystemExit(f"skipped: {NEEDED}")
    collection = synthetic()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        begin = time.perf_counter()
        write_page(collection, path)
        written_s = time.perf_counter() - begin
        size = path.stat().st_size
        loaded_s, drawn_s, cpu_s = measure(path)
    table = Table("of 504 cells", "", "bound")
    table.add_row("size, MB", f"{size / 1e6:.2f}", f"{MOST_BYTES / 1e6:.0f}")
    table.add_row("writing it, s", f"{written_s:.2f}", "")
    table.add_row("opening: text and tables, s", f"{loaded_s:.2f}", "")
    table.add_row("opening: first charts, s", f"{drawn_s:.2f}", f"{MOST_S:.0f}")
    table.add_row("the browser's main thread until then, CPU s", f"{cpu_s:.2f}", "")
    Console().print(table)
    sys.exit(size > MOST_BYTES or drawn_s > MOST_S)


def measure(path: Path) -> tuple[float, float, float]:
    """Medians, in s: load event, first two charts drawn, CPU time of the page's main thread until then."""
    rounds = []
    with started() as browser:
        for _ in range(ROUNDS):
            with opened(browser, path) as found:
                cpu = found.page.context.new_cdp_session(found.page)
                cpu.send("Performance.enable", {"timeDomain": "threadTicks"})
                found.page.reload()
                found.page.wait_for_selector(f"#{FIRST}[data-stale=false] .plot")
                metrics = {each["name"]: each["value"] for each in cpu.send("Performance.getMetrics")["metrics"]}
                loaded_ms = found.page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
                drawn_ms = found.page.evaluate(
                    "Math.max(...performance.getEntriesByType('mark').slice(0, 3).map(mark => mark.startTime))"
                )
                rounds.append((loaded_ms / 1e3, drawn_ms / 1e3, metrics["TaskDuration"]))
    loaded_s, drawn_s, cpu_s = (statistics.median(values) for values in zip(*rounds, strict=True))
    return loaded_s, drawn_s, cpu_s


if __name__ == "__main__":
    main()
