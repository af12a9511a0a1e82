# SPDX-License-Identifier: MIT OR Apache-2.0
"""Flows without an end or with an application rate, and runs that end at a given time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Finished
from marklab.errors import BadInput
from marklab.execution.flows import flow_table
from marklab.prepare.experiment import prepare
from marklab.spec.description import make_spec
from runs import run

Cli = Callable[..., Finished]

MS = 10**6
ALONE = {"schemes": ["dctcp-red"], "baseline": "none", "topology": "incast:senders=4", "flows": 0, "seeds": 1}
LONG = {"from": "h0", "to": "h4"}


def test_a_run_ends_at_its_time() -> None:
    experiment, (seen,), summary = run(**ALONE, added_flows=[LONG], until="10ms")
    assert 9.9 * MS < seen.report["end_ns"] <= 10 * MS
    assert (summary.main.endless, summary.main.unfinished, summary.main.fct_us["overall"].n) == (1, 0, 0)
    assert not [warning for warning in summary.warnings if "finish" in warning or "under way" in warning]
    # The line of 10 Gb/s is full after some round trips.
    assert 0.9 < summary.main.utilisation <= 1
    assert flow_table(experiment, [seen])["ideal_ns"].to_list() == [None]


@pytest.mark.parametrize(("rate", "gbps"), [("1G", 1), ("2.5G", 2.5), ("9G", 9)])
def test_a_rate_is_that_of_payload(rate: str, gbps: float) -> None:
    _, (seen,), _ = run(**ALONE, added_flows=[LONG | {"rate": rate}], until="20ms")
    assert seen.per_flow["delivered_bytes"][0] * 8 / 20e6 == pytest.approx(gbps, rel=0.02)


def test_flows_with_an_end_finish_beside_those_without() -> None:
    flows = [LONG, {"from": 1, "to": 4, "start": "2ms", "size": "100KB", "count": 2}]
    _, (seen,), summary = run(**ALONE, added_flows=flows, until="20ms")
    assert (summary.main.endless, summary.main.unfinished, summary.main.fct_us["overall"].n) == (1, 0, 2)
    assert seen.flows.start_ns.tolist() == [0, 2 * MS, 2 * MS]


def test_flows_under_way_at_the_end_are_reported_and_later_ones_left_out() -> None:
    flows = [{**LONG, "size": "1GB"}, {**LONG, "start": "9999999ns", "size": 1}, {**LONG, "start": "10ms"}]
    _, (seen,), summary = run(**ALONE, added_flows=flows, until="10ms")
    assert (len(seen.flows), summary.main.unfinished) == (2, 2)
    assert any("2 flows were under way when the run ended at 10ms" in warning for warning in summary.warnings)


def test_added_flows_are_beside_the_workload() -> None:
    _, (seen,), _ = run(schemes=["tcn"], baseline="none", flows=50, seeds=1, added_flows=[{**LONG, "size": "1MB"}])
    alone = prepare(make_spec({"schemes": ["tcn"], "flows": 50, "seeds": 1, "load": 0.8})).flow_lists[1]
    assert len(seen.flows) == 51
    assert seen.flows.size_bytes.tolist()[1:] == alone.size_bytes.tolist()


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"added_flows": [LONG]}, "a flow is endless"),
        ({"added_flows": [LONG | {"start": "5ms"}], "until": "5ms"}, "the first flow starts at 5ms"),
        ({"added_flows": [LONG | {"rate": 0}], "until": "5ms"}, "rate"),
        ({"added_flows": [LONG | {"size": 0}], "until": "5ms"}, "size"),
        ({"added_flows": [LONG | {"to": "h9"}], "until": "5ms"}, "unknown host `h9`"),
        ({"added_flows": [LONG | {"to": 0}], "until": "5ms"}, "to itself"),
        ({"added_flows": [LONG | {"dscp": 64}], "until": "5ms"}, "dscp"),
        ({"until": 0}, "until"),
        ({}, "the run has no flows"),
    ],
)
def test_what_cannot_be_run_is_refused(settings: dict[str, object], why: str) -> None:
    with pytest.raises(BadInput, match=why):
        _ = prepare(make_spec(ALONE | settings)).flow_lists


@pytest.mark.parametrize(("rate", "warned"), [(9_492_847_854, False), (9_492_847_855, True)])
def test_a_rate_beyond_the_line_is_doubted(rate: int, warned: bool) -> None:
    """10 Gb/s carry 1460 bytes of payload in 1538: 9,492,847,854.4 bit/s."""
    _, _, summary = run(**ALONE, added_flows=[LONG | {"rate": rate, "size": 1000}])
    assert any("the rate limits nothing" in warning for warning in summary.warnings) == warned


def test_the_command_line_ends_a_run(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("start_ns,src,dst,size_bytes,rate_bps\n0,h0,h7,endless,1G\n")
    done = cli("-s", "tcn", "--flow-list", str(path), "--until", "1ms", "--json", "--out", str(tmp_path / "out"))
    plain = json.loads(done.out)
    assert (plain["spec"]["until"], plain["endless"], plain["unfinished"]) == ("1ms", 1, 0)
    done = cli("-s", "tcn", "--flow-list", str(path))
    assert (done.code, "--until 100ms" in done.err) == (2, True)


def test_a_description_is_read_back() -> None:
    spec = make_spec(
        ALONE | {"added_flows": [LONG | {"rate": "25G"}, LONG | {"size": "3KB", "count": 2}], "until": "1s"}
    )
    assert make_spec(spec.to_plain()) == spec
    assert spec.to_plain()["added_flows"][0]["size"] == "endless"
