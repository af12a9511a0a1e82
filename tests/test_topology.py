from pathlib import Path

import pytest
import yaml

from orchestrator.errors import BadInput
from orchestrator.topology import Incast, LeafSpine, Links, Network, build, parse_topology
from orchestrator.units import parse_rate

RATE = parse_rate("10G")
DUMBBELL = {
    "hosts": ["a", "b", "c", "d"],
    "switches": ["left", "right"],
    "links": [["a", "left"], ["b", "left"], ["c", "right"], ["d", "right"], {"ends": ["left", "right"], "rate": "5G"}],
    "senders": ["a", "b"],
    "receivers": ["c", "d"],
}


def links(**changes: object) -> Network:
    return build(parse_topology(DUMBBELL | changes), RATE, 120_000)


def test_incast_sends_to_the_last_host() -> None:
    network = build(Incast(senders=7), RATE, 70_000)
    graph = network.graph
    assert graph.hosts == tuple(f"h{host}" for host in range(8))
    assert network.pairs == tuple((sender, 7) for sender in range(7))
    (line,) = network.bottleneck
    assert (graph.names[line.source.node], line.source.port, graph.names[line.target.node]) == ("s0", 7, "h7")
    assert {graph.base_rtt_ns(sender, 7) for sender in range(7)} == {70_000}
    assert network.bottleneck_share == pytest.approx(1)


def test_leaf_spine_has_all_ways_between_leaves() -> None:
    network = build(LeafSpine(leaves=4, spines=3, hosts=2), RATE, 80_000)
    graph = network.graph
    assert (len(graph.hosts), len(graph.switches)) == (8, 7)
    assert graph.base_rtt_ns(0, 7) == 80_000
    assert graph.base_rtt_ns(0, 1) == 40_000
    leaf = graph.names.index("l0")
    assert [line.source.port for line in graph.next_lines(leaf, 7)] == [2, 3, 4]
    assert [line.source.port for line in graph.next_lines(leaf, 1)] == [1]
    assert all(source // 2 != target // 2 for source, target in network.pairs)
    assert len(network.pairs) == 8 * 6
    # Every flow takes one uplink, and all are equally likely.
    assert network.bottleneck_share == pytest.approx(1)
    shares = graph.shares(network.pairs)
    assert [shares[line] for line in network.bottleneck] == pytest.approx([1 / 12] * 12)


@pytest.mark.parametrize("topology", [Incast(senders=3), LeafSpine(leaves=2, spines=2, hosts=2)])
def test_marking_nics_are_switches_between_hosts_and_their_lines(topology: Incast | LeafSpine) -> None:
    plain = build(topology, RATE, 80_000)
    marking = build(topology.model_copy(update={"marking_nics": True}), RATE, 80_000)
    hosts = len(plain.graph.hosts)
    assert marking.graph.switches == (*plain.graph.switches, *(f"h{host}-nic" for host in range(hosts)))
    assert marking.pairs == plain.pairs
    assert [line.source for line in marking.bottleneck] == [line.source for line in plain.bottleneck]
    assert marking.bottleneck_share == pytest.approx(plain.bottleneck_share)
    for source, target in plain.pairs:
        assert marking.graph.base_rtt_ns(source, target) == plain.graph.base_rtt_ns(source, target)
        there, between = plain.graph.path(source, target), marking.graph.path(source, target)
        rates = [line.rate_bps for line in there]
        assert [line.rate_bps for line in between] == [10 * RATE, *rates, 10 * RATE]


def test_any_pattern_leaves_part_of_the_flows_in_their_leaf() -> None:
    network = build(LeafSpine(leaves=4, spines=2, hosts=2, pattern="any"), RATE, 80_000)
    assert network.bottleneck_share == pytest.approx(6 / 7)


def test_own_links_get_ports_rates_and_delays() -> None:
    network = links()
    graph = network.graph
    assert graph.base_rtt_ns(0, 2) == 120_000
    assert graph.base_rtt_ns(0, 1) == 80_000
    assert network.pairs == ((0, 2), (0, 3), (1, 2), (1, 3))
    # The busiest line by rate is the one between the switches, from left to right.
    (line,) = network.bottleneck
    assert (graph.names[line.source.node], graph.names[line.target.node], line.rate_bps) == ("left", "right", 5 * 10**9)
    assert network.line_rate_bps == 5 * 10**9


def test_a_stated_bottleneck_and_delay_are_taken() -> None:
    far = [*DUMBBELL["links"][:4], {"ends": ["left:7", "right"], "delay": "1ms"}]
    network = links(links=far, bottleneck=[["right", "c"], ["right", "d"]])
    assert [network.graph.names[line.target.node] for line in network.bottleneck] == ["c", "d"]
    assert network.bottleneck_share == pytest.approx(1)
    assert network.graph.base_rtt_ns(0, 2) == 2 * (1_000_000 + 2 * 20_000)
    assert network.graph.ports(0) == 8


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"links": DUMBBELL["links"][:4]}, "cannot be reached from"),
        ({"links": [*DUMBBELL["links"], ["a", "right"]]}, "host `a` has 2 links"),
        ({"links": [*DUMBBELL["links"], ["e", "right"]]}, "unknown node `e`"),
        ({"links": [*DUMBBELL["links"], ["left", "left"]]}, "back to itself"),
        ({"links": [*DUMBBELL["links"], ["left:0", "right:0"], ["left:0", "right:1"]]}, "has a link already"),
        ({"links": [*DUMBBELL["links"], ["left:600", "right"]]}, "is not a port"),
        ({"links": [*DUMBBELL["links"][:4], {"ends": ["left", "right"], "rate": 0}]}, "rate of 0"),
        ({"hosts": ["a", "b", "c", "a"]}, "two nodes are called `a`"),
        ({"senders": ["x"]}, "unknown host `x`"),
        ({"senders": ["a"], "receivers": ["a"]}, "no host"),
        ({"bottleneck": [["left", "c"]]}, "no link from `left` to `c`"),
        ({"bottleneck": [["right", "a"]]}, "no link from"),
        ({"bottleneck": [["right", "left"]]}, "no flow passes"),
        ({"lynks": []}, "unknown key `lynks`"),
        ({"links": "all"}, "links"),
    ],
)
def test_what_cannot_be_a_network_is_refused(changes: dict[str, object], why: str) -> None:
    with pytest.raises(BadInput, match=why):
        links(**changes)


def test_hosts_do_not_forward() -> None:
    # The only way from a to c would lead through b, if a host could have two links or forward.
    with pytest.raises(BadInput, match="host `b` has 2 links"):
        links(hosts=["a", "b", "c"], switches=["s", "t"], senders=None, receivers=None,
              links=[["a", "s"], ["b", "s"], ["b", "t"], ["c", "t"]])  # fmt: skip


def test_short_forms_and_files(tmp_path: Path) -> None:
    assert parse_topology("incast:senders=16") == Incast(senders=16)
    assert parse_topology("leaf-spine:leaves=2,spines=3,hosts=4") == LeafSpine(leaves=2, spines=3, hosts=4)
    path = tmp_path / "own.yaml"
    path.write_text(yaml.safe_dump(DUMBBELL))
    assert isinstance(parse_topology(str(path)), Links)
    path.write_text("builder: incast\nsenders: 3\n")
    assert parse_topology(str(path)) == Incast(senders=3)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("incats", "unknown topology `incats`"),
        ("incast:sender=3", "unknown key `sender`"),
        ("incast:senders=0", "greater than or equal to 1"),
        ("no/such.yaml", "cannot read"),
    ],
)
def test_wrong_names_are_refused(text: str, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        parse_topology(text)
