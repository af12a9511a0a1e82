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

from collections.abc import Callable, Sequence

import numpy as np

from marklab.errors import BadInput
from marklab.prepare.drawing import NONE, Begun, Drawn, Numbers
from marklab.traffic.jobs import Job

# Draws a collective. Returns the joins at which the hosts have the result, and their times if the network took none.
Draw = Callable[[Drawn, Begun], tuple[Numbers, Numbers]]


def drawing(job: Job) -> Draw:
    """How the collective of a job is drawn."""
    if job.collective == "all-to-all":
        return _direct
    return _tree if job.algorithm == "tree" else _ring


def _parts(job: Job, count: int) -> Numbers:
    """Sizes of so many parts of the buffer, which differ by at most a byte."""
    if job.size_bytes < count:
        raise BadInput(
            f"the {job.size_bytes} bytes of the job {job.label} are too few for {count} parts", "a larger size"
        )
    return np.diff(np.arange(count + 1) * job.size_bytes // count)


def _ring(drawn: Drawn, begun: Begun) -> tuple[Numbers, Numbers]:
    """Returns the joins at which the hosts have the whole result, and their times if the network took no time.

    A host takes part once it has computed. What it sends on in the second half of an all-reduce has its own part in it.
    """
    count, collective = len(begun.hosts), begun.job.collective
    ranks, sizes = np.arange(count), _parts(begun.job, count)
    steps = (2 if collective == "all-reduce" else 1) * (count - 1)
    # A host is done when it has its result, and no part has to pass it any more. In an all-reduce, parts that come in
    # the last steps have passed before.
    needed = count if collective == "all-reduce" else steps
    done, done_ns = drawn.add_joins(begun.hosts, begun.all_ready_ns), begun.all_ready_ns
    rows, start_ns, after_join = np.full(count, NONE), begun.ready_ns, begun.ready
    for step in range(steps):
        after = np.roll(rows, 1)
        if step:
            start_ns = np.maximum(np.roll(start_ns, 1), begun.ready_ns)
            after_join = np.full(count, NONE)
        if 0 < step < count:
            after_join = drawn.add_joins(begun.hosts, start_ns)
            drawn.wait(after_join, on=begun.ready)
            drawn.wait(after_join, flow=after)
            after = np.full(count, NONE)
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


def _direct(drawn: Drawn, begun: Begun) -> tuple[Numbers, Numbers]:
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
            after=NONE,
            after_join=begun.ready,
            iteration=begun.number,
        )
        drawn.wait(done[(ranks + distance) % count], flow=rows)
    return done, begun.all_ready_ns


def _tree(drawn: Drawn, begun: Begun) -> tuple[Numbers, Numbers]:
    """All-reduce along a binary tree, whose root is the first host. Each piece follows the one before."""
    count = len(begun.hosts)
    done = drawn.add_joins(begun.hosts, begun.all_ready_ns)
    up, down = [NONE] * count, [NONE] * count
    for size in _parts(begun.job, begun.job.pieces or 1):
        summed = NONE
        for rank in reversed(range(count)):
            below = [up[child] for child in (2 * rank + 1, 2 * rank + 2) if child < count]
            summed = _step(drawn, begun, rank, [*below, up[rank]], on=int(begun.ready[rank]))
            if rank:
                up[rank] = _sent(drawn, begun, (rank, (rank - 1) // 2), int(size), summed)
        for rank in range(1, count):
            above = (rank - 1) // 2
            step = _step(drawn, begun, above, [down[above], down[rank]], on=summed if above == 0 else NONE)
            down[rank] = _sent(drawn, begun, (above, rank), int(size), step)
            drawn.wait(done[[rank]], flow=down[rank])
        drawn.wait(done[:1], on=summed)
    return done, begun.all_ready_ns


def _step(drawn: Drawn, begun: Begun, rank: int, flows: Sequence[int], *, on: int) -> int:
    """A join at a host that waits for those of the flows that there are, and for another join."""
    step = drawn.add_joins(begun.hosts[[rank]], begun.all_ready_ns[:1])
    for flow in flows:
        if flow != NONE:
            drawn.wait(step, flow=flow)
    if on != NONE:
        drawn.wait(step, on=on)
    return int(step[0])


def _sent(drawn: Drawn, begun: Begun, way: tuple[int, int], size: int, join: int) -> int:
    """A flow from one host to another after a join."""
    source, target = begun.hosts[list(way)]
    columns = {"after": NONE, "after_join": join, "iteration": begun.number, "start_ns": begun.all_ready_ns[0]}
    return int(drawn.add_flows(src=source, dst=target, size_bytes=size, **columns)[0])
