# SPDX-License-Identifier: MIT OR Apache-2.0
"""The fabric on the real engine."""

import struct
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from marklab.errors import BadInput
from marklab.execution.cells import run_cells
from marklab.execution.flows import flow_table
from marklab.fabrics import Cell, Sim
from marklab.prepare.experiment import prepare
from marklab.prepare.ideal import ideal_ns
from marklab.results.traces import queue_table
from marklab.spec.description import make_spec
from runs import run, small


@pytest.mark.parametrize("connections", ["persistent", "new"])
@pytest.mark.parametrize("topology", ["incast", "leaf-spine:leaves=2,spines=2,hosts=2", "fat-tree"])
def test_a_flow_alone_takes_its_ideal_time(tmp_path: Path, topology: str, connections: str) -> None:
    """A window as large as the flow, so that its sender never waits."""
    rows = [f"{start},0,3,{size},{extra}" for start, size, extra in
            ((0, 1, 0), (10**8, 1460, 7_000), (2 * 10**8, 1461, 0), (3 * 10**8, 1_000_000, 130_000))]  # fmt: skip
    path = tmp_path / "alone.csv"
    path.write_text("\n".join(["start_ns,src,dst,size_bytes,extra_delay_ns", *rows]))
    window = {"initial_window": 1000, "control": "dctcp"}
    if topology == "incast":
        topology = "incast:senders=3"
    experiment, observations, _ = run(
        schemes=["droptail"], baseline="none", flow_list=str(path), seeds=1, topology=topology,
        transport=window, connections=connections, nic={"budget": "10MiB"}, queue=10_000,
    )  # fmt: skip
    ideal = ideal_ns(experiment.spec, experiment.network, observations[0].flows)
    # Every transmission of the engine ends on a whole ns: one for each hop, and four more for a handshake.
    assert np.all(np.abs(observations[0].fct_ns - ideal) <= 10), (observations[0].fct_ns, ideal)


def test_a_flow_on_a_busy_connection_waits_if_asked_to(tmp_path: Path) -> None:
    """20 MB take 16 ms at 10 Gb/s. 1 KB starts 1 ms later: on a connection of its own, or behind them."""
    path = tmp_path / "behind.csv"
    path.write_text("start_ns,src,dst,size_bytes\n0,0,3,20000000\n1000000,0,3,1000\n1000000,1,3,1000\n")
    found = {}
    for busy in ("open", "wait"):
        connections = {"mode": "persistent", "per_pair": 1, "busy": busy}
        _, (seen,), _ = run(
            schemes=["dctcp-red"], baseline="none", flow_list=str(path), seeds=1, topology="incast:senders=3",
            rtt="80us", connections=connections,
        )  # fmt: skip
        found[busy] = seen.fct_ns
    large_ns, behind_ns, other_ns = found["wait"].tolist()
    assert large_ns - 1_000_000 < behind_ns < large_ns - 990_000
    assert other_ns < 1_000_000, "another host has another connection"
    assert found["open"][1] < 1_000_000
    assert behind_ns > 15_000_000


def test_a_run_is_the_same_on_any_number_of_cores(tmp_path: Path) -> None:
    digests = []
    for workers in (1, 2):
        experiment, observations, summary = run(workers, schemes=["red"], flows=200)
        path = tmp_path / f"{workers}.parquet"
        flow_table(experiment, observations).write_parquet(path)
        digests.append((path.read_bytes(), summary.main.marks, summary.main.events))
    assert digests[0] == digests[1]


def test_all_schemes_of_a_run_have_the_same_flows() -> None:
    _, _, summary = small()
    lists = {tuple(seed.flow_list for seed in result.seeds) for result in summary.schemes.values()}
    assert len(lists) == 1


def test_what_is_counted_adds_up() -> None:
    _, observations, _ = small()
    for seen in observations:
        report = seen.report
        assert report["link_transmissions"] <= sum(line["frames"] for line in report["lines"])
        enqueued = sum(port["enqueued"] for port in report["ports"])
        # A switch sends every packet that it accepts, because nothing drops packets behind the queue.
        sent = sum(line["frames"] for line in report["lines"] if line["from"][0] == "s0")
        assert 0 <= enqueued - sent <= 600
        assert report["faults"] == 0
        assert seen.cpu_s > 0


@pytest.mark.parametrize(
    "scheme", ["droptail", "dctcp-red", "red:star", "pi", "rem", "tcn", "codel", "ecn-sharp", "acc"]
)
def test_every_scheme_runs_on_a_leaf_spine(scheme: str) -> None:
    _, _, summary = run(
        schemes=[scheme], baseline="none", topology="leaf-spine:leaves=2,spines=2,hosts=2", flows=100, seeds=1
    )
    assert summary.main.unfinished == 0
    assert summary.main.drops.host == summary.main.drops.switch == 0
    assert (summary.main.marks.total > 0) == (scheme != "droptail")


@pytest.mark.parametrize("scheme", ["pi", "rem"])
@pytest.mark.parametrize("flows", [8, 64])
def test_a_controller_holds_the_queue_where_it_is_told_to(scheme: str, flows: int) -> None:
    """For any number of flows that cut their windows at once. With PRR, eight flows hold PI at 137 packets."""
    reference = {"pi": "q_ref", "rem": "b_star"}[scheme]
    endless = [{"from": f"h{number % 8}", "to": "h8"} for number in range(flows)]
    _, (seen,), summary = run(
        schemes=[f"{scheme}:{reference}=120"], baseline="none", topology="incast:senders=8", rtt="200us",
        flows=0, seeds=1, added_flows=endless, until="200ms", trace_queue="20us", transport={"stack": "rfc"},
    )  # fmt: skip
    table = queue_table(seen.traces["s0-8"])
    assert table.filter(table["time_ns"] > 100_000_000)["packets"].mean() == pytest.approx(120, rel=0.02)
    assert summary.main.utilisation > 0.98


@pytest.mark.parametrize("scheme", ["dctcp-red", "red:star", "pi", "rem"])
@pytest.mark.parametrize("transport", ["dctcp", "reno"])
def test_what_is_not_capable_is_dropped_if_the_scheme_is_told_to(scheme: str, transport: str) -> None:
    glue = "," if ":" in scheme else ":"
    _, _, summary = run(
        schemes=[scheme, f"{scheme}{glue}drop_not_ect=on"], baseline="none", transport=transport, flows=100, seeds=1
    )
    off, on = (result.drops.switch for result in summary.schemes.values())
    assert off == 0
    assert (on > 0) == (transport == "reno")


def test_ecmp_uses_all_ways() -> None:
    _, observations, _ = run(
        schemes=["tcn"], baseline="none", topology="leaf-spine:leaves=2,spines=4,hosts=4", flows=200, seeds=1
    )
    up = [
        line["frames"]
        for line in observations[0].report["lines"]
        if line["from"][0] == "l0" and line["to"][0][0] == "p"
    ]
    assert len(up) == 4
    assert min(up) > 0.1 * max(up)


def test_ecmp_uses_all_ways_of_each_tier() -> None:
    """The switches of a tier use the same hash as those below."""
    _, observations, _ = run(schemes=["tcn"], baseline="none", topology="fat-tree:tiers=4", flows=400, seeds=1)
    frames: Counter[str] = Counter()
    for line in observations[0].report["lines"]:
        if line["to"][0].startswith("c"):
            frames[line["to"][0]] += line["frames"]
    assert len(frames) == 8
    assert min(frames.values()) > 0.1 * max(frames.values()), frames


def test_reno_is_never_marked() -> None:
    _, _, summary = run(schemes=["dctcp-red:k=20"], baseline="none", transport="reno", flows=100, seeds=1)
    assert summary.main.marks.total == 0
    assert summary.main.marks.not_capable > 0
    assert not [warning for warning in summary.warnings if "nothing was marked" in warning]


def test_queues_are_traced(tmp_path: Path) -> None:
    experiment, observations, _ = run(trace_queue="10us", flows=100, seeds=1, baseline="none")
    rows = queue_table(observations[0].traces["s0-7"])
    assert rows["time_ns"].is_sorted()
    assert rows["marked"].sum() == observations[0].report["ports"][7]["marked"]
    assert rows["max_packets"].max() <= experiment.spec.queue.packets


def test_a_port_is_captured(tmp_path: Path) -> None:
    experiment = prepare(make_spec({"schemes": ["tcn"], "baseline": "none", "flows": 3, "seeds": 1, "pcap": "s0:7"}))
    run_cells(Sim(), [Cell(experiment, experiment.schemes[0], 1, tmp_path)], 1, lambda _: None)
    data = (tmp_path / "s0-7.pcap").read_bytes()
    assert data[:4] in (struct.pack("<I", 0xA1B23C4D), struct.pack(">I", 0xA1B23C4D)), "pcap with ns"
    assert len(data) > experiment.flow_lists[1].size_bytes.sum()


@pytest.mark.parametrize(
    ("port", "why"), [("s0:99", "not a port"), ("s1:0", "unknown node `s1`"), ("s0", "not a port")]
)
def test_ports_that_are_not_there_cannot_be_captured(port: str, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        Sim().check(prepare(make_spec({"schemes": ["tcn"], "pcap": port})))


def test_a_cancelled_cell_ends_and_cancels_the_others() -> None:
    experiment = prepare(make_spec({"schemes": ["tcn"], "flows": 20_000, "load": 0.9, "seeds": 4}))
    cells = [Cell(experiment, scheme, seed) for seed in experiment.spec.seed_numbers for scheme in experiment.schemes]

    class Enough(Exception):  # noqa: N818
        pass

    def stop(finished: int) -> None:
        if finished:
            raise Enough

    with pytest.raises(Enough):
        run_cells(Sim(), cells, 2, stop)


TOY = """
#include <core.p4>
#include <v1model.p4>
#include "{include}/marking.p4"

control Marking(in queue_signals_t q, out decision_t decision, out cause_t cause) {{
    bit<19> most = 0;
    bit<32> least = 0;
    action set_params(bit<19> most_pkts, bit<32> least_us) {{ most = most_pkts; least = least_us; }}
    table params {{ actions = {{ set_params; }} default_action = set_params(100, 7); }}
    apply {{
        params.apply();
        decision = decision_t.PASS;
        cause = 0;
        if (q.enq_qdepth_pkts > most && q.sojourn_us >= least) {{ decision = decision_t.MARK; cause = 5; }}
    }}
}}
#include "{include}/switch.p4"
"""


def toy(folder: Path) -> Path:
    include = Path(__file__).parent.parent / "p4src" / "v1model" / "include"
    path = folder / "toy.p4"
    path.write_text(TOY.format(include=include))
    return path


def test_a_program_of_ones_own_runs_without_a_description(tmp_path: Path) -> None:
    program = toy(tmp_path)
    _, _, summary = run(schemes=[f"{program}:most_pkts=20"], baseline=str(program), flows=100, seeds=1)
    mine, default = summary.schemes["toy:most_pkts=20"], summary.schemes["toy"]
    assert mine.marks.by_cause.keys() == {"cause 5"}
    assert mine.marks.total > default.marks.total > 0
    with pytest.raises(BadInput, match="unknown parameter of toy: `k`"):
        prepare(make_spec({"schemes": [f"{program}:k=3"]}))


def test_a_description_gives_a_program_units_and_rules(tmp_path: Path) -> None:
    program = toy(tmp_path)
    program.with_suffix(".yaml").write_text("""
title: Toy
parameters:
  most: {kind: queue_length, doc: more than that, rule: packets_per_us * rtt_min_us}
causes: {5: too many}
entries:
  - {table: marking.params, action: set_params, params: {most_pkts: most, least_us: 0}}
""")
    _, _, summary = run(schemes=[str(program)], baseline="none", flows=100, seeds=1)
    assert summary.main.parameters == {"most": "58 packets"}
    assert summary.main.marks.by_cause.keys() == {"too many"}


def test_a_scheduler_that_the_scheme_does_not_work_with_is_refused(tmp_path: Path) -> None:
    program = toy(tmp_path)
    program.with_suffix(".yaml").write_text("title: Toy\nneeds: {schedulers: [dwrr, wrr]}\n")
    with pytest.raises(BadInput, match="does not work on ports with a fifo scheduler: it needs dwrr or wrr"):
        prepare(make_spec({"schemes": [str(program)]}))
    prepare(make_spec({"schemes": [str(program)], "baseline": "none", "queues": "wrr:count=2"}))


def test_a_scheme_that_deals_out_queues_has_its_own(tmp_path: Path) -> None:
    program = toy(tmp_path)
    program.with_suffix(".yaml").write_text("title: Toy\nneeds: {queues: {scheduler: dwrr, count: 2 * 4, strict: 1}}\n")
    experiment = prepare(make_spec({"schemes": [str(program)], "queues": "fifo:buffer=90KB"}))
    assert [str(scheme.queues) for scheme in experiment.schemes] == [
        "dwrr:count=8,strict=1,buffer=90KB",
        "fifo:buffer=90KB",
    ]


@pytest.mark.parametrize("queues", ["dwrr:count=32,strict=1", "dwrr:count=4,quantum=2mtu/1mtu/1mtu/1mtu"])
def test_the_queues_of_the_run_are_for_the_other_schemes(queues: str) -> None:
    """The same queues by chance, and quanta that do not fit."""
    experiment = prepare(make_spec({"schemes": ["diffecn"], "queues": queues}))
    own, others = experiment.schemes
    assert str(own.queues) == "dwrr:count=32,strict=1,buffer=600 packets"
    assert str(others.queues) == queues
    assert not any(entry["table"] == "service_queue" for entry in own.entries)
    assert any(entry["table"] == "service_queue" for entry in others.entries)


def test_the_digest_covers_the_queues_of_a_scheme(tmp_path: Path) -> None:
    program = toy(tmp_path)
    digests = set()
    for strict in (0, 1):
        program.with_suffix(".yaml").write_text(
            f"title: Toy\nneeds: {{queues: {{scheduler: dwrr, count: 8, strict: {strict}}}}}\n"
        )
        digests.add(prepare(make_spec({"schemes": [str(program)]})).digest())
    assert len(digests) == 2


def test_errors_of_the_compiler_are_shown_with_their_place(tmp_path: Path) -> None:
    program = tmp_path / "bad.p4"
    program.write_text(toy(tmp_path).read_text().replace("decision_t.PASS", "decision_t.PAS"))
    with pytest.raises(BadInput, match=r"bad\.p4:\d+"):
        prepare(make_spec({"schemes": [str(program)]}))


def test_entries_that_the_program_lacks_are_refused(tmp_path: Path) -> None:
    program = toy(tmp_path)
    program.with_suffix(".yaml").write_text(
        "title: Toy\nentries:\n  - {table: marking.parms, action: set_params, params: {most_pkts: 1, least_us: 0}}\n"
    )
    with pytest.raises(BadInput, match=r"toy\.yaml, entries: table `marking\.parms`"):
        prepare(make_spec({"schemes": [str(program)], "baseline": "none", "flows": 1, "seeds": 1}))


def test_forwarding_tables_may_have_other_names(tmp_path: Path) -> None:
    include = Path(__file__).parent.parent / "p4src" / "v1model" / "include"
    shared = str(include.parent.parent / "include")
    switch = (include / "switch.p4").read_text().replace("../../include", shared)
    for old, new in (
        ("ipv4_lpm", "routes"),
        ("forward", "send"),
        ('@name("dst_addr")', '@name("to")'),
        ("ecmp;", "paths;"),
    ):
        switch = switch.replace(old, new)
    for name in ("headers.p4", "marking.p4"):
        (tmp_path / name).write_text((include / name).read_text().replace("../../include", shared))
    (tmp_path / "switch.p4").write_text(switch)
    program = tmp_path / "toy.p4"
    program.write_text(TOY.format(include=tmp_path))
    with pytest.raises(BadInput, match="no table `ipv4_lpm`"):
        prepare(make_spec({"schemes": [str(program)]}))
    program.with_suffix(".yaml").write_text("title: Toy\nforwarding: {table: routes, key: to, action: send}\n")
    topology = "leaf-spine:leaves=2,spines=2,hosts=2"
    _, _, summary = run(schemes=[str(program)], baseline="tcn", topology=topology, flows=50, seeds=1)
    assert summary.main.unfinished == 0
