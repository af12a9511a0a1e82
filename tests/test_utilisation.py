# SPDX-License-Identifier: MIT OR Apache-2.0
"""How busy lines are, by tier, and which are the busiest."""

from __future__ import annotations

import dataclasses
import functools
import io
import math
from collections.abc import Sequence

import pytest
from rich.console import Console

from collections_of_runs import collection_of, run_with_curves
from marklab.metrics.utilisation import of_all_lines
from marklab.prepare.experiment import Experiment
from marklab.report.page import report_page
from marklab.report.terminal import print_run
from marklab.results.collection import Point
from marklab.results.observation import Observation
from marklab.results.seeds import scheme_result
from marklab.results.summary import BusyLine, LineUse, Summary, TierUse, read_summary
from runs import run, small

LETTERS = {"h": "host", "l": "leaf", "p": "spine"}


@functools.cache
def leaf_spine() -> tuple[Experiment, Sequence[Observation], Summary]:
    return run(topology="leaf-spine:leaves=3,spines=2,hosts=2", flows=200)


def test_one_long_flow_by_hand() -> None:
    """100 segments of 1,538 bytes on a line of 10 Gb/s, and as many ACKs of 84 bytes, in the millisecond until the
    next flow begins. Its first frame has 1,078 bytes and counts as a whole on its first line.
    """
    flows = [{"from": "h0", "to": "h1", "size": "146KB"}, {"from": "h0", "to": "h1", "size": "1KB", "start": "1ms"}]
    topology = "leaf-spine:leaves=2,spines=1,hosts=1"
    _, _, summary = run(topology=topology, flows=0, added_flows=flows, seeds=1, baseline="none")
    data, acks, begun = 123_040, 6_720, 862
    inner = TierUse(lines=2, mean=(data + acks) / 2e6, max=data / 1e6)
    assert summary.main.line_use == LineUse(
        tiers={
            "host -> leaf": TierUse(lines=2, mean=(data + begun + acks) / 2e6, max=(data + begun) / 1e6),
            "leaf -> spine": inner,
            "spine -> leaf": inner,
            "leaf -> host": inner,
        },
        busiest=(
            BusyLine(line="h0 -> l0", utilisation=(data + begun) / 1e6, seed=1),
            BusyLine(line="l1:0 -> h1", utilisation=data / 1e6, seed=1),
            BusyLine(line="l0:1 -> p0", utilisation=data / 1e6, seed=1),
            BusyLine(line="p0:1 -> l1", utilisation=data / 1e6, seed=1),
            BusyLine(line="l0:0 -> h0", utilisation=acks / 1e6, seed=1),
        ),
    )


def test_tiers_are_those_of_a_second_implementation() -> None:
    """By the letters of the nodes' names."""
    _, observations, summary = leaf_spine()
    for result in summary.schemes.values():
        for seed in result.seeds:
            (seen,) = (seen for seen in observations if (seen.scheme, seen.seed) == (result.label, seed.seed))
            busy: dict[str, list[float]] = {}
            for line in seen.report["lines"]:
                direction = " -> ".join(LETTERS[line[end][0][0]] for end in ("from", "to"))
                part = line["busy_during_arrivals_ns"] / seen.report["arrivals_end_ns"]
                busy.setdefault(direction, []).append(min(1.0, part))
            assert seed.line_use is not None
            assert list(seed.line_use.tiers) == ["host -> leaf", "leaf -> spine", "spine -> leaf", "leaf -> host"]
            for direction, use in seed.line_use.tiers.items():
                assert (use.lines, use.max) == (6, max(busy[direction]))
                assert use.mean == pytest.approx(math.fsum(busy[direction]) / 6)
            # The bottleneck is the lines from leaves to spines.
            assert seed.line_use.tiers["leaf -> spine"].mean == pytest.approx(seed.utilisation)
            found = [each.utilisation for each in seed.line_use.busiest]
            assert found == sorted((part for parts in busy.values() for part in parts), reverse=True)[:5]


def test_until_counts_the_whole_run() -> None:
    settings = {"topology": "leaf-spine:leaves=3,spines=2,hosts=2", "until": "2ms", "seeds": 1, "baseline": "none"}
    _, (seen,), summary = run(flows=200, **settings)
    assert summary.main.line_use is not None
    busiest = max(line["busy_ns"] for line in seen.report["lines"])
    assert summary.main.line_use.busiest[0].utilisation == min(1.0, busiest / seen.report["end_ns"])
    assert summary.main.line_use.tiers["leaf -> spine"].mean == pytest.approx(summary.main.utilisation)


def use(seed: int, **busiest: float) -> LineUse:
    lines = tuple(BusyLine(line=line, utilisation=part, seed=seed) for line, part in busiest.items())
    largest = lines[0].utilisation
    return LineUse(tiers={"host -> leaf": TierUse(lines=4, mean=largest / 2, max=largest)}, busiest=lines)


def test_seeds_have_means_by_tier_and_their_busiest_lines() -> None:
    first, second = small()[2].main.seeds
    each = (use(1, a=0.9, b=0.8, c=0.7, d=0.6, e=0.5), use(2, f=0.7, b=0.65, a=0.3, g=0.2, h=0.1))
    seeds = [seed.model_copy(update={"line_use": own}) for seed, own in zip((first, second), each, strict=True)]
    found = scheme_result("s", "p", {}, seeds).line_use
    assert found is not None
    assert found.tiers["host -> leaf"].model_dump() == pytest.approx({"lines": 4, "mean": 0.4, "max": 0.8})
    # Each line once, with its highest number; of equal ones the earlier seed is first.
    assert [(line.line, line.utilisation, line.seed) for line in found.busiest] == [
        ("a", 0.9, 1), ("b", 0.8, 1), ("c", 0.7, 1), ("f", 0.7, 2), ("d", 0.6, 1),
    ]  # fmt: skip


def test_it_is_unknown_with_one_switch_or_where_lines_were_not_observed() -> None:
    assert small()[2].main.line_use is None
    experiment, (seen, *_), _ = leaf_spine()
    assert of_all_lines(experiment, seen) is not None
    for changes in ({"lines": []}, {"lines": seen.report["lines"][:-1]}, {"arrivals_end_ns": 0}):
        other = dataclasses.replace(seen, report={**seen.report, **changes})  # type: ignore[typeddict-item]
        assert of_all_lines(experiment, other) is None


def test_it_is_in_the_summary_and_not_in_older_ones() -> None:
    _, _, summary = leaf_spine()
    plain = summary.to_json()
    assert read_summary(plain) == summary
    assert plain["line_use"]["tiers"]["leaf -> spine"]["lines"] == 6
    for result in plain["schemes"].values():
        for each in (result, *result["seeds"]):
            del each["line_use"]
    old = read_summary(plain)
    assert old.main.line_use is None
    assert old.main.model_copy(update={"line_use": summary.main.line_use, "seeds": ()}) == summary.main.model_copy(
        update={"seeds": ()}
    )


def printed(summary: Summary, width: int) -> str:
    console = Console(width=width, file=io.StringIO(), record=True)
    print_run(summary, console)
    return console.export_text()


@pytest.mark.parametrize("width", [60, 80])
def test_the_terminal_shows_it_with_several_switches(width: int) -> None:
    _, _, summary = leaf_spine()
    text = printed(summary, width)
    assert all(len(line) <= width for line in text.splitlines())
    rows = text[text.index("utilisation: mean max") :].splitlines()[1:5]
    assert summary.main.line_use is not None
    for row, (direction, found) in zip(rows, summary.main.line_use.tiers.items(), strict=True):
        assert row.startswith(f"  {direction} ")
        assert f" {found.mean:.1%} {found.max:.1%} " in row
    first = summary.main.line_use.busiest[0]
    assert f"ecn-sharp, busiest lines: {first.line.replace(' -> ', '→')} {first.utilisation:.0%}, " in text
    alone = printed(small()[2], width)
    assert "utilisation: mean max" not in alone
    assert "busiest lines" not in alone


def test_the_page_shows_it_for_a_run_with_several_switches() -> None:
    settings = {"topology": "leaf-spine:leaves=3,spines=2,hosts=2", "flows": 60, "seeds": 1}
    summary, curves = run_with_curves(**settings)
    points = tuple(Point({"load": load}, summary, curves) for load in (0.5, 0.8))
    html = report_page(collection_of(points[:1], "run"))
    assert summary.main.line_use is not None
    first = summary.main.line_use.busiest[0]
    assert '<h2 id="lines">Utilisation of lines</h2>' in html
    assert html.count("leaf -&gt; spine</th>") == 2, "also among all numbers"
    assert f"{first.line.replace('>', '&gt;')} {first.utilisation:.1%} seed {first.seed}" in html
    assert 'id="lines"' not in report_page(collection_of(points, "sweep"))
    old = summary.model_copy(
        update={"schemes": {label: it.model_copy(update={"line_use": None}) for label, it in summary.schemes.items()}}
    )
    assert 'id="lines"' not in report_page(collection_of((Point({}, old, curves),), "run"))
