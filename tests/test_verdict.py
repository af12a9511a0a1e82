# SPDX-License-Identifier: MIT OR Apache-2.0
"""A bad run reports doubts."""

import dataclasses
from pathlib import Path
from shutil import copytree

import pytest

from marklab.metrics.summarise import summarise
from marklab.paths import REPOSITORY
from marklab.prepare.experiment import prepare
from marklab.results.observation import Observation
from marklab.results.summary import EcnInterference
from marklab.spec.description import make_spec
from runs import run, small


def warnings(**settings: object) -> str:
    return "\n".join(run(flows=150, seeds=1, baseline="none", **settings)[2].warnings)


def test_a_good_run_has_no_warnings() -> None:
    assert run(flows=300, seeds=1)[2].warnings == ()


def test_few_short_flows() -> None:
    assert "short flows only" in warnings()


@pytest.mark.parametrize(("senders", "few"), [(99, True), (100, False)])
def test_few_flows_of_queries(senders: int, few: bool) -> None:
    text = f"a seed has {senders} flows of queries only"
    assert (text in warnings(queries={"senders": senders, "at": ["1ms"]})) is few


def test_a_run_that_is_too_short_for_its_load() -> None:
    assert "too short to build it up" in warnings(topology="leaf-spine:leaves=8,spines=8,hosts=8")


# 40 senders, each of which may have a flow that is added to the generated one.
FORTY = "leaf-spine:leaves=2,spines=2,hosts=20"


def few_flows(silent: int, **settings: object) -> str:
    """Warnings of a run in which so many of the hosts have no flow."""
    generated = {"flows": 1, "topology": FORTY, **settings}
    (first,) = prepare(make_spec({"schemes": "tcn", "seeds": 1, **generated})).flow_lists[1].src.tolist()
    others = [host for host in range(40) if host != first][silent:]
    flows = [{"from": f"h{host}", "to": f"h{(host + 20) % 40}", "size": "1KB"} for host in others]
    return "\n".join(run(schemes=["tcn"], seeds=1, baseline="none", added_flows=flows, **generated)[2].warnings)


@pytest.mark.parametrize(("silent", "few"), [(0, False), (1, False), (2, False), (3, True)])
def test_flows_that_are_too_few_for_the_hosts(silent: int, few: bool) -> None:
    """Up to 5 % of the senders may have no flow."""
    text = (
        f"{silent} of the 40 hosts that may send have none of the {40 - silent} flows of seed 1, so chance decides "
        "which lines are busy: take --flows 160 or more"
    )
    found = few_flows(silent)
    assert (text in found) is few
    assert ("hosts that may send" in found) is few


def test_few_flows_of_other_kinds_are_no_surprise(tmp_path: Path) -> None:
    """Those of a list, those that are added, and those of few senders."""
    flows = tmp_path / "flows.csv"
    flows.write_text("start_ns,src,dst,size_bytes\n0,0,20,1000\n")
    added = [{"from": "h0", "to": "h20", "size": "1KB"}]
    for settings in (
        {"flow_list": str(flows), "topology": FORTY},
        {"flows": 0, "added_flows": added, "topology": FORTY},
        {"flows": 1, "topology": "incast:senders=19"},
    ):
        _, _, summary = run(**{"seeds": 1, "baseline": "none", **settings})
        assert "few-flows" not in {doubt.kind for doubt in summary.main.doubts}
    _, _, summary = run(flows=1, seeds=1, baseline="none", topology="incast:senders=20")
    assert "few-flows" in {doubt.kind for doubt in summary.main.doubts}


def test_the_seed_with_most_hosts_without_a_flow_is_named() -> None:
    experiment, _, summary = run(flows=90, seeds=3, baseline="none", topology=FORTY)
    silent = {seed: 40 - len(set(flows.src.tolist())) for seed, flows in experiment.flow_lists.items()}
    (found,) = (doubt for doubt in summary.main.doubts if doubt.kind == "few-flows")
    assert found.values["silent"] == max(silent.values()) > min(silent.values())
    assert silent[int(found.values["seed"])] == found.values["silent"]


def test_flows_that_the_end_cuts_off_are_missed_in_time() -> None:
    assert "end the run later, after 160 flows or more" in warnings(topology=FORTY, until="5ms")


@pytest.mark.parametrize(("last_ns", "empties"), [(999_999, True), (1_000_000, False), (1_000_001, False)])
def test_a_window_in_which_no_flow_begins_any_more_is_reported(last_ns: int, empties: bool, tmp_path: Path) -> None:
    flows = tmp_path / "flows.csv"
    flows.write_text(f"start_ns,src,dst,size_bytes\n0,0,7,100000\n{last_ns},0,7,100000\n")
    _, _, summary = run(flow_list=str(flows), seeds=1, baseline="none", trace_queue="10us", windows=["10us..1ms"])
    assert ("empty-window" in {doubt.kind for doubt in summary.main.doubts}) is empties


def test_long_flows_and_readers_who_wait_fill_any_window() -> None:
    added = [{"from": "h0", "to": "h7", "size": "10MB"}]
    long_flows = {"flows": 0, "added_flows": added, "trace_queue": "100us"}
    readers = {"flows": 2000, "sessions": {"closed_loop": True, "think": "1s"}, "until": "400ms", "trace_queue": "1ms"}
    for settings in (long_flows, readers | {"connections": "asked"}):
        _, _, summary = run(seeds=1, baseline="none", windows=["1ms..399ms"], **settings)
        assert "empty-window" not in {doubt.kind for doubt in summary.main.doubts}


def test_nothing_marked() -> None:
    assert "nothing was marked" in warnings(schemes=["dctcp-red:k=5000"], load=0.1)


def test_a_threshold_beyond_the_queue() -> None:
    assert "but the queue is full at 100 packets" in warnings(schemes=["dctcp-red:k=100"], queue=100)
    assert "but the queue is full at" in warnings(schemes=["tcn:t=200us"], queue="200KB")
    assert "but the queue is full" not in warnings(schemes=["dctcp-red:k=100"], queue=101)


def test_a_time_below_the_clock() -> None:
    assert "clock counts whole microseconds" in warnings(schemes=["tcn:t=400ns"])


def test_losses_of_a_scheme_that_drops_are_its_own() -> None:
    _, _, summary = run(schemes=["red:max=40,min=10,p_max=1,weight=0.5"], baseline="none", flows=300, seeds=1)
    assert summary.main.drops.switch == summary.main.marks.dropped > 0
    assert not any("outside of the queues" in warning for warning in summary.warnings)


def changed(**report: object) -> str:
    """Warnings of a run with a modified report."""
    experiment, observations, _ = small()
    seen = [dataclasses.replace(each, report={**each.report, **report}) for each in observations]
    return "\n".join(summarise(experiment, seen, {}).warnings)


@pytest.mark.parametrize(
    ("report", "warning"),
    [
        ({"faults": 3}, "P4 leaves undefined"),
        ({"counters": []}, "the program counted 0 marks"),
        (
            {"drops": [{"place": "host", "node": "h1", "port": None, "reason": "NIC full", "packets": 4}]},
            "packets were lost outside of the queues: h1: NIC full (4)",
        ),
        (
            {"drops": [{"place": "switch", "node": "s0", "port": None, "reason": "dropped by ingress", "packets": 1}]},
            "lost outside of the queues: s0: dropped by ingress (1)",
        ),
    ],
)
def test_what_must_not_happen_is_named(report: dict[str, object], warning: str) -> None:
    assert warning in changed(**report)


def test_an_untouched_report_gives_no_such_warning() -> None:
    assert "undefined" not in changed()
    assert isinstance(small()[1][0], Observation)


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("bleached", "1,234 packets were sent ECN capable and arrived as Not-ECT"),
        ("forged", "1,234 packets were sent as Not-ECT and arrived ECN capable or marked"),
        ("erased", "1,234 packets were marked and arrived without the mark"),
        ("rewritten", "1,234 packets were sent with one code point of ECT and arrived with the other"),
        ("refused", "1,234 connections asked for ECN and did not get it"),
    ],
)
def test_ecn_that_does_not_arrive_is_named_with_a_remedy(what: str, said: str) -> None:
    none = EcnInterference().model_dump()
    assert none.keys() == small()[1][0].report["ecn"].keys()
    per_cell = 617  # a scheme has two seeds
    (doubted, *others) = [line for line in changed(ecn=none | {what: per_cell}).splitlines() if "ecn-sharp" in line]
    assert said in doubted
    assert "the program" in doubted.partition(": look at ")[2]
    assert not others


def test_ecn_that_arrives_gives_no_doubt() -> None:
    assert changed(ecn=EcnInterference().model_dump()) == changed() == ""
    assert all(seed.ecn == EcnInterference() for seed in small()[2].main.seeds)


def bleaching(folder: Path) -> Path:
    """DCTCP-RED in a switch that makes every packet Not-ECT before it decides."""
    copytree(REPOSITORY / "p4src", folder / "p4src")
    switch = folder / "p4src" / "v1model" / "include" / "switch.p4"
    before, decision, after = switch.read_text().partition("        decision_t decision;\n")
    assert after
    switch.write_text(f"{before}        hdr.ipv4.ecn = ecn_t.NOT_ECT;\n{decision}{after}")
    return folder / "p4src" / "v1model" / "dctcp-red.p4"


@pytest.mark.parametrize(("transport", "bleached"), [("dctcp", True), ("ecn-star", True), ("reno", False)])
def test_a_program_that_bleaches_ecn_is_noticed(tmp_path: Path, transport: str, bleached: bool) -> None:
    _, _, summary = run(schemes=[str(bleaching(tmp_path))], baseline="none", transport=transport, flows=100, seeds=1)
    ecn = summary.main.ecn
    assert (ecn.bleached > 1000) is bleached
    assert ecn == EcnInterference(bleached=ecn.bleached)
    doubted = [each for each in summary.main.doubts if each.kind == "ecn-bleached"]
    assert [each.values for each in doubted] == ([{"count": ecn.bleached}] if bleached else [])
    assert "no-marks" not in {each.kind for each in summary.main.doubts}


@pytest.mark.parametrize("transport", ["dctcp", "ecn-star", "reno", "delay-dctcp", "ear", "dcqcn"])
@pytest.mark.parametrize("connections", ["new", "persistent"])
def test_no_transport_of_the_lab_interferes_with_ecn(transport: str, connections: str) -> None:
    _, _, summary = run(transport=transport, connections=connections, flows=60, seeds=1)
    assert all(result.ecn == EcnInterference() for result in summary.schemes.values())
