# SPDX-License-Identifier: MIT OR Apache-2.0
"""Comparisons of runs and sweeps: differences, noise, broken rules, and reports."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from rich.console import Console

from comparisons import VERSIONS, collection, compared, failed, run, sweep
from conftest import Finished
from marklab.comparison.differences import Difference, Verdict, difference, judge, values_of, with_intervals
from marklab.comparison.policy import Policy, parse_rule, read_policy
from marklab.comparison.side_by_side import NOTHING_LOST, Comparison, compare
from marklab.errors import BadInput
from marklab.report.comparison import MOST_CHARACTERS, print_comparison, to_json, to_junit, to_markdown
from marklab.results.collection import Collection
from marklab.results.metric import METRICS
from marklab.statistics.samples import Interval

Cli = Callable[..., Finished]

LOADS = (0.5, 0.8)


def one(comparison: Comparison, metric: str = "short.p99", scheme: str | None = None) -> Difference:
    (found,) = [each for each in comparison.differences if each.metric.name == metric and scheme in (None, each.scheme)]
    return found


def verdict(base: Collection, new: Collection, metric: str = "short.p99") -> Verdict:
    return one(compared(base, new, f"{metric} > +0%"), metric).verdict


BASE = run(100, 200, 400)


def test_the_same_run_is_the_same() -> None:
    assert verdict(BASE, BASE) is Verdict.SAME
    assert one(compared(BASE, BASE)).interval == (0, 0)


def test_pairs_find_a_change_that_groups_would_not() -> None:
    slower = run(106, 211, 424)
    assert verdict(BASE, slower) is Verdict.WORSE
    assert verdict(slower, BASE) is Verdict.BETTER
    assert verdict(BASE, run(106, 211, 424, flows="other")) is Verdict.SAME


def test_a_change_to_and_fro_is_noise() -> None:
    assert verdict(BASE, run(110, 170, 410)) is Verdict.SAME


def test_a_change_below_the_smallest_effect_is_none() -> None:
    assert one(compared(BASE, run(101, 202, 404))).verdict is Verdict.WORSE
    assert one(compared(BASE, run(101, 202, 404), smallest_effect="2%")).verdict is Verdict.SAME


def test_a_single_pair_is_compared_as_it_is() -> None:
    comparison = compared(run(100), run(101), "short.p99 > +0.5%")
    assert verdict(run(100), run(101)) is Verdict.WORSE
    assert comparison.broken
    assert any("one seed" in note for note in comparison.notes)


def test_a_metric_that_one_seed_has_does_not_make_it_one_seed() -> None:
    main = BASE.points[0].summary.main
    first = main.seeds[0]
    seeds = (first, *(seed.model_copy(update={"fct_us": {"short": seed.fct_us["short"]}}) for seed in main.seeds[1:]))
    schemes = {"tcn": main.model_copy(update={"seeds": seeds})}
    side = replace(
        BASE, points=(replace(BASE.points[0], summary=BASE.points[0].summary.model_copy(update={"schemes": schemes})),)
    )
    comparison = compared(side, side)
    assert [len(one(comparison, metric).seeds.base) for metric in ("short.mean", "large.mean")] == [3, 1]
    assert comparison.notes == ()


@pytest.mark.parametrize(
    ("interval", "nothing", "worse", "verdict"),
    [
        ((0.8, 0.9), 1, +1, Verdict.BETTER),
        ((0.8, 0.9), 1, -1, Verdict.WORSE),
        ((0.8, 1.0), 1, +1, Verdict.SAME),
        ((1.0, 1.2), 1, +1, Verdict.SAME),
        ((1.1, 1.2), 1, +1, Verdict.WORSE),
        ((1.1, 1.2), 1, -1, Verdict.BETTER),
        ((1.1, 1.2), 1, 0, Verdict.CHANGED),
        ((-0.1, 0.1), 0, 0, Verdict.SAME),
    ],
)
def test_an_interval_has_one_verdict(interval: Interval, nothing: float, worse: int, verdict: Verdict) -> None:
    assert judge(interval, nothing, worse) is verdict


def test_single_seeds_with_different_flows_tell_nothing() -> None:
    assert verdict(run(100), run(101, flows="other")) is Verdict.UNCLEAR
    comparison = compared(run(100), run(101, flows="other"), "short.p99 > +5%")
    assert comparison.broken
    assert "cannot be decided" in comparison.rules[0].reason


@pytest.mark.parametrize(
    ("rule", "values", "broken"),
    [
        ("short.p99 > +5%", (106, 212, 424), True),
        ("short.p99 > +5%", (105, 210, 420), False),  # not more than 5 %
        ("short.p99 >= +5%", (105, 210, 420), True),
        ("short.p99 > +5%", (104, 208, 416), False),
        ("short.p99 > +5%", (100, 200, 500), False),  # by 14 %, within the noise
        ("short.p99 < -5%", (90, 180, 360), True),
        ("short.mean > +10", (120, 220, 420), True),
        ("short.mean > +30", (120, 220, 420), False),
        ("short.mean > 200", (100, 200, 400), True),
        ("short.mean > 300", (100, 200, 400), False),
        ("slowdown.large.p50 > +5%", (106, 212, 424), True),
        ("utilisation < +0%", (106, 212, 424), False),
        ("tcn / short.p99 > +5%", (106, 212, 424), True),
    ],
)
def test_rules(rule: str, values: tuple[float, ...], broken: bool) -> None:
    assert bool(compared(BASE, run(*values), rule).broken) == broken


def test_absolute_rules_need_no_noise() -> None:
    assert compared(BASE, run(100, 200, 400, unfinished=1), "unfinished > 0").broken
    assert not compared(BASE, BASE, "unfinished > 0").broken


def test_more_than_nothing_is_more_than_any_percentage() -> None:
    worse = run(100, 200, 400, timeouts=3)
    assert compared(BASE, worse, "timeouts > +50%").broken
    assert not compared(worse, BASE, "timeouts > +50%").broken
    assert not compared(BASE, BASE, "timeouts > +50%").broken
    found = one(compared(BASE, worse), "timeouts")
    assert (found.relative, found.absolute, found.verdict) == (None, 3, Verdict.WORSE)
    gone = one(compared(worse, BASE), "timeouts")
    assert (gone.relative, gone.verdict) == (-1, Verdict.BETTER)


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("short.p99", "is not a rule"),
        ("short.p99 > much", "is not a rule"),
        ("short.p98 > +5%", "unknown metric"),
        ("short.p99 > 5%", "needs a sign"),
        ("short.p99 == 5", "is not a rule"),
    ],
)
def test_wrong_rules_are_refused(rule: str, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        parse_rule(rule)


def test_a_rule_for_a_scheme_that_is_not_there() -> None:
    with pytest.raises(BadInput, match="unknown scheme"):
        compared(BASE, BASE, "red/short.p99 > +5%")


def test_what_the_runs_are_about_is_compared_whatever_its_name() -> None:
    mine = run(106, 212, 424, label="mine")
    for rule in ("short.p99 > +5%", "mine / short.p99 > +5%", "tcn / short.p99 > +5%"):
        comparison = compared(BASE, mine, rule)
        assert comparison.broken[0].scheme == "tcn → mine"


def test_differences_of_the_setup_are_noted() -> None:
    notes = compared(run(1, 2, load=0.5), run(1, 2, load=0.6)).notes
    assert any("differ in load" in note for note in notes)
    assert any("not compared in pairs" in note for note in compared(BASE, run(1, 2, flows="x")).notes)


# Sweeps.


def times(middle: float, seed: int, spread: float = 0.2, count: int = 10) -> tuple[float, ...]:
    """FCTs that differ from seed to seed, as the flows do."""
    return tuple(middle * np.exp(np.random.default_rng(seed).normal(0, spread, count)))


def slower(values: Mapping[float, Sequence[float]], by: float, noise: float, seed: int) -> dict[float, list[float]]:
    """FCTs on the same flows, each seed slower by about this factor."""
    random = np.random.default_rng(seed)
    return {load: [one * by * random.normal(1, noise) for one in found] for load, found in values.items()}


TCN = {load: times(200 * load, number) for number, load in enumerate(LOADS)}
RED = {load: times(300 * load, number + 10) for number, load in enumerate(LOADS)}
SWEEP = sweep({"tcn": TCN, "dctcp-red:tail": RED})


def test_a_line_over_all_points_is_the_geometric_mean_of_the_ratios() -> None:
    new = sweep({"tcn": {0.5: [2 * value for value in TCN[0.5]], 0.8: TCN[0.8]}, "dctcp-red:tail": RED})
    comparison = compared(SWEEP, new, "short.p99 > +5%")
    found = one(comparison, scheme="tcn")
    assert found.relative == pytest.approx(2**0.5 - 1)
    assert found.new / found.base == pytest.approx(2**0.5)
    at = {each.point: each for each in comparison.at_points if (each.scheme, each.metric.name) == ("tcn", "short.p99")}
    assert [at[f"load {load}"].relative for load in LOADS] == pytest.approx([1, 0])
    assert at["load 0.5"].base == pytest.approx(np.mean(TCN[0.5]))


def test_counts_are_added_up_and_not_multiplied() -> None:
    def with_timeouts(*counts: int) -> Collection:
        points = []
        for point, count in zip(SWEEP.points, counts, strict=True):
            seeds = tuple(seed.model_copy(update={"timeouts": count}) for seed in point.summary.schemes["tcn"].seeds)
            tcn = point.summary.schemes["tcn"].model_copy(update={"seeds": seeds})
            points.append(replace(point, summary=point.summary.model_copy(update={"schemes": {"tcn": tcn}})))
        return replace(SWEEP, points=tuple(points))

    found = one(compared(with_timeouts(0, 100), with_timeouts(4, 100)), "timeouts")
    assert (found.base, found.new, found.relative) == (50, 52, pytest.approx(0.04))


def test_a_regression_of_ten_percent_is_found_where_it_is() -> None:
    new = sweep({"tcn": slower(TCN, 1.10, 0.05, seed=1), "dctcp-red:tail": RED})
    comparison = compared(SWEEP, new, "short.mean > +5%", "overall.mean > +5%", "unfinished > 0")
    assert {(each.rule, each.scheme) for each in comparison.broken} == {
        ("short.mean > +5%", "tcn"),
        ("overall.mean > +5%", "tcn"),
    }
    assert comparison.exit_code == 1
    assert re.match(r"it changed by \+1\d(\.\d)?% \(95 %: \+\d", comparison.broken[0].reason)


def test_a_seed_is_drawn_at_all_points_at_once() -> None:
    """A seed has the same noise at both points, so the noise of both together is that of one."""
    base = {load: times(200, number, count=40) for number, load in enumerate(LOADS)}
    together = np.random.default_rng(3).normal(1.05, 0.05, 40)
    new = {load: [float(value) for value in np.array(base[load]) * together] for load in LOADS}
    assert width_over_points(base, new) == pytest.approx(1, abs=0.1)
    # Independent noise of two points is smaller by the square root of two.
    assert width_over_points(base, slower(base, 1.05, 0.05, seed=4)) == pytest.approx(0.5**0.5, abs=0.1)


def width_over_points(base: Mapping[float, Sequence[float]], new: Mapping[float, Sequence[float]]) -> float:
    """Width of the interval over all points, divided by the mean width at single points."""
    comparison = compared(sweep({"tcn": base}), sweep({"tcn": new}))
    every = (*comparison.differences, *comparison.at_points)
    chosen = {each.point: each.interval for each in every if each.metric.name == "short.mean"}
    widths = {point: interval[1] - interval[0] for point, interval in chosen.items() if interval is not None}
    return float(widths[None] / np.mean([widths[f"load {load}"] for load in LOADS]))


def test_twenty_seeds_of_other_flows_are_no_regression() -> None:
    rules = ("short.mean > +5%", "short.p99 > +5%", "overall.mean > +5%")
    for number in range(20):
        again = {
            label: {
                load: times(middle * load, 1000 * (number + 1) + middle + int(10 * load), spread=0.3) for load in LOADS
            }
            for label, middle in (("tcn", 200), ("dctcp-red:tail", 300))
        }
        comparison = compared(SWEEP, sweep(again, flows=f"{number}", first_seed=100 * number), *rules)
        assert comparison.exit_code == 0
        assert all(not each.seeds.paired for each in comparison.differences)


@pytest.mark.parametrize(("rules", "schemes"), [(1, 1), (3, 4)])
def test_false_alarms_are_as_rare_as_the_policy_says(rules: int, schemes: int) -> None:
    """For any number of rules. Both sides have the same mean and noise, and any significant change breaks a rule."""
    random, trials, alarms = np.random.default_rng(5), 150, 0
    texts = ("short.mean > +0%", "short.p99 >= +0%", "overall.mean < -0%")[:rules]
    for _ in range(trials):
        sides = [
            sweep({f"s{n}": {0.5: list(random.normal(100, 10, 10))} for n in range(schemes)}, flows=str(side))
            for side in range(2)
        ]
        alarms += compared(*sides, *texts, false_alarms="10%").exit_code
    # 10 % of 150 are 15 -+ 4; Holm's method is conservative for correlated rules, as those of a scheme are here.
    assert (5 if rules == 1 else 1) <= alarms <= 26


def test_rules_at_each_point() -> None:
    at = {0.5: [2 * value for value in TCN[0.5]], 0.8: [0.5 * value for value in TCN[0.8]]}
    new = sweep({"tcn": at, "dctcp-red:tail": RED})
    assert compared(SWEEP, new, "short.p99 > +5%").exit_code == 0
    comparison = compared(SWEEP, new, "short.p99 > +5%", at="each point")
    assert [(each.scheme, each.point) for each in comparison.broken] == [("tcn", "load 0.5")]


def without(side: Collection, label: str, load: float) -> Collection:
    points = []
    for point in side.points:
        schemes = {
            name: each
            for name, each in point.summary.schemes.items()
            if (name, point.settings["load"]) != (label, load)
        }
        points.append(replace(point, summary=point.summary.model_copy(update={"schemes": schemes})))
    return replace(side, points=tuple(points))


@pytest.mark.parametrize(
    ("new", "says"),
    [
        (without(SWEEP, "tcn", 0.8), "tcn at load 0.8 has 0 of 10 seeds"),
        (replace(SWEEP, points=SWEEP.points[:1]), "there is no point load 0.8"),
        (
            sweep({"tcn": {load: values[:8] for load, values in TCN.items()}, "dctcp-red:tail": RED}),
            "tcn at load 0.5 has 8 of 10",
        ),
        (sweep({"tcn": TCN}), "there is no dctcp-red:tail"),
        (replace(SWEEP, failed=(failed("tcn", 0.8, 3),)), "tcn at load 0.8, seed 3, failed: an assert failed"),
        (replace(SWEEP, missing=7), "7 cells have not run"),
    ],
)
def test_a_sweep_that_lost_cells_is_not_green(new: Collection, says: str) -> None:
    comparison = compared(SWEEP, new, "short.mean > +5%")
    assert comparison.exit_code == 1
    (broken,) = comparison.broken
    assert broken.rule == NOTHING_LOST
    assert says in broken.reason
    noted = compared(SWEEP, new, "short.mean > +5%", missing="note")
    assert noted.exit_code == 0
    assert any(says in note for note in noted.notes)
    # In the other direction no cell is lost.
    assert compared(new, SWEEP).exit_code == 0


def test_a_seed_that_one_point_lacks_is_left_out_there() -> None:
    fewer = {0.5: TCN[0.5][:9], 0.8: TCN[0.8]}
    new = sweep({"tcn": {load: [1.1 * value for value in values] for load, values in fewer.items()}})
    comparison = compared(sweep({"tcn": TCN}), new, missing="note")
    found = one(comparison, "short.mean")
    assert found.relative == pytest.approx(0.1)
    assert found.seeds.paired
    assert len(found.seeds.base) == 10


def test_what_only_one_side_has_is_noted() -> None:
    more = sweep({"tcn": TCN | {0.9: TCN[0.8]}, "dctcp-red:tail": RED, "codel": TCN})
    notes = compared(SWEEP, more).notes
    assert "only one side has codel" in notes
    assert "only NEW has load 0.9" in notes


def test_nothing_in_common_is_said() -> None:
    with pytest.raises(
        BadInput, match=r"no point in common: BASE has load 0\.5; load 0\.8; NEW has a run without a grid"
    ):
        compared(SWEEP, BASE)
    with pytest.raises(BadInput, match=r"NEW has no cells \(cells.parquet: not a Parquet file\)"):
        compared(SWEEP, collection("sweep", (), damaged=("cells.parquet: not a Parquet file",)))
    three = collection("run", [replace(BASE.points[0], summary=run(1, label="a").points[0].summary)])
    assert compared(three, BASE).differences[0].scheme == "a → tcn"


@pytest.mark.parametrize("name", ["marklab", "engine"])
@pytest.mark.parametrize(
    ("of_new", "says"),
    [("2.0.0", "BASE was made by {} 1.0.0, NEW by {} 2.0.0"), ("1.0.0, 2.0.0", "cells of NEW were made by different")],
)
def test_versions_are_not_mixed(name: str, of_new: str, says: str) -> None:
    new = replace(SWEEP, versions=VERSIONS | {name: of_new})
    with pytest.raises(BadInput, match=re.escape(says.format(name, name))) as refused:
        compared(SWEEP, new)
    assert "--force" in str(refused.value.remedy)
    comparison = compared(SWEEP, new, force=True)
    assert any(says.format(name, name) in note for note in comparison.notes)
    assert compared(SWEEP, new, versions="any").notes == comparison.notes


def test_commits_of_one_version_are_what_is_compared() -> None:
    new = replace(SWEEP, versions=VERSIONS | {"commit": "another", "numpy": "9"})
    assert compared(SWEEP, new).notes == ()


def test_damaged_files_are_named_and_the_rest_is_compared() -> None:
    new = replace(SWEEP, damaged=("cells/000001.parquet: not a Parquet file",))
    comparison = compared(SWEEP, new, "short.mean > +5%")
    assert comparison.exit_code == 2
    assert not comparison.broken
    assert one(comparison, "short.mean", "tcn").relative == 0
    assert "cells/000001.parquet" in to_markdown(comparison)
    root = ElementTree.fromstring(to_junit(comparison))  # noqa: S314 - our own text
    assert root.get("errors") == "1"
    (error,) = root.iter("error")
    assert "000001" in str(error.get("message"))


def test_all_decide_together_in_no_order() -> None:
    new = sweep({"tcn": slower(TCN, 1.10, 0.05, seed=1), "dctcp-red:tail": slower(RED, 1.02, 0.05, seed=2)})
    rules = ["short.mean > +5%", "tcn/short.p99 > +1%", "marks > +10%", "unfinished > 0"]
    there, back = (compared(SWEEP, new, *order) for order in (rules, rules[::-1]))
    assert sorted(there.rules, key=repr) == sorted(back.rules, key=repr)
    assert to_json(compared(SWEEP, new, *rules)) == to_json(there)


# Policies.


def test_a_policy_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("rules: [short.p99 > +5%, tcn/timeouts > +10]\nat: each point\nfalse_alarms: 5%\nmissing: note\n")
    policy = read_policy(path)
    assert [str(rule) for rule in policy.rules] == ["short.p99 > +5%", "tcn/timeouts > +10"]
    assert (policy.false_alarms, policy.at, policy.missing, policy.versions) == (0.05, "each point", "note", "same")
    assert Policy.model_validate(policy.model_dump(mode="json")) == policy
    assert [str(rule) for rule in policy.with_rules(["drops > 0"]).rules][-1] == "drops > 0"


@pytest.mark.parametrize(
    ("text", "says", "remedy"),
    [
        ("rule: [short.p99 > +5%]", "unknown key `rule`", "did you mean `rules`?"),
        ("rules: [short.p98 > +5%]", "unknown metric in `short.p98 > +5%`: `short.p98`", "did you mean `short.p9"),
        ("rules: [short.p99]", "`short.p99` is not a rule", "write it like"),
        ("at: each pont", "at: ", "did you mean `each point`?"),
        ("missing: fial", "missing: ", "did you mean `fail`?"),
        ("false_alarms: 2", "false_alarms: ", "below 1"),
        ("false_alarms: rare", "`rare` is not a percentage", "write 5%"),
        ("- short.p99 > +5%", "holds no `key: value` lines", ""),
    ],
)
def test_wrong_policies_are_refused(tmp_path: Path, text: str, says: str, remedy: str) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(text)
    with pytest.raises(BadInput, match=re.escape(says)) as refused:
        read_policy(path)
    assert remedy in str(refused.value.remedy)


# Reports.


def test_reports_hold_every_rule_and_metric() -> None:
    comparison = compared(BASE, run(106, 212, 424), "short.p99 > +5%", "unfinished > 0")
    root = ElementTree.fromstring(to_junit(comparison))  # noqa: S314 - our own text
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("2", "1", "0")
    assert [case.get("name") for case in root.iter("testcase")] == ["short.p99 > +5%", "unfinished > 0"]
    (failure,) = root.iter("failure")
    assert str(failure.get("message")).startswith("it changed by +6%")
    text = to_markdown(comparison)
    assert text.startswith("### Marklab: ❌ 1 of 2 checks failed\n")
    assert "| short.p99 | 233.3 | 247.3 | +6.0 % | worse |" in text
    assert "FAILED: short.p99 > +5%" in text


def test_markdown_has_the_verdict_on_top_and_the_rest_folded() -> None:
    new = sweep({"tcn": slower(TCN, 1.10, 0.05, seed=1), "dctcp-red:tail": RED})
    text = to_markdown(compared(SWEEP, new, "short.mean > +5%", "unfinished > 0"))
    top = text.partition("<details>")[0]
    assert "❌ 1 of 5 checks failed" in top
    assert re.search(r"^\| `short.mean > \+5%` \| tcn \| it changed by \+1", top, re.MULTILINE)
    assert re.search(r"^\| tcn \| \*\*\+1", top, re.MULTILINE)
    assert text.count("<details>") == text.count("</details>") == 3
    # Every row of a table has as many cells as its head.
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({line.count("|") for line in table.splitlines()}) == 1
    green = to_markdown(compared(SWEEP, SWEEP, "short.mean > +5%"))
    assert green.startswith("### Marklab: ✅ all 3 checks passed\n")


def large() -> Comparison:
    """A comparison of six schemes at nine loads, by a dozen rules at each point."""
    loads, random = [round(0.1 * number, 1) for number in range(1, 10)], np.random.default_rng(1)
    sides = [
        sweep({f"scheme-{n}": {load: list(times * random.normal(100, 5, 4)) for load in loads} for n in range(6)})
        for times in (1, 1.5)
    ]
    groups = [f"{group}.{statistic}" for group in ("overall", "short", "large") for statistic in ("mean", "p99")]
    rules = [f"{group} > {sign}%" for group in groups for sign in ("+5", "+10")]
    return compared(*sides, *rules, at="each point")


@pytest.mark.parametrize("above", [-1, 0, 1])
def test_markdown_is_cut_above_its_limit_only(above: int) -> None:
    comparison = compared(SWEEP, sweep({"tcn": TCN, "dctcp-red:tail": RED}), "short.mean > +5%")
    whole = to_markdown(comparison)
    text = to_markdown(comparison, len(whole) - above)
    assert len(text) <= len(whole) - above
    assert (text == whole) is (above <= 0)
    assert bool(re.search(r"^\.\.\. and \d+ more in comparison\.json$", text, re.MULTILINE)) is (above > 0)


def test_markdown_of_a_large_grid_fits_into_a_comment_and_says_what_is_left_out() -> None:
    comparison = large()
    whole, text = to_markdown(comparison, 10**9), to_markdown(comparison)
    assert len(whole) > MOST_CHARACTERS >= len(text) > 0.9 * MOST_CHARACTERS
    assert text.count("<details>") == text.count("</details>") == whole.count("<details>")
    left_out = sum(map(int, re.findall(r"^\.\.\. and (\d+) more in comparison\.json$", text, re.MULTILINE)))
    items = [
        len(re.findall(r"^(?:- |\| (?!(?:broken rule|scheme|metric|point) ))", each, re.MULTILINE))
        for each in (whole, text)
    ]
    beyond = sum(each.verdict.is_difference for each in comparison.at_points) - 200
    assert items[0] + beyond == items[1] + left_out


def test_the_table_shows_points_that_differ_or_all() -> None:
    new = sweep({"tcn": TCN | {0.8: [1.5 * value for value in TCN[0.8]]}, "dctcp-red:tail": RED})
    comparison = compared(SWEEP, new, "short.mean > +5%", "unfinished > 0")

    def shown(**how: bool) -> str:
        console = Console(width=160)
        with console.capture() as captured:
            print_comparison(comparison, console, **how)
        return captured.get()

    few, every = shown(), shown(every_point=True)
    assert "tcn, over 2 points" in few
    assert "passed: unfinished > 0, 2 times" in few
    assert "passed: unfinished > 0, tcn: it is 0" in every
    assert few.splitlines()[-1].startswith("FAILED: short.mean > +5%, tcn: it changed by +22")
    assert re.search(r"load 0\.8 +tcn +short\.mean .*\+50\.0 %", few)
    assert not re.search(r"load 0\.5 +tcn", few)
    assert re.search(r"load 0\.5 +tcn +short\.mean .*\+0\.0 %", every)


def test_plain_data_is_json() -> None:
    new = sweep({"tcn": slower(TCN, 1.10, 0.05, seed=1), "dctcp-red:tail": RED})
    comparison = compared(SWEEP, new, "short.mean > +5%", at="each point")
    plain = json.loads(json.dumps(to_json(comparison), allow_nan=False))
    assert (plain["base"], plain["exit_code"], plain["points"]) == ("sweep", 1, ["load 0.5", "load 0.8"])
    (found,) = [
        each
        for each in plain["differences"]
        if (each["scheme"], each["metric"], each["point"]) == ("tcn", "short.mean", None)
    ]
    assert found["ci95"][0] < found["relative"] < found["ci95"][1]
    assert (found["seeds"], found["paired"], found["verdict"]) == ([10, 10], True, "worse")
    assert plain["policy"]["rules"] == ["short.mean > +5%"]


def test_a_grid_of_five_hundred_cells_takes_seconds() -> None:
    random = np.random.default_rng(1)
    loads = [round(0.1 + 0.05 * number, 2) for number in range(10)]
    sides = [
        sweep({f"s{n}": {load: list(random.normal(100, 10, 10)) for load in loads} for n in range(5)}, flows=flows)
        for flows in ("same", "same", "other")
    ]
    for new in sides[1:]:
        start_s = time.process_time()
        compare(sides[0], new, Policy(at="each point").with_rules(["short.mean > +5%", "short.p99 > +10%"]))
        assert time.process_time() - start_s < 5


def test_every_metric_has_a_value() -> None:
    """Except for metrics of optional parts of a run, such as services, probes and queries."""
    seed = BASE.points[0].summary.main.seeds[0]
    without = {name for name, metric in METRICS.items() if metric.of(seed) is None}
    assert without == {"jain"} | {name for name, metric in METRICS.items() if metric.needs}
    assert {"recall", "rtt.lost", "query.mean", "slowdown.query.p99"} < without


def test_nothing_becomes_less_than_nothing() -> None:
    """One seed of ten had timeouts and has none: its interval would reach below -100 %."""
    had, has = (run(*range(1, 11), timeouts=timeouts).points[0].summary.main.seeds for timeouts in (3, 0))
    values = values_of(METRICS["timeouts"], (had[0], *has[1:]), has)
    assert values is not None
    (found,) = with_intervals([difference("tcn", METRICS["timeouts"], None, [values], 0)])
    assert found.relative == -1
    assert found.interval is not None
    assert found.interval[0] == -1
    assert found.verdict is Verdict.SAME
