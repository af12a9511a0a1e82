# SPDX-License-Identifier: MIT OR Apache-2.0
"""The flows of jobs: their hosts, and iterations of computation and a collective, or an execution trace."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from marklab.errors import BadInput
from marklab.prepare.collectives import drawing
from marklab.prepare.drawing import Begun, Drawn, Numbers
from marklab.prepare.traces import draw_trace
from marklab.statistics.randomness import integers, uniform
from marklab.traffic.chakra import trace_files
from marklab.traffic.flows import FlowList, find_host
from marklab.traffic.jobs import Job, TraceJob


def job_flows(jobs: Sequence[Job | TraceJob], hosts: Sequence[str], seed: int) -> FlowList:
    """The flows of all jobs, in order of their start. Raises BadInput for jobs that cannot run on these hosts."""
    drawn, number = Drawn(), 0
    for place, job in enumerate(jobs):
        ranks = job_hosts(job, hosts, seed, place)
        if isinstance(job, TraceJob):
            draw_trace(drawn, job, ranks, number)
        else:
            _draw_iterations(drawn, job, ranks, number, [seed, place])
        number += job.iterations
    return drawn.listed()


def _draw_iterations(drawn: Drawn, job: Job, ranks: Numbers, first: int, stream: Sequence[int]) -> None:
    """Each host computes its next iteration as soon as it has the result of the one before."""
    seed, place = stream
    draw = drawing(job)
    done, done_ns = None, np.full(len(ranks), job.start_ns)
    for iteration in range(job.iterations):
        spread_ns = integers(uniform(seed, f"job {place} iteration {iteration}", len(ranks)), job.spread_ns + 1)
        compute_ns = job.compute_ns + spread_ns.astype(np.int64)
        ready_ns = done_ns + compute_ns
        ready = drawn.add_joins(ranks, ready_ns, not_before_ns=ready_ns if done is None else 0)
        if done is not None:
            drawn.wait(ready, on=done, pause_ns=compute_ns)
        done, done_ns = draw(drawn, Begun(job, ranks, first + iteration, ready, ready_ns))


def job_hosts(job: Job | TraceJob, hosts: Sequence[str], seed: int, place: int) -> Numbers:
    """The hosts of a job, the `place`-th of the run. Raises BadInput if the network does not have them."""
    if isinstance(job.hosts, tuple):
        found = [find_host(name, hosts) for name in job.hosts]
        if len(set(found)) < len(found) or len(found) < 2:
            raise BadInput(f"the hosts of the job {job.label} have to be different, and at least 2")
        return _all_ranks(job, np.array(found))
    count = len(hosts) if job.hosts is None else job.hosts
    if isinstance(job, TraceJob):
        count = len(trace_files(job.path))
    if count > len(hosts):
        raise BadInput(
            f"the job {job.label} needs {count} hosts, and the network has {len(hosts)}", "a larger topology"
        )
    if job.placement == "random":
        return np.argsort(uniform(seed, f"job {place} hosts", len(hosts)), kind="stable")[:count]
    step = len(hosts) // count if job.placement == "spread" else 1
    return np.arange(count) * step


def _all_ranks(job: Job | TraceJob, hosts: Numbers) -> Numbers:
    """The hosts, if they are as many as a trace has ranks."""
    if isinstance(job, TraceJob) and len(hosts) != (ranks := len(trace_files(job.path))):
        raise BadInput(f"the trace {job.path} has {ranks} ranks, and its job {len(hosts)} hosts")
    return hosts
