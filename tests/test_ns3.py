# SPDX-License-Identifier: MIT OR Apache-2.0
"""The comparison with ns-3: tests without ns-3, and small scenarios in both if ns-3 is installed."""

from __future__ import annotations

import re
import stat
import struct
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from marklab.engine import binding as engine
from marklab.errors import BadInput, MarklabError, RunFailed, SetupError
from marklab.fabrics import Cell, Sim
from marklab.ns3 import kept, peer
from marklab.ns3.__main__ import main
from marklab.ns3.agreement import Pool, Quantity, jittered, pool, ranges_us, run_here
from marklab.ns3.comparison import PeerComparison, QueueReading, Side, compare
from marklab.ns3.kept import FlowResults
from marklab.ns3.page import PAGE, place, table
from marklab.ns3.scenario import PLAIN, Scenario, known_scenarios, read_scenario
from marklab.traffic.flows import FlowList, make_flows

LACKING = peer.missing()
real = pytest.mark.needs("ns-3")

K = 20
CROSSING = [
    {"from": f"h{number % 4}", "to": f"h{4 + number // 4}", "size": 146_000, "start": f"{number}ms"}
    for number in range(8)
]
BURST: dict[str, Any] = {
    "schemes": f"dctcp-red:k={K}",
    "topology": "incast:senders=2",
    "rate": "1G",
    "rtt": "40us",
    "transport": {"control": "dctcp", "initial_window": 100},
    "flows": 0,
    # One window each, so that marks do not change the traffic.
    "added_flows": [
        {"from": "h0", "to": "h2", "size": 146_000},
        {"from": "h1", "to": "h2", "size": 146_000, "start": "3us"},
    ],
    "until": "5ms",
    "windows": "1us..5ms",
    "trace_queue": "1us",
}


def scenario(spec: dict[str, Any], *options: str) -> Scenario:
    return Scenario(title="small", ns3=options or ("--aqm=red", f"--k_packets={K}"), spec=spec)


def by_name(comparison: PeerComparison) -> dict[str, tuple[float, float]]:
    return {row.name: (row.here, row.there[0]) for row in comparison.rows}


# Both


@pytest.fixture(scope="module")
def program() -> Path:
    return peer.build()


@real
def test_a_burst_is_marked_packet_by_packet_alike(program: Path) -> None:
    rows = by_name(compare(scenario(BURST), program))
    here, there = rows["marks, whole run"]
    # In two bursts of 100 packets, every second packet finds one packet more than its predecessor.
    assert here == there == 200 - 2 * (K + 1)
    assert rows["FCT, mean, µs"][0] == pytest.approx(rows["FCT, mean, µs"][1], rel=1e-4)
    assert rows["queue, mean, packets"][0] == pytest.approx(rows["queue, mean, packets"][1], rel=1e-3)


@real
def test_a_queue_that_is_full_loses_alike(program: Path) -> None:
    here, there = by_name(compare(scenario(BURST | {"queue": 50}), program))["drops, whole run"]
    assert here == there == 50


@real
def test_long_flows_hold_the_same_queue(program: Path) -> None:
    flows = [{"from": f"h{number}", "to": "h4", "size": 10**9, "start": f"{number}ms"} for number in range(4)]
    spec = BURST | {"topology": "incast:senders=4", "transport": "dctcp", "added_flows": flows}
    spec |= {"until": "150ms", "windows": "50ms..150ms", "rtt": "200us"}
    rows = by_name(compare(scenario(spec), program))
    for name, bound in {"queue, mean, packets": 0.1, "utilisation, %": 0.005, "marked packets, %": 0.4}.items():
        here, there = rows[name]
        assert here == pytest.approx(there, rel=bound), f"{name}: {here} here, {there} of ns-3, bound {bound}"


@real
def test_flows_take_the_same_time(program: Path) -> None:
    spec = {"schemes": f"dctcp-red:k={K}", "topology": "incast:senders=4", "rate": "1G", "rtt": "200us"}
    spec |= {"load": 0.5, "flows": 60, "workload": "cache", "transport": "dctcp"}
    comparison = compare(scenario(spec), program)
    rows = by_name(comparison)
    here, there = rows["FCT, mean, µs"]
    assert here == pytest.approx(there, rel=0.1)
    assert rows["unfinished flows"] == (0, 0)
    assert comparison.correlation is not None
    assert comparison.correlation > 0.95


@real
def test_codel_of_both_holds_the_same_queue(program: Path) -> None:
    named = read_scenario(known_scenarios()["codel-10m"])
    spec = named.spec | {"until": "12s", "windows": "4s..12s"}
    here, there = by_name(compare(scenario(spec, *named.ns3), program))["queue, mean, packets"]
    assert here == pytest.approx(there, rel=0.15)


@real
def test_what_the_peer_refuses_is_told(program: Path) -> None:
    with pytest.raises(RunFailed, match=r"--aqm=ns3::Node is no queue disc"):
        compare(scenario(BURST, "--aqm=ns3::Node"), program)


# Without ns-3


def given(small: Scenario) -> tuple[list[str], FlowList]:
    return small.options(1), small.flows(1)


def test_ns3_is_told_what_the_description_says() -> None:
    spec = BURST | {
        "transport": {"control": "ecn-star", "mss": 1000, "min_rto": "200ms", "initial_rto": "200ms", "ack_every": 2}
    }
    links = [{"ends": ["a", "s"], "delay": "1ms"}, {"ends": ["b", "s"], "delay": "3us"}]
    spec["topology"] = {"hosts": ["a", "b"], "switches": ["s"], "links": links, "bottleneck": [["s", "b"]]}
    spec["added_flows"] = [{"from": "a", "to": "b", "size": 1000}]
    options = scenario(spec).options(3)
    assert options[:4] == ["--topology=incast", "--senders=1", "--delays_ns=1000000,3000", "--aqm_ports=receiver"]
    assert {"--transport=newreno-ecn", "--segment=1000", "--min_rto_us=200000", "--delack_count=2"} < set(options)
    assert {"--rate_bps=1000000000", "--queue_packets=599", "--stop_s=0.005", "--measure_from_s=1e-06"} < set(options)
    assert options[-3:] == ["--RngRun=3", "--aqm=red", "--k_packets=20"]


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"topology": "fat-tree:radix=4"}, "one switch"),
        ({"transport": "ear"}, "no ear"),
        ({"transport": {"min_rto": "1ms"}}, "one timeout"),
        ({"queue": "90KB"}, "one queue per port, of packets"),
        ({"queues": "dwrr:count=2"}, "one queue per port, of packets"),
        ({"windows": "1ms..2ms"}, "one window, to the end of the run"),
        ({"rtt": "40us..90us"}, "no delays or rates of flows"),
    ],
)
def test_what_ns3s_side_lacks_is_refused(settings: dict[str, Any], why: str) -> None:
    spec = BURST | settings
    if "rtt" in settings:
        spec = {name: spec[name] for name in ("schemes", "topology", "rate", "rtt")} | {"flows": 9}
    if "fat-tree" in str(settings.get("topology")):
        spec["added_flows"] = [{"from": "h0", "to": "h9", "size": 1000}]
    with pytest.raises(BadInput, match=why) as raised:
        given(scenario(spec))
    assert raised.value.remedy


def test_a_leaf_spine_is_described_to_ns3_by_its_sizes() -> None:
    spec = BURST | {"topology": "leaf-spine:leaves=2,spines=3,hosts=4", "rtt": "80us", "added_flows": CROSSING}
    options = scenario(spec).options(1)
    sizes = ["--leaves=2", "--spines=3", "--hosts_per_leaf=4"]
    assert options[:5] == ["--topology=leaf-spine", *sizes, "--link_delay_ns=10000"]


def test_a_flow_and_its_acknowledgements_take_the_spines_that_the_peer_computes() -> None:
    # The formula of bench/peers/ns3/README.md, which its own tests compare with ns-3.
    def spine(src: int, dst: int, sport: int, dport: int) -> int:
        fields = struct.pack(">IIBHH", 0x0A000001 + src, 0x0A000001 + dst, 6, sport, dport)
        return zlib.crc32(fields) % 3

    spec = {**BURST, "topology": "leaf-spine:leaves=2,spines=3,hosts=4", "rtt": "80us", "added_flows": CROSSING}
    small = scenario({name: value for name, value in spec.items() if name not in ("windows", "trace_queue", "until")})
    experiment = small.experiment
    seen = Sim().run(Cell(experiment, experiment.schemes[0], 1), engine.new_watch())
    # A host's port and the spines' ports of its leaf follow each other, hosts first.
    queued = {(port["node"], port["port"]): port["enqueued"] for port in seen.report["ports"]}
    taken = np.array([[queued.get((f"l{leaf}", 4 + up), 0) for up in range(3)] for leaf in range(2)])
    least = np.zeros((2, 3), dtype=np.int64)
    for number, flow in enumerate(CROSSING):
        src, dst, sport = int(flow["from"][1:]), int(flow["to"][1:]), 1024 + number
        least[src // 4, spine(src, dst, sport, 5001)] += 100
        least[dst // 4, spine(dst, src, 5001, sport)] += 100
    # Handshakes come on top, and the acknowledgement of a close.
    assert (taken >= least).all()
    assert (taken - least).sum() <= 2 * 6 * len(CROSSING)


@pytest.mark.parametrize("name", known_scenarios())
def test_scenarios_can_be_run(name: str) -> None:
    known = read_scenario(known_scenarios()[name])
    assert known.options(1)[-len(known.ns3) :] == list(known.ns3)
    assert len(known.flows(1)) >= 2


def test_a_mistake_in_a_scenario_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("title: mine\nns3: --aqm=red\nspecs: {}\n")
    with pytest.raises(BadInput, match=r"mine\.yaml: .*specs"):
        read_scenario(path)


def flow_list(*sizes: int) -> FlowList:
    pairs = np.tile(np.array([0, 1], dtype=np.uint32), (len(sizes), 1))
    start = np.arange(len(sizes), dtype=np.uint64)
    return make_flows(start, pairs, np.array(sizes, dtype=np.uint64), np.zeros(len(sizes), dtype=np.uint64))


def test_flows_are_written_with_ports_as_the_engine_numbers_them(tmp_path: Path) -> None:
    path = tmp_path / "flows.csv"
    peer.write_flows(flow_list(*[7] * 64_001), path)
    lines = path.read_text().splitlines()
    assert lines[:2] == ["start_ns,src,dst,size_bytes,sport,dport", "0,0,1,7,1024,5001"]
    assert lines[64_000:] == ["63999,0,1,7,65023,5001", "64000,0,1,7,1024,5002"]
    peer.write_flows(flow_list(peer.LARGEST_FLOW_BYTES), path)
    with pytest.raises(BadInput, match="too large for ns-3"):
        peer.write_flows(flow_list(peer.LARGEST_FLOW_BYTES + 1), path)


ROWS = "flow,fct_ns,handshake_ns,retransmits,timeouts,delivered_bytes\n0,120,40,0,0,7\n1,,40,2,1,3\n"


def test_what_the_peer_says_is_read(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text(ROWS)
    played = peer.read('{"marks": 3, "queue_mean_packets": null}', path, 2)
    assert played.fct_ns.tolist() == [120, -1]
    assert played.retransmissions.tolist() == [0, 2]
    assert played.timeouts.tolist() == [0, 1]
    assert played.number("marks") == 3
    for absent in ("queue_mean_packets", "drops"):
        with pytest.raises(RunFailed, match=f"for {absent}"):
            played.number(absent)


@pytest.mark.parametrize(
    ("printed", "change", "why"),
    [
        ("", str, "did not print one JSON object"),
        ("[1]", str, "did not print one JSON object"),
        ("{}", lambda rows: rows.replace("fct_ns", "fct_us"), "has the columns"),
        ("{}", lambda _: "", "has the columns"),
        ("{}", lambda rows: rows[: rows.index("1,,")], "1 rows for 2 flows"),
        ("{}", lambda rows: rows.replace("1,,", "3,,"), "not in their order"),
        ("{}", lambda rows: rows.replace("120", "soon"), "no number"),
        ("{}", lambda rows: rows.replace(",2,1,3", ",,1,3"), "no number"),
    ],
)
def test_malformed_outputs_are_errors(tmp_path: Path, printed: str, change: Callable[[str], str], why: str) -> None:
    path = tmp_path / "out.csv"
    path.write_text(change(ROWS))
    with pytest.raises(RunFailed, match=why):
        peer.read(printed, path, 2)


def test_a_peer_that_fails_is_an_error_with_its_words(tmp_path: Path) -> None:
    program = tmp_path / "peer"
    program.write_text("#!/bin/sh\necho 'peer: no such thing' >&2\nexit 2\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    with pytest.raises(RunFailed, match="status 2: peer: no such thing"):
        peer.play(program, flow_list(7), [])


def test_without_ns3_it_is_skipped_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert main(["codel-10m"]) == 0
    assert capsys.readouterr().out.startswith("skipped: not found: g++, make, pkg-config\n  try: apt-get install ")
    with pytest.raises(SetupError, match="no ns-3"):
        peer.build()


def test_an_unknown_scenario_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(peer, "missing", list)
    assert main(["codel-10"]) == 2
    assert "unknown scenario `codel-10`\n  try: did you mean `codel-10m`?" in capsys.readouterr().err


# Kept lists


@pytest.fixture
def small_list() -> Scenario:
    """Two seeds of a few flows."""
    spec = {"schemes": f"dctcp-red:k={K}", "topology": "incast:senders=4", "rate": "1G", "rtt": "200us", "seeds": 2}
    return scenario(spec | {"load": 0.5, "flows": 30, "workload": "cache", "transport": {"stack": "ns-3.37"}})


def of_lab(small: Scenario) -> dict[int, FlowResults]:
    return run_here(small.experiment)


def test_results_are_kept_as_equal_bytes_and_read_for_these_flows_only(small_list: Scenario, tmp_path: Path) -> None:
    path, again = tmp_path / "small.csv.gz", tmp_path / "again.csv.gz"
    results = of_lab(small_list)
    for each in (path, again):
        kept.write(each, small_list, results)
    assert path.read_bytes() == again.read_bytes()
    for seed, found in kept.read(path, small_list).items():
        assert found.fct_ns.tolist() == results[seed].fct_ns.tolist()
        assert found.timeouts.tolist() == results[seed].timeouts.tolist()
    for changed, why in (({"flows": 31}, "other flows of seed 1"), ({"queue": 90}, "other options")):
        other = scenario({**small_list.spec, **changed})
        with pytest.raises(BadInput, match=why) as raised:
            kept.read(path, other)
        assert "--again" in str(raised.value.remedy)


def test_ns3_runs_only_on_seeds_that_are_not_kept(
    small_list: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, results, ran = tmp_path / "small.csv.gz", of_lab(small_list), list[int]()
    assert kept.read(path, small_list, is_partial=True) == {}
    kept.write(path, scenario({**small_list.spec, "seeds": 1}), {1: results[1]})
    with pytest.raises(BadInput, match="other flows of seed 2"):
        kept.read(path, small_list)
    have = kept.read(path, small_list, is_partial=True)
    assert list(have) == [1]

    def played(program: Path, flows: FlowList, options: list[str]) -> peer.Played:
        column = flows.start_ns.astype(np.int64)
        return peer.Played(column, column, column, {})

    monkeypatch.setattr(kept, "play", played)
    both = kept.run_ns3(small_list, path, ran.append, have)
    assert (ran, list(both), both[1]) == ([2], [1, 2], have[1])


def test_again_and_missing_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["incast", "--again", "--missing"]) == 2
    assert "--again runs all seeds, and --missing only some" in capsys.readouterr().err


def test_a_flow_that_did_not_finish_is_kept_as_such(small_list: Scenario, tmp_path: Path) -> None:
    results = of_lab(small_list)
    results[2].fct_ns[3] = -1
    kept.write(tmp_path / "small.csv.gz", small_list, results)
    assert kept.read(tmp_path / "small.csv.gz", small_list)[2].fct_ns[3] == -1
    assert len(pool(small_list, results, results).flow) == 59


@pytest.mark.parametrize("name", kept.known_lists())
def test_the_committed_results_are_of_the_flows_that_are_described(name: str) -> None:
    path = kept.known_lists()[name]
    described = read_scenario(path)
    results = kept.read(kept.results_path(path), described)
    assert len(results) >= 40
    assert all(len(found.fct_ns) == 1000 for found in results.values())


def pooled(small: Scenario, factors: dict[int, float]) -> Pool:
    """The lab, and the same with other completion times, by seed."""
    results = of_lab(small)
    other = {
        seed: replace(each, fct_ns=(each.fct_ns * factors[seed]).astype(np.int64)) for seed, each in results.items()
    }
    return pool(small, other, results)


def test_a_difference_has_the_interval_of_its_seeds(small_list: Scenario) -> None:
    mean = Quantity("mean", (0, 2**63), tolerance=0.03)
    alike = pooled(small_list, {1: 1.02, 2: 1.02}).difference(mean)
    assert alike.relative == pytest.approx(0.02, abs=1e-4)
    assert alike.interval == pytest.approx((0.02, 0.02), abs=1e-4)
    assert alike.is_agreement
    apart = pooled(small_list, {1: 1.1, 2: 0.9}).difference(mean)
    assert apart.interval == pytest.approx((-0.1, 0.1), abs=1e-4)
    assert not apart.is_agreement


def test_a_percentile_is_of_all_seeds_together(small_list: Scenario) -> None:
    results = of_lab(small_list)
    all_us = np.sort(np.concatenate([each.fct_ns for each in results.values()])) / 1e3
    found = pooled(small_list, {1: 1, 2: 1}).difference(Quantity("p99", (0, 2**63), 0.9))
    assert found.here_us == found.there_us == all_us[53]
    assert found.is_agreement is None


def test_jitter_moves_starts_and_keeps_order_and_sizes(small_list: Scenario) -> None:
    before = small_list.experiment.flow_lists[1]
    after, again = (jittered(small_list.experiment, draw).flow_lists[1] for draw in (0, 1))
    assert after.start_ns.tolist() != again.start_ns.tolist()
    moved = after.start_ns - before.start_ns
    assert 0 < moved.max() < 1_000
    assert (np.diff(after.start_ns.astype(np.int64)) >= 0).all()
    assert after.size_bytes.tolist() == before.size_bytes.tolist()


def test_flows_that_differ_most_come_first_with_their_times_under_jitter(small_list: Scenario) -> None:
    results = of_lab(small_list)
    found = pool(
        small_list, results, results | {2: replace(results[2], fct_ns=results[2].fct_ns * (1 + np.arange(30)))}
    )
    assert found.flow[found.most_different].tolist() == list(range(29, 19, -1))
    ranges = ranges_us(small_list.experiment, found)
    times_us = found.here["fct_ns"][found.most_different] / 1e3
    assert (ranges[:, 0] <= ranges[:, 1]).all()
    assert (ranges[:, 0] < ranges[:, 1]).any()
    # Here a nanosecond decides nothing.
    assert ranges.mean(axis=1) == pytest.approx(times_us, rel=0.05)


def test_other_stacks_are_named_by_what_is_different(small_list: Scenario) -> None:
    varied = small_list.model_copy(update={"stacks": ({"profile": "rfc"}, {"profile": "ns-3.37", "late_alpha": False})})
    others = varied.with_other_stacks
    assert list(others) == ["profile `rfc`", "`late_alpha`: false"]
    stacks = [other.experiment.spec.transport.stack for other in others.values()]
    assert [(stack.profile, stack.late_alpha, stack.growth) for stack in stacks] == [
        ("rfc", False, "rfc3465"),
        ("ns-3.37", False, "ns3"),
    ]


def side(fct_us: list[float], marks: float, queue_packets: float) -> Side:
    sizes = np.array([100_000, 20_000_000], dtype=np.uint64)
    return Side(sizes, np.array(fct_us), 0, 0, marks, 0, QueueReading(2.0, queue_packets, 1000, 125_000, marks, 0))


def test_quantities_and_their_differences() -> None:
    here, there = [side([100.0, 300.0], 50, 5.4)], {PLAIN: [side([100.0, 200.0], 100, 5.0)]}
    comparison = PeerComparison(scenario(BURST), here, there)
    rows = {row.name: row for row in comparison.rows}
    assert rows["wait, mean, µs"].here == pytest.approx(10_800)  # 5.4 packets, of 500 a second
    assert rows["utilisation, %"].here == pytest.approx(0.05)  # 125 kB in 2 s at 1 Gb/s
    assert rows["marked packets, %"].there == [10]
    assert rows["FCT, mean, above 10 MB, µs"].differences == [0.5]
    assert rows["drops, whole run"].differences == [None]
    text = table(comparison)
    assert "| quantity | here | ns-3 | difference |\n|---|---:|---:|---:|\n" in text
    assert "| queue, mean, packets | 5.4 | 5 | +8.0 % |\n" in text
    assert "| marks, whole run | 50 | 100 | **-50.0 %** |\n" in text
    assert "| drops, whole run | 0 | 0 | |\n" in text


def test_a_flow_that_one_did_not_finish_is_in_no_mean() -> None:
    comparison = PeerComparison(scenario(BURST), [side([100.0, np.nan], 0, 0)], {PLAIN: [side([110.0, 200.0], 0, 0)]})
    rows = by_name(comparison)
    assert rows["FCT, mean, µs"] == (100, 110)
    assert rows["unfinished flows"] == (1, 0)
    assert comparison.correlation is None


def test_tables_replace_those_of_the_page() -> None:
    text = "a\n<!-- table of x -->\nold\n<!-- end of table -->\nb\n<!-- table of y -->\n<!-- end of table -->\n"
    new = place(text, {"x": "| new |\n"})
    assert new == text.replace("old\n", "\n| new |\n\n")
    assert place(new, {"x": "| new |\n"}) == new
    with pytest.raises(MarklabError, match="0 places for a table of z"):
        place(text, {"z": ""})


def test_the_committed_page_has_a_table_of_each_scenario() -> None:
    text = PAGE.read_text(encoding="utf-8")
    of_lists = [f"{name}{table}" for name in kept.known_lists() for table in ("", "-flows", "-stacks")]
    wanted = sorted([*known_scenarios(), *of_lists])
    assert sorted(re.findall(r"<!-- table of (\S+) -->", text)) == wanted, "run `make ns3`"
    assert text.count("| FCT, µs | here | ns-3 | difference | 95 % interval |") == len(kept.known_lists())
    assert text.count("| quantity | here | ns-3 | difference |") == len(known_scenarios())
