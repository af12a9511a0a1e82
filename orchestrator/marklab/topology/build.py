# SPDX-License-Identifier: MIT OR Apache-2.0
"""Turns the description of a topology into a network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, assert_never

import yaml

from marklab.errors import BadInput, unknown
from marklab.model import read_yaml, validate
from marklab.topology.description import BUILDERS, FatTree, Incast, LeafSpine, Links, Topology
from marklab.topology.graph import MAX_PORTS, Graph, Line, Link, Port
from marklab.topology.pairs import Pairs
from marklab.units import ShortForm

# Rate of a host in line rates if its NIC is modelled as a switch.
_NIC_SPEEDUP = 10

# A host's number is the last two bytes of its MAC address, and fits into those of its IP address.
_MAX_HOSTS = 65_536


@dataclass(frozen=True)
class Network:
    """A graph, the pairs of hosts (sender, receiver) with flows, and the lines on which load is counted."""

    graph: Graph
    pairs: Pairs
    bottleneck: tuple[Line, ...]
    # Mean number of the bottleneck's lines that a flow passes, where a builder knows it.
    known_share: float | None = None
    # What the switches of a tier are called, from tier 1 on, where a builder has words for them.
    tier_names: tuple[str, ...] = ()
    # Rates of the receivers' lines together, where these are not the last ones on the paths to them.
    known_hosts_bps: int | None = None

    def tier_name(self, tier: int) -> str:
        """What the nodes of a tier are called. Hosts are tier 0."""
        names = ("host", *self.tier_names)
        return names[tier] if tier < len(names) else f"tier {tier}"

    @cached_property
    def bottleneck_share(self) -> float:
        """Mean number of the bottleneck's lines that a flow passes."""
        if self.known_share is not None:
            return self.known_share
        shares = self.graph.shares(self.pairs)
        return sum(shares.get(line, 0.0) for line in self.bottleneck)

    @property
    def bottleneck_bps(self) -> int:
        """Sum of the rates of the bottleneck's lines."""
        return sum(line.rate_bps for line in self.bottleneck)

    @cached_property
    def hosts_bps(self) -> int:
        """Sum of the rates of the lines to hosts that receive."""
        if self.known_hosts_bps is not None:
            return self.known_hosts_bps
        receivers = set(self.pairs.receivers)
        return sum(line.rate_bps for line in self.graph.lines if line.target.node in receivers)

    @property
    def line_rate_bps(self) -> int:
        """Rate of the slowest line of the bottleneck, from which thresholds are derived."""
        return min(line.rate_bps for line in self.bottleneck)


def parse_topology(value: Any) -> Any:
    """Turn `incast`, `leaf-spine:leaves=8`, the path of a YAML file or a mapping into a description."""
    if isinstance(value, str):
        if value.endswith((".yaml", ".yml")) or "/" in value:
            return _described(dict(read_yaml(Path(value))), value)
        name, settings = ShortForm.settings_of(value)
        numbers = {key: yaml.safe_load(text) for key, text in settings.items()}
        return _described({"builder": name, **numbers}, f"`{value}`")
    return _described(value, "") if isinstance(value, dict) else value


def _described(data: dict[str, Any], where: str) -> Topology:
    if "builder" not in data:
        return validate(Links, data, where)
    if str(data["builder"]) not in BUILDERS:
        error = unknown("topology", str(data["builder"]), BUILDERS)
        error.remedy = f"{error.remedy}, or the path of a YAML file"
        raise error
    return validate(BUILDERS[data["builder"]], data, where)


def build(topology: Topology, rate_bps: int, base_rtt_ns: int) -> Network:
    """Build a network whose longest paths have this base RTT, unless the description states other delays.

    Raises BadInput if the description does not make a network.
    """
    match topology:
        case Incast():
            network = _incast(topology, rate_bps, base_rtt_ns)
        case LeafSpine():
            network = _leaf_spine(topology, rate_bps, base_rtt_ns)
        case FatTree():
            network = _fat_tree(topology, rate_bps, base_rtt_ns)
        case Links():
            return _links(topology, rate_bps, base_rtt_ns)
        case _:
            assert_never(topology)
    return _with_marking_nics(network) if topology.marking_nics else network


def _with_marking_nics(network: Network) -> Network:
    """Put a switch between each host and its line; the host's link to it is faster, so it is never a bottleneck."""
    graph = network.graph
    count = len(graph.hosts)
    first = count + len(graph.switches)
    links = []
    for link in graph.links:
        if link.a.node >= count:  # builders put the end at a host first
            links.append(link)
            continue
        nic = first + link.a.node
        links.append(Link(link.a, Port(nic, 0), _NIC_SPEEDUP * link.rate_bps, 0))
        links.append(Link(Port(nic, 1), link.b, link.rate_bps, link.delay_ns))
    wider = Graph(graph.hosts, (*graph.switches, *(f"{host}-nic" for host in graph.hosts)), tuple(links))
    sources = {line.source for line in network.bottleneck}
    bottleneck = tuple(line for line in wider.lines if line.source in sources)
    names = ("NIC", *network.tier_names)
    return Network(wider, network.pairs, bottleneck, network.known_share, names, network.hosts_bps)


def _delay(base_rtt_ns: int, hops: int) -> int:
    return base_rtt_ns // (2 * hops)


def _incast(topology: Incast, rate_bps: int, base_rtt_ns: int) -> Network:
    hosts = topology.senders + 1
    switch = hosts
    delay = _delay(base_rtt_ns, 2)
    links = tuple(Link(Port(host, 0), Port(switch, host), rate_bps, delay) for host in range(hosts))
    graph = Graph(tuple(f"h{host}" for host in range(hosts)), ("s0",), links)
    pairs = Pairs.between(list(range(topology.senders)), [hosts - 1])
    return Network(graph, pairs, (links[-1].lines()[1],), 1.0, ("switch",))


def _leaf_spine(topology: LeafSpine, rate_bps: int, base_rtt_ns: int) -> Network:
    per_leaf, leaves, spines = topology.hosts, topology.leaves, topology.spines
    if per_leaf + spines > MAX_PORTS or leaves > MAX_PORTS:
        raise BadInput(f"hosts + spines, and leaves, must not exceed the {MAX_PORTS} ports of a switch")
    hosts = leaves * per_leaf
    delay = _delay(base_rtt_ns, 4)
    down = [
        Link(Port(host, 0), Port(hosts + host // per_leaf, host % per_leaf), rate_bps, delay) for host in range(hosts)
    ]
    up = [
        Link(Port(hosts + leaf, per_leaf + spine), Port(hosts + leaves + spine, leaf), rate_bps, delay)
        for leaf in range(leaves)
        for spine in range(spines)
    ]
    switches = [f"l{leaf}" for leaf in range(leaves)] + [f"p{spine}" for spine in range(spines)]
    graph = Graph(tuple(f"h{host}" for host in range(hosts)), tuple(switches), tuple(down + up))
    pairs = Pairs.among(hosts, hosts, 1 if topology.pattern == "any" else per_leaf)
    leaving = hosts * (hosts - per_leaf) / len(pairs)
    return Network(graph, pairs, tuple(link.lines()[0] for link in up), leaving, ("leaf", "spine"))


def _fat_tree(topology: FatTree, rate_bps: int, base_rtt_ns: int) -> Network:
    rack, half, edges = topology.hosts_per_edge, topology.radix // 2, topology.edges
    hosts = edges * rack
    if rack + half > MAX_PORTS:
        raise BadInput(
            f"an edge switch with {rack} hosts and {half} uplinks has more than {MAX_PORTS} ports",
            f"oversubscription={MAX_PORTS // half - 1} or less, or a smaller radix",
        )
    if hosts > _MAX_HOSTS:
        raise BadInput(
            f"a fat-tree of {hosts:,} hosts has more than the {_MAX_HOSTS:,} that have addresses",
            "fewer tiers, a smaller radix, or less oversubscription",
        )
    delay = _delay(base_rtt_ns, 2 * topology.tiers)
    down = [Link(Port(host, 0), Port(hosts + host // rack, host % rack), rate_bps, delay) for host in range(hosts)]
    up = [
        Link(Port(hosts + lower.node, lower.port), Port(hosts + upper.node, upper.port), rate_bps, delay)
        for tier in range(1, topology.tiers)
        for lower, upper in _cables(topology, tier)
    ]
    names = ["e", "a", *(f"t{tier}-" for tier in range(3, topology.tiers))][: topology.tiers - 1]
    switches = [f"{name}{switch}" for name in names for switch in range(edges)]
    switches += [f"c{switch}" for switch in range(edges // 2)]
    graph = Graph(tuple(f"h{host}" for host in range(hosts)), tuple(switches), tuple(down + up))

    level = topology.levels[topology.pattern]
    peers = hosts if level == topology.tiers else rack * half ** (level - 1)
    if peers == 1:
        raise BadInput(f"each {topology.pattern} has only one host", "a larger radix, or pattern=any")
    pairs = Pairs.among(hosts, peers, 1)
    # Every flow takes the line to its receiver. An uplink of an edge switch carries as many flows times the
    # oversubscription, except those that stay in the rack. In higher tiers the same number of lines carries fewer.
    if topology.oversubscription * (peers - rack) > peers - 1:
        bottleneck, share = [link.lines()[0] for link in up[: edges * half]], (peers - rack) / (peers - 1)
    else:
        bottleneck, share = [link.lines()[1] for link in down], 1.0
    middle = ("aggregation", *(f"tier {tier}" for tier in range(3, topology.tiers)))[: topology.tiers - 2]
    return Network(graph, pairs, tuple(bottleneck), share, ("edge", *middle, "core"))


def _cables(topology: FatTree, tier: int) -> Iterator[tuple[Port, Port]]:
    """Linked ports of the switches of a tier and of the next tier; switches are counted from the edge."""
    half = topology.radix // 2
    first_uplink = topology.hosts_per_edge if tier == 1 else half
    # Number of switches at the top of a pod of this tier's level, and number of such pods that the next tier joins.
    width = half ** (tier - 1)
    joined = half if tier + 1 < topology.tiers else topology.radix
    for switch in range(topology.edges):
        pod, at = divmod(switch, width)
        above, port = divmod(pod, joined)
        for uplink in range(half):
            upper = tier * topology.edges + (above * width + at) * half + uplink
            yield Port((tier - 1) * topology.edges + switch, first_uplink + uplink), Port(upper, port)


def _links(topology: Links, rate_bps: int, base_rtt_ns: int) -> Network:
    graph = _graph(topology, rate_bps, 0)
    delay = _delay(base_rtt_ns, graph.longest_path())
    graph = _graph(topology, rate_bps, delay)
    hosts = {name: index for index, name in enumerate(topology.hosts)}
    senders, receivers = (
        [_index(hosts, "host", name) for name in (names or topology.hosts)]
        for names in (topology.senders, topology.receivers)
    )
    pairs = Pairs.between(senders, receivers)
    if not len(pairs):
        raise BadInput("no host of this topology has another host to send to")
    return Network(graph, pairs, _bottleneck(topology, graph, pairs))


def _graph(topology: Links, rate_bps: int, delay_ns: int) -> Graph:
    names = topology.hosts + topology.switches
    if len(set(names)) < len(names):
        raise BadInput(f"two nodes are called `{next(name for name in names if names.count(name) > 1)}`")
    nodes = {name: index for index, name in enumerate(names)}
    taken: set[Port] = set()
    links = []
    # Links with explicit ports come first, so that the others do not take these ports.
    for spec in sorted(topology.links, key=lambda link: not all(":" in end for end in link.ends)):
        a, b = (_port(end, nodes, taken) for end in spec.ends)
        if a.node == b.node:
            raise BadInput(f"a link of `{names[a.node]}` leads back to itself")
        rate = rate_bps if spec.rate_bps is None else spec.rate_bps
        links.append(Link(a, b, rate, delay_ns if spec.delay_ns is None else spec.delay_ns))
    return Graph(topology.hosts, topology.switches, tuple(links))


def _port(end: str, nodes: dict[str, int], taken: set[Port]) -> Port:
    name, colon, number = end.partition(":")
    node = _index(nodes, "node", name)
    if colon:
        if not number.isdecimal() or int(number) >= MAX_PORTS:
            raise BadInput(f"`{end}` is not a port", f"ports are numbered 0..{MAX_PORTS - 1}")
        port = Port(node, int(number))
    else:
        port = next(free for free in (Port(node, at) for at in range(MAX_PORTS + 1)) if free not in taken)
    if port in taken or port.port >= MAX_PORTS:
        raise BadInput(f"`{end}`: the port already has a link")
    taken.add(port)
    return port


def _index(known: dict[str, int], kind: str, name: str) -> int:
    if name not in known:
        raise unknown(kind, name, known)
    return known[name]


def _bottleneck(topology: Links, graph: Graph, pairs: Pairs) -> tuple[Line, ...]:
    if topology.bottleneck is None:
        shares = graph.shares(pairs)
        # If lines are equal, the first one counts, in the order of the links.
        return (max(graph.lines, key=lambda line: shares.get(line, 0.0) / line.rate_bps),)
    nodes = {name: index for index, name in enumerate(graph.names)}
    lines: list[Line] = []
    for ends in topology.bottleneck:
        source, target = (_index(nodes, "node", name) for name in ends)
        found = [line for line in graph.lines_from[source] if line.target.node == target]
        if not found:
            raise BadInput(f"bottleneck: there is no link from `{ends[0]}` to `{ends[1]}`")
        lines.extend(found)
    if sum(graph.shares(pairs).get(line, 0.0) for line in lines) == 0:
        raise BadInput("bottleneck: no flow passes these lines")
    return tuple(lines)
