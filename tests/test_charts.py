# SPDX-License-Identifier: MIT OR Apache-2.0
"""Charts show the numbers of the flows, which are computed here from the flows themselves."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from collections_of_runs import LOADS, SCHEMES, WORKLOADS, collection_of, grid, single
from conftest import Finished
from marklab.report.chart import Chart, Series
from marklab.report.charts import sections
from marklab.report.grid import Grid
from marklab.report.styles import UNCONGESTED, styles_of
from marklab.results.archive import open_collection
from marklab.results.collection import Collection, Point
from marklab.results.curves import PARTS
from marklab.sweeps.cluster import Workers
from marklab.sweeps.description import Sweep
from marklab.sweeps.execute import run_sweep
from runs import run

BASELINE = "dctcp-red:tail"
CLASS_NAMES = {"overall": "all flows", "short": "flows up to 100 KB", "large": "flows above 10 MB"}


def charts(collection: Collection) -> dict[str, Chart]:
    return {chart.name: chart for section in sections(collection) for chart in section.charts}


def one(chart: Chart, **wanted: object) -> Series:
    """The only series with these properties."""
    found = [each for each in chart.series if all(getattr(each, key) == value for key, value in wanted.items())]
    assert len(found) == 1, (wanted, len(found))
    return found[0]


def of_class(table: pl.DataFrame, name: str) -> pl.DataFrame:
    size = pl.col("size_bytes")
    return table.filter({"overall": size > 0, "short": size <= 100_000, "large": size > 10_000_000}[name])


def by_rank(values: np.ndarray, part: float) -> float:
    """The smallest value that this fraction of them does not exceed, without rounding."""
    return float(np.sort(values)[math.ceil(Fraction(str(part)) * len(values)) - 1])


def per_seed(table: pl.DataFrame, scheme: str, name: str, statistic: str) -> list[float]:
    """FCT in us of each seed."""
    values = []
    for seed in (1, 2, 3):
        rows = of_class(table, name).filter((pl.col("scheme") == scheme) & (pl.col("seed") == seed))
        fct_us = rows["fct_ns"].drop_nulls().to_numpy() / 1e3
        if len(fct_us):
            values.append(by_rank(fct_us, 0.99) if statistic == "p99" else float(fct_us.mean()))
    return values


@pytest.mark.parametrize(
    ("name", "statistic"), [("overall", "mean"), ("short", "mean"), ("short", "p99"), ("large", "mean")]
)
def test_fct_against_load(name: str, statistic: str) -> None:
    collection, tables = grid()
    chart = charts(collection)[f"fct-{name}-{statistic}"]
    assert (chart.kind, chart.x.title, chart.modes) == ("lines", "load", ("absolute", "normalised"))
    for workload, scheme in itertools.product(WORKLOADS, (*SCHEMES, BASELINE)):
        drawn = one(chart, scheme=scheme, mode="absolute", at={"workload": workload})
        by_load = {load: per_seed(tables[load, workload], scheme, name, statistic) for load in LOADS}
        assert drawn.x == tuple(load for load in LOADS if by_load[load])
        for place, load in enumerate(drawn.x):
            values = by_load[float(load)]
            assert drawn.y[place] == pytest.approx(np.mean(values))
            if len(values) > 1:
                interval = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
                assert (drawn.low[place], drawn.high[place]) == pytest.approx(interval)
        if scheme != BASELINE:
            ratios = one(chart, scheme=scheme, mode="normalised", at={"workload": workload})
            below = [np.mean(per_seed(tables[load, workload], BASELINE, name, statistic)) for load in LOADS]
            assert ratios.y == pytest.approx([y / b for y, b in zip(drawn.y, below, strict=True)])
    assert not [series for series in chart.series if series.scheme == BASELINE and series.mode == "normalised"]


@pytest.mark.parametrize("name", list(CLASS_NAMES))
def test_distribution_of_fct(name: str) -> None:
    collection, tables = grid()
    chart = charts(collection)["fct-cdf"]
    where = {"at": {"load": "0.8", "workload": "web_search"}, "pick": {"class": CLASS_NAMES[name]}}
    expected = {}
    for scheme in ("tcn", BASELINE):
        seeds = []
        for seed in (1, 2, 3):
            rows = of_class(tables[0.8, "web_search"], name)
            rows = rows.filter((pl.col("scheme") == scheme) & (pl.col("seed") == seed))
            if len(rows):
                fct_us = rows["fct_ns"].drop_nulls().to_numpy() / 1e3
                seeds.append([by_rank(fct_us, part) for part in PARTS])
        expected[scheme] = np.mean(seeds, axis=0)
        drawn = one(chart, scheme=scheme, mode="absolute", **where)
        assert drawn.x == pytest.approx(expected[scheme])
        assert drawn.y == PARTS
    ratios = one(chart, scheme="tcn", mode="normalised", **where)
    assert ratios.x == pytest.approx(expected["tcn"] / expected[BASELINE])
    assert [axis.log for axis in chart.axes("absolute")] == [True, False]


@pytest.mark.parametrize("name", list(CLASS_NAMES))
def test_the_tail_is_what_the_distribution_leaves_and_flows_alone_are_faster(name: str) -> None:
    collection, tables = grid()
    found = charts(collection)
    where = {"at": {"load": "0.8", "workload": "web_search"}, "pick": {"class": CLASS_NAMES[name]}}
    tail = one(found["fct-ccdf"], scheme="tcn", **where)
    whole = one(found["fct-cdf"], scheme="tcn", mode="absolute", **where)
    assert tail.x == whole.x[:-1]
    assert [1 - y for y in tail.y if y] == pytest.approx(PARTS[:-1])
    assert [axis.log for axis in found["fct-ccdf"].axes("absolute")] == [True, True]
    alone = one(found["fct-ccdf"], scheme=UNCONGESTED, **where)
    seeds = []
    for seed in (1, 2, 3):
        rows = of_class(tables[0.8, "web_search"], name)
        # The flows of all schemes are the same.
        rows = rows.filter((pl.col("scheme") == "ecn-sharp") & (pl.col("seed") == seed))
        if len(rows):
            seeds.append([by_rank(rows["ideal_ns"].to_numpy() / 1e3, part) for part in PARTS[:-1]])
    assert alone.x == pytest.approx(np.mean(seeds, axis=0))
    assert all(ideal <= fct for ideal, fct in zip(alone.x, tail.x, strict=True))


def test_slowdown_by_size() -> None:
    collection, tables = grid()
    chart = charts(collection)["slowdown-by-size"]
    where = {"at": {"load": "0.5", "workload": "web_search"}, "pick": {"statistic": "mean"}}
    table = tables[0.5, "web_search"].with_columns(slowdown=pl.col("fct_ns") / pl.col("ideal_ns"))
    means = {}
    for scheme in ("tcn", BASELINE):
        drawn = one(chart, scheme=scheme, mode="absolute", **where)
        bounds = [0, *(float(x) for x in drawn.x)]
        for place, up_to in enumerate(drawn.x):
            # Bins without flows are left out, so the bin below ends half an octave below.
            above = max(bounds[place], float(up_to) / 2**0.5 - 1) if place else 0
            rows = table.filter((pl.col("scheme") == scheme) & (pl.col("size_bytes") > above))
            rows = rows.filter(pl.col("size_bytes") <= up_to)
            seeds = [part["slowdown"].mean() for part in rows.partition_by("seed")]
            assert drawn.y[place] == pytest.approx(np.mean(seeds)), (scheme, up_to)
            means[scheme, up_to] = {int(part["seed"][0]): part["slowdown"].mean() for part in rows.partition_by("seed")}
    ratios = one(chart, scheme="tcn", mode="normalised", **where)
    for up_to, ratio in zip(ratios.x, ratios.y, strict=True):
        over, under = means["tcn", up_to], means[BASELINE, up_to]
        both = set(over) & set(under)
        assert ratio == pytest.approx(sum(over[seed] for seed in both) / sum(under[seed] for seed in both))


def test_marks_drops_and_timeouts() -> None:
    collection, _ = single()
    found, summary = charts(collection), collection.points[0].summary
    for scheme, result in summary.schemes.items():
        of_chart = [series for series in found["marks-by-cause"].series if series.scheme == scheme]
        assert {series.part: series.y[0] for series in of_chart} == {
            cause: count / 2 for cause, count in result.marks.by_cause.items()
        }
        assert sum(series.y[0] or 0 for series in of_chart) == result.marks.total / 2 > 0
        places = [series for series in found["drops-by-place"].series if series.scheme == scheme]
        assert sum(series.y[0] or 0 for series in places) == result.drops.total / 2
        assert one(found["timeouts"], scheme=scheme).y == (result.timeouts / 2,)
        utilisations = [100 * seed.utilisation for seed in result.seeds]
        assert one(found["utilisation"], scheme=scheme).y == pytest.approx((np.mean(utilisations),))
    assert found["marks-by-cause"].kind == "stacks"
    assert "marks" not in found


def test_services_and_probes() -> None:
    collection, _ = single()
    found, result = charts(collection), collection.points[0].summary.schemes["mq-ecn"]
    goodput = one(found["goodput"], scheme="mq-ecn")
    assert goodput.x == ("0", "1")
    assert goodput.y == pytest.approx([result.sharing.goodput_bps[dscp] / 1e6 for dscp in (0, 1)])
    rates = np.array([[seed.sharing.goodput_bps[dscp] for dscp in (0, 1)] for seed in result.seeds])
    index = np.mean(rates.sum(axis=1) ** 2 / (2 * (rates**2).sum(axis=1)))
    assert one(found["jain"], scheme="mq-ecn").y == pytest.approx((index,))
    trips = one(found["probes"], scheme="mq-ecn", pick={"probe": "h0:h7", "statistic": "99th percentile"})
    assert trips.y == (result.rtt_us["all"].p99,)


def test_queues_over_time(cli: Callable[..., Finished], tmp_path: Path) -> None:
    assert cli("-s", "tcn", "--flows", "30", "--seeds", "1", "--trace-queue", "--out", str(tmp_path)).code == 0
    (folder,) = tmp_path.iterdir()
    found = charts(open_collection(folder))
    trace = pl.read_parquet(folder / "traces" / "tcn-seed1-s0-7.parquet").filter(pl.col("queue").is_null())
    where = {"scheme": "tcn", "pick": {"port": "s0-7", "seed": "1", "queue": "all of the port"}}
    lengths, waits = one(found["queue-length"], **where), one(found["sojourn"], **where)
    assert max(y for y in lengths.y if y is not None) == trace["max_packets"].max()
    assert max(y for y in waits.y if y is not None) == trace["max_sojourn_ns"].max() / 1e3
    longest = trace.filter(pl.col("max_packets") == trace["max_packets"].max())["time_ns"][0] / 1e6
    step_ms = lengths.x[1] - lengths.x[0]
    assert abs(lengths.x[lengths.y.index(max(lengths.y))] - longest) <= step_ms

    (folder / "traces" / "tcn-seed1-s0-7.parquet").write_bytes(b"PAR1 and no more")
    notes = [note for section in sections(open_collection(folder)) for note in section.notes]
    assert len(notes) == 1
    assert "traces/tcn-seed1-s0-7.parquet cannot be read" in notes[0]


def test_queues_over_time_of_a_sweep_are_those_of_its_first_seed(tmp_path: Path) -> None:
    settings = {"schemes": ["tcn"], "baseline": "none", "flows": 30, "seeds": 2, "trace_queue": "10us"}
    folder = run_sweep(Sweep(settings, {"load": (0.3, 0.8)}), tmp_path, Workers(2), lambda _: None)
    found = charts(open_collection(folder))
    for load in (0.3, 0.8):
        of_load = [pl.read_parquet(path) for path in (folder / "traces").glob("*.parquet")]
        (trace,) = (
            rows
            for rows in of_load
            if rows.row(0, named=True)["load"] == load and rows["seed"].unique().to_list() == [1]
        )
        at = {"scheme": "tcn", "at": {"load": str(load)}, "pick": {"port": "s0-7", "queue": "all of the port"}}
        lengths = one(found["queue-length"], **at)
        assert max(y for y in lengths.y if y is not None) == trace["max_packets"].max()
    notes = [note for section in sections(open_collection(folder)) for note in section.notes]
    assert notes == ["Of each point the first seed is drawn; the others are in traces/."]


def test_what_is_on_the_axis() -> None:
    points = grid()[0].points

    def of(*settings: dict[str, object]) -> Grid:
        return Grid(tuple(Point(each, points[0].summary, {}) for each in settings))

    assert of({"flows": 5, "load": 0.5}, {"flows": 9, "load": 0.8}).axis == "load"
    assert of({"flows": 9, "load": 0.5}, {"flows": 5, "load": 0.5}).axis == "flows"
    assert of({"flows": 9, "queue": "a"}, {"flows": 9, "queue": "b"}).axis is None
    assert of({}).axis is None
    assert of({"flows": 9}, {"flows": 10}, {"flows": 2}).values == {"flows": (2, 9, 10)}
    unnamed = of({"queue": "a"}, {"queue": "b"})
    assert [at for at, _ in unnamed.lines] == [{"queue": "a"}, {"queue": "b"}]


def test_what_is_not_there_is_left_out() -> None:
    """A scheme that failed at a point has no value there, and the others keep theirs."""
    collection, _ = grid()
    first = collection.points[0]
    others = {label: result for label, result in first.summary.schemes.items() if label != "tcn"}
    without = dataclasses.replace(
        first,
        summary=first.summary.model_copy(update={"schemes": others}),
        curves={scheme: curves for scheme, curves in first.curves.items() if scheme != "tcn"},
    )
    found = charts(dataclasses.replace(collection, points=(without, *collection.points[1:])))
    where = {"mode": "absolute", "at": {"workload": "web_search"}}
    assert one(found["fct-overall-mean"], scheme="tcn", **where).x == (0.8,)
    assert one(found["fct-overall-mean"], scheme="ecn-sharp", **where).x == LOADS
    settings = {"load": "0.5", "workload": "web_search"}
    drawn = {series.scheme for series in found["fct-cdf"].series if series.at == settings}
    assert drawn == {"ecn-sharp", BASELINE, UNCONGESTED}


def test_schemes_look_different_to_all_eyes() -> None:
    """Neighbouring colours differ for people without red, green or blue cones; markers distinguish the others."""
    names = [f"scheme {number}" for number in range(30)]
    styles = styles_of([*names, "baseline"], "baseline", uncongested=True)
    assert len({(style.colour, style.dash, style.marker) for style in styles.values()}) == 32
    assert len({(style.dash, style.marker) for style in styles.values()}) == 32
    colours = {style.colour for style in styles.values()}
    # Machado, Oliveira and Fernandes 2009, severity 1.0: protanopia, deuteranopia, tritanopia.
    eyes = np.array([
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    ])  # fmt: skip
    for eye in (np.eye(3), *eyes):
        seen = [_lab(eye @ _linear(colour)) for colour in colours]
        # Two that differ by less than 2.3 look the same side by side.
        assert min(float(np.linalg.norm(a - b)) for a, b in itertools.combinations(seen, 2)) > 10


def _linear(colour: str) -> np.ndarray:
    value = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def _lab(linear: np.ndarray) -> np.ndarray:
    """CIE 1976, of white point D65."""
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    ratio = np.array(to_xyz) @ np.clip(linear, 0, 1) / np.array([0.9505, 1.0, 1.089])
    f = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_distributions_of_round_trips_and_queues_are_those_of_the_summary() -> None:
    summary = run(schemes=["tcn"], baseline="none", flows=100, seeds=2, sample_queues="50us")[2]
    collection = collection_of((Point({}, summary, {}),), "run")
    charts = {chart.name: chart for section in sections(collection) for chart in section.charts}
    rtts, queues = charts["rtt-cdf"], charts["queue-cdf"]
    assert queues.picks == {"switches": ("all", "s")}
    seeds = summary.main.seeds
    quantiles = [seed.tcp_rtt_us.quantiles for seed in seeds if seed.tcp_rtt_us]
    assert [series.x for series in rtts.series] == [tuple(np.mean(quantiles, axis=0).tolist())]
    at_p99 = PARTS.index(0.99)
    assert rtts.series[0].x[at_p99] == pytest.approx(
        np.mean([seed.tcp_rtt_us.p99 for seed in seeds if seed.tcp_rtt_us])
    )
    assert queues.series[0].x[-1] == np.mean([seed.queues_packets["all"].max for seed in seeds])
    without = collection_of((Point({}, run(flows=50, seeds=1, baseline="none")[2], {}),), "run")
    assert not {"rtt-cdf", "queue-cdf"} & {chart.name for section in sections(without) for chart in section.charts}
