# SPDX-License-Identifier: MIT OR Apache-2.0
"""Transports that react to delays, and their measurements: round trips, windows, queues of all ports."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marklab.errors import BadInput
from marklab.execution.flows import flow_table
from marklab.metrics.cell import flow_round_trip_us, sample
from marklab.metrics.histograms import kind_of, of_histogram, sampled_flows
from marklab.prepare.ideal import full_frame_ns
from marklab.results.curves import PARTS
from marklab.results.metric import find_metric
from marklab.results.summary import ActiveFlows
from marklab.spec.description import make_spec
from marklab.statistics.samples import nearest_rank
from runs import run


def test_the_threshold_is_120_packets_of_a_line_unless_it_is_given() -> None:
    """EAR paper, section 4.2: 144 us at 10 Gb/s."""
    ear = make_spec({"schemes": ["droptail"], "transport": "ear"}).transport
    assert [ear.threshold_ns(rate) for rate in (10**10, 10**9)] == [144_000, 1_440_000]
    given_us = make_spec({"schemes": ["droptail"], "transport": {"control": "delay-dctcp", "delay_threshold": "90us"}})
    assert given_us.transport.threshold_ns(10**10) == 90_000
    assert make_spec({"schemes": ["droptail"]}).transport.threshold_ns(10**10) is None


@pytest.mark.parametrize(
    ("transport", "says"),
    [
        ({"control": "dctcp", "delay_threshold": "144us"}, "`dctcp` does not hear delays"),
        ({"control": "ear", "mss": 8}, "no room for the option by which ear measures its base delay"),
        ({"control": "ear", "delay_threshold": 0}, "delay_threshold"),
        ({"control": "eer"}, "ear"),
    ],
)
def test_what_cannot_hear_delays_is_refused(transport: dict[str, object], says: str) -> None:
    with pytest.raises(BadInput) as error:
        make_spec({"schemes": ["droptail"], "transport": transport})
    assert says in f"{error.value} {error.value.remedy}"


def test_flows_know_their_base_delay_their_round_trips_and_windows() -> None:
    experiment, observations, summary = run(
        schemes=["dctcp-red:k=65"], baseline="none", transport="ear", flows=200, seeds=1, load=0.5
    )
    table = flow_table(experiment, observations)
    flows = experiment.flow_lists[1]
    full = full_frame_ns(experiment.spec, experiment.network, flows)
    # Two lines of 10 Gb/s, each with a quarter of 70 us; frames with 24 bytes around them.
    assert set(full.tolist()) == {2 * (1538 * 0.8 + 17_500)}
    bases = table["base_delay_ns"].drop_nulls().to_numpy()
    assert np.median(bases) == pytest.approx(full[0], rel=0.05)
    measured = table.filter(pl.col("rtt_mean_ns").is_not_null())
    # The whole RTT, including the host's part.
    assert (measured["rtt_mean_ns"] >= 70_000 + measured["extra_delay_ns"] * 0.99).all()
    assert (measured["cwnd_mean_bytes"] >= 1452).all()
    rtts = summary.main.seeds[0].tcp_rtt_us
    assert rtts is not None
    assert rtts.n > table.height
    assert (rtts.mean or 0) < (rtts.p99 or 0) <= (rtts.p999 or 0)
    assert rtts.quantiles == ()


def test_round_trips_count_by_the_time_that_flows_are_under_way() -> None:
    """By hand: (100 us * 1 ms + 300 us * 4 ms) / 5 ms, where the second flow lasts until the run ends after 6 ms."""
    _, (seen,), summary = run(schemes=["droptail"], baseline="none", flows=3, seeds=1)
    start_ns = np.array([0, 2, 3], dtype=np.uint64) * 1_000_000
    three = replace(
        seen,
        flows=replace(seen.flows, start_ns=start_ns),
        fct_ns=np.array([1_000_000, -1, 500_000], dtype=np.int64),
        # The third ended before its sender had measured anything.
        per_flow={**seen.per_flow, "rtt_mean_ns": np.array([100_000, 300_000, 0], dtype=np.uint64)},
        report={**seen.report, "end_ns": 6_000_000},
    )
    assert flow_round_trip_us(three) == pytest.approx(260)
    unknown = {name: column for name, column in seen.per_flow.items() if name != "rtt_mean_ns"}
    assert flow_round_trip_us(replace(seen, per_flow=unknown)) is None
    nothing = {**seen.per_flow, "rtt_mean_ns": np.zeros(3, dtype=np.uint64)}
    assert flow_round_trip_us(replace(seen, per_flow=nothing)) is None
    assert find_metric("flow_rtt.mean").of(summary.main.seeds[0]) == flow_round_trip_us(seen)


def test_transports_without_delays_have_no_base() -> None:
    experiment, observations, _ = run(flows=50, seeds=1, baseline="none")
    assert "base_delay_ns" not in flow_table(experiment, observations).columns


def test_a_base_that_holds_a_queue_is_said() -> None:
    def warnings(threshold: str) -> str:
        transport = {"control": "ear", "delay_threshold": threshold}
        # A hundred flows at once, on connections that are all busy for the first time.
        queries = {"senders": 100, "at": ["1ms"]}
        return "\n".join(run(transport=transport, queries=queries, flows=50, seeds=1, baseline="none")[2].warnings)

    assert "flows have no base delay" in warnings("20us")
    assert "threshold of 20us" in warnings("20us")
    assert "no base delay" not in warnings("10ms")


def test_warm_connections_know_the_base_delay_when_the_run_begins() -> None:
    def bases(**connections: object) -> tuple[list[int], list[float]]:
        # A hundred flows at once from seven hosts: more than the connections that are open.
        queries = {"senders": 100, "at": ["1ms"]}
        settings = {"mode": "persistent", "per_pair": 10, **connections}
        experiment, (seen,), _ = run(
            transport="ear", queries=queries, flows=50, seeds=1, baseline="none", connections=settings
        )
        full = full_frame_ns(experiment.spec, experiment.network, seen.flows)
        return seen.per_flow["base_delay_ns"].tolist(), full.tolist()

    learnt, full = bases()
    assert max(learnt) > 2 * max(full)
    known, full = bases(warm=True)
    told = [base == round(delay) for base, delay in zip(known, full, strict=True)]
    assert 0.5 < sum(told) / len(told) < 1


def test_what_cannot_be_warm_is_refused() -> None:
    for connections in ({"mode": "new"}, {"mode": "asked"}, {"mode": "persistent", "per_pair": 0}):
        with pytest.raises(BadInput, match="open before the run can be warm"):
            make_spec({"schemes": ["droptail"], "connections": {**connections, "warm": True}})
    cold = make_spec({"schemes": ["droptail"]})
    assert "warm" not in str(cold.model_dump(exclude_none=True))


@pytest.mark.parametrize(("transport", "deaf"), [("reno", True), ("delay-dctcp", True), ("ear", False)])
def test_a_transport_without_ecn_under_a_scheme_that_only_marks_is_said(transport: str, deaf: bool) -> None:
    summary = run(schemes=["dctcp-red:k=20"], baseline="none", transport=transport, flows=100, seeds=1)[2]
    text = f"{transport} has no ECN"
    assert (text in "\n".join(summary.warnings)) is deaf


def test_queues_of_all_ports_are_sampled() -> None:
    topology = "leaf-spine:leaves=2,spines=2,hosts=3"
    experiment, observations, summary = run(
        schemes=["droptail"], baseline="none", topology=topology, flows=100, seeds=1, sample_queues="50us"
    )
    looks = int(experiment.flow_lists[1].start_ns[-1]) // 50_000 + 1
    samples = observations[0].queue_samples
    assert samples is not None
    # Six ports to hosts, four upward, four downward.
    by_port = pl.DataFrame(dict(samples)).group_by("node", "port").agg(pl.col("looks").sum())
    assert by_port.height == 14
    assert set(by_port["looks"].to_list()) == {looks}
    found = summary.main.seeds[0].queues_packets
    assert [(kind, queue.n) for kind, queue in found.items()] == [
        ("all", 14 * looks),
        ("l", 10 * looks),
        ("p", 4 * looks),
    ]
    assert found["all"].max == max(found["l"].max, found["p"].max) > 0
    assert len(found["all"].quantiles) == len(PARTS)
    # The bottleneck is the four ports upward.
    active = summary.main.seeds[0].active_flows
    assert active is not None
    assert active.n == 4 * looks
    assert 0 < active.mean <= active.max <= found["l"].max
    assert find_metric("active.p90").of(summary.main.seeds[0]) == active.p90


def test_active_flows_are_those_of_the_chosen_ports() -> None:
    """At s0:1, 0 flows in 6 samples, 2 in 3 and 9 in 1: mean (6 + 9) / 10, and the 9th of 10 samples is 2."""
    samples = {
        "node": np.array(["s0", "s0", "s0", "s0", "s1"]), "port": np.array([1, 1, 1, 2, 1]),
        "flows": np.array([0, 2, 9, 30, 40]), "looks": np.array([6, 3, 1, 10, 10]),
    }  # fmt: skip
    found = sampled_flows(samples, {("s0", 1)})
    assert found == ActiveFlows(n=10, mean=1.5, p50=0, p90=2, p99=9, max=9)
    assert sampled_flows(None, {("s0", 1)}) is None
    assert sampled_flows(samples, {("s0", 3)}) is None


def test_kinds_of_switches_are_names_without_numbers() -> None:
    assert [kind_of(name) for name in ("s0", "l12", "t3-4", "R1", "7", "h0-nic")] == ["s", "l", "t", "R", "7", "h0-nic"]


@given(st.dictionaries(st.integers(0, 50), st.integers(0, 40), min_size=1))
def test_counted_values_have_the_statistics_of_the_values(counts: dict[int, int]) -> None:
    ordered = sorted(counts)
    values = np.repeat(np.array(ordered, dtype=np.float64), [counts[value] for value in ordered])
    found = of_histogram(
        np.array(ordered, dtype=np.float64), np.array([counts[value] for value in ordered], dtype=np.uint64)
    )
    expected = sample(values)
    assert (found.n, found.p50, found.p99, found.p999) == (expected.n, expected.p50, expected.p99, expected.p999)
    assert found.mean == pytest.approx(expected.mean)
    if found.n:
        assert found.quantiles == tuple(nearest_rank(values, part) for part in PARTS)
