# SPDX-License-Identifier: MIT OR Apache-2.0
"""Shortest paths, for networks of any size: arrays over the nodes with hosts, which are the ends of all paths.

Hosts at the same node have the same paths to it. So there is a row for each node with hosts (an *edge*), and a column
for each node that paths lead through or end at.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

# Lines times edges that are computed at a time, a byte each.
_CELLS = 2**22


@dataclass(frozen=True)
class Paths:
    """Distances in a graph of `nodes`, in lines: those between nodes have the ends `sources` and `targets`.

    `edges` are nodes that paths lead to.
    """

    nodes: int
    sources: Integers
    targets: Integers
    edges: Integers
    # By edge and node; -1 where there is no path.
    distances: NDArray[np.int16]

    @staticmethod
    def of(nodes: int, sources: Integers, targets: Integers, edges: Integers) -> Paths:
        """Finds all distances, breadth first from all edges at a time."""
        order = np.argsort(targets, kind="stable")
        ends, starts = np.unique(targets[order], return_index=True)
        begins = sources[order]
        distances = np.full((len(edges), nodes), -1, dtype=np.int16)
        step = max(1, _CELLS // max(1, len(sources)))
        for first in range(0, len(edges), step):
            found = distances[first : first + step]
            found[np.arange(len(found)), edges[first : first + step]] = 0
            for distance in range(nodes if len(begins) else 0):
                reached = np.logical_or.reduceat(found[:, begins] == distance, starts, axis=1) & (found[:, ends] < 0)
                if not reached.any():
                    break
                found[:, ends] = np.where(reached, distance + 1, found[:, ends])
        return Paths(nodes, sources, targets, edges, distances)

    def leads_on(self, node: int, neighbours: Integers) -> NDArray[np.bool_]:
        """For each edge and each neighbour of a node, whether the neighbour is nearer to the edge."""
        here = self.distances[:, [node]]
        nearer: NDArray[np.bool_] = (here > 0) & (self.distances[:, neighbours] == here - 1)
        return nearer

    def spread(self) -> Integers:
        """Number of paths on which packets to an edge may have come to a node, by edge and node.

        It is the largest product of the choices before it, on any path.
        """
        order = np.argsort(self.targets, kind="stable")
        reached, starts = np.unique(self.targets[order], return_index=True)
        spread = np.ones(self.distances.shape, dtype=np.int64)
        for edge, distance in enumerate(self.distances):
            here = distance[self.sources]
            leads = (here > 0) & (distance[self.targets] == here - 1)
            choices = np.bincount(self.sources[leads], minlength=self.nodes)
            before = spread[edge]
            # From far to near, so that the number of a node is complete before it is passed on.
            for far in range(int(distance.max()), 0, -1):
                passed = np.where(leads & (here == far), before[self.sources] * choices[self.sources], 1)
                before[reached] = np.maximum(before[reached], np.maximum.reduceat(passed[order], starts))
        return spread
