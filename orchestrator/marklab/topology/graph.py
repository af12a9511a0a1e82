# SPDX-License-Identifier: MIT OR Apache-2.0
"""A network as a graph, and the shortest paths through it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from marklab.errors import BadInput

# Ports of v1model have 9 bits; port 511 means "drop".
MAX_PORTS = 511


class Port(NamedTuple):
    """A port of a node; `node` is the node's index."""

    node: int
    port: int


class Line(NamedTuple):
    """One direction of a link."""

    source: Port
    target: Port
    rate_bps: int
    delay_ns: int


@dataclass(frozen=True)
class Link:
    """A cable between two ports."""

    a: Port
    b: Port
    rate_bps: int
    delay_ns: int

    def lines(self) -> tuple[Line, Line]:
        """Its two directions."""
        return (
            Line(self.a, self.b, self.rate_bps, self.delay_ns),
            Line(self.b, self.a, self.rate_bps, self.delay_ns),
        )


@dataclass(frozen=True)
class Graph:
    """Hosts and switches with their links. Node i is host i, or switch i - len(hosts)."""

    hosts: tuple[str, ...]
    switches: tuple[str, ...]
    links: tuple[Link, ...]

    def __post_init__(self) -> None:
        for link in self.links:
            if link.rate_bps <= 0:
                raise BadInput(f"the link {self.describe(link)} has a rate of 0")
        for host, name in enumerate(self.hosts):
            if len(self.lines_from[host]) != 1:
                raise BadInput(f"host `{name}` has {len(self.lines_from[host])} links; it must have one")
        # Links lead in both directions, so all hosts reach each other if the first one reaches all others.
        lost = next((other for other in range(1, len(self.hosts)) if self._lines_to(0, other) is None), None)
        if lost is not None:
            raise BadInput(
                f"host `{self.hosts[0]}` cannot be reached from host `{self.hosts[lost]}`",
                "add a link between their switches, or leave one of them out",
            )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all nodes, in order of their index."""
        return self.hosts + self.switches

    def is_host(self, node: int) -> bool:
        """Whether a node is a host."""
        return node < len(self.hosts)

    def describe(self, link: Link) -> str:
        """Names of a link's ends."""
        return f"{self.names[link.a.node]} - {self.names[link.b.node]}"

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """Both directions of every link."""
        return tuple(line for link in self.links for line in link.lines())

    @cached_property
    def lines_from(self) -> tuple[tuple[Line, ...], ...]:
        """Lines that leave each node, in order of its ports."""
        leaving: list[list[Line]] = [[] for _ in self.names]
        for line in self.lines:
            leaving[line.source.node].append(line)
        return tuple(tuple(sorted(lines, key=lambda line: line.source)) for lines in leaving)

    def ports(self, switch: int) -> int:
        """Number of ports that a switch needs: the highest linked port plus one."""
        lines = self.lines_from[len(self.hosts) + switch]
        return lines[-1].source.port + 1 if lines else 0

    @cached_property
    def _edge(self) -> tuple[int, ...]:
        """The node at the other end of each host's link. Paths to hosts at the same node are the same."""
        return tuple(self.lines_from[host][0].target.node for host in range(len(self.hosts)))

    @cached_property
    def _distance(self) -> dict[int, tuple[int | None, ...]]:
        """Number of lines from each node to each node with hosts."""
        return {edge: self._distances_to(edge) for edge in dict.fromkeys(self._edge)}

    def _distances_to(self, edge: int) -> tuple[int | None, ...]:
        distance: list[int | None] = [None] * len(self.names)
        distance[edge] = 0
        waiting = deque([edge])
        while waiting:
            node = waiting.popleft()
            if self.is_host(node) and node != edge:
                continue  # hosts do not forward
            for line in self.lines_from[node]:
                neighbour = line.target.node
                if distance[neighbour] is None:
                    distance[neighbour] = (distance[node] or 0) + 1
                    waiting.append(neighbour)
        return tuple(distance)

    def _lines_to(self, node: int, host: int) -> int | None:
        if node == host:
            return 0
        distance = self._distance[self._edge[host]][node]
        return None if distance is None else distance + 1

    @cached_property
    def _paths(self) -> dict[int, tuple[tuple[Line, ...], ...]]:
        """The lines on which each node sends to each node with hosts."""
        return {
            edge: tuple(
                tuple(line for line in lines if here and distance[line.target.node] == here - 1)
                for here, lines in zip(distance, self.lines_from, strict=True)
            )
            for edge, distance in self._distance.items()
        }

    def next_lines(self, node: int, host: int) -> tuple[Line, ...]:
        """The lines on which a node may send to a host: the first lines of all shortest paths, in order of ports."""
        if node == host:
            return ()
        edge = self._edge[host]
        if node == edge:
            return tuple(line for line in self.lines_from[node] if line.target.node == host)
        return self._paths[edge][node]

    @cached_property
    def has_equal_ways(self) -> bool:
        """Whether a switch has several paths to a host."""
        return any(len(lines) > 1 for paths in self._paths.values() for lines in paths)

    def spread(self, node: int, host: int) -> int:
        """Number of paths on which packets to a host may have come to a node: the product of the choices before it.

        All switches choose by the same hash. If a switch used the same part of the hash as the switches before it, it
        would find the same value for all packets that reach it, and send them all on one of its paths.
        """
        return self._spread[self._edge[host]][node]

    @cached_property
    def _spread(self) -> dict[int, list[int]]:
        spread = {edge: [1] * len(self.names) for edge in self._paths}
        for edge, before in spread.items():
            for node in self._far_to_near[edge]:
                lines = self._paths[edge][node]
                for line in lines:
                    before[line.target.node] = max(before[line.target.node], before[node] * len(lines))
        return spread

    def lines_after(self) -> dict[Line, tuple[Line, ...]]:
        """The next lines of the packets on each line between switches, for all shortest paths between hosts."""
        after: dict[Line, dict[Line, None]] = {}
        for edge, paths in self._paths.items():
            present = {other for other in self._edge if other != edge}
            for node in self._far_to_near[edge]:
                if node not in present:
                    continue
                for line in paths[node]:
                    present.add(line.target.node)
                    after.setdefault(line, {}).update(dict.fromkeys(paths[line.target.node]))
        return {line: tuple(following) for line, following in after.items()}

    def path(self, source: int, target: int) -> tuple[Line, ...]:
        """The shortest path from host to host; among equal paths the one through the lowest ports."""
        lines = []
        node = source
        while node != target:
            line = self.next_lines(node, target)[0]
            lines.append(line)
            node = line.target.node
        return tuple(lines)

    def base_rtt_ns(self, source: int, target: int) -> int:
        """Propagation delay of the path to the target and back."""
        there, back = self.path(source, target), self.path(target, source)
        return sum(line.delay_ns for line in there + back)

    def longest_path(self) -> int:
        """Number of lines between the two hosts that are farthest apart."""
        hosts = range(len(self.hosts))
        return max(self._lines_to(host, other) or 0 for host in hosts for other in hosts)

    def shares(self, pairs: Iterable[tuple[int, int]]) -> Mapping[Line, float]:
        """Fraction of flows that each line carries if flows choose among `pairs` and equal paths evenly."""
        chosen = list(pairs)
        by_target: dict[int, dict[int, float]] = {}
        for source, target in chosen:
            sources = by_target.setdefault(target, {})
            sources[source] = sources.get(source, 0.0) + 1 / len(chosen)
        shares: dict[Line, float] = {}
        for target, present in by_target.items():
            # From far to near, so that the share of a node is complete before it is passed on.
            for node in self._far_to_near[self._edge[target]]:
                if node not in present:
                    continue
                lines = self.next_lines(node, target)
                for line in lines:
                    part = present[node] / len(lines)
                    shares[line] = shares.get(line, 0.0) + part
                    present[line.target.node] = present.get(line.target.node, 0.0) + part
        return shares

    @cached_property
    def _far_to_near(self) -> dict[int, list[int]]:
        nodes = range(len(self.names))
        return {
            edge: sorted(nodes, key=lambda node: -(distance[node] or 0)) for edge, distance in self._distance.items()
        }
