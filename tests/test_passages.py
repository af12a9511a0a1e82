# SPDX-License-Identifier: MIT OR Apache-2.0
"""Properties of flows, from the packets that pass a port."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marklab.errors import BadInput
from marklab.metrics.passages import active_flows, flows_of, marked_flows, senders_beyond_share
from marklab.paths import PROGRAMS, REPOSITORY
from marklab.prepare.experiment import prepare
from marklab.results.metric import find_metric
from marklab.results.observation import Columns
from marklab.results.summary import Classification, read_summary
from marklab.results.traces import queue_table
from marklab.spec.description import make_spec
from runs import run

STAR = {
    "schemes": ["diffecn"], "baseline": "none", "topology": "incast:senders=8", "rtt": "100us", "seeds": 1,
    "trace_queue": "10us",
}  # fmt: skip


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 4)), max_size=30),
    st.integers(1, 20),
    st.lists(st.integers(0, 90), max_size=20),
)
def test_flows_are_counted_as_by_hand(packets: list[tuple[int, int]], within: int, times: list[int]) -> None:
    """Oracle: the definition, with a set for each time."""
    packets = sorted(packets)
    columns = {
        "departed_ns": np.array([time for time, _ in packets], dtype=np.uint64),
        "five_tuple": np.array([flow for _, flow in packets], dtype=np.uint32),
    }
    counted = active_flows(columns, np.array(times, dtype=np.uint64), within)
    expected = [len({flow for time, flow in packets if at - within < time <= at}) for at in times]
    assert counted.tolist() == expected


def test_n_flow_is_the_number_of_flows_in_steady_state() -> None:
    """Each of eight flows sends something in 1.5 RTT."""
    flows = [{"from": f"h{host}", "to": "h8"} for host in range(8)]
    _, (seen,), _ = run(**STAR, flows=0, added_flows=flows, until="10ms")
    port = queue_table(seen.traces["s0-8"]).filter(pl.col("queue").is_null() & (pl.col("time_ns") > 2_000_000))
    assert set(port["active_flows"]) == set(port["estimated_active_flows"]) == {8}


def test_n_flow_follows_the_number_of_flows() -> None:
    """It is the larger number of two periods, one of which has just begun."""
    _, (seen,), _ = run(**STAR, flows=200)
    port = queue_table(seen.traces["s0-8"]).filter(pl.col("queue").is_null())
    off = (port["estimated_active_flows"] - port["active_flows"]).abs()
    assert port["active_flows"].max() > 4
    assert off.mean() < 0.1 * port["active_flows"].mean()
    assert pl.DataFrame([port["active_flows"], port["estimated_active_flows"]]).corr()[0, 1] > 0.95


def test_a_time_means_something_for_flows_only(tmp_path: Path) -> None:
    program = tmp_path / "own.p4"
    program.write_bytes((PROGRAMS / "mq-ecn.p4").read_bytes())
    described = (PROGRAMS / "mq-ecn.yaml").read_text()
    program.with_suffix(".yaml").write_text(described.replace("cell: port", "cell: port, within: t_idle"))
    with pytest.raises(BadInput, match="`within` of `mean_round_ns` means nothing"):
        prepare(make_spec({"schemes": [str(program)], "queues": "dwrr:count=4"}))


def passages(*rows: tuple[int, int, int, bool]) -> Columns:
    """Passages from rows (arrived, flow, bytes, marked); each packet leaves on arrival."""
    arrived, flow, size, marked = zip(*rows, strict=True)
    times = np.array(arrived, dtype=np.uint64)
    return {
        "arrived_ns": times, "departed_ns": times, "five_tuple": 2 * np.array(flow, dtype=np.uint32),
        "flow": np.array(flow, dtype=np.uint32), "bytes": np.array(size, dtype=np.uint32), "marked": np.array(marked),
    }  # fmt: skip


@pytest.mark.parametrize(("bytes_", "beyond"), [(49, []), (50, []), (51, [1])])
def test_a_flow_is_beyond_its_share_if_the_line_cannot_carry_all(bytes_: int, beyond: list[int]) -> None:
    """100 bytes per interval: flow 2 sends 40 and flow 3 sends 10, which leaves 50 for flow 1."""
    rows = passages((0, 1, 30, False), (5, 2, 40, False), (9, 1, bytes_ - 30, True), (9, 3, 10, False))
    assert senders_beyond_share(rows, 10, 100 * 8e9 / 10).tolist() == beyond
    assert marked_flows(rows).tolist() == [1]
    assert flows_of(rows).tolist() == [1, 2, 3]


def test_intervals_are_by_themselves_and_acknowledgements_no_part() -> None:
    rows = dict(passages((0, 1, 60, False), (10, 2, 60, False), (19, 3, 80, True), (20, 4, 90, False)))
    assert senders_beyond_share(rows, 10, 100 * 8e9 / 10).tolist() == [2, 3]
    rows["five_tuple"][2] += 1
    assert senders_beyond_share(rows, 10, 100 * 8e9 / 10).tolist() == []
    assert marked_flows(rows).tolist() == []


FOUR = {
    "baseline": "none", "topology": "topologies/diffecn-unit.yaml", "rate": "40G", "rtt": "28us", "flows": 0,
    "framing": {"min_bytes": 0, "overhead_bytes": -12}, "seeds": 1, "trace_queue": "10us", "trace_flows": "100us",
    "until": "10ms", "added_flows": [
        {"from": "S1", "to": "R", "rate": "25G"}, {"from": "S2", "to": "R", "rate": "13G"},
        {"from": "S3", "to": "R", "rate": "5G", "start": "5ms"},
        {"from": "S4", "to": "R", "rate": "5G", "start": "5ms"},
    ],
}  # fmt: skip


def test_diffecn_spares_the_flows_within_their_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """DiffECN paper, section III-A: it marks F1 and F2, where ECN marks all."""
    monkeypatch.chdir(REPOSITORY)
    _, _, summary = run(**FOUR, schemes=["diffecn", "dctcp-red"])
    found = {name: result.classification for name, result in summary.schemes.items()}
    spared, all_marked = found["diffecn"], found["dctcp-red"]
    assert spared is not None
    assert all_marked is not None
    assert (spared.others_unmarked, spared.congested_unmarked) == (2, 0)
    assert all_marked.others_marked + all_marked.congested_marked == 4
    seed = summary.main.seeds[0]
    assert find_metric("accuracy").of(seed) == 100 * (spared.accuracy or 0)
    assert find_metric("recall").of(seed) == 100 * (spared.recall or 0)
    assert read_summary(summary.to_json()) == summary


def test_accuracy_and_recall_are_the_papers() -> None:
    """Eq. 3 and 4."""
    found = Classification.of(congested_marked=6, congested_unmarked=2, others_marked=1, others_unmarked=11)
    assert (found.accuracy, found.recall) == (17 / 20, 6 / 8)
    nothing = Classification.of(congested_marked=0, congested_unmarked=0, others_marked=0, others_unmarked=0)
    assert (nothing.accuracy, nothing.recall) == (None, None)
