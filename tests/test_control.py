# SPDX-License-Identifier: MIT OR Apache-2.0
"""The table entries lead from every host to every other host."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from marklab.catalog.description import Forwarding
from marklab.catalog.twin import FORWARDING as MASKED
from marklab.errors import BadInput
from marklab.prepare.control import check_entries, check_forwarding, forwarding_entries, host_ip, mac
from marklab.topology import FatTree, Incast, LeafSpine, Network, Port, build, parse_topology

RING = {
    "hosts": ["a", "b", "c", "d"],
    "switches": ["s", "t", "u", "v"],
    "links": [
        ["a", "s"],
        ["b", "t"],
        ["c", "u"],
        ["d", "v"],
        ["s", "t"],
        ["t", "u"],
        ["u", "v"],
        ["v", "s"],
        ["v", "s"],
    ],
}
NETWORKS = [
    build(Incast(senders=3), 10**10, 70_000),
    build(LeafSpine(leaves=3, spines=4, hosts=2), 10**10, 70_000),
    build(parse_topology(RING), 10**10, 70_000),
    build(FatTree(tiers=3, radix=4), 10**10, 70_000),
]


def lookup(entries: list[dict[str, Any]], table: str, **match: object) -> tuple[str, dict[str, int]]:
    found = [entry for entry in entries if entry["table"] == table and entry["match"] == match]
    assert len(found) == 1, (table, match, found)
    return found[0]["action"], found[0]["params"]


def route(entries: list[dict[str, Any]], names: Forwarding, host: int) -> dict[str, Any]:
    """The longest prefix that has a host's address."""

    def matches(value: int, bits: int) -> bool:
        return host_ip(host) >> 32 - bits == value >> 32 - bits

    found = [entry for entry in entries if entry["table"] == names.table and matches(*entry["match"][names.key]["lpm"])]
    return max(found, key=lambda entry: int(entry["match"][names.key]["lpm"][1]))


def walk(network: Network, node: int, target: int, mac_seen: int) -> int:
    """Follow all paths from a switch; returns the number of switches on them."""
    graph = network.graph
    if graph.is_host(node):
        assert (node, mac_seen) == (target, mac(graph, target))
        return 0
    entries = forwarding_entries(graph, node - len(graph.hosts), Forwarding())
    found = route(entries, Forwarding(), target)
    action, params = found["action"], found["params"]
    hops = [params]
    if action == "hash_to_group":
        members = range(params["members"])
        chosen = [lookup(entries, "ecmp", group={"exact": params["group"]}, member={"exact": at}) for at in members]
        assert {action for action, _ in chosen} == {"forward"}
        hops = [params for _, params in chosen]
        taken = Counter(hop["port"] for hop in hops)
        assert len(taken) > 1
        assert len(set(taken.values())) == 1, "all paths are equally likely"
    lengths = set()
    for hop in hops:
        (line,) = [line for line in graph.lines if line.source == Port(node, hop["port"])]
        lengths.add(1 + walk(network, line.target.node, target, hop["dst_addr"]))
    assert len(lengths) == 1, "equal paths have equal lengths"
    return lengths.pop()


@pytest.mark.parametrize("network", NETWORKS)
def test_every_host_reaches_every_host(network: Network) -> None:
    graph = network.graph
    hosts = range(len(graph.hosts))
    for source in hosts:
        for target in set(hosts) - {source}:
            first = graph.lines_from[source][0].target.node
            assert walk(network, first, target, -1) + 1 == len(graph.path(source, target))


def tops(tree: FatTree, names: Forwarding, hashes: range) -> Counter[int]:
    """How many flows from the first host to the last turn downward at each switch, by their hashes."""
    graph = build(tree, 10**10, 70_000).graph
    target = len(graph.hosts) - 1
    nodes = range(len(graph.hosts), len(graph.names))
    entries = {node: forwarding_entries(graph, node - len(graph.hosts), names) for node in nodes}
    members = {
        (node, entry["match"][names.ecmp_member_key]["exact"]): entry["params"][names.port]
        for node in nodes
        for entry in entries[node]
        if entry["table"] == names.ecmp_table
    }
    line = {line.source: line for line in graph.lines}
    seen: Counter[int] = Counter()
    for value in hashes:
        node = graph.lines_from[0][0].target.node
        while True:
            found = route(entries[node], names, target)
            if found["action"] != names.ecmp_action:
                break
            params = found["params"]
            member = value % params["members"] if names.ecmp_members else value & params["mask"]
            node = line[Port(node, members[node, member])].target.node
        seen[node] += 1
    return seen


@pytest.mark.parametrize(("tiers", "radix"), [(3, 4), (3, 6), (4, 6), (5, 4), (3, 10)])
def test_a_hash_chooses_apart_in_each_tier(tiers: int, radix: int) -> None:
    """Otherwise flows would use only a few of the top switches."""
    tree, count = FatTree(tiers=tiers, radix=radix), (radix // 2) ** (tiers - 1)
    assert list(tops(tree, Forwarding(), range(7 * count)).values()) == [7] * count


@pytest.mark.parametrize(("tiers", "radix"), [(3, 6), (4, 6), (5, 4), (3, 10)])
def test_masked_hashes_choose_apart_as_well(tiers: int, radix: int) -> None:
    tree, count = FatTree(tiers=tiers, radix=radix), (radix // 2) ** (tiers - 1)
    seen = tops(tree, MASKED, range(2**16))
    # Each path has 32 buckets or more, and some paths have one more, once in each tier.
    mean = 2**16 / count
    assert len(seen) == count
    assert max(abs(times / mean - 1) for times in seen.values()) < (tiers - 1) / 32, seen


def test_where_nobody_has_chosen_before_the_whole_hash_is_for_one_choice() -> None:
    """Groups of leaves have as many members as paths."""
    entries = forwarding_entries(NETWORKS[1].graph, 0, Forwarding())
    sizes = {entry["params"]["members"] for entry in entries if entry["action"] == "hash_to_group"}
    assert sizes == {4}


def test_hosts_share_groups_with_the_same_ways() -> None:
    graph = NETWORKS[1].graph
    entries = forwarding_entries(graph, 0, Forwarding())
    assert len([entry for entry in entries if entry["table"] == "ecmp"]) == 4


def test_addresses_are_distinct_and_as_documented() -> None:
    graph = NETWORKS[1].graph
    assert host_ip(0) == 0x0A000001
    assert mac(graph, 5) == 0x020000000005
    addresses = [mac(graph, node) for node in range(len(graph.names))]
    assert len(set(addresses)) == len(addresses)


TABLES = [
    {
        "name": "MyIngress.route",
        "keys": [{"name": "dst"}],
        "actions": [{"name": "MyIngress.send", "params": [{"name": "to", "bits": 9}, {"name": "mac", "bits": 48}]}],
    }
]


def test_names_of_ones_own_are_used() -> None:
    names = Forwarding(table="route", key="hdr.ipv4.dstAddr", action="send", port="to", mac="mac")
    check_forwarding("x.p4", TABLES, names, ecmp=False)
    entries = forwarding_entries(NETWORKS[0].graph, 0, names)
    assert entries[2] == {
        "table": "route",
        "match": {"hdr.ipv4.dstAddr": {"lpm": [host_ip(2), 32]}},
        "action": "send",
        "params": {"to": 2, "mac": 0x020000000002},
    }


def test_a_program_without_the_tables_is_refused_with_their_names() -> None:
    with pytest.raises(BadInput, match="no table `ipv4_lpm`") as error:
        check_forwarding("x.p4", TABLES, Forwarding(), ecmp=False)
    assert error.value.remedy is not None
    assert "forwarding:" in error.value.remedy
    names = Forwarding(table="route", action="send", port="to", mac="mac")
    with pytest.raises(BadInput, match="hash_to_group"):
        check_forwarding("x.p4", TABLES, names, ecmp=True)


FITTING = {"table": "route", "match": {"dst": {"exact": 1}}, "action": "send", "params": {"to": 511, "mac": 1}}


def test_entries_that_fit_the_program_pass() -> None:
    check_entries(Path("x.yaml"), TABLES, [FITTING])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"table": "rout"}, "x.yaml, entries: table `rout`"),
        ({"action": "sent"}, "action of `route` `sent`"),
        ({"params": {"to": 1, "mca": 1}}, "parameter of `send` `mca`"),
        ({"params": {"to": 512, "mac": 1}}, "512 does not fit `to`"),
        ({"params": {"to": 1}}, "needs a value for `mac`"),
        ({"match": {"src": {"exact": 1}}}, "key of `route` `src`"),
    ],
)
def test_entries_that_the_program_has_no_place_for_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=re.escape(message)):
        check_entries(Path("x.yaml"), TABLES, [FITTING | change])
