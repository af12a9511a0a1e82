# SPDX-License-Identifier: MIT OR Apache-2.0
"""Queues and services: settings, the engine's input, and shares in a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from marklab.devices.hosts import Limit
from marklab.devices.queueing import Queues
from marklab.errors import BadInput
from marklab.prepare.experiment import prepare
from marklab.spec.description import Spec, make_spec
from runs import run

FRAME = 1514


def queues(text: str) -> Queues:
    return Queues.model_validate(text)


def spec(**settings: Any) -> Spec:
    return make_spec({"schemes": ["dctcp-red"], **settings})


@pytest.mark.parametrize(
    "text",
    [
        "fifo",
        "fifo:buffer=96KB",
        "strict:count=8",
        "wrr:count=4,quantum=1.5mtu",
        "dwrr:count=3,quantum=2mtu/1mtu/1mtu",
        "dwrr:count=8,quantum=1mtu/3000B,strict=6,buffer=200 packets",
        "dwrr:count=32,strict=1,shared=9MB,alpha=0.5",
    ],
)
def test_what_is_written_is_read_back(text: str) -> None:
    assert queues(str(queues(text))) == queues(text)
    described = spec(queues=text)
    assert make_spec(yaml.safe_load(described.to_yaml())) == described


def test_the_engine_gets_levels_and_quanta() -> None:
    limit = Limit(packets=600)
    assert queues("fifo").to_engine(limit, FRAME) == {
        "queues": [{"limit": {"packets": 600}, "level": 0, "quantum_bytes": FRAME}],
        "round": "deficit",
    }
    assert [queue["level"] for queue in queues("strict:count=3").to_engine(limit, FRAME)["queues"]] == [0, 1, 2]
    mixed = queues("wrr:count=4,strict=2,quantum=2mtu/3000,buffer=96KB,shared=9MB,alpha=0.5").to_engine(limit, FRAME)
    assert [(queue["level"], queue["quantum_bytes"]) for queue in mixed["queues"]] == [
        (0, 2 * FRAME),
        (0, 3000),
        (1, FRAME),
        (2, FRAME),
    ]
    assert mixed["round"] == "weighted"
    assert mixed["port_limit"] == {"bytes": 96_000}
    assert mixed["pool"] == {"total_bytes": 9_000_000, "alpha_128ths": 64}


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"queues": "fifo:count=2"}, "a fifo is one queue, not 2"),
        ({"queues": "drr:count=2"}, "drr"),
        ({"queues": "dwrr:count=129"}, "128"),
        ({"queues": "dwrr:count=0"}, "0"),
        ({"queues": "dwrr:count=2,strict=2"}, "leave none for the others"),
        ({"queues": "strict:count=2,strict=1"}, "need dwrr or wrr"),
        ({"queues": "dwrr:count=4,quantum=1mtu/2mtu"}, "2 quanta for 4 queues"),
        ({"queues": "dwrr:count=4,quantum=0"}, "below a full frame, which has 1514 bytes"),
        ({"queues": "dwrr:count=4,quantum=1513"}, "below a full frame"),
        ({"queues": "dwrr:count=4,size=2"}, "unknown key"),
        ({"queues": "dwrr:count=4", "services": 5}, "5 services and 4 queue"),
        ({"queues": "dwrr:count=4,strict=1", "services": 4}, "4 services and 3 queue"),
        ({"services": {"count": 2, "weights": [10, 20]}}, "sum to 30"),
        ({"services": {"count": 2, "weights": [0, 100]}}, "above 0"),
        ({"services": {"count": 3, "weights": [0.5, 0.5]}}, "2 weights for 3 services"),
        ({"services": {"count": 2, "weights": [0.5, 0.5], "by": "pair"}}, "shared equally by services"),
        ({"services": 65}, "64"),
        ({"services": "many"}, "many"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(BadInput, match=says) as refused:
        prepare(spec(**settings))
    assert refused.value.remedy


def test_a_quantum_of_one_frame_is_enough() -> None:
    prepare(spec(queues="dwrr:count=4,quantum=1514"))


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("4", {"count": 4}),
        (4, {"count": 4}),
        ("4:weights=10/20/30/40", {"count": 4, "weights": [0.1, 0.2, 0.3, 0.4]}),
        (
            "8:by=pair,workloads=web_search/cache",
            {"count": 8, "by": "pair", "workloads": ["web_search", "cache"]},
        ),
    ],
)
def test_services_may_be_text(text: object, same: dict[str, Any]) -> None:
    queues = "dwrr:count=8"
    assert spec(queues=queues, services=text).services == spec(queues=queues, services=same).services


def test_weights_are_kept_by_the_flows() -> None:
    services = {"count": 4, "weights": [10, 20, 30, 40]}
    flows = prepare(spec(services=services, flows=20_000)).flow_lists[1]
    shares = np.bincount(flows.dscp) / len(flows)
    # Four standard deviations of a share of 20,000.
    np.testing.assert_allclose(shares, [0.1, 0.2, 0.3, 0.4], atol=4 * np.sqrt(0.24 / 20_000))


def test_pairs_of_hosts_belong_to_one_service_and_are_dealt_out_evenly() -> None:
    experiment = prepare(
        spec(topology="leaf-spine:leaves=2,spines=2,hosts=4", services={"count": 8, "by": "pair"}, flows=20_000)
    )
    flows = experiment.flow_lists[1]
    services: dict[tuple[int, int], set[int]] = {}
    for src, dst, dscp in zip(flows.src, flows.dst, flows.dscp, strict=True):
        services.setdefault((src, dst), set()).add(int(dscp))
    assert len(services) == 32
    assert all(len(own) == 1 for own in services.values())
    assert sorted(next(iter(own)) for own in services.values()) == sorted(list(range(8)) * 4)


@pytest.mark.parametrize("by", ["flow", "pair"])
@pytest.mark.parametrize("weights", [(), (10, 20, 30, 40)])
def test_services_may_share_the_load_instead_of_the_flows(by: str, weights: tuple[int, ...]) -> None:
    """Each has its part of the bytes, whatever its workload; as `by` pairs, all flows of a pair are of one service."""
    services = {"count": 4, "by": by, "share": "load", "weights": weights, "workloads": ["web_search", "cache"]}
    experiment = prepare(
        spec(topology="leaf-spine:leaves=2,spines=2,hosts=4", services=services, flows=200_000, load=0.5)
    )
    flows = experiment.flow_lists[1]
    parts = np.bincount(flows.dscp, weights=flows.size_bytes) / flows.size_bytes.sum()
    np.testing.assert_allclose(parts, np.array(weights or [25] * 4) / 100, rtol=0.1)
    own = {(src, dst): dscp for src, dst, dscp in zip(flows.src, flows.dst, flows.dscp, strict=True)}
    by_pair = all(own[src, dst] == dscp for src, dst, dscp in zip(flows.src, flows.dst, flows.dscp, strict=True))
    assert by_pair == (by == "pair")
    # All together have the load of the run, on four uplinks.
    assert flows.size_bytes.sum() * 8 / (int(flows.start_ns[-1]) / 1e9) == pytest.approx(0.5 * 4e10 * 0.95, rel=0.2)


def test_services_have_workloads_of_their_own() -> None:
    settings = {"services": {"count": 2, "workloads": ["web_search", "data_mining"]}, "flows": 5000}
    flows = prepare(spec(**settings)).flow_lists[1]
    alone = {name: prepare(spec(workload=name, flows=5000)).flow_lists[1] for name in ("web_search", "data_mining")}
    for service, name in enumerate(alone):
        own = flows.dscp == service
        np.testing.assert_array_equal(flows.size_bytes[own], alone[name].size_bytes[own])


def test_a_run_without_services_has_the_flows_that_it_always_had() -> None:
    plain, services = prepare(spec(flows=1000)).flow_lists[1], prepare(spec(flows=1000, services=3)).flow_lists[1]
    assert set(plain.dscp) == {0}
    for column in ("start_ns", "src", "dst", "size_bytes", "extra_delay_ns"):
        np.testing.assert_array_equal(getattr(plain, column), getattr(services, column))


def test_a_service_is_not_marked_for_the_queue_of_another(tmp_path: Path) -> None:
    """Three long flows, and a short one of another service: in a FIFO it is marked because of the long ones."""
    path = tmp_path / "flows.csv"
    long = "".join(f"0,{sender},h4,20000000,0\n" for sender in range(3))
    path.write_text(f"start_ns,src,dst,size_bytes,dscp\n{long}1000000,3,h4,30000,1\n")

    def marked(queues: str) -> list[int]:
        _, observations, _ = run(
            schemes=["dctcp-red:k=20"],
            baseline="none",
            topology="incast:senders=4",
            flow_list=str(path),
            seeds=1,
            queues=queues,
        )
        return [int(count) for count in observations[0].per_flow["marked_packets"]]

    shared, apart = marked("fifo"), marked("dwrr:count=2")
    assert shared[3] > 0
    assert apart[3] == 0
    assert min(apart[:3]) > 0
