# SPDX-License-Identifier: MIT OR Apache-2.0
"""Hosts, switches and links, from builders or files.

`description` has the users' settings; `graph` has nodes, links and routes, `paths` the distances in it; `pairs` is who
sends to whom; `build` turns descriptions into a
`Network`: a graph, the pairs of hosts with flows, and the lines that count for load and utilisation. Never knows the
behaviour of nodes.
"""

from marklab.topology.build import Network, build, parse_topology
from marklab.topology.description import FatTree, Incast, LeafSpine, Links, Topology, WrittenTopology
from marklab.topology.graph import Graph, Line, Link, Port
from marklab.topology.pairs import Pairs

__all__ = [
    "FatTree",
    "Graph",
    "Incast",
    "LeafSpine",
    "Line",
    "Link",
    "Links",
    "Network",
    "Pairs",
    "Port",
    "Topology",
    "WrittenTopology",
    "build",
    "parse_topology",
]
