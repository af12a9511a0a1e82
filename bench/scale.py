# SPDX-License-Identifier: MIT OR Apache-2.0
"""Whole large runs, as a user starts them, on one core: wall time, CPU time and memory of the process.

.venv/bin/python bench/scale.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parent.parent

LEAF_SPINE = "--topology leaf-spine:leaves=8,spines=8,hosts=16 --rtt 80us..240us,mean=137us,p90=220us"
# Name, arguments, largest wall time in s, largest memory in MB.
RUNS: list[tuple[str, str, float, float]] = [
    ("7 -> 1, 80 %, 10,000 flows, DCTCP-RED", "--scheme dctcp-red --load 0.8 --flows 10000", 40, 1000),
    ("7 -> 1, 80 %, 10,000 flows, ECN#", "--scheme ecn-sharp --load 0.8 --flows 10000", 40, 1000),
    (
        "8 x 8 x 16, 60 %, 5,000 flows, ECN#",
        f"--scheme ecn-sharp --load 0.6 --flows 5000 {LEAF_SPINE}",
        300,
        2000,
    ),
]


def measure(arguments: str) -> tuple[float, float, float, int]:
    """Wall time and CPU time in s, memory in MB and link transmissions of a run with one seed and no baseline."""
    with tempfile.TemporaryDirectory() as out:
        options = ["--baseline", "none", "--seeds", "1", "--jobs", "1", "--json", "--out", out]
        command = [sys.executable, "orchestrator.py", *arguments.split(), *options]
        core = min(os.sched_getaffinity(0))
        start = time.monotonic()
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, preexec_fn=lambda: os.sched_setaffinity(0, {core})
        )
        assert process.stdout is not None
        summary = json.loads(process.stdout.read())
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.monotonic() - start
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    return wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, summary["link_transmissions"]


def main() -> None:
    """Run all and print a table; exit code 1 if a bound is missed."""
    table = Table("run", "wall s", "bound", "CPU s", "memory MB", "bound", "transmissions")
    missed = False
    for name, arguments, most_s, most_mb in RUNS:
        wall_s, cpu_s, memory_mb, transmissions = measure(arguments)
        missed |= wall_s > most_s or memory_mb > most_mb
        numbers = f"{wall_s:.1f}", f"{most_s:.0f}", f"{cpu_s:.1f}", f"{memory_mb:.0f}", f"{most_mb:.0f}"
        table.add_row(name, *numbers, f"{transmissions:,}")
    Console(width=max(110, Console().width)).print(table)
    sys.exit(missed)


if __name__ == "__main__":
    main()
