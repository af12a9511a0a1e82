# SPDX-License-Identifier: MIT OR Apache-2.0
"""A network as a graph, and the shortest paths through it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marklab.errors import BadInput
from marklab.topology.paths import Paths

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
    def tiers(self) -> NDArray[np.int64]:
        """Number of links from each node to the nearest host: 0 for hosts, -1 for switches that no host reaches."""
        distances = self._found.distances
        far = np.iinfo(distances.dtype).max
        nearest = np.where(distances < 0, far, distances).min(axis=0).astype(np.int64)
        tiers = np.zeros(len(self.names), dtype=np.int64)
        tiers[list(self._number)] = np.where(nearest == far, -1, nearest + 1)
        tiers[: len(self.hosts)] = 0
        return tiers

    @cached_property
    def racks(self) -> tuple[tuple[int, int, int], ...]:
        """Hosts in a row at the same node: the node, the first host and the last."""
        groups = itertools.groupby(range(len(self.hosts)), key=self._edge.__getitem__)
        rows = ((edge, list(hosts)) for edge, hosts in groups)
        return tuple((edge, hosts[0], hosts[-1]) for edge, hosts in rows)

    @cached_property
    def _number(self) -> dict[int, int]:
        """Number of each node that forwards, or to which a host is linked."""
        inner = dict.fromkeys([*range(len(self.hosts), len(self.names)), *self._edge])
        return {node: number for number, node in enumerate(inner)}

    @cached_property
    def _row(self) -> dict[int, int]:
        """Row of each node with hosts."""
        return {edge: row for row, edge in enumerate(dict.fromkeys(self._edge))}

    @cached_property
    def _found(self) -> Paths:
        number = self._number
        inner = [(number[line.source.node], number[line.target.node]) for line in self.lines if self._is_inner(line)]
        ends = np.array(inner, dtype=np.int64).reshape(-1, 2)
        edges = np.array([number[edge] for edge in self._row], dtype=np.int64)
        return Paths.of(len(number), ends[:, 0], ends[:, 1], edges)

    def _is_inner(self, line: Line) -> bool:
        """Whether a line can be in the middle of a path: hosts do not forward."""
        return not self.is_host(line.source.node) and not self.is_host(line.target.node)

    def _lines_to(self, node: int, host: int) -> int | None:
        """Number of lines from a node to a host."""
        if node == host:
            return 0
        if self._edge[host] == node:
            return 1
        if self.is_host(node):
            return None if (rest := self._lines_to(self._edge[node], host)) is None else rest + 1
        distance = int(self._found.distances[self._row[self._edge[host]], self._number[node]])
        return None if distance < 0 else distance + 1

    def next_lines(self, node: int, host: int) -> tuple[Line, ...]:
        """The lines on which a node may send to a host: the first lines of all shortest paths, in order of ports."""
        if node == host:
            return ()
        if self._edge[host] == node:
            return tuple(line for line in self.lines_from[node] if line.target.node == host)
        if self.is_host(node):
            return self.lines_from[node]
        lines, leads = self._leads[node]
        return tuple(lines[port] for port in np.flatnonzero(leads[self._row[self._edge[host]]]))

    @cached_property
    def _leads(self) -> dict[int, tuple[tuple[Line, ...], NDArray[np.bool_]]]:
        """The lines between switches that leave each switch; for each node with hosts, on which of them it sends."""
        return {node: self._leads_of(node) for node in range(len(self.hosts), len(self.names))}

    def _leads_of(self, node: int) -> tuple[tuple[Line, ...], NDArray[np.bool_]]:
        lines = tuple(line for line in self.lines_from[node] if self._is_inner(line))
        neighbours = np.array([self._number[line.target.node] for line in lines], dtype=np.int64)
        return lines, self._found.leads_on(self._number[node], neighbours)

    @cached_property
    def has_equal_ways(self) -> bool:
        """Whether a switch has several paths to a host."""
        return any(bool((leads.sum(axis=1) > 1).any()) for _, leads in self._leads.values())

    def ways(self, node: int) -> tuple[list[tuple[tuple[Line, ...], int]], NDArray[np.int64]]:
        """All that a switch may do with packets for hosts of other nodes: the lines on which it sends, and `spread`.

        Also, for each of `racks`, which of these is done; -1 for its own.
        """
        lines, leads = self._leads[node]
        spread = self._spread[:, self._number[node]]
        rows = np.concatenate([np.packbits(leads, axis=1), spread[:, None].view(np.uint8)], axis=1)
        _, first, way = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        found = [
            (tuple(lines[port] for port in np.flatnonzero(leads[row])), int(spread[row])) for row in first.tolist()
        ]
        edges, rows_of_racks = self._racks
        return found, np.where(edges == node, -1, way.reshape(-1)[rows_of_racks])

    @cached_property
    def _racks(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The node of each rack, and its row in what is known of paths."""
        edges = [edge for edge, _, _ in self.racks]
        return np.array(edges), np.array([self._row[edge] for edge in edges])

    def spread(self, node: int, host: int) -> int:
        """Number of paths on which packets to a host may have come to a node: the product of the choices before it.

        All switches choose by the same hash. If a switch used the same part of the hash as the switches before it, it
        would find the same value for all packets that reach it, and send them all on one of its paths.
        """
        return int(self._spread[self._row[self._edge[host]], self._number[node]])

    @cached_property
    def _spread(self) -> NDArray[np.int64]:
        return self._found.spread()

    def lines_after(self) -> dict[Line, tuple[Line, ...]]:
        """The next lines of the packets on each line between switches, for all shortest paths between hosts."""
        after: dict[Line, dict[Line, None]] = {}
        target_of = {edge: host for host, edge in reversed(list(enumerate(self._edge)))}
        for edge, target in target_of.items():
            present = {other for other in self._edge if other != edge}
            for node in self._far_to_near(edge):
                if node not in present or node == edge:
                    continue
                for line in self.next_lines(node, target):
                    present.add(line.target.node)
                    following = () if line.target.node == edge else self.next_lines(line.target.node, target)
                    after.setdefault(line, {}).update(dict.fromkeys(following))
        return {line: tuple(following) for line, following in after.items()}

    def _far_to_near(self, edge: int) -> list[int]:
        """All nodes that forward, or to which a host is linked, by their distance from one of them."""
        distances = self._found.distances[self._row[edge]]
        nodes = list(self._number)
        return [nodes[number] for number in np.argsort(-distances, kind="stable")]

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
        if len(self.hosts) < 2:
            return 0
        if self.is_host(self._edge[0]):
            return 1  # two hosts that are linked with each other
        edges = [self._number[edge] for edge in self._row]
        return int(self._found.distances[:, edges].max()) + 2

    def shares(self, pairs: Iterable[tuple[int, int]]) -> Mapping[Line, float]:
        """Fraction of flows that each line carries if flows choose among `pairs` and equal paths evenly."""
        chosen = list(pairs)
        by_target: dict[int, dict[int, float]] = {}
        for source, target in chosen:
            sources = by_target.setdefault(target, {})
            sources[source] = sources.get(source, 0.0) + 1 / len(chosen)
        shares: dict[Line, float] = {}
        for target, present in by_target.items():
            # From far to near, so that the share of a node is complete before it is passed on. Hosts are the farthest.
            for node in [
                *(source for source in present if self.is_host(source)),
                *self._far_to_near(self._edge[target]),
            ]:
                if node not in present:
                    continue
                lines = self.next_lines(node, target)
                for line in lines:
                    part = present[node] / len(lines)
                    shares[line] = shares.get(line, 0.0) + part
                    present[line.target.node] = present.get(line.target.node, 0.0) + part
        return shares
