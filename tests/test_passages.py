"""What packets say of the flows of a port."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import run

from orchestrator.errors import BadInput
from orchestrator.experiment import prepare
from orchestrator.passages import active_flows
from orchestrator.paths import PROGRAMS
from orchestrator.spec import make_spec
from orchestrator.traces import queue_table

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
    """Oracle: the definition, a set for each time."""
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
    """It is the larger of two periods, of which one has just begun."""
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
