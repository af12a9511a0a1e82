# SPDX-License-Identifier: MIT OR Apache-2.0
"""Prague beside CUBIC behind DualPI2, as docs/transports.md has it, and descriptions of flows with other transports."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from marklab.errors import BadInput
from marklab.prepare.experiment import prepare
from marklab.spec.description import make_spec
from marklab.traffic.flows import ENDLESS_BYTES
from runs import run

# The seeds' differences are those of the flows' starts.
L4S: dict[str, Any] = {
    "schemes": ["dualpi2"],
    "baseline": "none",
    "topology": "topologies/web.yaml",
    "rate": "40M",
    "rtt": "10ms",
    "queue": 1000,
    "transport": {"control": "prague", "min_rto": "200ms", "initial_rto": "1s"},
    "connections": "new",
    "flows": 0,
    "added_flows": [{"from": "w1", "to": "c1"}, {"from": "w2", "to": "c2", "transport": "cubic"}],
    "seeds": 1,
}
# In records of packets.
SENT = 255

BRIEF = L4S | {"until": "1s"}


def test_flows_of_both_kinds_share_the_line_and_each_has_its_queue() -> None:
    """The aims of RFC 9332: equal rates, a delay below 1 ms for the one, and the target for the other."""
    times = {"until": "60s", "windows": ["20s..60s"], "trace_flows": "10ms", "trace_queue": "10ms"}
    _, (seen,), summary = run(**L4S, **times, trace_packets="port=R2:4,last=130000")
    (seed,) = summary.main.seeds
    rates_bps = seed.windows["20s..60s"].flows_bps
    assert 1 / 1.3 < rates_bps[0] / rates_bps[1] < 1.3
    assert seen.packet_trace is not None
    columns = seen.packet_trace.columns
    late = (columns["time_ns"] > 20e9) & (columns["lost"] == SENT)
    sojourn_us = {queue: columns["sojourn_ns"][late & (columns["queue"] == queue)] / 1e3 for queue in (0, 1)}
    assert np.percentile(sojourn_us[1], 99) < 1000
    assert sojourn_us[0].mean() == pytest.approx(15_000, rel=0.2)


def test_a_flow_with_a_transport_of_its_own_is_part_of_the_description() -> None:
    mixed, plain = make_spec(BRIEF), make_spec(BRIEF | {"added_flows": [{"from": "w1", "to": "c1"}]})
    assert mixed.transports == ("prague", "cubic")
    assert plain.transports == ("prague",)
    assert make_spec(mixed.to_plain()) == mixed
    assert "transport" not in plain.to_plain()["added_flows"][0]
    flows = prepare(mixed).flow_lists[1]
    assert flows.columns()["control"].tolist() == [0, 4]
    assert "control" not in prepare(plain).flow_lists[1].columns()
    assert (flows.size_bytes == ENDLESS_BYTES).all()


@pytest.mark.parametrize(
    ("settings", "message", "remedy"),
    [
        ({"connections": "persistent"}, "need connections of their own", "--set connections=new"),
        ({"schemes": ["tcn"], "transport": "ear"}, "another format of packets than ear", "--transport dctcp or"),
        ({"schemes": ["tcn"], "transport": "dcqcn"}, "another format of packets than dcqcn", "--transport dctcp or"),
        ({"mininet": {}}, "real hosts have one transport", "--fabric sim"),
        (
            {"schemes": ["tcn"], "transport": {"control": "reno", "prague": {}}},
            "no flow of this run has prague",
            "--transport prague",
        ),
        (
            {"added_flows": [{"from": "w1", "to": "c1", "transport": "dctcp"}]},
            "hosts with dctcp do not read the marks of dualpi2",
            "--transport prague, or another scheme",
        ),
        ({"added_flows": [{"from": "w1", "to": "c1", "transport": "ear"}]}, "transport", ""),
    ],
)
def test_what_cannot_be_mixed_is_named_before_the_run(settings: dict[str, Any], message: str, remedy: str) -> None:
    with pytest.raises(BadInput, match=message) as caught:
        prepare(make_spec(BRIEF | settings))
    assert remedy in (caught.value.remedy or "")


def test_prague_depends_on_its_round_trip_if_it_is_told_so() -> None:
    """Two flows of 5 and 20 ms at a threshold: with rates inverse to round trips, or equal ones."""

    def ratio(reference: str) -> float:
        near = {"from": "w1", "to": "c1", "extra_delay": "0s"}
        far = {"from": "w2", "to": "c2", "extra_delay": "15ms"}
        prague = {"control": "prague", "prague": {"reference_rtt": reference, "transition_rounds": 50}}
        settings = {"transport": L4S["transport"] | prague, "rtt": "5ms", "added_flows": [near, far]}
        times = {"until": "40s", "windows": ["20s..40s"], "trace_flows": "10ms"}
        _, _, summary = run(**L4S | settings | times)
        (seed,) = summary.main.seeds
        rates_bps = seed.windows["20s..40s"].flows_bps
        return rates_bps[0] / rates_bps[1]

    assert ratio("0s") > 2
    assert ratio("25ms") < 1.6
