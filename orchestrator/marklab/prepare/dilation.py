# SPDX-License-Identifier: MIT OR Apache-2.0
"""Time dilation: an experiment whose times are all `factor` times as long, and rates as much lower.

What is counted in packets stays as it is: bandwidth-delay products, thresholds, queues, loads. So 10 Gb/s and 70 us
become 100 Mb/s and 7 ms at a dilation of 100, which Linux and a software switch can carry, and results are given in
times that are not dilated (the idea is that of Gupta et al., "To Infinity and Beyond: Time-Warped Network Emulation",
NSDI 2006).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from marklab.catalog.parameters import Setting
from marklab.devices.hosts import Transport
from marklab.prepare.experiment import Experiment, ReadyScheme, ready_scheme
from marklab.results.observation import Columns
from marklab.topology import Graph, Link
from marklab.traffic.flows import FlowList
from marklab.traffic.probes import Probe
from marklab.traffic.rtt import Classes, LongTailed


def dilated_graph(graph: Graph, factor: int) -> Graph:
    """The same network with slower and longer lines."""
    return Graph(
        graph.hosts,
        graph.switches,
        tuple(Link(link.a, link.b, link.rate_bps // factor, link.delay_ns * factor) for link in graph.links),
    )


def dilated_transport(transport: Transport, factor: int) -> Transport:
    """Hosts with longer timeouts."""
    times = ("min_rto_ns", "initial_rto_ns", "ack_delay_ns")
    return transport.model_copy(update={name: getattr(transport, name) * factor for name in times})


def dilated_flows(flows: FlowList, factor: int) -> FlowList:
    """Flows that start later, from slower applications."""
    return replace(
        flows,
        start_ns=flows.start_ns * np.uint64(factor),
        extra_delay_ns=flows.extra_delay_ns * np.uint64(factor),
        rate_bps=flows.rate_bps // np.uint64(factor),
    )


def dilated_probes(probes: Sequence[Probe], factor: int) -> list[Probe]:
    """Probes that ask less often."""
    times = ("every_ns", "start_ns")
    return [probe.model_copy(update={name: getattr(probe, name) * factor for name in times}) for probe in probes]


def dilated_scheme(experiment: Experiment, scheme: ReadyScheme, factor: int) -> ReadyScheme:
    """A scheme with longer times, and its thresholds in packets as they are."""
    fitted = scheme.fitted
    given = dict(fitted.choice.params) | {
        name: text for name, setting in fitted.settings.items() if (text := _dilated(setting, factor)) is not None
    }
    rtt = _dilated_rtt(experiment.spec.rtt, factor)
    setup = replace(experiment.setup, rate_bps=experiment.setup.rate_bps // factor, rtt=rtt)
    choice = replace(fitted.choice, params=tuple(sorted(given.items())))
    return ready_scheme(choice, setup, experiment.network.graph.has_equal_ways, experiment.spec.queue)


def _dilated(setting: Setting, factor: int) -> str | None:
    """A parameter as a user would write it; none if it is neither a time nor a length."""
    match setting.parameter.kind:
        case "time":
            return f"{round(float(setting.exact) * 1000 * factor)}ns"
        case "queue_length":
            return f"{float(setting.exact):.9f}packets"
        case "number" if setting.parameter.in_us:
            return f"{float(setting.exact) * factor:.9f}"
    return None


def _dilated_rtt(rtt: LongTailed | Classes, factor: int) -> LongTailed | Classes:
    if isinstance(rtt, Classes):
        return Classes(tuple(delay * factor for delay in rtt.delays_ns), rtt.base_ns * factor)
    return LongTailed(*(time * factor for time in (rtt.min_ns, rtt.mean_ns, rtt.p90_ns, rtt.max_ns, rtt.host_ns)))


def undilated(times_ns: NDArray[np.int64], factor: int) -> NDArray[np.int64]:
    """Measured times as the experiment has them; -1, which stands for what did not happen, stays."""
    return np.where(times_ns < 0, times_ns, (times_ns + factor // 2) // factor)


def undilated_columns(columns: Columns, factor: int) -> Columns:
    """Columns of a record over time, whose times are those with names in `_ns`."""
    return {name: undilated(values, factor) if name.endswith("_ns") else values for name, values in columns.items()}
