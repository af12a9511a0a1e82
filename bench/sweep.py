# SPDX-License-Identifier: MIT OR Apache-2.0
"""A sweep as a user starts it, with one worker and with two: wall time, and CPU time outside the engine.

.venv/bin/python bench/sweep.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parent.parent

# 4 schemes x 4 loads x 5 seeds, 5,000 flows as in the testbed of the ECN# paper: 80 cells.
SWEEP = """
schemes: [ecn-sharp, tcn, codel]
flows: 5000
seeds: 5
grid:
  load: [0.3, 0.5, 0.7, 0.9]
"""

MOST_OVERHEAD, LEAST_SPEEDUP = 0.05, 1.8


def measure(folder: Path, workers: int) -> tuple[float, float, float, int]:
    """Wall time, CPU time of all processes, CPU time in the engine, all in s, and cells."""
    file = folder / "sweep.yaml"
    file.write_text(SWEEP, encoding="utf-8")
    out = folder / str(workers)
    command = [sys.executable, "orchestrator.py", "sweep", str(file), "-j", str(workers), "--out", str(out)]
    start = time.monotonic()
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    # The usage covers the process and the children that it waited for, its workers.
    _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.monotonic() - start
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    cells = pl.read_parquet(out / "*" / "cells" / "*.parquet")
    return wall_s, usage.ru_utime + usage.ru_stime, float(cells["engine_cpu_s"].sum()), cells.height


def main() -> None:
    """Measure, print a table; exit code 1 if a bound is missed."""
    table = Table("workers", "cells", "wall s", "CPU s", "of it the engine's", "overhead", "bound")
    walls, missed = {}, False
    with tempfile.TemporaryDirectory() as folder:
        for workers in (1, 2):
            wall_s, cpu_s, engine_s, cells = measure(Path(folder), workers)
            overhead = 1 - engine_s / cpu_s
            walls[workers] = wall_s
            missed |= overhead > MOST_OVERHEAD
            figures = (f"{wall_s:.1f}", f"{cpu_s:.1f}", f"{engine_s:.1f}", f"{overhead:.1%}", f"{MOST_OVERHEAD:.0%}")
            table.add_row(str(workers), str(cells), *figures)
    console = Console()
    console.print(table)
    speedup = walls[1] / walls[2]
    missed |= speedup < LEAST_SPEEDUP
    console.print(f"two workers are {speedup:.2f} times as fast as one (bound {LEAST_SPEEDUP})")
    sys.exit(missed)


if __name__ == "__main__":
    main()
