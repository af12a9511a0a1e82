# SPDX-License-Identifier: MIT OR Apache-2.0
"""The controller `acc` against static thresholds on a changing load: the table of docs/controllers.md.

.venv/bin/python bench/controllers.py [--transport ecn-star] [--tuning] [SETTING=VALUE ...]

The load changes every 50 ms: in turns four long flows with round trips of 20 us, beside short queries, and two long
flows with 210 us, with web search at 5 % beside both. Alone, the one load wants short queues, and the other one wants
K = C * RTT. The score of a seed is the geometric mean of the 99th percentile of short flows and the mean of large ones.
Ten thresholds of the same scheme are tried on the seeds of the comparison, so that the best of them has their
advantage, which the controller has not: its constants were chosen on other seeds (--tuning). Settings are its own.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from marklab import run
from marklab.results.metric import find_metric
from marklab.results.summary import SeedResult
from marklab.statistics.samples import mean, mean_interval

THRESHOLDS = (5, 10, 20, 30, 45, 65, 90, 120, 170, 250)
SEEDS = {"first_seed": 1, "seeds": 10}
TUNING = {"first_seed": 101, "seeds": 4}

PAIRS, PHASE_MS = 2, 300
# Rounds of flows in a phase, of which each has time to finish.
ROUND_MS = 50
NEAR = {"size": "11MB"}
FAR = {"size": "20MB", "extra_delay": "190us"}


def starts_ms(second: bool) -> list[int]:
    """When rounds begin, in the first or the second phase of all pairs."""
    begins = [PHASE_MS * (2 * pair + second) for pair in range(PAIRS)]
    return [begin + at for begin in begins for at in range(0, PHASE_MS, ROUND_MS)]


def long_flows() -> list[dict[str, Any]]:
    """Four near ones in each round of first phases, two far ones in each of second ones."""
    rounds = [(start, NEAR, 4) for start in starts_ms(second=False)] + [
        (start, FAR, 2) for start in starts_ms(second=True)
    ]
    return [
        {"from": f"h{number}", "to": "h16", "start": f"{start}ms", **flow}
        for start, flow, senders in rounds
        for number in range(senders)
    ]


def query_times() -> list[str]:
    """Every 500 us in rounds of first phases, but not at their ends."""
    return [f"{1000 * start + at_us}us" for start in starts_ms(second=False) for at_us in range(1000, 48_000, 500)]


LOAD: dict[str, Any] = {
    "topology": "incast:senders=16",
    "rtt": "20us",
    "workload": "web_search",
    "load": 0.05,
    "flows": 40,
    "queries": {"senders": 4, "at": query_times()},
    "added_flows": long_flows(),
    "baseline": "none",
}

SHOWN = ("short.mean", "short.p99", "large.mean", "overall.mean")
SCORED = ("short.p99", "large.mean")


def seeds_of(schemes: Sequence[str], **settings: Any) -> dict[str, Sequence[SeedResult]]:
    """The numbers of each seed, by scheme."""
    with tempfile.TemporaryDirectory() as folder:
        found = run(schemes, **LOAD, **settings, out=Path(folder)).numbers.schemes
    return {label: scheme.seeds for label, scheme in found.items()}


def value(seed: SeedResult, metric: str) -> float:
    """A number of a seed."""
    found = find_metric(metric).of(seed)
    assert found is not None, f"seed {seed.seed} has no {metric}"
    return found


def log_score(seed: SeedResult) -> float:
    """What is compared, as a logarithm: less is better."""
    return mean([math.log(value(seed, metric)) for metric in SCORED])


def show(label: str, seeds: Sequence[SeedResult], beside: Sequence[SeedResult]) -> None:
    """A row of the table: means in us, lost packets, and the ratio of scores with its interval."""
    times = [f"{mean([value(seed, metric) for seed in seeds]):,.0f}" for metric in SHOWN]
    logs = [log_score(seed) - log_score(other) for seed, other in zip(seeds, beside, strict=True)]
    low, middle, high = (math.exp(each) for each in sorted([mean(logs), *(mean_interval(logs) or ())]))
    lost = sum(seed.drops.total for seed in seeds)
    sys.stdout.write(f"| {label} | {' | '.join(times)} | {lost:,} | {middle:.3f} ({low:.3f} to {high:.3f}) |\n")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--transport", default="dctcp")
    parser.add_argument("--tuning", action="store_true", help="the seeds on which constants are chosen")
    parser.add_argument("settings", nargs="*", metavar="SETTING=VALUE")
    given = parser.parse_args()
    settings = {"transport": given.transport, **(TUNING if given.tuning else SEEDS)}
    static = seeds_of([f"acc:k_max={k}" for k in THRESHOLDS], **settings)
    controller = ":".join(["acc", *filter(None, [",".join(given.settings)])])
    (tuned,) = seeds_of(["acc"], **settings, controller=controller).values()
    best = min(static, key=lambda label: mean([log_score(seed) for seed in static[label]]))
    columns = ("", *SHOWN, "lost packets", f"score / {best}")
    sys.stdout.write(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}\n")
    for label, seeds in (static | {"controller": tuned}).items():
        show(label, seeds, static[best])


if __name__ == "__main__":
    main()
