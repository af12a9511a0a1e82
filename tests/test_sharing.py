# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rates in windows, and convergence to max-min shares. Queues in windows are in test_windows."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from rich.console import Console

from marklab.errors import BadInput
from marklab.report.terminal import print_run
from marklab.results.metric import find_metric
from marklab.results.summary import Summary, read_summary
from marklab.spec.description import make_spec
from runs import run

LINE_BPS = 4e9 * 1460 / 1538


def long(start: str, host: int, **more: object) -> dict[str, object]:
    return {"from": f"h{host}", "to": "h4", "start": start, "dscp": host} | more


# A tenth of the rates of the DiffECN paper's section III-A: demands of 2.5, 1.3, 0.5 and 0.5 Gb/s on 4 Gb/s.
FOUR: dict[str, Any] = {
    "schemes": ["dctcp-red"], "baseline": "none", "topology": "incast:senders=4", "rate": "4G", "rtt": "100us",
    "seeds": 1, "flows": 0, "until": "40ms", "trace_flows": "500us", "queues": "dwrr:count=4",
    "added_flows": [
        long("0ms", 0, rate="2.5G"), long("10ms", 1, rate="1.3G"),
        long("20ms", 2, rate="500M"), long("20ms", 3, rate="500M", size="500KB"),
    ],
}  # fmt: skip


def four(**settings: object) -> Summary:
    return run(**(FOUR | settings))[2]


def test_each_start_has_its_shares() -> None:
    change = four().main.convergence
    assert list(change) == ["0s", "10ms", "20ms"]
    shares = {start: {flow: share.share_bps for flow, share in each.flows.items()} for start, each in change.items()}
    assert shares == {
        "0s": {0: 2.5e9},
        # Headers and gaps leave slightly less than the sum of both demands.
        "10ms": {0: pytest.approx(LINE_BPS - 1.3e9), 1: 1.3e9},
        "20ms": {0: pytest.approx(LINE_BPS - 2.3e9), 1: 1.3e9, 2: 5e8, 3: 5e8},
    }
    assert change["0s"].until_us == 10_000
    # The last flow ends, which changes the shares of the others.
    assert 28_000 < change["20ms"].until_us < 40_000


def test_flows_reach_their_shares_and_keep_them() -> None:
    change = four(converge_within=0.15).main.convergence
    for each in change.values():
        for share in each.flows.values():
            assert share.converged_us is not None
            assert share.converged_us < 6_000
            assert share.rate_bps == pytest.approx(share.share_bps, rel=0.05)


def test_a_share_that_is_not_reached_is_no_number() -> None:
    change = four(schemes=["dctcp-red:k=1"], queues="fifo", converge_within=0.001).main.convergence
    assert change["20ms"].flows[0].converged_us is None


def test_rates_in_windows_are_those_of_flows_and_services() -> None:
    windows = four(windows=["0ms..10ms", "20ms..30ms"]).main.windows
    assert list(windows) == ["0s..10ms", "20ms..30ms"]
    early, late = windows.values()
    assert early.services_bps == early.flows_bps
    assert early.flows_bps[0] == pytest.approx(2.5e9, rel=0.03)
    assert early.flows_bps[1] == early.flows_bps[3] == 0
    assert late.flows_bps[2] == pytest.approx(5e8, rel=0.05)


def test_a_metric_names_a_flow_a_service_or_a_start() -> None:
    summary = four(windows="30ms..40ms")
    seed = summary.main.seeds[0]
    late = seed.windows["30ms..40ms"]
    assert find_metric("rate.flow2@30ms..40ms").of(seed) == late.flows_bps[2] / 1e6
    assert find_metric("rate.service1@30000us..40ms").of(seed) == late.services_bps[1] / 1e6
    assert find_metric("rate.all@30ms..40ms").of(seed) == pytest.approx(sum(late.flows_bps.values()) / 1e6)
    assert find_metric("converged.flow2@20ms").of(seed) == seed.convergence["20ms"].flows[2].converged_us
    for nothing in (
        "rate.flow9@30ms..40ms",
        "rate.all@30ms..39ms",
        "rate.flow2@30ms..39ms",
        "converged.flow2@21ms",
        "converged.flow2@0ms",
    ):
        assert find_metric(nothing).of(seed) is None
    with pytest.raises(BadInput, match="unknown metric"):
        find_metric("rate.flow2")
    with pytest.raises(BadInput, match="unknown metric"):
        find_metric("rate.all2@30ms..40ms")
    assert read_summary(summary.to_json()) == summary


@pytest.mark.parametrize("settings", [{"trace_flows": None}, {"added_flows": [long("0ms", 0, count=33)]}])
def test_without_a_trace_or_with_many_flows_nothing_is_said(settings: dict[str, object]) -> None:
    assert four(**settings).main.convergence == {}


def test_where_ways_are_chosen_by_hash_nothing_is_said() -> None:
    _, _, summary = run(
        schemes=["tcn"], baseline="none", topology="leaf-spine:leaves=2,spines=2,hosts=2", flows=0, seeds=1,
        added_flows=[{"from": "h0", "to": "h3"}], until="5ms", trace_flows="100us",
    )  # fmt: skip
    assert summary.main.convergence == {}


def test_the_report_has_both() -> None:
    console = Console(width=120, file=io.StringIO(), record=True)
    print_run(four(windows="30ms..40ms"), console)
    text = console.export_text()
    assert "time to within 10% of max-min shares" in text
    assert re.search(r"20ms flow 2, Gb/s +[0-9,]+ µs, 0\.\d\d/0\.50", text)
    assert re.search(r"30ms\.\.40ms code point 2 +\d+\.\d Mb/s", text)


def test_seeds_of_different_numbers_of_flows_have_means_of_those_that_all_have() -> None:
    _, _, summary = run(
        schemes=["tcn"], baseline="none", flows=40, seeds=2, until="5ms", trace_flows="100us", windows="0ms..5ms"
    )
    of = [set(seed.windows["0s..5ms"].flows_bps) for seed in summary.main.seeds]
    assert of[0] != of[1]
    assert set(summary.main.windows["0s..5ms"].flows_bps) == of[0] & of[1] != set()


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"windows": "1ms..2ms"}, "not recorded"),
        ({"windows": "1ms..2050us", "trace_flows": "100us"}, "whole intervals"),
        ({"windows": "1ms..2ms", "trace_flows": "100us", "until": "1900us"}, "ends after the run"),
        ({"windows": "2ms..2ms", "trace_flows": "100us"}, "ends before it begins"),
        ({"windows": "2ms", "trace_flows": "100us"}, "is not a window"),
        ({"converge_within": 0}, "converge_within"),
        ({"converge_within": 1}, "converge_within"),
    ],
)
def test_wrong_windows_are_refused(settings: dict[str, object], why: str) -> None:
    with pytest.raises(BadInput, match=why):
        make_spec({"schemes": ["tcn"]} | settings)
