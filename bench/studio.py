# SPDX-License-Identifier: MIT OR Apache-2.0
"""The studio's times and memory, in headless Chromium, and what watching and recording cost a run.

PYTHONPATH=tests .venv/bin/python bench/studio.py
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread

from playwright.sync_api import Page, expect
from rich.console import Console
from rich.table import Table

from browsing import serving, started
from marklab.catalog.scheme import known_schemes
from marklab.engine import binding as engine
from marklab.fabrics import Cell
from marklab.fabrics.sim import Sim, session
from marklab.paths import PROGRAMS
from marklab.playback.playback import Playback
from marklab.prepare.experiment import prepare
from marklab.results.traces import packet_table
from marklab.spec.description import make_spec
from marklab.studio.questions import Written
from marklab.tables import parquet

ROUNDS = 5
PATIENCE_MS = 120_000
MILLION = 1_000_000
# A run of about ten million transmissions.
LARGE = {"schemes": ["ecn-sharp"], "baseline": "none", "load": 0.8, "flows": 3000, "seeds": 1}
PICTURES_PER_S = 12.5


def main() -> None:
    """Measure all of it, and print a table."""
    table = Table("", "median", "worst", "aim")
    for name, (values, unit, aim) in {**in_page(), **of_compiler(), **of_copies(), **of_runs()}.items():
        worst = min(values) if aim.startswith("at least") else max(values)
        table.add_row(name, f"{statistics.median(values):.3g} {unit}", f"{worst:.3g} {unit}", aim)
    Console(width=120).print(table)


Measured = dict[str, tuple[list[float], str, str]]


def in_page() -> Measured:
    """Times and memory of the page."""
    paints, runs, pairs, first, packets, lives, twins = [], [], [], [], [], [], []
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as address, started() as chromium:
        expect.set_options(timeout=PATIENCE_MS)
        for number in range(ROUNDS):
            page = chromium.new_page(viewport={"width": 1280, "height": 800})
            page.set_default_timeout(PATIENCE_MS)
            page.goto(address)
            expect(page.locator("#problems")).to_have_text("It compiles.")
            paints.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime") / 1e3)
            edit(page, number)
            runs.append(timed(lambda page=page: run(page)))
            page.get_by_text("More settings").click()
            page.get_by_label("baseline", exact=True).fill("none")
            page.wait_for_timeout(2_000)
            pairs.append(timed(lambda page=page: run(page)))
            first.append(timed(lambda page=page: look(page, "tcn")))
            packets += [packet(page, at) for at in ("100", "300", "500", "700")]
            lives.append(timed(lambda page=page: click_until(page, "The life of this flow", "#life")))
            twins.append(timed(lambda page=page: tofino(page)))
            page.close()
        memory = [memory_of_large_run(chromium.new_page(), address)]
    return {
        "first paint": (paints, "s", "1 s"),
        "an edited scheme and its original, 2,000 flows": (pairs, "s", "3 s"),
        "these and the baseline": (runs, "s", ""),
        "look at it": (first, "s", "3 s"),
        "explain a packet": (packets, "s", "0.2 s"),
        "life of a flow": (lives, "s", ""),
        "the twin's decision on a packet": (twins, "s", ""),
        "JavaScript heap after 10^7 transmissions": (memory, "MB", "300 MB"),
    }


def timed(action: Callable[[], object]) -> float:
    """Seconds of an action."""
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def edit(page: Page, number: int) -> None:
    """Change TCN's program: another one each time, so that nothing is known of it."""
    page.locator("#program").select_option("tcn")
    page.get_by_label("Program tcn").get_by_text("params.apply();", exact=True).click()
    page.keyboard.press("End")
    page.keyboard.type(f" t = t - {number + 10};")
    page.get_by_label("flows", exact=True).fill("2000")
    page.get_by_label("seeds", exact=True).fill("1")
    # As after a person has read what there is.
    page.wait_for_timeout(2_000)
    expect(page.locator("#start")).to_be_enabled()


def run(page: Page) -> None:
    """Run what the page has."""
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#status")).to_have_text("Running ...")
    expect(page.locator("#status")).to_have_text("Done.")


def look(page: Page, scheme: str) -> None:
    """Run a scheme again to look at it."""
    page.get_by_title(f"Look at {scheme}", exact=True).click()
    expect(page.locator("#asks")).to_be_visible()


def packet(page: Page, at: str) -> float:
    """Seconds until a packet is explained, from the click."""
    page.locator("#time").fill(at)
    page.locator("#packet").evaluate("each => { delete each.dataset.took; }")
    page.get_by_role("button", name="sent", exact=True).click()
    page.wait_for_selector("#packet[data-took]")
    return float(page.locator("#packet").get_attribute("data-took") or 0) / 1e3


def click_until(page: Page, title: str, shown: str) -> None:
    """Click on something, and wait for what it shows."""
    page.get_by_title(title).click()
    expect(page.locator(shown)).to_be_visible()


def tofino(page: Page) -> None:
    """Ask what the twin decides on the packet."""
    page.get_by_role("button", name="Tofino").first.click()
    expect(page.locator("#packet")).to_contain_text("The twin for Tofino")


def memory_of_large_run(page: Page, address: str) -> float:
    """MB of the page's heap, with a run of 10^7 transmissions looked at."""
    page.set_default_timeout(PATIENCE_MS)
    page.goto(address)
    expect(page.locator("#problems")).to_have_text("It compiles.")
    page.locator("#program").select_option("tcn")
    page.get_by_label("flows", exact=True).fill("3000")
    page.get_by_label("seeds", exact=True).fill("1")
    page.get_by_label("load", exact=True).fill("0.8")
    expect(page.locator("#start")).to_be_enabled()
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#status")).to_have_text("Done.")
    look(page, "tcn")
    packet(page, "500")
    client = page.context.new_cdp_session(page)
    client.send("Performance.enable")
    metrics = {each["name"]: each["value"] for each in client.send("Performance.getMetrics")["metrics"]}
    return metrics["JSHeapTotalSize"] / 1e6


def of_compiler() -> Measured:
    """The messages on each scheme's program, as one types."""

    def seconds(name: str) -> float:
        written = Written(name=name, text=(PROGRAMS / f"{name}.p4").read_text(encoding="utf-8"))
        return timed(lambda: list(written.source.problems()))

    return {"messages of the compiler, all schemes": ([seconds(name) for name in known_schemes()], "s", "0.1 s")}


def of_copies() -> Measured:
    """What copies of a run of 10^7 transmissions take: memory each, and time against the run without them."""
    experiment = prepare(make_spec(LARGE))
    cell = Cell(experiment, experiment.schemes[0], 1)

    def alone() -> None:
        run = session(cell)
        while not run.ended:
            run.run(MILLION * MILLION, MILLION)

    sizes, times, counts = [], [], []
    for _ in range(ROUNDS):
        without = timed(alone)
        begun = time.perf_counter()
        held = Playback(cell, lambda *_: None)
        times.append(100 * ((time.perf_counter() - begun) / without - 1))
        counts.append(float(len(held.past)))
        with_copies = memory_mb()
        held.end()
        sizes.append((with_copies - memory_mb()) / counts[-1])
    return {
        "copies of a run of 10^7 transmissions": (counts, "", ""),
        "memory of a copy": (sizes, "MB", ""),
        "copies: more time": (times, "%", ""),
    }


def memory_mb() -> float:
    """What this process and its children have, with shared pages counted once."""
    own = Path("/proc/self")
    children = (own / f"task/{own.resolve().name}/children").read_text(encoding="ascii").split()
    rollups = [(Path("/proc") / pid / "smaps_rollup").read_text(encoding="ascii") for pid in ("self", *children)]
    return sum(int(line.split()[1]) for text in rollups for line in text.splitlines() if line.startswith("Pss:")) / 1e3


def of_runs() -> Measured:
    """What pictures and records of packets cost, as ratios of CPU time in turns with a run without them."""
    watched = [cpu_s(watched=True) / cpu_s() - 1 for _ in range(ROUNDS)]
    ring = [cpu_s() / cpu_s(trace_packets="all") for _ in range(ROUNDS)]
    # So few flows that all of their packets are about a million.
    few = {"flows": 620}
    every = [cpu_s(**few) / cpu_s(**few, trace_packets="last=1e7") for _ in range(ROUNDS)]
    experiment = prepare(make_spec(LARGE | few | {"trace_packets": "last=1e7"}))
    seen = Sim().run(Cell(experiment, experiment.schemes[0], 1), engine.new_watch())
    assert seen.packet_trace is not None
    packets = packet_table(seen.packet_trace)
    size = len(parquet.to_parquet(packets)) / packets.height
    return {
        "pictures: more CPU time": ([100 * each for each in watched], "%", "5 %"),
        "speed with the last million packets recorded": ([100 * each for each in ring], "%", "at least 50 %"),
        f"speed with all {packets.height:,} packets recorded": ([100 * each for each in every], "%", "at least 50 %"),
        "on disk, each packet": ([size], "bytes", "40 bytes"),
    }


def cpu_s(*, watched: bool = False, **settings: object) -> float:
    """CPU time of a cell, in seconds."""
    experiment = prepare(make_spec(LARGE | settings))
    watch, done = engine.new_watch(), Event()

    def take() -> None:
        while not done.wait(1 / PICTURES_PER_S):
            watch.picture()

    taker = Thread(target=take)
    if watched:
        taker.start()
    seen = Sim().run(replace(Cell(experiment, experiment.schemes[0], 1), threads=1), watch)
    done.set()
    if watched:
        taker.join()
    return seen.cpu_s


if __name__ == "__main__":
    main()
