# SPDX-License-Identifier: MIT OR Apache-2.0
"""Iterations of jobs: how long they took, and how far apart their hosts were."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marklab.metrics.sample import sample
from marklab.prepare.experiment import Experiment
from marklab.results.observation import Observation
from marklab.results.summary import JobSample

_NOT_OVER = np.iinfo(np.int64).max


def job_samples(experiment: Experiment, seen: Observation) -> dict[str, JobSample]:
    """The jobs of a cell, by name."""
    hosts = len(experiment.network.graph.hosts)
    end_ns = np.where(seen.fct_ns < 0, _NOT_OVER, seen.flows.start_ns.astype(np.int64) + seen.fct_ns)
    listed = experiment.flow_lists[seen.seed].iteration
    expected = np.bincount(listed[listed >= 0])
    found, first = {}, 0
    for job in experiment.spec.training or ():
        own = (seen.flows.iteration >= first) & (seen.flows.iteration < first + job.iterations)
        numbers = seen.flows.iteration[own] - first
        has_all_ns = np.full((job.iterations, hosts), -1)
        np.maximum.at(has_all_ns, (numbers, seen.flows.dst[own]), end_ns[own])
        there = np.bincount(numbers, minlength=job.iterations) == expected[first : first + job.iterations]
        found[job.label] = _of_hosts(has_all_ns, there & (has_all_ns.max(axis=1) < _NOT_OVER), job.start_ns)
        first += job.iterations
    return found


def _of_hosts(has_all_ns: NDArray[np.int64], over: NDArray[np.bool_], start_ns: int) -> JobSample:
    """From when each host has received all of each iteration (-1: it takes no part), and which iterations are over."""
    count = len(over) if over.all() else int(np.argmin(over))
    last_ns = has_all_ns[:count].max(axis=1)
    first_ns = np.where(has_all_ns[:count] < 0, _NOT_OVER, has_all_ns[:count]).min(axis=1)
    return JobSample(
        iterations=count,
        of=len(over),
        iteration_us=sample(np.diff(last_ns, prepend=start_ns) / 1e3),
        spread_us=sample((last_ns - first_ns) / 1e3),
        done_us=float(last_ns[-1] - start_ns) / 1e3 if count == len(over) else None,
    )
