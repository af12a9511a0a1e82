# SPDX-License-Identifier: MIT OR Apache-2.0
"""The flows of an execution trace (`traffic.chakra`): the graphs of all ranks, drawn as one.

A node begins when all that it waits for is over. Computation and memory take the time that the trace says. A send is
over when its data have arrived, and so is the receive that it belongs to: the k-th of a rank, for each sender and tag.
The k-th collectives of the ranks of a group are one. Their sizes are those of ASTRA-sim: of all-gather a rank's own
part, of the others the whole buffer of a rank. Nothing else keeps nodes from running at the same time.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from marklab.errors import BadInput
from marklab.prepare.collectives import drawing
from marklab.prepare.drawing import NONE, Begun, Drawn, Numbers
from marklab.traffic.chakra import COLLECTIVES, Kind, Node, read_trace
from marklab.traffic.jobs import Job, TraceJob

# A node: its rank and its place in the rank's file.
Place = tuple[int, int]


@dataclass
class _Unit:
    """What begins together: a node, or the nodes of a collective, a rank each."""

    members: list[Place] = field(default_factory=list)
    # Of a receive: its send.
    source: Place | None = None


class _Trace:
    """A trace while it is drawn."""

    def __init__(self, ranks: Sequence[Sequence[Node]], hosts: Numbers, job: TraceJob, number: int) -> None:
        self.ranks, self.hosts, self.job, self.number = ranks, hosts, job, number
        self.place = [{node.number: at for at, node in enumerate(nodes)} for nodes in ranks]
        # Of nodes that are drawn: the join at which they are over, and its time if the network took none.
        self.over: dict[Place, tuple[int, int]] = {}
        # Of sends that are drawn: the row of the flow.
        self.rows: dict[Place, int] = {}

    def node(self, place: Place) -> Node:
        return self.ranks[place[0]][place[1]]

    def before(self, place: Place) -> list[Place]:
        """What a node waits for."""
        rank = place[0]
        return [(rank, self.place[rank][number]) for number in self.node(place).waits]

    def join(self, drawn: Drawn, place: Place, duration_ns: int) -> tuple[int, int]:
        """A join at a time after all that a node waits for."""
        before = [self.over[each] for each in self.before(place)]
        reached_ns = max((time_ns for _, time_ns in before), default=self.job.start_ns) + duration_ns
        host = self.hosts[[place[0]]]
        join = drawn.add_joins(host, np.array([reached_ns]), not_before_ns=0 if before else reached_ns)
        for each, _ in before:
            drawn.wait(join, on=each, pause_ns=duration_ns)
        return int(join[0]), reached_ns


def draw_trace(drawn: Drawn, job: TraceJob, hosts: Numbers, number: int) -> None:
    """Draw a trace, whose rank i is at the i-th of the hosts. Raises BadInput if it cannot run."""
    trace = _Trace(read_trace(job.path), hosts, job, number)
    for unit in _in_order(trace, _units(trace)):
        node = trace.node(unit.members[0])
        if node.kind == Kind.COLLECTIVE:
            _draw_collective(drawn, trace, unit)
        elif node.kind == Kind.SEND:
            _draw_send(drawn, trace, unit.members[0])
        else:
            (place,) = unit.members
            join, reached_ns = trace.join(drawn, place, node.duration_ns if unit.source is None else 0)
            if unit.source is not None:
                drawn.wait(np.array([join]), flow=trace.rows[unit.source])
                reached_ns = max(reached_ns, trace.over[unit.source][1])
            trace.over[place] = join, reached_ns
    if drawn.flow_count == 0:
        raise BadInput(f"the trace {job.path} communicates nothing")


def _units(trace: _Trace) -> list[_Unit]:
    """All units, in an order that depends on the trace alone."""
    collectives: dict[tuple[str, int], _Unit] = defaultdict(_Unit)
    units: list[_Unit] = []
    sends: dict[tuple[int, int, int, int], _Unit] = {}
    receives: dict[tuple[int, int, int, int], _Unit] = {}
    for rank, nodes in enumerate(trace.ranks):
        seen: Counter[object] = Counter()
        for at, node in enumerate(nodes):
            if node.kind == Kind.COLLECTIVE:
                group = str(node.attributes.get("pg_name", ""))
                collectives[group, seen[group]].members.append((rank, at))
                seen[group] += 1
                continue
            unit = _Unit([(rank, at)])
            units.append(unit)
            if node.kind in (Kind.SEND, Kind.RECV):
                pair = _pair(trace, rank, node)
                (sends if node.kind == Kind.SEND else receives)[*pair, seen[pair, node.kind]] = unit
                seen[pair, node.kind] += 1
    for way, unit in receives.items():
        if way not in sends:
            raise BadInput(f"rank {way[1]}, {trace.node(unit.members[0])}: rank {way[0]} sends nothing for it")
        unit.source = sends.pop(way).members[0]
    for way, unit in sends.items():
        raise BadInput(f"rank {way[0]}, {trace.node(unit.members[0])}: rank {way[1]} never receives it")
    return [*units, *collectives.values()]


def _pair(trace: _Trace, rank: int, node: Node) -> tuple[int, int, int]:
    """Sender, receiver and tag."""
    other = node.whole("comm_dst" if node.kind == Kind.SEND else "comm_src")
    if not 0 <= other < len(trace.ranks) or other == rank:
        raise BadInput(f"rank {rank}, {node} has the peer {other}, and the trace the ranks 0..{len(trace.ranks) - 1}")
    tag = node.whole("comm_tag") if "comm_tag" in node.attributes else 0
    return (rank, other, tag) if node.kind == Kind.SEND else (other, rank, tag)


def _in_order(trace: _Trace, units: Sequence[_Unit]) -> list[_Unit]:
    """The units, each after what it waits for (Kahn). Raises BadInput if some wait for themselves."""
    unit_of = {place: number for number, unit in enumerate(units) for place in unit.members}
    followers: list[list[int]] = [[] for _ in units]
    missing = [0] * len(units)
    for number, unit in enumerate(units):
        sources = [] if unit.source is None else [unit.source]
        befores = [each for place in unit.members for each in trace.before(place)] + sources
        for before in befores:
            followers[unit_of[before]].append(number)
        missing[number] = len(befores)
    ready = [number for number in range(len(units)) if missing[number] == 0]
    ordered = []
    while ready:
        number = heapq.heappop(ready)
        ordered.append(units[number])
        for follower in followers[number]:
            missing[follower] -= 1
            if missing[follower] == 0:
                heapq.heappush(ready, follower)
    if len(ordered) < len(units):
        place = min(place for number, unit in enumerate(units) if missing[number] for place in unit.members)
        raise BadInput(f"the trace {trace.job.path} waits in a cycle: rank {place[0]}, {trace.node(place)}")
    return ordered


def _draw_send(drawn: Drawn, trace: _Trace, place: Place) -> None:
    rank, node = place[0], trace.node(place)
    join, ready_ns = trace.join(drawn, place, 0)
    ends = {"src": trace.hosts[rank], "dst": trace.hosts[node.whole("comm_dst")]}
    size = max(1, node.whole("comm_size"))
    columns = {"start_ns": ready_ns, "after": NONE, "after_join": join, "iteration": trace.number}
    trace.rows[place] = int(drawn.add_flows(**ends, size_bytes=size, **columns)[0])
    arrived = drawn.add_joins(trace.hosts[[rank]], np.array([ready_ns]))
    drawn.wait(arrived, flow=trace.rows[place])
    trace.over[place] = int(arrived[0]), ready_ns


def _draw_collective(drawn: Drawn, trace: _Trace, unit: _Unit) -> None:
    nodes = [trace.node(place) for place in unit.members]
    kinds = {(node.whole("comm_type"), node.whole("comm_size")) for node in nodes}
    where = f"rank {unit.members[0][0]}, {nodes[0]}"
    if len(kinds) > 1:
        raise BadInput(f"{where}: other ranks of its group have another collective or size at its place")
    ((kind, size),) = kinds
    if kind not in COLLECTIVES:
        raise BadInput(f"{where} is a collective of type {kind}, which the lab does not have")
    ready = [trace.join(drawn, place, 0) for place in unit.members]
    if len(nodes) == 1:
        trace.over[unit.members[0]] = ready[0]
        return
    whole = size * len(nodes) if COLLECTIVES[kind] == "all-gather" else size
    job = Job.model_validate({"collective": COLLECTIVES[kind], "size": max(whole, len(nodes))})
    joins, times = (np.array(column, dtype=np.int64) for column in zip(*ready, strict=True))
    hosts = trace.hosts[[rank for rank, _ in unit.members]]
    done, done_ns = drawing(job)(drawn, Begun(job, hosts, trace.number, joins, times))
    for place, join, time_ns in zip(unit.members, done.tolist(), done_ns.tolist(), strict=True):
        trace.over[place] = join, time_ns
