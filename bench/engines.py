# SPDX-License-Identifier: MIT OR Apache-2.0
"""The simulator of this checkout and of an earlier one: instructions and CPU time for each transmission.

    .venv/bin/python bench/engines.py ../before
    .venv/bin/python bench/engines.py ../before incast --stack rfc --pairs 20

Both play the flow lists of `bench/ns3.py`, each with the Python and the engine of its own checkout (`make setup`
there). Instructions are counted by callgrind (`apt-get install valgrind`), and are the difference of a long and a
short run, so that the start of Python does not count. CPU times come from runs in turn; the interval is that of the
mean ratio of pairs (Student's t).
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from marklab.statistics.samples import mean, mean_interval

HERE = Path(__file__).resolve().parent.parent
SCENARIOS = ("incast", "leaf-spine")
# Flows of the two runs that callgrind counts, and of the timed ones.
SHORT_FLOWS, LONG_FLOWS, TIMED_FLOWS = 20, 600, 2000

# Runs in the Python of a checkout, of any age since bench/ns3.py exists. A checkout without stacks takes none.
CHILD = """
import json, sys, tempfile
from pathlib import Path
tree, name, flows, stack = sys.argv[1:]
sys.path[:0] = [f"{tree}/bench", tree]
import ns3
if stack:
    ns3.TRANSPORT["stack"] = stack
scenario = ns3.SCENARIOS[name]()
with tempfile.TemporaryDirectory() as folder:
    listed, _ = ns3.draw_flows(scenario, int(flows), 1, Path(folder))
    run = ns3.run_marklab(ns3.experiment_of(scenario, ns3.DEFAULT, listed))
print(json.dumps({"transmissions": run.transmissions, "cpu_s": run.cpu_s}))
"""


@dataclass(frozen=True)
class Checkout:
    """A source tree, and the stack of its hosts."""

    tree: Path
    stack: str

    def command(self, scenario: str, flows: int) -> list[str]:
        """A run in a process of its own."""
        python = self.tree / ".venv" / "bin" / "python"
        return [str(python), "-c", CHILD, str(self.tree), scenario, str(flows), self.stack]

    def cpu_s(self, scenario: str) -> float:
        """CPU time of a transmission."""
        ran = _played(self.command(scenario, TIMED_FLOWS))
        return float(ran["cpu_s"]) / int(ran["transmissions"])

    def instructions(self, scenario: str) -> float:
        """Instructions of a transmission."""
        (few, some), (more, many) = (self._counted(scenario, flows) for flows in (SHORT_FLOWS, LONG_FLOWS))
        return (many - some) / (more - few)

    def _counted(self, scenario: str, flows: int) -> tuple[int, int]:
        """Transmissions and instructions of a whole run."""
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder) / "counts"
            callgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={output}"]
            ran = _played([*callgrind, *self.command(scenario, flows)])
            (total,) = re.findall(r"^(?:summary|totals): (\d+)", output.read_text(), re.MULTILINE)[:1]
        return int(ran["transmissions"]), int(total)


def _played(command: list[str]) -> dict[str, float]:
    # With a fixed seed of its hashes, Python executes the same instructions each time. Threads of numpy's BLAS spin for
    # a while after a call, and would take the core that is measured.
    settings = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **settings})
    if ran.returncode:
        raise SystemExit(f"{' '.join(command[:2])} failed:\n{ran.stderr}")
    return dict(json.loads(ran.stdout.splitlines()[-1]))


def main(
    before: Annotated[Path, typer.Argument(help="the earlier checkout, after `make setup`", exists=True)],
    names: Annotated[list[str] | None, typer.Argument(metavar="|".join(SCENARIOS))] = None,
    stack: Annotated[str, typer.Option(help="profile of the hosts here; that of its bench/ns3.py if left out")] = "",
    stack_before: Annotated[str, typer.Option(help="the same of the earlier checkout")] = "",
    pairs: Annotated[int, typer.Option(min=2, help="timed runs of each")] = 20,
) -> None:
    """Compare on scenarios; all of them if none is named."""
    if unknown := set(names or ()) - set(SCENARIOS):
        raise typer.BadParameter(f"there is no scenario {', '.join(sorted(unknown))}: {', '.join(SCENARIOS)}")
    old, new = Checkout(before.resolve(), stack_before), Checkout(HERE, stack)
    counts = shutil.which("valgrind") is not None
    if not counts:
        sys.stdout.write("instructions are not counted: valgrind is not found\n")
    columns = ["", "before", "here", "difference", "95 % interval"]
    table = Table(*columns, title=f"for each transmission, {pairs} pairs, hosts: {stack or 'those of bench/ns3.py'}")
    for name in names or SCENARIOS:
        if counts:
            one, other = old.instructions(name), new.instructions(name)
            table.add_row(f"{name}, instructions", f"{one:,.0f}", f"{other:,.0f}", f"{other / one - 1:+.1%}", "")
        runs = [(old.cpu_s(name), new.cpu_s(name)) for _ in track(range(pairs), console=Console(stderr=True))]
        logs = [math.log(other / one) for one, other in runs]
        low, high = (math.expm1(bound) for bound in mean_interval(logs) or (math.nan, math.nan))
        times = (f"{mean([run[side] for run in runs]) * 1e9:.1f}" for side in (0, 1))
        table.add_row(f"{name}, ns", *times, f"{math.expm1(mean(logs)):+.1%}", f"{low:+.1%} to {high:+.1%}")
    Console(width=max(100, Console().width)).print(table)


if __name__ == "__main__":
    typer.run(main)
