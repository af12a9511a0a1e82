# SPDX-License-Identifier: MIT OR Apache-2.0
"""Traces of queues and flows: their tables, their files and their pictures."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from conftest import Finished
from marklab.errors import BadInput
from marklab.paths import PROGRAMS
from marklab.prepare.experiment import prepare
from marklab.results.observation import Columns
from marklab.results.traces import (
    FLOW_COLUMNS,
    PACKET_COLUMNS,
    PROBE_COLUMNS,
    QUEUE_COLUMNS,
    flow_table,
    packet_table,
    queue_table,
)
from marklab.spec.description import make_spec
from marklab.spec.packets import TracePackets
from marklab.statistics.fairness import convergence_ns, max_min_shares
from marklab.statistics.randomness import Floats
from runs import run

Cli = Callable[..., Finished]

MS = 10**6
DOCS = Path(__file__).parent.parent / "docs"


def four_flows(tmp_path: Path, size_bytes: int = 10**9) -> dict[str, object]:
    """The DiffECN paper's flows of section III-A, in a third of the time, each in its own queue."""
    rows = [("0", 25), ("10ms", 13), ("20ms", 5), ("20ms", 5)]
    lines = [f"{start},h{host},h4,{size_bytes},{host},{gbps}G" for host, (start, gbps) in enumerate(rows)]
    path = tmp_path / "four.csv"
    path.write_text("\n".join(["start_ns,src,dst,size_bytes,dscp,rate_bps", *lines]))
    return {
        "schemes": ["dctcp-red"], "baseline": "none", "flow_list": str(path), "topology": "incast:senders=4",
        "rate": "40G", "rtt": "28us", "queues": "dwrr:count=4", "stop": "20ms", "seeds": 1,
        "trace_queue": "10us", "trace_flows": "100us",
    }  # fmt: skip


def rates_bps(table: pl.DataFrame, flow: int, interval_ns: int, until_ns: int) -> Floats:
    """Rate of a flow in each interval from 0 to a time."""
    rates = np.zeros(-(-until_ns // interval_ns))
    rows = table.filter((pl.col("flow") == flow) & (pl.col("time_ns") < until_ns))
    rates[(rows["time_ns"] // interval_ns).to_numpy()] = rows["rate_bps"].to_numpy()
    return rates


def test_rates_converge_to_the_max_min_shares(tmp_path: Path) -> None:
    _, (seen,), summary = run(**four_flows(tmp_path))
    assert seen.flow_trace is not None
    table = flow_table(seen.flow_trace, seen.flows.dscp, 100_000)
    assert tuple(table.columns) == tuple(FLOW_COLUMNS)
    # Frames carry 1460 bytes in 1538 on the line.
    line_gbps = 40 * 1460 / 1538
    shares = max_min_shares([[0]] * 4, [line_gbps], [25, 13, 5, 5])
    assert shares == pytest.approx([line_gbps - 23, 13, 5, 5])
    for flow, share in enumerate(shares):
        after = rates_bps(table, flow, 100_000, 40 * MS)[200:]
        settled = convergence_ns(after, 100_000, share * 1e9, 0.1)
        assert settled is not None
        assert settled < 5 * MS
    delivered = table.group_by("dscp").agg(pl.col("bytes").sum()).sort("dscp")["bytes"].to_list()
    assert delivered == seen.per_flow["delivered_bytes"].tolist()
    sharing = summary.main.sharing
    assert sharing is not None
    assert sharing.goodput_bps[1] == pytest.approx(delivered[1] * 8 / 40e-3, rel=1e-3)
    assert sharing.jain == pytest.approx(sum(delivered) ** 2 / (4 * sum(each**2 for each in delivered)))


def test_a_port_and_each_of_its_queues_are_recorded(tmp_path: Path) -> None:
    _, (seen,), _ = run(**four_flows(tmp_path))
    table = queue_table(seen.traces["s0-4"])
    assert tuple(table.columns) == tuple(QUEUE_COLUMNS)
    port, queues = table.filter(pl.col("queue").is_null()), table.filter(pl.col("queue").is_not_null())
    assert sorted(queues["queue"].unique()) == [0, 1, 2, 3]
    for column in ("departed", "sent_bytes", "marked", "rounds"):
        assert port[column].sum() == queues[column].sum() > 0
    assert (table["mean_sojourn_ns"] <= table["max_sojourn_ns"]).all()
    assert (table["mean_sojourn_ns"].is_null() == (table["departed"] == 0)).all()
    assert (table["mean_round_ns"].is_null() == (table["rounds"] == 0)).all()


def test_a_port_with_one_queue_is_recorded_once() -> None:
    _, (seen,), summary = run(trace_queue="10us", flows=50, seeds=1, baseline="none")
    table = queue_table(seen.traces["s0-7"])
    assert table["queue"].null_count() == len(table) > 0
    assert table["rounds"].sum() == 0
    assert summary.main.sharing is None


@pytest.mark.parametrize(("queues", "frames"), [("dwrr:count=4", 4), ("dwrr:count=4,quantum=3mtu/1mtu/1mtu/1mtu", 6)])
def test_t_round_is_within_2_percent_of_the_schedulers_round(tmp_path: Path, queues: str, frames: int) -> None:
    """In steady state, all queues backlogged, on the testbed of the MQ-ECN paper: 1 Gb/s, 250 us."""
    path = tmp_path / "long.csv"
    rows = [f"0,h{host},h8,{10**9},{host % 4}" for host in range(8)]
    path.write_text("\n".join(["start_ns,src,dst,size_bytes,dscp", *rows]))
    _, (seen,), _ = run(
        schemes=["mq-ecn"], baseline="none", flow_list=str(path), topology="incast:senders=8", rate="1G", rtt="250us",
        queues=queues, stop="300ms", seeds=1, trace_queue="100us",
    )  # fmt: skip
    port = queue_table(seen.traces["s0-8"]).filter(pl.col("queue").is_null() & (pl.col("time_ns") > 100 * MS))
    truth = (port["mean_round_ns"] * port["rounds"]).sum() / port["rounds"].sum()
    assert truth == pytest.approx(frames * 1538 * 8, rel=0.01)
    assert port["estimated_mean_round_ns"].mean() == pytest.approx(truth, rel=0.02)


def test_an_estimate_in_no_register_is_refused(tmp_path: Path) -> None:
    program = tmp_path / "own.p4"
    program.write_bytes((PROGRAMS / "mq-ecn.p4").read_bytes())
    described = (PROGRAMS / "mq-ecn.yaml").read_text()
    for wrong, why in [("register: marking.rounds", "unknown"), ("cell: 100000", "no cell 100000")]:
        right = "register: marking.t_round" if wrong.startswith("register") else "cell: port"
        program.with_suffix(".yaml").write_text(described.replace(right, wrong))
        with pytest.raises(BadInput, match=why):
            prepare(make_spec({"schemes": [str(program)], "queues": "dwrr:count=4"}))


def test_an_idle_port_has_a_table_of_the_same_columns() -> None:
    means = {"mean_sojourn_ns": "sum_sojourn_ns", "mean_round_ns": "sum_round_ns"}
    names = [means.get(name, name) for name in QUEUE_COLUMNS if name != "queue"]
    empty: Columns = {name: np.array([], dtype=np.uint64) for name in names}
    assert tuple(queue_table([empty]).columns) == tuple(QUEUE_COLUMNS)


def test_rates_are_zero_where_nothing_came() -> None:
    table = pl.DataFrame({"time_ns": [0, 300, 300, 500], "flow": [1, 1, 2, 1], "rate_bps": [5.0, 6.0, 7.0, 8.0]})
    assert rates_bps(table, 1, 100, 450).tolist() == [5, 0, 0, 6, 0]


def test_too_many_flows_are_refused(cli: Cli, tmp_path: Path) -> None:
    run_of = ("-s", "tcn", "--seeds", "1", "--trace-flows", "--out", str(tmp_path))
    done = cli(*run_of, "--flows", "1001")
    assert done.code == 2
    assert "1,001 flows per seed are too many" in done.err
    assert "--flows 1000" in done.err


def test_the_columns_are_documented() -> None:
    section = (DOCS / "results.md").read_text().partition("\n## Traces\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", section, re.MULTILINE)
    assert rows == [
        *QUEUE_COLUMNS.items(),
        *FLOW_COLUMNS.items(),
        *PACKET_COLUMNS.items(),
        *PROBE_COLUMNS.items(),
    ]


# Marks, and losses at full queues; the flows on a connection differ.
_CROWDED = {
    "schemes": ["dctcp-red:tail"], "baseline": "none", "flows": 200, "seeds": 1, "load": 0.8, "queue": 200,
    "connections": "persistent",
}  # fmt: skip


def packets_of(which: str) -> pl.DataFrame:
    _, (seen,), _ = run(**_CROWDED, trace_packets=which)
    assert seen.packet_trace is not None
    return packet_table(seen.packet_trace)


def test_packets_at_switches_are_those_that_the_run_counts() -> None:
    _, (seen,), _ = run(**_CROWDED, trace_packets="all")
    assert seen.packet_trace is not None
    table = packet_table(seen.packet_trace)
    assert tuple(table.columns) == tuple(PACKET_COLUMNS)
    assert table["time_ns"].is_sorted()
    sent = table.filter(pl.col("lost").is_null())
    lost = table.filter(pl.col("lost").is_not_null())
    for port in seen.report["ports"]:
        here = (pl.col("node") == port["node"]) & (pl.col("port") == port["port"])
        assert (sent.filter(here).height, lost.filter(here).height) == (port["enqueued"], port["dropped"])
        assert sent.filter(here)["marked"].sum() == port["marked"]
    assert lost.height == sum(drop["packets"] for drop in seen.report["drops"]) > 0
    assert lost["lost"].unique().to_list() == ["queue full"]
    assert lost.select("queue", "enq_qdepth", "deq_qdepth", "sojourn_ns").null_count().row(0) == (lost.height,) * 4
    assert sent["sojourn_ns"].null_count() == 0
    # Each flow's data, with what was sent again, and its marks.
    data = table.filter(pl.col("by_client")).group_by("flow").agg(pl.col("marked").sum()).sort("flow")
    assert data["flow"].to_list() == list(range(200))
    assert data["marked"].sum() == table["marked"].sum()


@pytest.mark.parametrize(
    ("which", "kept"),
    [
        ("marks", pl.col("marked")),
        ("losses", pl.col("lost").is_not_null()),
        ("marks,losses", pl.col("marked") | pl.col("lost").is_not_null()),
        ("flow=7", pl.col("flow") == 7),
        ("marks,port=s0:7", pl.col("marked") & (pl.col("port") == 7)),
    ],
)
def test_a_record_has_the_packets_that_it_says(which: str, kept: pl.Expr) -> None:
    table = packets_of(which)
    assert table.height > 0
    assert table.equals(packets_of("all").filter(kept))


def test_the_last_packets_are_kept() -> None:
    assert packets_of("last=1e3").equals(packets_of("all").tail(1000))


def test_a_record_that_is_not_whole_is_told(cli: Cli, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    words = ["run", "--scheme", "dctcp-red", "--flows", "50", "--seeds", "1", "--name", "kept", "--out", str(tmp_path)]
    with caplog.at_level("WARNING"):
        assert cli(*words, "--trace-packets", "last=100").code == 0
    assert re.search(r"has the last 100 packets, and not the [\d,]+ before", caplog.text)
    path, _ = tmp_path.glob("kept-*/traces/*-packets.parquet")
    assert pl.read_parquet(path).height == 100
    assert "holds no traces" in cli("plot", str(path.parent.parent)).err


@pytest.mark.parametrize("which", ["all", "marks", "marks,losses", "flow=7,port=s0:7", "losses,last=5"])
def test_a_record_is_written_as_it_is_read(which: str) -> None:
    assert str(TracePackets.parse(which)) == which


@pytest.mark.parametrize(
    ("which", "complaint"),
    [
        ("mark", "did you mean `marks`"),
        ("flows=7", "did you mean `flow`"),
        ("flow=x", "is not a whole number"),
        ("flow=-1", "is not a whole number"),
        ("last=0", "cannot be kept"),
        ("last=1e9", "cannot be kept"),
        ("", "needs to say of which"),
        ("port=h0", "is a host"),
        ("port=s9:0", "unknown node"),
        ("flow=200", "there is no flow 200"),
    ],
)
def test_a_record_of_what_is_not_there_is_refused(which: str, complaint: str) -> None:
    with pytest.raises(BadInput) as caught:
        run(**_CROWDED, trace_packets=which)
    assert complaint in f"{caught.value} {caught.value.remedy}"
