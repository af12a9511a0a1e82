# SPDX-License-Identifier: MIT OR Apache-2.0
"""PFC: memory, cycles of lines that wait for each other, and pauses in a run's results."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from marklab.devices.frames import Framing
from marklab.devices.lossless import check_cycles, check_memory, find_cycle, headroom_bytes
from marklab.devices.pfc import Pfc
from marklab.errors import BadInput
from marklab.prepare.experiment import prepare
from marklab.report.terminal import print_run
from marklab.results.metric import find_metric
from marklab.results.summary import read_summary
from marklab.spec.description import make_spec
from marklab.topology import FatTree, Graph, Incast, LeafSpine, Line, Links, Port, build
from marklab.topology.description import Topology
from runs import run

FRAME_BYTES = 1514


def graph(topology: Topology, rate_bps: int = 10**10, rtt_ns: int = 80_000) -> Graph:
    return build(topology, rate_bps, rtt_ns).graph


def ring(switches: int) -> Graph:
    """Switches in a cycle, each with a host."""
    names = [f"s{number}" for number in range(switches)]
    links = [[f"h{number}", name] for number, name in enumerate(names)]
    links += [[name, names[(number + 1) % switches]] for number, name in enumerate(names)]
    hosts = tuple(f"h{number}" for number in range(switches))
    return graph(Links.model_validate({"hosts": hosts, "switches": names, "links": links}))


def test_headroom_is_what_comes_before_the_pause_begins() -> None:
    """By hand: 40 Gb/s and 1 us are 5,000 bytes one way; 1,538 bytes of a frame on the line, twice; 84 of the pause."""
    line = Line(Port(0, 0), Port(1, 0), 40 * 10**9, 1_000)
    assert headroom_bytes(line, Framing(), FRAME_BYTES) == 2 * 5_000 + 2 * 1_538 + 84


@pytest.mark.parametrize("topology", [Incast(senders=40), LeafSpine(leaves=4, spines=2, hosts=4), FatTree()])
def test_a_switch_has_room_for_what_all_its_ports_may_hold(topology: Topology) -> None:
    network = graph(topology)
    ports = max(network.ports(switch) for switch in range(len(network.switches)))
    headroom = headroom_bytes(network.lines[0], Framing(), FRAME_BYTES)
    needed = ports * (20_000 + FRAME_BYTES + headroom)
    check_memory(Pfc(buffer=needed), network, Framing(), FRAME_BYTES)
    with pytest.raises(BadInput) as error:
        check_memory(Pfc(buffer=needed - 1), network, Framing(), FRAME_BYTES)
    said = f"{error.value} {error.value.remedy}"
    for number in (ports, headroom, needed, needed - 1):
        assert str(number) in said


@pytest.mark.parametrize(
    "topology",
    [
        Incast(),
        LeafSpine(),
        LeafSpine(leaves=2, spines=1, hosts=1),
        FatTree(),
        FatTree(tiers=4, radix=4),
        Incast(marking_nics=True),
    ],
)
def test_trees_have_no_cycle(topology: Topology) -> None:
    assert find_cycle(graph(topology).lines_after()) is None
    check_cycles(graph(topology))


@pytest.mark.parametrize(("switches", "cycle"), [(3, False), (4, True), (5, True), (9, True)])
def test_a_ring_has_one_if_paths_are_longer_than_a_link(switches: int, cycle: bool) -> None:
    network = ring(switches)
    found = find_cycle(network.lines_after())
    assert (found is not None) is cycle
    if found is None:
        return check_cycles(network)
    for line, after in zip(found, [*found[1:], found[0]], strict=True):
        assert line.target.node == after.source.node
    assert len(found) == switches
    with pytest.raises(BadInput, match="wait for each other in a cycle") as error:
        check_cycles(network)
    assert all(f"-> {name} -> " in str(error.value) for name in network.switches)
    assert str(error.value).count("(to h") == switches
    return None


@given(st.dictionaries(st.integers(0, 7), st.lists(st.integers(0, 7), max_size=4, unique=True), max_size=8))
def test_a_cycle_is_found_where_there_is_one(edges: dict[int, list[int]]) -> None:
    """Oracle: the nodes that remain after removing those without successors repeatedly."""
    lines = [Line(Port(node, 0), Port(node, 1), 1, 0) for node in range(8)]
    after = {lines[node]: [lines[other] for other in others] for node, others in edges.items()}
    left = dict(edges)
    while gone := [node for node, others in left.items() if not any(other in left for other in others)]:
        for node in gone:
            del left[node]
    found = find_cycle(after)
    assert (found is not None) is bool(left)
    for line, following in zip(found or [], [*(found or [])[1:], *(found or [])[:1]], strict=True):
        assert following in after[line]


@pytest.mark.parametrize(
    ("written", "xoff", "xon", "buffer"),
    [
        ("on", 20_000, 10_000, 12_000_000),
        (True, 20_000, 10_000, 12_000_000),
        ("xoff=30KB", 30_000, 10_000, 12_000_000),
        ({"xoff": "40KB", "xon": 0, "buffer": "1MB"}, 40_000, 0, 1_000_000),
    ],
)
def test_pfc_is_read_as_written(written: object, xoff: int, xon: int, buffer: int) -> None:
    spec = make_spec({"schemes": ["droptail"], "pfc": written})
    assert spec.pfc == Pfc(xoff=xoff, xon=xon, buffer=buffer)
    assert make_spec(spec.to_plain()) == spec


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"pfc": "xon=20KB"}, "cannot end at 20KB and begin above 20KB"),
        ({"pfc": "xof=20KB"}, "did you mean `pfc.xoff`"),
        ({"pfc": "on", "queue": 100}, "leave out `queue`"),
        ({"pfc": "on", "queues": "dwrr:count=2,buffer=96KB"}, "leave out `queues.buffer`"),
        ({"pfc": "on", "queues": "dwrr:count=2,shared=1MB"}, "leave out `queues.shared`"),
        ({"pfc": "on", "mininet": {}}, "pfc is simulated only"),
    ],
)
def test_what_pfc_cannot_be_is_refused(settings: dict[str, object], says: str) -> None:
    with pytest.raises(BadInput) as error:
        make_spec({"schemes": ["droptail"]} | settings)
    assert says in f"{error.value} {error.value.remedy}"


def test_a_run_is_refused_before_it_begins() -> None:
    base = {"schemes": ["droptail"], "baseline": "none", "pfc": "on"}
    with pytest.raises(BadInput, match="under pfc `s0` has 301 ports"):
        prepare(make_spec(base | {"topology": "incast:senders=300"}))
    # A probe's frame may be the longest.
    tight = base | {"pfc": {"buffer": 8 * (20_000 + 1514) + sum([53_160] * 8)}, "rate": "40G", "rtt": "20us"}
    prepare(make_spec(tight))
    with pytest.raises(BadInput, match="a frame of 9000 bytes"):
        prepare(make_spec(tight | {"probes": "h0:h7,size=9000"}))


def test_nothing_is_lost_and_pauses_are_reported() -> None:
    settings = {"schemes": ["dctcp-red:k=50"], "baseline": "none", "seeds": 2, "flows": 200, "transport": "dcqcn"}
    settings |= {"topology": "leaf-spine:leaves=2,spines=2,hosts=8", "rtt": "20us"}
    _, observations, summary = run(**settings, pfc="on")
    assert summary.main.drops.total == summary.main.retransmissions == 0
    assert not any("lossless" in text for text in summary.warnings)
    for seen, seed in zip(observations, summary.main.seeds, strict=True):
        found = seed.pauses
        assert found is not None
        assert found.pauses == sum(port.pauses for port in found.by_port.values()) > 0
        # 16 lines from hosts, and 8 between leaves and spines.
        paused_us = sum(port.paused_us for port in found.by_port.values())
        assert found.paused_us == pytest.approx(paused_us)
        assert found.share == pytest.approx(1e3 * paused_us / (24 * seen.report["end_ns"]))
        # Two frames of 512 bits for each pause, except for one that is under way.
        frames = found.rate_bps * seen.report["end_ns"] / 1e9 / 512
        assert frames == pytest.approx(2 * found.pauses, abs=2 * len(found.by_port))
        assert find_metric("pauses").of(seed) == found.pauses
        assert find_metric("pause_share").of(seed) == 100 * found.share
        assert find_metric("pause_rate").of(seed) == found.rate_bps / 1e6
    assert summary.main.pauses is not None
    assert summary.main.pauses.pauses == sum(seed.pauses.pauses for seed in summary.main.seeds if seed.pauses)
    assert read_summary(summary.to_json()) == summary
    text = io.StringIO()
    print_run(summary, Console(file=text, width=100))
    assert f"{summary.main.pauses.pauses:,}" in text.getvalue()
    assert "paused, pause frames" in text.getvalue()


def test_without_pfc_there_are_no_pauses_and_losses_are_named() -> None:
    _, _, summary = run(schemes=["droptail"], baseline="none", seeds=1, flows=200, transport="dcqcn", queue=50)
    seed = summary.main.seeds[0]
    assert seed.pauses is None
    assert [find_metric(name).of(seed) for name in ("pauses", "pause_share", "pause_rate")] == [None] * 3
    assert summary.main.drops.queue > 0
    assert any("RDMA is made for lossless lines" in text for text in summary.warnings)
