# SPDX-License-Identifier: MIT OR Apache-2.0
"""The flows of jobs: collectives, step by step, as flows that wait for each other.

A ring sends each of n parts of the buffer from host to host, so that all lines are busy at once: n - 1 steps in which
each host gets the parts of the others (all-gather), or adds to them (reduce-scatter), or both one after the other
(all-reduce: Patarasuk and Yuan, J. Parallel Distrib. Comput. 2009). A host sends a part on when it has all of it. A
step has a latency alpha and 1/n of the bytes S at rate 1/beta, so an all-reduce alone takes

    2 (n - 1) (alpha + S/n beta)

A tree adds up towards a root and sends back: host v has the hosts 2v + 1 and 2v + 2 below it. In all-to-all, each host
sends a part to each other one at once.

Adding and copying take no time. A host computes when an iteration begins, and joins (`traffic.flows.Joins`) say when it
has all that it waits for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marklab.errors import BadInput
from marklab.statistics.randomness import integers, uniform
from marklab.traffic.flows import FlowList, Joins, find_host, make_flows
from marklab.traffic.jobs import Job

Numbers = NDArray[np.int64]
_NONE = -1


@dataclass
class _Drawn:
    """A graph of flows and joins as it is drawn, in columns: of the flows, of the joins, and of what joins wait for."""

    flows: list[dict[str, Numbers]] = field(default_factory=list)
    joins: list[dict[str, Numbers]] = field(default_factory=list)
    waits: list[dict[str, Numbers]] = field(default_factory=list)
    flow_count: int = 0
    join_count: int = 0

    def add_flows(self, **columns: Any) -> Numbers:
        """Add flows, with a value or an array for each column. Returns their rows."""
        made = _columns(columns)
        rows = self.flow_count + np.arange(len(made["src"]))
        self.flows.append(made)
        self.flow_count += len(rows)
        return rows

    def add_joins(self, hosts: Numbers, time_ns: Numbers, not_before_ns: Any = 0) -> Numbers:
        """Add a join at each of these hosts, which would be reached at `time_ns`. Returns their numbers."""
        numbers = self.join_count + np.arange(len(hosts))
        self.joins.append(_columns({"host": hosts, "not_before_ns": not_before_ns, "time_ns": time_ns}))
        self.join_count += len(numbers)
        return numbers

    def wait(self, join: Numbers, *, flow: Any = _NONE, on: Any = _NONE, pause_ns: Any = 0) -> None:
        """Make joins wait for flows, or for joins, and a pause after them."""
        self.waits.append(_columns({"join": join, "flow": flow, "on": on, "pause_ns": pause_ns}))

    def listed(self) -> FlowList:
        """The flows in order of their start."""
        flow, join, wait = (_concatenated(each) for each in (self.flows, self.joins, self.waits))
        pairs = np.stack([flow["src"], flow["dst"]], axis=1).astype(np.uint32)
        none = np.zeros(len(pairs), np.uint64)
        made = replace(
            make_flows(flow["start_ns"].astype(np.uint64), pairs, flow["size_bytes"].astype(np.uint64), none),
            after=flow["after"],
            after_join=flow["after_join"],
            iteration=flow["iteration"],
            joins=Joins(
                join["host"].astype(np.uint32),
                join["not_before_ns"].astype(np.uint64),
                join["time_ns"].astype(np.uint64),
                wait["join"],
                wait["flow"],
                wait["on"],
                wait["pause_ns"].astype(np.uint64),
            ),
        )
        return made.taken(np.argsort(made.start_ns, kind="stable"))


def _columns(columns: dict[str, Any]) -> dict[str, Numbers]:
    arrays = np.broadcast_arrays(*(np.asarray(column, dtype=np.int64) for column in columns.values()))
    return {name: np.ravel(column) for name, column in zip(columns, arrays, strict=True)}


def _concatenated(parts: Sequence[dict[str, Numbers]]) -> dict[str, Numbers]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


@dataclass(frozen=True)
class _Begun:
    """An iteration of a job: its hosts, and the joins at which they have computed, with their times."""

    job: Job
    hosts: Numbers
    number: int
    ready: Numbers
    ready_ns: Numbers

    @property
    def all_ready_ns(self) -> Numbers:
        """When all hosts have computed, for each of them."""
        return np.full(len(self.hosts), self.ready_ns.max())


def job_flows(jobs: Sequence[Job], hosts: Sequence[str], seed: int) -> FlowList:
    """The flows of all jobs, in order of their start. Raises BadInput for hosts that are not there."""
    drawn, number = _Drawn(), 0
    for place, job in enumerate(jobs):
        ranks = job_hosts(job, hosts, seed, place)
        done, done_ns = None, np.full(len(ranks), job.start_ns)
        draw = _direct if job.collective == "all-to-all" else {"ring": _ring, "tree": _tree}[job.algorithm or "ring"]
        for iteration in range(job.iterations):
            drawn_ns = integers(uniform(seed, f"job {place} iteration {iteration}", len(ranks)), job.spread_ns + 1)
            compute_ns = job.compute_ns + drawn_ns.astype(np.int64)
            ready_ns = done_ns + compute_ns
            ready = drawn.add_joins(ranks, ready_ns, not_before_ns=ready_ns if done is None else 0)
            if done is not None:
                drawn.wait(ready, on=done, pause_ns=compute_ns)
            done, done_ns = draw(drawn, _Begun(job, ranks, number, ready, ready_ns))
            number += 1
    return drawn.listed()


def job_hosts(job: Job, hosts: Sequence[str], seed: int, place: int) -> Numbers:
    """The hosts of a job, the `place`-th of the run. Raises BadInput if the network does not have them."""
    if isinstance(job.hosts, tuple):
        found = [find_host(name, hosts) for name in job.hosts]
        if len(set(found)) < len(found) or len(found) < 2:
            raise BadInput(f"the hosts of the job {job.label} have to be different, and at least 2")
        return np.array(found)
    count = len(hosts) if job.hosts is None else job.hosts
    if count > len(hosts):
        raise BadInput(
            f"the job {job.label} needs {count} hosts, and the network has {len(hosts)}", "a larger topology"
        )
    if job.placement == "random":
        return np.argsort(uniform(seed, f"job {place} hosts", len(hosts)), kind="stable")[:count]
    step = len(hosts) // count if job.placement == "spread" else 1
    return np.arange(count) * step


def iteration_flows(job: Job, hosts: int) -> int:
    """Number of the flows of an iteration, in a network of so many hosts."""
    count = hosts if job.hosts is None else job.hosts if isinstance(job.hosts, int) else len(job.hosts)
    if job.algorithm == "tree":
        return 2 * (count - 1) * (job.pieces or 1)
    return count * (count - 1) * (2 if job.collective == "all-reduce" else 1)


def _parts(job: Job, count: int) -> Numbers:
    """Sizes of so many parts of the buffer, which differ by at most a byte."""
    if job.size_bytes < count:
        raise BadInput(
            f"the {job.size_bytes} bytes of the job {job.label} are too few for {count} parts", "a larger size"
        )
    return np.diff(np.arange(count + 1) * job.size_bytes // count)


def _ring(drawn: _Drawn, begun: _Begun) -> tuple[Numbers, Numbers]:
    """Returns the joins at which the hosts have the whole result, and their times if the network took no time.

    A host takes part once it has computed. What it sends on in the second half of an all-reduce has its own part in it.
    """
    count, collective = len(begun.hosts), begun.job.collective
    ranks, sizes = np.arange(count), _parts(begun.job, count)
    steps = (2 if collective == "all-reduce" else 1) * (count - 1)
    # The last steps that bring a host its result: the sum of its own part, those of all other parts, or both.
    needed = {"reduce-scatter": 1, "all-gather": count - 1, "all-reduce": count}[collective]
    done, done_ns = drawn.add_joins(begun.hosts, begun.all_ready_ns), begun.all_ready_ns
    rows, start_ns, after_join = np.full(count, _NONE), begun.ready_ns, begun.ready
    for step in range(steps):
        after = np.roll(rows, 1)
        if step:
            start_ns = np.maximum(np.roll(start_ns, 1), begun.ready_ns)
            after_join = np.full(count, _NONE)
        if 0 < step < count:
            after_join = drawn.add_joins(begun.hosts, start_ns)
            drawn.wait(after_join, on=begun.ready)
            drawn.wait(after_join, flow=after)
            after = np.full(count, _NONE)
        rows = drawn.add_flows(
            src=begun.hosts,
            dst=np.roll(begun.hosts, -1),
            size_bytes=sizes[(ranks - step) % count],
            start_ns=start_ns,
            after=after,
            after_join=after_join,
            iteration=begun.number,
        )
        if step >= steps - needed:
            drawn.wait(np.roll(done, -1), flow=rows)
    # A host that is late is done no earlier than it has computed.
    drawn.wait(done, on=begun.ready)
    return done, done_ns


def _direct(drawn: _Drawn, begun: _Begun) -> tuple[Numbers, Numbers]:
    """All-to-all. Each host begins with the one behind it, so that not all send to the same one."""
    count = len(begun.hosts)
    ranks, sizes = np.arange(count), _parts(begun.job, count)
    done = drawn.add_joins(begun.hosts, begun.all_ready_ns)
    drawn.wait(done, on=begun.ready)
    for distance in range(1, count):
        rows = drawn.add_flows(
            src=begun.hosts,
            dst=np.roll(begun.hosts, -distance),
            size_bytes=sizes[(ranks + distance) % count],
            start_ns=begun.ready_ns,
            after=_NONE,
            after_join=begun.ready,
            iteration=begun.number,
        )
        drawn.wait(done[(ranks + distance) % count], flow=rows)
    return done, begun.all_ready_ns


def _tree(drawn: _Drawn, begun: _Begun) -> tuple[Numbers, Numbers]:
    """All-reduce along a binary tree, whose root is the first host. Each piece follows the one before."""
    count = len(begun.hosts)
    done = drawn.add_joins(begun.hosts, begun.all_ready_ns)
    up, down = [_NONE] * count, [_NONE] * count
    for size in _parts(begun.job, begun.job.pieces or 1):
        summed = _NONE
        for rank in reversed(range(count)):
            below = [up[child] for child in (2 * rank + 1, 2 * rank + 2) if child < count]
            summed = _step(drawn, begun, rank, [*below, up[rank]], on=int(begun.ready[rank]))
            if rank:
                up[rank] = _sent(drawn, begun, (rank, (rank - 1) // 2), int(size), summed)
        for rank in range(1, count):
            above = (rank - 1) // 2
            step = _step(drawn, begun, above, [down[above], down[rank]], on=summed if above == 0 else _NONE)
            down[rank] = _sent(drawn, begun, (above, rank), int(size), step)
            drawn.wait(done[[rank]], flow=down[rank])
        drawn.wait(done[:1], on=summed)
    return done, begun.all_ready_ns


def _step(drawn: _Drawn, begun: _Begun, rank: int, flows: Sequence[int], *, on: int) -> int:
    """A join at a host that waits for those of the flows that there are, and for another join."""
    step = drawn.add_joins(begun.hosts[[rank]], begun.all_ready_ns[:1])
    for flow in flows:
        if flow != _NONE:
            drawn.wait(step, flow=flow)
    if on != _NONE:
        drawn.wait(step, on=on)
    return int(step[0])


def _sent(drawn: _Drawn, begun: _Begun, way: tuple[int, int], size: int, join: int) -> int:
    """A flow from one host to another after a join."""
    source, target = begun.hosts[list(way)]
    columns = {"after": _NONE, "after_join": join, "iteration": begun.number, "start_ns": begun.all_ready_ns[0]}
    return int(drawn.add_flows(src=source, dst=target, size_bytes=size, **columns)[0])
