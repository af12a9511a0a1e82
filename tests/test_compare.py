from pathlib import Path
from xml.etree import ElementTree

import pytest

from orchestrator.comparison import Comparison, Verdict, compare, parse_rule
from orchestrator.comparison_report import to_junit, to_markdown
from orchestrator.errors import BadInput
from orchestrator.quantities import METRICS
from orchestrator.summary import CLASSES, Drops, Estimate, Marks, Sample, SchemeResult, SeedResult, Summary

NAMES = ("a", "b")


def seed(number: int, value: float, flows: str, unfinished: int, timeouts: int) -> SeedResult:
    samples = {name: Sample(n=100, mean=value, p50=value, p99=value) for name in CLASSES}
    return SeedResult(
        seed=number, flow_list=flows, fct_us=samples, slowdown=samples, unfinished=unfinished, drops=Drops(),
        marks=Marks(), timeouts=timeouts, retransmissions=0, utilisation=0.5, link_transmissions=1, events=1,
        engine_cpu_s=0.0,
    )  # fmt: skip


def summary(
    *values: float, label: str = "tcn", flows: str = "same", unfinished: int = 0, timeouts: int = 0, **spec: object
) -> Summary:
    """A run whose every time is the value of its seed."""
    seeds = tuple(seed(at, value, f"{flows} {at}", unfinished, timeouts) for at, value in enumerate(values))
    nothing = {name: Estimate(n=0) for name in CLASSES}
    result = SchemeResult(
        label=label, program="", parameters={}, fct_us=nothing, slowdown=nothing, unfinished=unfinished, drops=Drops(),
        timeouts=timeouts, retransmissions=0, marks=Marks(), utilisation=0.5, link_transmissions=1, events=1,
        engine_cpu_s=0.0, seeds=seeds,
    )  # fmt: skip
    return Summary(spec=spec, scheme=label, baseline=None, schemes={label: result}, versions={})


def compared(a: Summary, b: Summary, *rules: str) -> Comparison:
    return compare(a, b, [parse_rule(rule) for rule in rules], NAMES)


def verdict(a: Summary, b: Summary, metric: str = "short.p99") -> Verdict:
    (found,) = [each for each in compared(a, b, f"{metric} > +0%").differences if each.metric.name == metric]
    return found.verdict


BASE = summary(100, 200, 400)


def test_the_same_run_is_the_same() -> None:
    assert verdict(BASE, BASE) is Verdict.SAME


def test_pairs_find_a_change_that_groups_would_not() -> None:
    slower = summary(106, 211, 424)
    assert verdict(BASE, slower) is Verdict.WORSE
    assert verdict(slower, BASE) is Verdict.BETTER
    assert verdict(BASE, summary(106, 211, 424, flows="other")) is Verdict.NOISE


def test_a_change_to_and_fro_is_noise() -> None:
    assert verdict(BASE, summary(110, 170, 410)) is Verdict.NOISE


def test_a_single_pair_is_compared_as_it_is() -> None:
    comparison = compared(summary(100), summary(101), "short.p99 > +0.5%")
    assert verdict(summary(100), summary(101)) is Verdict.WORSE
    assert comparison.broken
    assert any("one seed" in note for note in comparison.notes)


def test_single_seeds_with_different_flows_tell_nothing() -> None:
    assert verdict(summary(100), summary(101, flows="other")) is Verdict.UNCLEAR
    comparison = compared(summary(100), summary(101, flows="other"), "short.p99 > +5%")
    assert comparison.broken
    assert "cannot be told" in comparison.rules[0].reason


@pytest.mark.parametrize(
    ("rule", "values", "broken"),
    [
        ("short.p99 > +5%", (106, 212, 424), True),
        ("short.p99 > +5%", (105, 210, 420), False),  # not more than 5 %
        ("short.p99 >= +5%", (105, 210, 420), True),
        ("short.p99 > +5%", (104, 208, 416), False),
        ("short.p99 > +5%", (100, 200, 500), False),  # by 14 %, inside the noise
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
    assert compared(BASE, summary(*values), rule).broken == broken


def test_absolute_rules_need_no_noise() -> None:
    assert compared(BASE, summary(100, 200, 400, unfinished=1), "unfinished > 0").broken
    assert not compared(BASE, BASE, "unfinished > 0").broken


def test_more_than_nothing_is_more_than_any_percentage() -> None:
    worse = summary(100, 200, 400, timeouts=3)
    assert compared(BASE, worse, "timeouts > +50%").broken
    assert not compared(worse, BASE, "timeouts > +50%").broken
    assert not compared(BASE, BASE, "timeouts > +50%").broken


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
    comparison = compared(BASE, summary(106, 212, 424, label="mine"), "short.p99 > +5%")
    assert comparison.broken
    assert comparison.rules[0].scheme == "tcn → mine"


def test_differences_of_the_setup_are_noted() -> None:
    notes = compared(summary(1, 2, load=0.5), summary(1, 2, load=0.6)).notes
    assert any("differ in load" in note for note in notes)
    assert any("not compared in pairs" in note for note in compared(BASE, summary(1, 2, flows="x")).notes)


def test_reports_hold_every_rule_and_metric(tmp_path: Path) -> None:
    comparison = compared(BASE, summary(106, 212, 424), "short.p99 > +5%", "unfinished > 0")
    root = ElementTree.fromstring(to_junit(comparison))  # noqa: S314 - our own text
    assert (root.get("tests"), root.get("failures")) == ("2", "1")
    assert [case.get("name") for case in root.iter("testcase")] == ["short.p99 > +5%", "unfinished > 0"]
    (failure,) = root.iter("failure")
    assert failure.get("message") == "it changed by +6%"
    text = to_markdown(comparison)
    assert "| short.p99 | 233.3 | 247.3 | +6.0 ±0.0 % | worse |" in text
    assert "FAILED: short.p99 > +5%" in text


def test_every_metric_has_a_value() -> None:
    """But those of what a run may have or not, as services, probes and queries."""
    without = {name for name, metric in METRICS.items() if metric.of(BASE.main.seeds[0]) is None}
    assert without == {"jain"} | {name for name, metric in METRICS.items() if metric.needs}
    assert {"recall", "rtt.lost", "query.mean", "slowdown.query.p99"} < without
