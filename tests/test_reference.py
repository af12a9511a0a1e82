# SPDX-License-Identifier: MIT OR Apache-2.0
"""The committed reference of CI: a comparison with it finds regressions, and nothing else."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from marklab import __version__
from marklab.comparison.policy import read_policy
from marklab.comparison.side_by_side import Comparison, compare
from marklab.engine import binding as engine
from marklab.paths import REPOSITORY
from marklab.results.archive import open_collection
from marklab.results.collection import Collection
from marklab.sweeps.cluster import Workers
from marklab.sweeps.description import Sweep, read_sweep
from marklab.sweeps.execute import run_sweep

FOLDER = REPOSITORY / "results" / "reference"
POLICY = read_policy(FOLDER / "policy.yaml")

# A megabyte: it stays in the history of every clone.
LARGEST_BYTES = 10**6


@pytest.fixture(scope="module")
def reference() -> Collection:
    return open_collection(FOLDER)


def described() -> Sweep:
    return read_sweep(FOLDER / "sweep.yaml", {}, [], [])


def only(side: Collection, label: str) -> Collection:
    """One scheme of it."""
    points = []
    for point in side.points:
        kept = {label: point.summary.schemes[label]}
        points.append(replace(point, summary=point.summary.model_copy(update={"schemes": kept, "scheme": label})))
    return replace(side, points=tuple(points))


def made(out: Path, scheme: str, **more: object) -> Collection:
    """The reference sweep with one scheme."""
    sweep = described()
    settings = {**sweep.settings, "schemes": [scheme], "baseline": "none", **more}
    return open_collection(run_sweep(replace(sweep, settings=settings), out, Workers(2), lambda _: None))


def names(comparison: Comparison) -> Sequence[tuple[str, str]]:
    return [(each.rule, each.scheme) for each in comparison.broken]


def test_it_is_whole_and_small(reference: Collection) -> None:
    assert (reference.kind, reference.failed, reference.damaged, reference.missing) == ("sweep", (), (), 0)
    sweep = described()
    assert [dict(point.settings) for point in reference.points] == list(sweep.points())
    for point in reference.points:
        spec, labels = sweep.spec_at(point.settings)
        assert sorted(point.summary.schemes) == sorted(labels)
        assert point.summary.spec == spec.to_plain() | {"schemes": point.summary.spec["schemes"]}
        assert all(
            [seed.seed for seed in each.seeds] == [*spec.seed_numbers] for each in point.summary.schemes.values()
        )
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < LARGEST_BYTES


def test_it_is_of_this_version_of_the_lab(reference: Collection) -> None:
    """Otherwise every comparison with it is refused: `make reference`."""
    assert (reference.versions["marklab"], reference.versions["engine"]) == (__version__, engine.version())


def test_against_itself_it_is_green(reference: Collection) -> None:
    comparison = compare(reference, reference, POLICY)
    assert comparison.exit_code == 0
    assert {each.scheme for each in comparison.rules} == {*reference.points[0].summary.schemes, "NEW"}


def test_a_scheme_made_ten_percent_worse_is_red(reference: Collection, tmp_path: Path) -> None:
    """TCN marks at 1.5 T instead of T, as after an edit of its program."""
    shutil.copytree(REPOSITORY / "p4src", tmp_path / "p4src")
    program = tmp_path / "p4src" / "v1model" / "tcn.p4"
    text = program.read_text()
    assert text.count("q.sojourn_us, t,") == 1
    program.write_text(text.replace("q.sojourn_us, t,", "q.sojourn_us, t + (t >> 1),"))

    comparison = compare(only(reference, "tcn"), made(tmp_path, str(program)), POLICY)
    assert comparison.exit_code == 1
    assert ("short.mean > +5%", "tcn") in names(comparison)
    (short,) = [each for each in comparison.differences if each.metric.name == "short.mean"]
    (tail,) = [each for each in comparison.differences if each.metric.name == "short.p99"]
    # The 99th percentile of short flows grows by more than their mean: by 21 %, with an interval of 7 to 37 %. So it is
    # left to chance whether the rule of 20 % is broken as well.
    assert tail.relative is not None
    assert tail.relative > (short.relative or 0)
    assert short.relative == pytest.approx(0.10, abs=0.03)
    assert any(note == "programs differ: tcn" for note in comparison.notes)


@pytest.mark.parametrize("first_seed", [101, 201])
def test_other_seeds_are_green(reference: Collection, tmp_path: Path, first_seed: int) -> None:
    comparison = compare(only(reference, "tcn"), made(tmp_path, "tcn", first_seed=first_seed), POLICY)
    assert names(comparison) == []
    assert comparison.exit_code == 0
    assert all(not each.seeds.paired for each in comparison.differences)
