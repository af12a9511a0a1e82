# SPDX-License-Identifier: MIT OR Apache-2.0
"""How flows shared the network, from traces: how soon they reached their max-min shares, and which exceeded them.

Shares are computed by water-filling. A flow demands the rate of its application, or all that it can get; the capacity
of a line is the payload of full frames.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from marklab.devices.frames import HEADER_BYTES
from marklab.metrics.passages import flows_of, marked_flows, senders_beyond_share
from marklab.prepare.experiment import Experiment
from marklab.results.observation import Columns, Observation
from marklab.results.summary import Change, Classification, FlowShare
from marklab.statistics.fairness import WITHIN, convergence_ns, max_min_shares
from marklab.statistics.randomness import Floats
from marklab.topology import Line
from marklab.units import format_time

# Single flows are reported only if there are at most this many.
FEW_FLOWS = 32
# Fewer intervals cannot show that a rate stays where it is.
_FEWEST_INTERVALS = 10


def convergence(experiment: Experiment, seen: Observation) -> dict[str, Change]:
    """How each flow approached its share after each start. Empty unless flows are few and each has a single path."""
    every_ns = experiment.spec.trace_flows_ns
    if every_ns is None or seen.flow_trace is None or len(seen.flows) > FEW_FLOWS:
        return {}
    paths = _paths(experiment, seen)
    if paths is None:
        return {}
    rates = _rates(seen.flow_trace, len(seen.flows), seen.report["end_ns"], every_ns)
    start = seen.flows.start_ns.astype(np.int64)
    end = np.where(seen.fct_ns >= 0, start + seen.fct_ns, seen.report["end_ns"])
    changes = np.unique(np.concatenate([start, end]))
    result = {}
    for begin, until in zip(changes[:-1].tolist(), changes[1:].tolist(), strict=True):
        first, last = -(-begin // every_ns), until // every_ns
        if begin not in start or last - first < _FEWEST_INTERVALS:
            continue
        active = np.flatnonzero((start <= begin) & (end >= until))
        shares = _shares(experiment, seen, paths, active)
        flows = {
            int(flow): _share(rates[flow, first:last], every_ns, share, first * every_ns - begin, experiment)
            for flow, share in zip(active, shares, strict=True)
        }
        result[format_time(begin)] = Change(until_us=until / 1e3, flows=flows)
    return result


def classification(experiment: Experiment, seen: Observation) -> Classification | None:
    """How well marks distinguish congested flows from others, over all ports whose packets are recorded."""
    every_ns = experiment.spec.trace_flows_ns
    if every_ns is None or not seen.passages:
        return None
    lines = {line.source: line for line in experiment.network.bottleneck}
    frame = experiment.setup.frame_bytes
    part = frame / (frame + experiment.spec.framing.overhead_bytes)
    counts = np.zeros((2, 2), dtype=np.int64)
    for port, passages in seen.passages.items():
        congested = senders_beyond_share(passages, every_ns, lines[port].rate_bps * part)
        flows = flows_of(passages)
        truth, taken = np.isin(flows, congested).astype(int), np.isin(flows, marked_flows(passages)).astype(int)
        np.add.at(counts, (truth, taken), 1)
    (unmarked, marked), (missed, found) = counts.tolist()
    return Classification.of(
        congested_marked=found, congested_unmarked=missed, others_marked=marked, others_unmarked=unmarked
    )


def _share(rates: Floats, every_ns: int, share: float, before_ns: int, experiment: Experiment) -> FlowShare:
    settled_ns = convergence_ns(rates, every_ns, share, experiment.spec.converge_within or WITHIN)
    return FlowShare(
        share_bps=share,
        rate_bps=float(rates[len(rates) // 2 :].mean()),
        converged_us=None if settled_ns is None else (before_ns + settled_ns) / 1e3,
    )


def _rates(trace: Columns, flows: int, end_ns: int, every_ns: int) -> Floats:
    """Rate of each flow in each interval of the run."""
    rates = np.zeros((flows, end_ns // every_ns + 1))
    at = (trace["time_ns"] // every_ns).astype(np.intp)
    rates[trace["flow"], at] = trace["bytes"] * 8e9 / every_ns
    return rates


def _paths(experiment: Experiment, seen: Observation) -> list[tuple[Line, ...]] | None:
    """The lines of each flow; None if a flow has several paths, as the switches choose one by their own hash."""
    graph = experiment.network.graph
    paths = []
    for src, dst in zip(seen.flows.src.tolist(), seen.flows.dst.tolist(), strict=True):
        path = graph.path(src, dst)
        if any(len(graph.next_lines(line.source.node, dst)) > 1 for line in path):
            return None
        paths.append(path)
    return paths


def _shares(
    experiment: Experiment, seen: Observation, paths: list[tuple[Line, ...]], active: NDArray[np.intp]
) -> list[float]:
    spec = experiment.spec
    payload = spec.transport.payload_bytes / (spec.transport.mss_bytes + HEADER_BYTES + spec.framing.overhead_bytes)
    lines = list(dict.fromkeys(line for flow in active for line in paths[flow]))
    return max_min_shares(
        [[lines.index(line) for line in paths[flow]] for flow in active],
        [line.rate_bps * payload for line in lines],
        [float(seen.flows.rate_bps[flow]) or math.inf for flow in active],
    )
