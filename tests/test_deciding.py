# SPDX-License-Identifier: MIT OR Apache-2.0
"""More seeds for claims that are undetermined."""

import json
from collections.abc import Callable, Sequence
from math import ceil
from pathlib import Path
from typing import Any

import pytest

from comparisons import scheme, seed, summary
from conftest import Finished
from marklab.model import validate
from marklab.papers import records
from marklab.papers.deciding import sizes_to_decide
from marklab.papers.experiment import Column, PaperExperiment, Size, runs_of
from marklab.papers.findings import examine
from marklab.papers.papers import columns_of
from marklab.papers.records import read_record, staleness
from marklab.papers.reproduction import Reproduction, reproduce_one
from marklab.results.summary import Summary

Cli = Callable[..., Finished]


def ran(claims: Sequence[dict[str, Any]], points: dict[float, tuple[Sequence[float], Sequence[float]]]) -> Reproduction:
    """An experiment over loads, with the times of tcn and red by load and seed."""
    plain = {
        "title": "t",
        "paper": "p",
        "schemes": ["tcn", "red"],
        "grid": {"load": list(points)},
        "claims": [{"where": "1", "weight": "figure", "metric": "short.mean", "of": "tcn", **each} for each in claims],
    }
    paper = validate(PaperExperiment, plain, "an experiment")
    summaries: list[Summary | None] = [
        summary(
            [
                scheme(label, [seed(at, value, f"flows {at}") for at, value in enumerate(values)])
                for label, values in zip(("tcn", "red"), both, strict=True)
            ]
        )
        for both in points.values()
    ]
    return Reproduction("it", paper, examine(paper, summaries), summaries, Path())


# 88, 100 and 112 to 100: -0.0 ±29.8 %, with an edge of the tolerance at 10 %.
WIDE = ((88, 100, 112), (100, 100, 100))
NARROW = ((99, 100, 101), (100, 100, 100))


def test_an_undetermined_claim_gets_the_seeds_that_its_interval_needs() -> None:
    claim = {"says": "a", "over": "red", "at": {"load": 0.5}, "paper": 0}
    done = ran([claim], {0.5: WIDE})
    needed = done.findings[0].seeds_needed
    assert needed == 9
    assert sizes_to_decide(done, 9) == (Size(at={"load": 0.5}, seeds=14),)  # half as many again
    assert sizes_to_decide(done, 8) == ()


def test_decided_claims_get_none() -> None:
    done = ran([{"says": "a", "over": "red", "at": {"load": 0.5}, "paper": 0}], {0.5: NARROW})
    assert sizes_to_decide(done, 1000) == ()


def test_a_point_has_the_seeds_of_the_claim_that_needs_most() -> None:
    more = {"over": "red", "at": {"load": 0.5}}
    done = ran([{"says": "a", "paper": 0, **more}, {"says": "b", "paper": 1, **more}], {0.5: WIDE})
    most = max(finding.seeds_needed or 0 for finding in done.findings)
    assert most > 9
    assert sizes_to_decide(done, 1000) == (Size(at={"load": 0.5}, seeds=ceil(1.5 * most)),)


@pytest.mark.parametrize(("take", "far"), [("lowest", 150), ("highest", 50), ("farthest", 100)])
def test_of_an_extreme_only_points_that_may_be_it_get_more(take: str, far: float) -> None:
    """The wide point may be the extreme, and the other one, which is narrow, cannot be."""
    other = ((far - 0.1, far, far + 0.1), (100, 100, 100))
    bound = {"bound": "within", "paper": 5} if take == "farthest" else {"paper": 0}
    done = ran([{"says": "a", "over": "red", "take": take, **bound}], {0.1: other, 0.5: WIDE})
    assert {size.at["load"] for size in sizes_to_decide(done, 1000)} == {0.5}


def test_both_points_of_a_comparison_get_more() -> None:
    claim = {"says": "a", "over": "tcn", "at": {"load": 0.5}, "over_at": {"load": 0.1}, "paper": 0}
    done = ran([claim], {0.1: NARROW, 0.5: WIDE})
    assert [size.at for size in sizes_to_decide(done, 1000)] == [{"load": 0.5}, {"load": 0.1}]


# Two seeds of 100 flows leave its claims undetermined.
NAME = "mqecn-minimum"


def test_the_cells_of_the_first_run_are_not_run_again(tmp_path: Path) -> None:
    paper = columns_of(NAME)[Column.PRINTED]
    small = paper.with_effort(paper.quick.model_copy(update={"flows": 60, "seeds": 2}))
    first = reproduce_one(NAME, small, tmp_path, "it", 2)
    point = next(small.points())
    again = reproduce_one(NAME, small.with_seeds([Size(at=point, seeds=3)]), tmp_path, "it", 2, known=first.folder)
    cells = sum(len(labels) * len(spec.seed_numbers) for _, spec, labels in runs_of(small))
    assert again.kept == cells
    assert again.summaries[1:] == first.summaries[1:]
    more = again.summaries[0]
    assert more is not None
    assert {len(result.seeds) for result in more.schemes.values()} == {3}


def test_a_record_has_the_seeds_that_decided(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "FOUND", tmp_path / "found")
    size = ["--flows", "100", "--seeds", "2", "--column", "printed"]
    done = cli("reproduce", NAME, *size, "--decide", "6", "--record", "--json", "--out", str(tmp_path))
    assert done.code == 0, done.err
    run = read_record(NAME).runs[Column.PRINTED]
    assert run.decide
    claims = json.loads(done.out)["columns"][0]["claims"]
    assert max(claim["seeds"] for claim in claims) == max(each.seeds or 0 for each in run.decide)
    paper = columns_of(NAME)[Column.PRINTED]
    assert staleness(paper, run) is None
    assert staleness(paper, run.model_copy(update={"decide": ()})) == "the experiment has changed"
