# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pauses per flow and per destination, hosts with windows, and the queues of BFC."""

import io

import pytest
from rich.console import Console

from marklab.devices.frames import Framing
from marklab.devices.lossless import headroom_bytes, thresholds
from marklab.devices.pfc import Pfc
from marklab.errors import BadInput
from marklab.prepare.experiment import prepare
from marklab.report.terminal import print_run
from marklab.spec.description import make_spec
from marklab.topology import Incast, build
from runs import run

SETTINGS = {
    "baseline": "none",
    "transport": "dcqcn",
    "topology": "incast:senders=8",
    "rate": "40G",
    "rtt": "28us",
    "load": 0.8,
    "flows": 300,
    "seeds": 2,
}


@pytest.mark.parametrize(
    ("written", "per", "xoff", "xon"),
    [
        ("per=port", None, 20_000, 10_000),
        ({"per": "port"}, None, 20_000, 10_000),
        ("per=destination", "destination", 20_000, 10_000),
        ("per=destination,xoff=210KB,xon=207KB", "destination", 210_000, 207_000),
        ("per=flow", "flow", None, None),
        ("per=flow,xoff=50KB", "flow", 50_000, None),
        ("per=flow,xoff=50KB,xon=50KB", "flow", 50_000, 50_000),
    ],
)
def test_parts_are_read_as_written(written: object, per: str | None, xoff: int | None, xon: int | None) -> None:
    spec = make_spec({"schemes": ["droptail"], "transport": "dcqcn", "pfc": written})
    assert spec.pfc is not None
    assert (spec.pfc.per, spec.pfc.xoff_bytes, spec.pfc.xon_bytes) == (per, xoff, xon)
    assert make_spec(spec.to_plain()) == spec


def test_what_pauses_a_line_is_described_as_before() -> None:
    """A spec with `port` and a spec without `per` describe the same run."""
    plain = [make_spec({"schemes": ["droptail"], "pfc": pfc}).to_plain() for pfc in ("on", "per=port", {})]
    assert plain[0] == plain[1] == plain[2]
    assert plain[0]["pfc"] == {"xoff": "20KB", "xon": "10KB", "buffer": "12MB"}


@pytest.mark.parametrize(
    ("settings", "said", "remedy"),
    [
        ({"pfc": "per=queue"}, "per `queue`", "destination, flow, port"),
        ({"pfc": "per=flow,xoff=10KB,xon=10001"}, "cannot end at 10001B and begin above 10KB", "at most xoff"),
        ({"pfc": "per=destination,xoff=10KB,xon=10KB"}, "cannot end at 10KB and begin above 10KB", "below xoff"),
        ({"pfc": "per=flow,xon=10KB"}, "where it begins is not said", "xoff as well"),
        ({"pfc": "per=flow", "transport": "dctcp"}, "`dctcp` has none", "--transport dcqcn"),
        ({"pfc": "per=destination", "transport": "reno"}, "`reno` has none", "--transport dcqcn"),
        (
            {"transport": {"control": "dcqcn", "dcqcn": {"window": 2919}}},
            "full before the first acknowledgement, which comes after 2920 bytes",
            "larger transport.dcqcn.window",
        ),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, object], said: str, remedy: str) -> None:
    with pytest.raises(BadInput) as error:
        make_spec({"schemes": ["droptail"], "transport": "dcqcn"} | settings)
    assert said in str(error.value)
    assert remedy in str(error.value.remedy)


@pytest.mark.parametrize("per", ["flow", "destination"])
def test_switches_hold_no_flows_back(per: str) -> None:
    spec = make_spec({"schemes": ["bfc"], "transport": "dcqcn", "topology": "leaf-spine", "pfc": f"per={per}"})
    with pytest.raises(BadInput, match=f"pfc per {per} holds packets back in NICs.*linked") as error:
        prepare(spec)
    assert "one switch" in str(error.value.remedy)


def test_a_flow_alone_is_paused_above_what_its_line_brings_in_a_round_trip() -> None:
    """By hand: of a base RTT of 28 us a line has 7 one way, which are 35,000 bytes; 1,538 of a frame, twice; 84."""
    graph = build(Incast(senders=2), 40 * 10**9, 28_000).graph
    one = 2 * 35_000 + 2 * 1_538 + 84
    assert headroom_bytes(graph.lines[0], Framing(), 1514) == one
    assert thresholds(Pfc(per="flow"), graph, Framing(), 1514) == (one, one)
    assert thresholds(Pfc(per="flow", xoff=9_000), graph, Framing(), 1514) == (9_000, 9_000)
    assert thresholds(Pfc(), graph, Framing(), 1514) == (20_000, 10_000)


def test_to_one_host_a_pause_per_destination_is_one_per_port() -> None:
    """Oracle: if hosts send to a single host, a pause of their line holds back nothing else."""
    found = {per: run(schemes=["dctcp-red:k=65KB"], pfc=f"per={per}", **SETTINGS)[1] for per in ("port", "destination")}
    for port, destination in zip(found["port"], found["destination"], strict=True):
        assert list(port.fct_ns) == list(destination.fct_ns)
        assert port.report["lines"] == destination.report["lines"]


def test_flows_are_paused_and_nothing_is_lost() -> None:
    settings: dict[str, object] = {**SETTINGS, "transport": {"control": "dcqcn", "dcqcn": {"window": "140KB"}}}
    _, observations, summary = run(schemes=["bfc"], pfc="per=flow", **settings)
    main = summary.main
    assert main.drops.total == main.retransmissions == main.unfinished == main.marks.total == 0
    assert main.pauses is not None
    assert main.pauses.pauses > 0
    assert not summary.warnings
    text = io.StringIO()
    print_run(summary, Console(file=text, width=100))
    assert "pauses per flow" in text.getvalue()
    _, again, _ = run(schemes=["bfc"], pfc="per=flow", **settings)
    for seen, same in zip(observations, again, strict=True):
        assert list(seen.fct_ns) == list(same.fct_ns)


def test_a_window_is_what_a_round_trip_brings_at_most() -> None:
    """Half of the bandwidth-delay product halves the rate of a long flow, except in its last round trip."""
    long = {"flows": 0, "added_flows": [{"from": "h0", "to": "h2", "size": "50MB"}]}
    settings: dict[str, object] = {**SETTINGS, **long, "seeds": 1, "topology": "incast:senders=2"}

    def fct_ms(window: str) -> float:
        transport = {"control": "dcqcn", "ack_every": 1, "dcqcn": {"window": window}}
        return float(run(schemes=["droptail"], **settings | {"transport": transport})[1][0].fct_ns[0]) / 1e6

    whole, half = fct_ms("1MB"), fct_ms("70KB")
    # 28 us of delay, and four times a packet, or its acknowledgement, on a line.
    round_trip_us = 28 + 2 * (1538 + 84) * 8 / 40e3
    expected_ms = 50e6 / (70_000 // 1460 * 1460) * round_trip_us / 1e3
    assert half == pytest.approx(expected_ms, rel=0.01)
    assert whole == pytest.approx(50e6 * 1538 / 1460 * 8 / 40e9 * 1e3, rel=0.01)
