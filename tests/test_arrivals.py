# SPDX-License-Identifier: MIT OR Apache-2.0
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from marklab.devices.frames import Framing
from marklab.errors import BadInput
from marklab.prepare.arrivals import generate, wire_bytes
from marklab.prepare.experiment import prepare
from marklab.spec.description import Spec, make_spec
from marklab.topology import Network, build
from marklab.traffic.flows import FlowList


def made(seed: int = 1, **settings: object) -> tuple[Spec, Network, FlowList]:
    spec = make_spec({"schemes": ["tcn"], **settings})
    network = build(spec.topology, spec.rate_bps, spec.rtt.base_ns)
    return spec, network, generate(spec, network, seed)


def test_the_flow_list_of_a_seed_is_for_ever() -> None:
    _, _, flows = made(load=0.8, flows=1000)
    assert flows.digest() == "4b57cdcbfbd129782eb3ca19b5a545d6080acc6a0c613404ea154f0dfa5c19dc"
    assert flows.start_ns[:2].tolist() == [2_819_173, 4_014_721]


def test_runs_of_the_same_flows_differ_by_jitter_only() -> None:
    """`flow_seed` and `start_jitter`."""
    settings = {"schemes": ["tcn"], "load": 0.8, "flows": 400, "seeds": 2, "flow_seed": 1}
    same = prepare(make_spec(settings)).flow_lists
    assert same[1].digest() == same[2].digest() == made(load=0.8, flows=400)[2].digest()
    jittered = prepare(make_spec({**settings, "start_jitter": "1us"})).flow_lists
    later_ns = jittered[1].start_ns.astype(np.int64) - same[1].start_ns.astype(np.int64)
    assert (later_ns.min() >= 0, later_ns.max() < 1000) == (True, True)
    assert 450 < later_ns.mean() < 550
    assert jittered[1].size_bytes.tolist() == same[1].size_bytes.tolist()
    assert jittered[1].digest() != jittered[2].digest()
    assert prepare(make_spec({**settings, "start_jitter": "1us"})).flow_lists[2].digest() == jittered[2].digest()


def test_a_jitter_larger_than_gaps_keeps_flows_in_order_and_chains_apart() -> None:
    _, _, flows = made(load=0.8, flows=400)
    chained = replace(flows, after=np.where(np.arange(400) == 300, 7, -1))
    later = chained.started_later(np.arange(400, dtype=np.uint64)[::-1] * np.uint64(100_000))
    assert (np.diff(later.start_ns.astype(np.int64)) >= 0).all()
    (row,) = np.flatnonzero(later.waiting)
    apart_ns = int(later.start_ns[row]) - int(later.start_ns[later.after[row]])
    assert apart_ns == int(flows.start_ns[300]) - int(flows.start_ns[7])


@pytest.mark.parametrize("nics", [False, True])
def test_a_load_may_be_that_of_hosts(nics: bool) -> None:
    """Of 8 hosts on 2 leaves, a flow to any other host leaves its leaf in 4 of 7 cases, over 4 uplinks at the rate of
    a host: the load of uplinks is 8/7 of that of hosts' lines. With marking NICs, the lines are those of the NICs."""
    topology = f"leaf-spine:leaves=2,spines=2,hosts=4,pattern=any,marking_nics={str(nics).lower()}"
    _, network, of_uplinks = made(topology=topology, load=0.8, flows=100)
    _, _, of_hosts = made(topology=topology, load=0.7, load_of="hosts", flows=100)
    assert network.hosts_bps == 8 * 10**10
    np.testing.assert_allclose(of_hosts.start_ns.astype(float), of_uplinks.start_ns.astype(float), atol=200)


def test_a_flow_list_has_no_seed(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("start_ns,src,dst,size_bytes\n0,0,1,1000\n")
    with pytest.raises(BadInput, match="`flow_seed` changes nothing"):
        make_spec({"schemes": ["tcn"], "flow_list": str(path), "flow_seed": 1})


def test_a_load_may_count_payload_alone() -> None:
    """Flows of one full segment: 1,460 of the 1,538 bytes that it takes on the wire."""
    sizes = {"name": "segments", "points": [[1459, 0], [1460, 1]]}
    _, _, by_wire = made(workload=sizes, load=0.5, flows=1000)
    _, _, by_payload = made(workload=sizes, load=0.5, load_by="payload", flows=1000)
    assert by_payload.start_ns[-1] / by_wire.start_ns[-1] == pytest.approx(1460 / 1538, rel=1e-3)
    assert by_payload.size_bytes.tolist() == by_wire.size_bytes.tolist()


@pytest.mark.parametrize("topology", ["incast", "leaf-spine", "leaf-spine:pattern=any"])
@pytest.mark.parametrize("workload", ["web_search", "fb_hadoop"])
def test_the_offered_load_is_the_one_asked_for(topology: str, workload: str) -> None:
    """Counted flow by flow: bytes on the wire, divided by the bottleneck's capacity."""
    load, count = 0.6, 100_000
    _, network, flows = made(topology=topology, workload=workload, load=load, flows=count)
    segments = np.ceil(flows.size_bytes / 1460)
    last = flows.size_bytes - (segments - 1) * 1460
    wire = (segments - 1) * (1460 + 54 + 24) + np.maximum(last + 54, 60) + 24
    graph = network.graph
    leaf = {host: graph.lines_from[host][0].target.node for host in range(len(graph.hosts))}
    crosses = np.array(
        [len(graph.switches) == 1 or leaf[int(s)] != leaf[int(d)] for s, d in zip(flows.src, flows.dst, strict=True)]
    )
    offered = float((wire * crosses).sum()) * 8 / (network.bottleneck_bps * float(flows.start_ns[-1]) / 1e9)
    spread = wire.std() / wire.mean()
    bound = 4 * load * math.sqrt((1 + spread**2) / count)
    assert offered == pytest.approx(load, abs=bound), f"offered {offered}, asked {load}, bound {bound}"


def test_wire_bytes_of_one_flow() -> None:
    framing = Framing()
    assert wire_bytes(14_600, 10, framing, 1460) == 10 * (1460 + 54 + 24)
    # Segments of one byte are padded to 60.
    assert wire_bytes(3, 3, framing, 1) == 3 * (60 + 24)
    assert wire_bytes(1460, 1, Framing(min_bytes=0, overhead_bytes=-14), 1460) == 1500


def test_loads_and_schemes_share_everything_but_the_times() -> None:
    _, _, low = made(load=0.2)
    _, _, high = made(load=0.8, schemes=["red"])
    for name in ("src", "dst", "size_bytes", "extra_delay_ns"):
        assert np.array_equal(getattr(low, name), getattr(high, name)), name
    assert low.start_ns[-1] / high.start_ns[-1] == pytest.approx(4, rel=1e-5)


def test_a_shorter_list_is_the_start_of_a_longer() -> None:
    for queries in (None, {"senders": 5, "load": 0.05}):
        _, _, longer = made(flows=1000, queries=queries)
        _, _, shorter = made(flows=300, queries=queries)
        assert len(shorter) >= 300
        assert shorter.taken(np.arange(len(shorter))).digest() == longer.taken(np.arange(len(shorter))).digest()


def test_seeds_differ() -> None:
    assert made(seed=1)[2].digest() != made(seed=2)[2].digest()


def test_arrivals_are_a_poisson_process() -> None:
    _, _, flows = made(flows=100_000)
    gaps = np.diff(flows.start_ns).astype(float)
    assert gaps.std() / gaps.mean() == pytest.approx(1, abs=0.015)
    # Numbers of arrivals in equal windows have variance = mean.
    counts = np.histogram(flows.start_ns, bins=2000)[0]
    assert counts.var() / counts.mean() == pytest.approx(1, abs=4 * math.sqrt(2 / 2000))


def test_queries_come_at_once_from_different_senders() -> None:
    _, _, flows = made(flows=200, queries={"senders": 7, "at": ["1ms", "5ms"]})
    for at in (1_000_000, 5_000_000):
        rows = np.flatnonzero(flows.start_ns == at)
        assert sorted(flows.src[rows].tolist()) == list(range(7))
        assert np.all((flows.size_bytes[rows] >= 3_000) & (flows.size_bytes[rows] <= 60_000))
    assert len(flows) == 214
    assert np.all(np.diff(flows.start_ns.astype(np.int64)) >= 0)


def test_flows_of_queries_belong_to_services_by_their_weights() -> None:
    queries = {"senders": 2000, "at": ["1ms"]}
    for share in ("", ",share=load"):
        _, _, flows = made(flows=10, services=f"3:weights=20/30/50{share}", queries=queries)
        counts = np.bincount(flows.dscp[flows.query], minlength=3)
        assert counts.sum() == 2000
        np.testing.assert_allclose(counts / 2000, [0.2, 0.3, 0.5], atol=0.03)
    assert not made(flows=10, queries=queries)[2].dscp.any(), "without services there is one code point"


@pytest.mark.parametrize("topology", ["incast:senders=8", "leaf-spine:leaves=2,spines=2,hosts=4,pattern=any"])
def test_flows_of_queries_belong_to_the_service_of_their_pair(topology: str) -> None:
    _, _, flows = made(topology=topology, flows=3000, services="4:by=pair", queries={"senders": 7, "load": 0.05})
    services: dict[tuple[int, int], set[int]] = {}
    for src, dst, dscp in zip(flows.src.tolist(), flows.dst.tolist(), flows.dscp.tolist(), strict=True):
        services.setdefault((src, dst), set()).add(dscp)
    assert all(len(of_pair) == 1 for of_pair in services.values())
    assert set(flows.dscp[flows.query].tolist()) == {0, 1, 2, 3}


def test_more_queries_than_hosts_share_hosts_evenly() -> None:
    _, _, flows = made(flows=1, queries={"senders": 100, "at": ["1s"]})
    rows = flows.start_ns == 10**9
    counts = np.bincount(flows.src[rows], minlength=7)
    assert set(counts.tolist()) == {14, 15}


def test_the_load_of_queries_is_the_one_asked_for() -> None:
    _, network, flows = made(flows=20_000, load=0.3, queries={"senders": 7, "load": 0.1})
    _, _, background = made(flows=20_000, load=0.3)
    bits = (int(flows.size_bytes.sum()) - int(background.size_bytes.sum())) * 8 * 1538 / 1460
    measured = bits / (network.bottleneck_bps * float(flows.start_ns[-1]) / 1e9)
    assert measured == pytest.approx(0.1, rel=0.03)
