# SPDX-License-Identifier: MIT OR Apache-2.0
"""Means over the windows of a run, from traces: rates of flows, and lengths of the bottleneck's queues."""

from __future__ import annotations

import numpy as np

from marklab.metrics.sharing import FEW_FLOWS
from marklab.prepare.experiment import Experiment
from marklab.results.observation import Columns, Observation
from marklab.results.seeds import mean_length
from marklab.results.summary import TIMES_NS, QueueLength, WindowMeans
from marklab.spec.windows import TimeWindow


def window_means(experiment: Experiment, seen: Observation) -> dict[str, WindowMeans]:
    """Means over each window of the description."""
    return {str(window): _means(experiment, seen, window) for window in experiment.spec.windows or ()}


def _means(experiment: Experiment, seen: Observation, window: TimeWindow) -> WindowMeans:
    every_ns = experiment.spec.trace_queue_ns
    rate_bps = experiment.network.line_rate_bps
    ports = [queue_length(port, window, every_ns, rate_bps) for port, *_ in seen.traces.values()] if every_ns else []
    length = mean_length(ports)
    if length is not None:
        length = length.model_copy(update={"max": max(port.max for port in ports)})
    if seen.flow_trace is None:
        return WindowMeans(queue_packets=length)
    inside = (seen.flow_trace["time_ns"] >= window.begin_ns) & (seen.flow_trace["time_ns"] < window.end_ns)
    weights = seen.flow_trace["bytes"][inside].astype(np.float64) * 8e9 / (window.end_ns - window.begin_ns)
    rates = np.bincount(seen.flow_trace["flow"][inside], weights=weights, minlength=len(seen.flows))
    services = {int(dscp): float(rates[seen.flows.dscp == dscp].sum()) for dscp in np.unique(seen.flows.dscp)}
    few = enumerate(rates.tolist()) if len(rates) <= FEW_FLOWS else ()
    cwnd = sender_windows(experiment, seen, window)
    return WindowMeans(services_bps=services, flows_bps=dict(few), cwnd_packets=cwnd, queue_packets=length)


def sender_windows(experiment: Experiment, seen: Observation, window: TimeWindow) -> dict[int, float]:
    """Mean congestion window of each flow in full segments, over the ends of the trace's intervals.

    The window of a flow is known from its first change, which comes with its first acknowledgement, until its end.
    """
    every_ns, payload = experiment.spec.trace_flows_ns, experiment.spec.transport.payload_bytes
    if seen.sender_trace is None or every_ns is None:
        return {}
    found = {}
    for flow in range(len(seen.flows)):
        rows = seen.sender_trace["flow"] == flow
        changed_ns = seen.sender_trace["time_ns"][rows].astype(np.int64)
        # A change at the end of an interval belongs to the next one.
        ends_ns = np.arange(window.begin_ns, window.end_ns, every_ns) + every_ns
        if seen.fct_ns[flow] >= 0:
            ends_ns = ends_ns[ends_ns <= int(seen.flows.start_ns[flow]) + seen.fct_ns[flow]]
        latest = np.searchsorted(changed_ns, ends_ns, side="left") - 1
        latest = latest[latest >= 0]
        if len(latest):
            found[flow] = float(seen.sender_trace["cwnd_bytes"][rows][latest].mean()) / payload
    return found


def queue_length(port: Columns, window: TimeWindow, every_ns: int, rate_bps: int) -> QueueLength:
    """Packets that waited at a port: mean over the ends of the trace's intervals, and the most at any time.

    Fractions of time beyond a delay count the bytes of frames, which wait for a line of `rate_bps`.
    """
    time_ns = port["time_ns"].astype(np.int64)
    held, held_bytes = (np.concatenate([[0], port[name].astype(np.int64)]) for name in ("packets", "bytes"))
    ends = np.searchsorted(time_ns, np.arange(*window, every_ns), side="right")
    first, behind = np.searchsorted(time_ns, window)
    most = max(int(held[first]), int(port["max_packets"][first:behind].max(initial=0)))
    waiting_ns = np.sort(held_bytes[ends] * 8e9 / rate_bps)
    beyond = 1 - np.searchsorted(waiting_ns, TIMES_NS, side="right") / len(ends)
    return QueueLength(mean=float(held[ends].mean()), max=most, beyond=tuple(beyond.tolist()))
