# SPDX-License-Identifier: MIT OR Apache-2.0
from collections import Counter
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from marklab.errors import BadInput
from marklab.paths import REPOSITORY
from marklab.report.terminal import topology_name
from marklab.topology import FatTree, Graph, Incast, LeafSpine, Line, Links, Network, build, parse_topology
from marklab.units import parse_rate

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
    assert list(network.pairs) == [(sender, 7) for sender in range(7)]
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


@pytest.mark.parametrize(
    "topology", [Incast(senders=3), LeafSpine(leaves=2, spines=2, hosts=2), FatTree(), FatTree(pattern="rack")]
)
def test_marking_nics_are_switches_between_hosts_and_their_lines(topology: Incast | LeafSpine | FatTree) -> None:
    plain = build(topology, RATE, 80_000)
    marking = build(topology.model_copy(update={"marking_nics": True}), RATE, 80_000)
    hosts = len(plain.graph.hosts)
    assert marking.graph.switches == (*plain.graph.switches, *(f"h{host}-nic" for host in range(hosts)))
    assert list(marking.pairs) == list(plain.pairs)
    assert [line.source for line in marking.bottleneck] == [line.source for line in plain.bottleneck]
    assert marking.bottleneck_share == pytest.approx(plain.bottleneck_share)
    for source, target in plain.pairs:
        assert marking.graph.base_rtt_ns(source, target) == plain.graph.base_rtt_ns(source, target)
        there, between = plain.graph.path(source, target), marking.graph.path(source, target)
        rates = [line.rate_bps for line in there]
        assert [line.rate_bps for line in between] == [10 * RATE, *rates, 10 * RATE]


def small_trees(smallest_rack: int = 1) -> st.SearchStrategy[FatTree]:
    """Fat-trees of up to 128 hosts."""
    sizes = st.tuples(st.integers(2, 5), st.sampled_from([2, 4, 6, 8]), st.integers(1, 3))
    fitting = sizes.filter(lambda size: smallest_rack <= size[1] // 2 * size[2] and host_count(*size) <= 128)
    return fitting.map(lambda size: FatTree(tiers=size[0], radix=size[1], oversubscription=size[2]))


def host_count(tiers: int, radix: int, oversubscription: int) -> int:
    """A radix-k tree of three tiers has k^3 / 4 hosts (Al-Fares et al.)."""
    return 2 * (radix // 2) ** tiers * oversubscription


def common_level(tree: FatTree, a: int, b: int) -> int:
    """The level of the smallest pod of both hosts; that of the whole tree is the number of tiers."""
    size, level = tree.radix // 2 * tree.oversubscription, 1
    while level < tree.tiers and a // size != b // size:
        size, level = size * tree.radix // 2, level + 1
    return level


def equal_ways(graph: Graph, source: int) -> list[tuple[int, int]]:
    """Lines of the shortest paths from a host to each node, and the number of these paths."""
    found = {source: (0, 1)}
    nearest = [source]
    while nearest:
        reached: Counter[int] = Counter()
        for node in nearest:
            for line in graph.lines_from[node]:
                if line.target.node not in found:
                    reached[line.target.node] += found[node][1]
        length = found[nearest[0]][0] + 1
        found |= {node: (length, paths) for node, paths in reached.items()}
        nearest = [node for node in reached if not graph.is_host(node)]
    return [found[node] for node in range(len(graph.names))]


def test_the_ear_papers_tree() -> None:
    """324 hosts, three layers of 54 switches and one of 27; 116 us over 8 hops, 80 us of it in hosts."""
    network = build(FatTree(tiers=4, radix=6, oversubscription=2), RATE, 36_000)
    graph = network.graph
    assert len(graph.hosts) == 324
    assert Counter(name.rstrip("0123456789") for name in graph.switches) == {"e": 54, "a": 54, "t3-": 54, "c": 27}
    assert len(graph.path(0, 323)) == graph.longest_path() == 8
    assert [graph.base_rtt_ns(0, other) for other in (1, 6, 18, 54, 323)] == [9_000, 18_000, 27_000, 36_000, 36_000]
    # 318 of the 323 others are in other racks.
    assert {graph.names[line.source.node][0] for line in network.bottleneck} == {"e"}
    assert len(network.bottleneck) == 54 * 3
    assert network.bottleneck_share == pytest.approx(318 / 323)


@given(small_trees())
def test_all_ports_of_a_fat_tree_are_linked(tree: FatTree) -> None:
    graph = build(tree, RATE, 80_000).graph
    half = tree.radix // 2
    hosts = host_count(tree.tiers, tree.radix, tree.oversubscription)
    assert len(graph.hosts) == hosts
    tiers = Counter(name.rstrip("0123456789") for name in graph.switches)
    others = dict.fromkeys(["a", "t3-", "t4-"][: tree.tiers - 2], 2 * half ** (tree.tiers - 1))
    assert tiers == {"e": 2 * half ** (tree.tiers - 1), **others, "c": half ** (tree.tiers - 1)}
    for node in range(hosts, len(graph.names)):
        edge = graph.names[node].startswith("e")
        degree = half * (tree.oversubscription + 1) if edge else tree.radix
        assert [line.source.port for line in graph.lines_from[node]] == list(range(degree)), graph.names[node]


@given(small_trees(), st.data())
def test_hosts_are_apart_by_the_level_of_their_pod(tree: FatTree, data: st.DataObject) -> None:
    """Paths are counted by following links, independently of the routing code."""
    graph = build(tree, RATE, 80_000).graph
    source = data.draw(st.integers(0, len(graph.hosts) - 1))
    found = equal_ways(graph, source)
    for target in set(range(len(graph.hosts))) - {source}:
        level = common_level(tree, source, target)
        assert found[target] == (2 * level, (tree.radix // 2) ** (level - 1))
        assert len(graph.path(source, target)) == 2 * level
        assert graph.base_rtt_ns(source, target) == 4 * level * (80_000 // (4 * tree.tiers))


@given(small_trees(smallest_rack=2), st.data())
def test_the_bottleneck_of_a_fat_tree_is_its_busiest_kind_of_lines(tree: FatTree, data: st.DataObject) -> None:
    pattern = data.draw(st.sampled_from(sorted(tree.levels)))
    network = build(tree.model_copy(update={"pattern": pattern}), RATE, 80_000)
    graph = network.graph
    hosts = range(len(graph.hosts))
    level = tree.tiers if pattern == "any" else 1 if pattern == "rack" else int(pattern.removeprefix("pod"))
    expected = [(a, b) for a in hosts for b in hosts if a != b and common_level(tree, a, b) <= level]
    assert list(network.pairs) == expected

    shares = graph.shares(network.pairs)
    assert sum(share for line, share in shares.items() if graph.is_host(line.target.node)) == pytest.approx(1)
    kinds: dict[tuple[str, str], list[Line]] = {}
    for line in graph.lines:
        ends = (graph.names[port.node].rstrip("0123456789") for port in (line.source, line.target))
        kinds.setdefault(tuple(ends), []).append(line)
    assert list(network.bottleneck) in kinds.values()
    busiest = max(shares.values())
    assert [shares[line] for line in network.bottleneck] == pytest.approx([busiest] * len(network.bottleneck))
    assert not any(graph.is_host(line.source.node) for line in network.bottleneck)


@pytest.mark.parametrize(
    ("text", "why", "remedy"),
    [
        ("radix=5", "half of 5 ports cannot lead up", "4 or 6"),
        ("radix=0", "greater than or equal to 2", "at least 2 and at most 510"),
        ("radix=512", "less than or equal to 510", "at least 2 and at most 510"),
        ("tiers=1", "greater than or equal to 2", "at least 2"),
        ("tiers=17", "less than or equal to 16", "at most 16"),
        ("oversubscription=0", "greater than or equal to 1", "at least 1"),
        ("oversubscription=1.5", "not a whole number", None),
        ("radix=100,oversubscription=10", "500 hosts and 50 uplinks has more than 511 ports", "oversubscription=9"),
        ("tiers=9,radix=20", "2,000,000,000 hosts", "fewer tiers"),
        ("tiers=16,radix=510", "hosts has more than", "fewer tiers"),
        ("pattern=pod3", "unknown pattern of 3 tiers `pod3`", "any, pod2, rack"),
        ("tiers=4,pattern=pods", "unknown pattern of 4 tiers `pods`", "pod2"),
        ("radix=2,pattern=rack", "each rack has only one host", "pattern=any"),
    ],
)
def test_impossible_fat_trees_are_refused(text: str, why: str, remedy: str | None) -> None:
    with pytest.raises(BadInput, match=why) as error:
        build(parse_topology(f"fat-tree:{text}"), RATE, 80_000)
    assert remedy is None or remedy in str(error.value.remedy)


def test_the_long_flow_of_the_parking_lot_meets_each_short_one_once() -> None:
    network = build(parse_topology(str(REPOSITORY / "topologies" / "parking-lot.yaml")), RATE, 100_000)
    graph = network.graph
    hosts = {name: index for index, name in enumerate(graph.hosts)}
    first, second, third = (set(graph.path(hosts[f"s{n}"], hosts[f"d{n}"])) for n in (1, 2, 3))
    shared = [[(graph.names[a.node], graph.names[b.node]) for a, b, _, _ in first & short] for short in (second, third)]
    assert shared == [[("R1", "R2")], [("R3", "R4")]]
    assert not second & third
    assert first & (second | third) == set(network.bottleneck)
    assert {line.rate_bps for line in graph.lines} == {RATE}


TIERS = {"e": "edge", "a": "aggregation", "t3-": "tier 3", "c": "core", "l": "leaf", "p": "spine", "h": "host"}


@pytest.mark.parametrize(
    "topology",
    [LeafSpine(leaves=3, spines=2, hosts=2), FatTree(tiers=2), FatTree(radix=4), FatTree(tiers=4, radix=2)],
)
@pytest.mark.parametrize("nics", [False, True])
def test_tiers_have_the_words_of_their_topology(topology: LeafSpine | FatTree, nics: bool) -> None:
    network = build(topology.model_copy(update={"marking_nics": nics}), RATE, 80_000)
    graph = network.graph
    for name, tier in zip(graph.names, graph.tiers.tolist(), strict=True):
        assert network.tier_name(tier) == ("NIC" if name.endswith("-nic") else TIERS[name.rstrip("0123456789")])


def test_tiers_are_links_to_the_nearest_host() -> None:
    inner = [*DUMBBELL["links"][:-1], ["left", "far"], ["far", "right"], ["far", "farther"], ["lost", "lonely"]]
    network = links(switches=["left", "right", "far", "farther", "lost", "lonely"], links=inner)
    assert network.graph.tiers.tolist() == [0, 0, 0, 0, 1, 1, 2, 3, -1, -1]
    assert [network.tier_name(tier) for tier in range(3)] == ["host", "tier 1", "tier 2"]
    pair = build(parse_topology({"hosts": ["a", "b"], "links": [["a", "b"]]}), RATE, 80_000)
    assert pair.graph.tiers.tolist() == [0, 0]


def test_any_pattern_leaves_part_of_the_flows_in_their_leaf() -> None:
    network = build(LeafSpine(leaves=4, spines=2, hosts=2, pattern="any"), RATE, 80_000)
    assert network.bottleneck_share == pytest.approx(6 / 7)


def test_own_links_get_ports_rates_and_delays() -> None:
    network = links()
    graph = network.graph
    assert graph.base_rtt_ns(0, 2) == 120_000
    assert graph.base_rtt_ns(0, 1) == 80_000
    assert list(network.pairs) == [(0, 2), (0, 3), (1, 2), (1, 3)]
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
        ({"links": [*DUMBBELL["links"], ["left:0", "right:0"], ["left:0", "right:1"]]}, "already has a link"),
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
    # The only path from a to c would lead through b, if a host could have two links or forward packets.
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
    ("text", "said"),
    [
        ("incast:senders=16", "16 -> 1"),
        ("leaf-spine:spines=2", "leaf-spine 4 x 2 x 8"),
        ("fat-tree", "fat-tree 3 tiers x 4 ports"),
        ("fat-tree:tiers=4,radix=6,oversubscription=2,pattern=pod3", "fat-tree 4 tiers x 6 ports, 2:1, pod3"),
        (str(REPOSITORY / "topologies" / "dumbbell.yaml"), "own topology"),
    ],
)
def test_a_topology_in_a_few_characters(text: str, said: str) -> None:
    assert topology_name(parse_topology(text).model_dump()) == said


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
