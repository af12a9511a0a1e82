# SPDX-License-Identifier: MIT OR Apache-2.0
import io
import math
import re

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from marklab.errors import BadInput
from marklab.execution.flows import flow_table
from marklab.paths import REPOSITORY
from marklab.report.terminal import print_run
from marklab.results.metric import GROUPS, METRICS, find_metric
from marklab.results.summary import ALL_STATISTICS, CLASSES, STATISTICS, read_summary
from runs import run, small


def by_hand(table: pl.DataFrame, value: pl.Expr, scheme: str, seed: int, name: str) -> dict[str, float]:
    """The same numbers computed another way: with polars, and with ranks counted explicitly."""
    low, high = CLASSES[name]
    chosen = table.filter(
        (pl.col("scheme") == scheme)
        & (pl.col("seed") == seed)
        & pl.col("fct_ns").is_not_null()
        & (pl.col("size_bytes") > low)
        & (pl.col("size_bytes") <= (high or 2**62))
    )
    values = chosen.select(value.alias("v"))["v"].sort()
    ranks = {part: -(-len(values) * part // 100) - 1 for part in (50, 99)}
    return {"n": len(values), "mean": values.mean(), "p50": values[ranks[50]], "p99": values[ranks[99]]}


@pytest.mark.parametrize("block", ["fct_us", "slowdown"])
@pytest.mark.parametrize("name", ["overall", "short", "medium"])
def test_statistics_are_those_of_a_second_implementation(block: str, name: str) -> None:
    experiment, observations, summary = small()
    table = flow_table(experiment, observations)
    value = pl.col("fct_ns") / (1000 if block == "fct_us" else pl.col("ideal_ns"))
    for label, result in summary.schemes.items():
        for seed in result.seeds:
            expected = by_hand(table, value, label, seed.seed, name)
            sample = getattr(seed, block)[name]
            assert sample.n == expected["n"] > 0
            for stat in STATISTICS:
                # ideal_ns of the table is rounded up to whole ns.
                assert getattr(sample, stat) == pytest.approx(expected[stat], rel=1e-4), (label, seed.seed, stat)


def test_means_over_seeds_and_ratios() -> None:
    _, _, summary = small()
    main, base = summary.main, summary.schemes["dctcp-red:tail"]
    a = [seed.fct_us["short"].mean for seed in main.seeds]
    b = [seed.fct_us["short"].mean for seed in base.seeds]
    short = main.fct_us["short"]
    assert short.mean == pytest.approx(sum(a) / 2)
    half = 12.7062 * abs(a[0] - a[1]) / 2
    assert short.ci95.mean == pytest.approx((short.mean - half, short.mean + half), rel=1e-4)
    assert main.normalised is not None
    assert main.normalised["short"].mean == pytest.approx(sum(a) / sum(b))
    assert base.normalised is None


def test_classes_partition_the_flows() -> None:
    _, _, summary = small()
    fct = summary.main.fct_us
    assert fct["short"].n + fct["medium"].n + fct["large"].n == fct["overall"].n == 600


def test_queries_are_a_class_of_their_own_and_of_their_size() -> None:
    """A query of 150 KB is not a short flow; without queries the class does not exist."""
    experiment, observations, summary = run(queries={"senders": 20, "at": ["1ms", "2ms"], "largest": "150KB"})
    table = flow_table(experiment, observations)
    for label, result in summary.schemes.items():
        for seed in result.seeds:
            own = table.filter((pl.col("scheme") == label) & (pl.col("seed") == seed.seed) & pl.col("query"))
            assert set(own["start_ns"]) == {10**6, 2 * 10**6}
            assert seed.fct_us["query"].n == len(own) == 40
            assert seed.fct_us["query"].mean == pytest.approx(own["fct_ns"].mean() / 1000)
            assert find_metric("query.p99").of(seed) == own["fct_ns"].max() / 1000
            sizes = [seed.fct_us[name].n for name in ("short", "medium", "large")]
            assert sum(sizes) == seed.fct_us["overall"].n == 340
            assert 0 < (own["size_bytes"] > 100_000).sum() < 40
    assert summary.main.fct_us["query"].n == 80
    short = table.filter((pl.col("size_bytes") <= 100_000) & ~pl.col("query"))
    assert summary.main.fct_us["workload-short"].n == len(short.filter(pl.col("scheme") == summary.scheme)) > 0
    assert summary.main.normalised is not None
    assert summary.main.normalised["query"].mean is not None
    assert read_summary(summary.to_json()) == summary
    without = small()[2].main.seeds[0]
    assert not {"query", "workload-short"} & set(without.fct_us)
    assert find_metric("query.mean").of(without) is None


def test_the_report_has_queries_where_there_are_some() -> None:
    for settings, there in ({"queries": {"senders": 20, "at": ["1ms"]}}, True), ({}, False):
        console = Console(width=120, file=io.StringIO(), record=True)
        print_run(run(flows=50, seeds=1, **settings)[2], console)
        text = console.export_text()
        assert ("queries p99" in text) is there
        assert (", query 20, workload-short " in text) is there


def test_marks_of_program_and_network_agree() -> None:
    _, observations, summary = small()
    for result in summary.schemes.values():
        assert result.marks.total == sum(result.marks.by_cause.values()) > 0
        assert result.marks.by_port.keys() == {"s0:7"}
    assert set(summary.main.marks.by_cause) == {"instantaneous queue", "persistent queue"}
    # The receiver sees every marked packet that is not lost, and no packet was lost.
    for seen in observations:
        assert seen.per_flow["marked_packets"].sum() <= sum(port["marked"] for port in seen.report["ports"])


def test_utilisation_is_the_offered_load_while_flows_come() -> None:
    _, observations, summary = small()
    for seen in observations:
        (line,) = [line for line in seen.report["lines"] if line["from"] == ["s0", 7]]
        assert 0 < line["busy_during_arrivals_ns"] <= seen.report["arrivals_end_ns"]
    assert summary.main.utilisation == pytest.approx(0.8, abs=0.15)


def test_a_class_without_flows_is_no_number() -> None:
    _, _, summary = run(workload="fb_hadoop", flows=50, seeds=1, baseline="none")
    large = summary.main.fct_us["large"]
    assert (large.n, large.mean, large.p99, large.ci95.mean) == (0, None, None, None)
    assert summary.main.fct_us["overall"].ci95.mean is None, "one seed has no interval"


def test_unfinished_flows_are_in_no_mean() -> None:
    _, observations, summary = run(stop="1us", flows=100, seeds=1, baseline="none")
    (seen,) = observations
    unfinished = int(np.sum(seen.fct_ns < 0))
    assert summary.main.unfinished == unfinished > 0
    assert summary.main.fct_us["overall"].n == 100 - unfinished
    assert any("did not finish" in warning for warning in summary.warnings)


def test_unfinished_flows_are_not_within_a_time() -> None:
    """And endless ones are not counted. 5 ms end the run while the largest flows are under way."""
    endless = [{"from": "h0", "to": "h7"}]
    _, (seen,), summary = run(until="5ms", flows=100, seeds=1, baseline="none", added_flows=endless)
    (seed,) = summary.main.seeds
    assert (seed.unfinished > 0, seed.endless) == (True, 1)
    finite = ~seen.flows.endless
    for group, members in {"overall": finite, "short": finite & (seen.flows.size_bytes <= 100_000)}.items():
        for time, time_ns in {"100us": 10**5, "1ms": 10**6, "50s": 5 * 10**10}.items():
            within = (seen.fct_ns >= 0) & (seen.fct_ns <= time_ns) & members
            metric = find_metric(f"{group}.within.{time}")
            assert metric.of(seed) == pytest.approx(within.sum() / members.sum())
            assert (metric.worse, metric.in_percent) == (-1, True)
    assert METRICS["completed"].of(seed) == finite.sum() - seed.unfinished
    assert find_metric("query.within.1ms").of(seed) is None


def test_times_that_are_not_counted_are_refused() -> None:
    with pytest.raises(BadInput, match="nothing is counted at 300ms") as refused:
        find_metric("overall.within.300ms")
    assert refused.value.remedy == "1, 2 or 5 times a power of ten, 1us to 50s"
    with pytest.raises(BadInput, match="unknown metric"):
        find_metric("some.within.500ms")


def test_a_summary_is_read_back() -> None:
    summary = small()[2]
    plain = summary.to_json()
    assert read_summary(plain) == summary
    assert plain["fct_us"]["short"]["mean"] == summary.main.fct_us["short"].mean


def test_slowdown_is_at_least_one() -> None:
    experiment, observations, _ = small()
    table = flow_table(experiment, observations)
    slowest = table.select((pl.col("fct_ns") / pl.col("ideal_ns")).min()).item()
    # Each hop of the engine ends on a whole ns.
    assert slowest >= 1 - 1e-4, slowest
    assert not math.isinf(slowest)


def test_the_page_has_each_metric_with_its_unit_and_direction() -> None:
    page = (REPOSITORY / "docs" / "results.md").read_text(encoding="utf-8").partition("A metric has one name")[2]
    rows = re.findall(r"^\| (`[^|]+`) \| [^|]+ \| ([^|]*?) ?\| (lower|higher|) ?\|$", page, re.MULTILINE)
    written = {}
    for names, unit, better in rows:
        for name in re.findall("`([^`]+)`", names):
            for group in GROUPS if "GROUP" in name else ("",):
                for stat in ALL_STATISTICS if "STAT" in name else ("",):
                    full = name.replace("GROUP", group).replace("STAT", stat).replace("@A..B", "@1ms..2ms")
                    written[full.replace("@A", "@1ms")] = (unit, {"lower": 1, "higher": -1, "": 0}[better])
    assert written.keys() >= METRICS.keys()
    for name, (unit, worse) in written.items():
        metric = find_metric(name)
        assert (metric.unit, metric.worse) == (unit, worse), name


def test_each_metric_of_a_result_has_a_title_and_a_format() -> None:
    _, _, summary = small()
    for metric in METRICS.values():
        assert metric.title
        said = metric.text(summary.main.seeds, "none")
        assert (said == "none") == all(metric.of(seed) is None for seed in summary.main.seeds)


def test_counts_are_added_up_and_other_metrics_averaged() -> None:
    _, _, summary = small()
    seeds = summary.main.seeds
    assert len(seeds) > 1
    assert METRICS["marks"].text(seeds) == f"{sum(seed.marks.total for seed in seeds):,}"
    assert METRICS["marks"].per_seed(seeds)[0] == pytest.approx(sum(seed.marks.total for seed in seeds) / len(seeds))  # type: ignore[index]
    estimate = summary.main.fct_us["overall"]
    assert METRICS["overall.mean"].per_seed(seeds) == (estimate.mean, estimate.ci95.mean)
    assert METRICS["utilisation"].text(seeds, bounds=False) == f"{summary.main.utilisation:.1%}"
