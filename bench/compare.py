# SPDX-License-Identifier: MIT OR Apache-2.0
"""How reliable comparisons with the reference sweep are: false alarms, regressions found, coverage of intervals.

.venv/bin/python bench/compare.py [FOLDER]

Runs the reference sweep with 20 other sets of seeds, and for each set a TCN that is 10 % worse: 20 minutes of CPU time.
Sweeps are kept in FOLDER (default: target/bench-compare), and are not run again.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import stats

from marklab.comparison.differences import Values, difference
from marklab.comparison.policy import read_policy
from marklab.comparison.side_by_side import Comparison, compare
from marklab.paths import REPOSITORY
from marklab.results.archive import open_collection
from marklab.results.collection import Collection
from marklab.results.metric import find_metric
from marklab.results.summary import SeedResult
from marklab.statistics.bootstrap import EstimatedDifference, half_widths

REFERENCE = REPOSITORY / "results" / "reference"
POLICY = read_policy(REFERENCE / "policy.yaml")

FIRST_SEEDS = range(101, 2002, 100)

# TCN marks at 1.625 T instead of T.
SOUND, WORSE = "q.sojourn_us, t,", "q.sojourn_us, t + (t >> 1) + (t >> 3),"

METRICS = ("short.mean", "short.p99", "overall.mean", "large.mean")
TRIALS, RESAMPLES = 1000, 1000
PAIRS_OF_SETS = 300


def swept(folder: Path, *more: str) -> Collection:
    """The reference sweep with other settings. A sweep that exists is not run again."""
    if not list(folder.glob("*/plan.json")):
        shutil.rmtree(folder, ignore_errors=True)
        given = ["sweep", str(REFERENCE / "sweep.yaml"), "--no-flows", "--no-report", "--out", str(folder), *more]
        command = [sys.executable, str(REPOSITORY / "orchestrator.py"), *given]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (found,) = folder.glob("*/plan.json")
    collection = open_collection(found.parent)
    assert (collection.failed, collection.missing, collection.damaged) == ((), 0, ())
    return collection


def worse_program(folder: Path) -> Path:
    """Copy the schemes, make TCN worse, and return its program."""
    shutil.copytree(REPOSITORY / "p4src", folder, dirs_exist_ok=True)
    program = folder / "v1model" / "tcn.p4"
    text = (REPOSITORY / "p4src" / "v1model" / "tcn.p4").read_text(encoding="utf-8")
    assert text.count(SOUND) == 1
    program.write_text(text.replace(SOUND, WORSE), encoding="utf-8")
    return program


def with_seeds(side: Collection, of: Callable[[int, str], Iterable[SeedResult]]) -> Collection:
    """The sweep with other seeds. `of` returns them for the number of a point and a scheme."""
    points = []
    for place, point in enumerate(side.points):
        schemes = {
            label: result.model_copy(update={"seeds": tuple(of(place, label))})
            for label, result in point.summary.schemes.items()
        }
        points.append(replace(point, summary=point.summary.model_copy(update={"schemes": schemes})))
    return replace(side, points=tuple(points))


def seeds_of(sides: Sequence[Collection], place: int, label: str) -> list[SeedResult]:
    """All seeds of all sweeps."""
    return [seed for side in sides for seed in side.points[place].summary.schemes[label].seeds]


def with_worse_tcn(side: Collection, worse: Collection) -> Collection:
    """A sweep as it would be if TCN were the worse one."""
    return with_seeds(side, lambda place, label: seeds_of([worse if label == "tcn" else side], place, label))


def percent(part: float | None) -> str:
    """A change."""
    return "-" if part is None else f"{100 * part:+.1f} %"


def row(*cells: object) -> None:
    """Print one line of a table."""
    sys.stdout.write(f"| {' | '.join(map(str, cells))} |\n")


def head(title: str, *columns: str) -> None:
    """Print the head of a table."""
    sys.stdout.write(f"\n{title}\n\n")
    row(*columns)
    row("---", *("---:" for _ in columns[1:]))


def largest(comparison: Comparison, metric: str) -> float:
    """The largest change of a metric over all schemes."""
    found = [each.relative or 0 for each in comparison.differences if each.metric.name == metric]
    return max(found, key=abs)


def reseeded(reference: Collection, sides: Sequence[Collection]) -> None:
    """Other seeds against the reference: nothing has changed, so no rule may be broken."""
    head("Re-seeded, against the reference", "first seed", "exit code", *(f"largest {name}" for name in METRICS))
    codes = []
    for first_seed, side in zip(FIRST_SEEDS, sides, strict=True):
        comparison = compare(reference, side, POLICY)
        codes.append(comparison.exit_code)
        row(first_seed, codes[-1], *(percent(largest(comparison, name)) for name in METRICS))
    sys.stdout.write(f"\n{codes.count(0)} of {len(codes)} are green\n")


def false_alarms(sides: Sequence[Collection]) -> None:
    """Compare random sets of seeds with each other: how often a comparison of equal schemes fails."""
    random, alarms = np.random.default_rng(1), dict.fromkeys((0.01, 0.1), 0)
    count = len(sides[0].points[0].summary.main.seeds)

    def chosen(numbers: Sequence[int]) -> Collection:
        def of(place: int, label: str) -> Iterator[SeedResult]:
            everything = seeds_of(sides, place, label)
            return (everything[number] for number in numbers)

        return with_seeds(sides[0], of)

    for _ in range(PAIRS_OF_SETS):
        drawn = random.permutation(len(sides) * count)[: 2 * count].tolist()
        base, new = chosen(drawn[:count]), chosen(drawn[count:])
        for wanted in alarms:
            alarms[wanted] += compare(base, new, POLICY.model_copy(update={"false_alarms": wanted})).exit_code
    head(f"{PAIRS_OF_SETS} pairs of other sets of seeds", "false_alarms", "red")
    for wanted, red in alarms.items():
        row(f"{100 * wanted:g} %", f"{100 * red / PAIRS_OF_SETS:.1f} %")


def regressions(pairs: Sequence[tuple[int, Collection, Collection]]) -> None:
    """TCN made worse, against the sweep with the same seeds."""
    head("TCN made worse, on the same seeds", "first seed", "exit code", "broken rules", "short.mean", "95 %")
    codes = []
    for first_seed, base, new in pairs:
        comparison = compare(base, new, POLICY)
        codes.append(comparison.exit_code)
        broken = "; ".join(f"{each.scheme}: {each.rule}" for each in comparison.broken)
        (short,) = [each for each in comparison.differences if (each.scheme, each.metric.name) == ("tcn", "short.mean")]
        low, high = short.interval or (0, 0)
        row(first_seed, codes[-1], broken or "none", percent(short.relative), f"{percent(low)} to {percent(high)}")
    sys.stdout.write(f"\n{codes.count(1)} of {len(codes)} are red\n")


def with_other_seeds(reference: Collection, sides: Sequence[Collection]) -> None:
    """All mean FCTs of TCN made larger, on other flows than those of the reference."""
    head("TCN's mean FCTs larger, with other seeds", "by", "red")
    for part in (0.1, 0.3, 0.4, 0.5, 0.6):
        codes = [compare(reference, with_larger_means(side, 1 + part), POLICY).exit_code for side in sides]
        row(percent(part), f"{codes.count(1)} of {len(codes)}")


def with_larger_means(side: Collection, factor: float) -> Collection:
    """A sweep in which TCN's mean FCTs are larger by a factor, in all classes that have flows."""

    def of(place: int, label: str) -> Iterator[SeedResult]:
        for seed in seeds_of([side], place, label):
            larger = {
                name: sample if sample.mean is None else sample.model_copy(update={"mean": factor * sample.mean})
                for name, sample in seed.fct_us.items()
            }
            yield seed.model_copy(update={"fct_us": larger}) if label == "tcn" else seed

    return with_seeds(side, of)


def by_seed(sides: Sequence[Collection], scheme: str, metric: str) -> list[tuple[float, ...]]:
    """The metric at each point, for each seed of all sweeps."""
    of = find_metric(metric).of
    columns = [[of(seed) for seed in seeds_of(sides, place, scheme)] for place in range(len(sides[0].points))]
    return [tuple(float(value or 0) for value in values) for values in zip(*columns, strict=True)]


def coverage(sides: Sequence[Collection], worse: Sequence[Collection]) -> None:
    """How often 95 % intervals miss the true value, if a few seeds are drawn from all of them."""
    head(
        "95 % intervals over both loads that miss the true value (aim: 5 %)",
        *("seeds", "sides", "metric", "percentiles", "Student's t", "bootstrap-t", "as wide as t"),
    )
    random = np.random.default_rng(1)
    for count in (5, 8, 10, 12):
        for paired in (True, False):
            for metric in ("short.mean", "short.p99", "overall.mean"):
                base = by_seed(sides, "tcn", metric)
                new = by_seed(worse, "tcn", metric) if paired else base
                row(count, "pairs" if paired else "groups", metric, *_misses(random, base, new, count, paired=paired))


def _misses(
    random: np.random.Generator,
    base: Sequence[tuple[float, ...]],
    new: Sequence[tuple[float, ...]],
    count: int,
    *,
    paired: bool,
) -> Iterator[str]:
    everything = range(len(base))
    truth = _estimate(base, new, everything, everything, paired=paired).value
    drawn = [random.integers(0, len(base), (2, count)) for _ in range(TRIALS)]
    found = [_estimate(base, new, one, one if paired else other, paired=paired) for one, other in drawn]
    errors = np.array([each.value - truth for each in found])
    ends = np.array([_percentiles(random, each) for each in found])
    yield f"{100 * np.mean((errors + ends[:, 0] > 0) | (errors + ends[:, 1] < 0)):.1f} %"
    students = np.array([stats.t.ppf(0.975, each.freedom) * (each.error or 0) for each in found])
    halves = np.array(half_widths(found), dtype=float)
    for half in (students, halves):
        yield f"{100 * np.mean(np.abs(errors) > half):.1f} %"
    yield f"{np.median(halves / students):.2f}"


def _estimate(
    base: Sequence[tuple[float, ...]],
    new: Sequence[tuple[float, ...]],
    of_base: Sequence[int],
    of_new: Sequence[int],
    *,
    paired: bool,
) -> EstimatedDifference:
    values = [
        Values(
            {number: base[seed][point] for number, seed in enumerate(of_base)},
            {number: new[seed][point] for number, seed in enumerate(of_new)},
            paired,
        )
        for point in range(len(base[0]))
    ]
    ratio = difference("tcn", find_metric("short.mean"), None, values, 0).ratio
    assert ratio is not None
    return ratio


def _percentiles(random: np.random.Generator, estimate: EstimatedDifference) -> tuple[float, float]:
    """The 2.5th and 97.5th percentile of plain resamples, as deviations from the estimate."""
    means = [
        each[random.integers(0, len(each), (RESAMPLES, len(each)))].mean(axis=1) for each in estimate.contributions
    ]
    deviations = means[0] if estimate.seeds.paired else means[1] - means[0]
    low, high = np.quantile(deviations, [0.025, 0.975])
    return float(low), float(high)


def main() -> None:
    """Print all tables."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else REPOSITORY / "target" / "bench-compare"
    reference = open_collection(REFERENCE)
    program = worse_program(folder / "p4src")
    made: dict[int, Collection] = {}
    worse: dict[int, Collection] = {}
    for first_seed in (1, *FIRST_SEEDS):
        seeds = ("--set", f"first_seed={first_seed}")
        made[first_seed] = reference if first_seed == 1 else swept(folder / f"reseeded-{first_seed}", *seeds)
        worse[first_seed] = swept(
            folder / f"worse-{first_seed}", "-s", str(program), "--set", "baseline=none", "--name", "worse", *seeds
        )
    others = [made[first_seed] for first_seed in FIRST_SEEDS]
    start_s = time.process_time()
    reseeded(reference, others)
    sys.stdout.write(f"{(time.process_time() - start_s) / len(others):.2f} CPU s each\n")
    false_alarms(others)
    regressions([(seed, made[seed], with_worse_tcn(made[seed], worse[seed])) for seed in (1, *FIRST_SEEDS)])
    with_other_seeds(reference, others)
    coverage(others, [worse[first_seed] for first_seed in FIRST_SEEDS])


if __name__ == "__main__":
    main()
