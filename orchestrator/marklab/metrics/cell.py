# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reduces a fabric's observation of a cell to the numbers of a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marklab.metrics.histograms import of_histogram, sampled_flows, sampled_queues
from marklab.metrics.jobs import job_samples
from marklab.metrics.pauses import pauses
from marklab.metrics.sample import sample
from marklab.metrics.sharing import FEW_FLOWS, classification, convergence
from marklab.metrics.utilisation import of_all_lines, of_bottleneck
from marklab.metrics.window_means import window_means
from marklab.prepare.experiment import Experiment, ReadyScheme
from marklab.prepare.ideal import full_frame_ns, ideal_ns
from marklab.results.observation import Observation
from marklab.results.summary import (
    ALL_PROBES,
    CLASSES,
    ECN,
    NOT_ECN,
    QUERY,
    SHORT_BYTES,
    TIMES_NS,
    WORKLOAD_SHORT,
    ActiveFlows,
    Distribution,
    Drops,
    EcnInterference,
    Marks,
    Priority,
    RttSample,
    Samples,
    SeedResult,
    Sharing,
)
from marklab.statistics.fairness import jain
from marklab.statistics.randomness import Floats
from marklab.traffic.probes import Probe

# Cells of the counters in include/switch.p4: port * 8 + cause.
CAUSES_PER_PORT = 8


def seed_result(experiment: Experiment, scheme: ReadyScheme, seen: Observation) -> SeedResult:
    """Reduce a cell to numbers."""
    finished = seen.fct_ns >= 0
    sizes = seen.flows.size_bytes[finished]
    groups = {name: members[finished] for name, members in _groups(experiment, seen).items()}
    fct = seen.fct_ns[finished].astype(np.float64)
    ideal = ideal_ns(experiment.spec, experiment.network, seen.flows)[finished]
    report = seen.report
    lost = Counter[str]()
    for drop in report["drops"]:
        lost[drop["place"]] += drop["packets"]
    return SeedResult(
        seed=seen.seed,
        flow_list=experiment.flow_lists[seen.seed].digest(),
        fct_us=by_class(fct / 1e3, sizes, groups),
        slowdown=by_class(fct / ideal, sizes, groups),
        unfinished=int(np.sum(~finished & ~seen.flows.endless)),
        within=within_times(seen, _groups(experiment, seen)),
        endless=int(np.sum(seen.flows.endless)),
        without_base_delay=_without_base_delay(experiment, seen),
        drops=Drops(**lost),
        lost=tuple(_place(drop) for drop in report["drops"]),
        faults=report["faults"],
        timeouts=int(seen.per_flow["timeouts"].sum()),
        retransmissions=int(seen.per_flow["retransmissions"].sum()),
        marks=_marks(scheme, seen),
        ecn=EcnInterference(**report.get("ecn", {})),
        pauses=pauses(seen),
        priorities=_priorities(experiment, seen),
        sharing=_sharing(seen),
        jobs=job_samples(experiment, seen),
        rtt_us=_round_trips(experiment.spec.probes or (), seen),
        tcp_rtt_us=_tcp_round_trips(experiment, seen),
        flow_rtt_us=flow_round_trip_us(seen),
        cwnd_packets=_windows(experiment, seen),
        queues_packets=sampled_queues(seen.queue_samples),
        active_flows=_active_flows(experiment, seen),
        windows=window_means(experiment, seen),
        convergence=convergence(experiment, seen),
        classification=classification(experiment, seen),
        utilisation=of_bottleneck(experiment, seen),
        line_use=of_all_lines(experiment, seen),
        link_transmissions=report["link_transmissions"],
        events=report["events"],
        engine_cpu_s=round(seen.cpu_s, 6),
        real_time=seen.real_time,
    )


def _groups(experiment: Experiment, seen: Observation) -> dict[str, NDArray[np.bool_]]:
    """Groups of flows that are shown beside the size classes."""
    groups: dict[str, NDArray[np.bool_]] = {}
    if experiment.spec.queries is not None:
        short = seen.flows.size_bytes <= SHORT_BYTES
        groups = {QUERY: seen.flows.query, WORKLOAD_SHORT: short & ~seen.flows.query}
    return groups | ({ECN: seen.flows.ecn, NOT_ECN: ~seen.flows.ecn} if experiment.spec.ecn_share is not None else {})


def _active_flows(experiment: Experiment, seen: Observation) -> ActiveFlows | None:
    """The flows that waited at the bottleneck's ports."""
    names = experiment.network.graph.names
    sources = (line.source for line in experiment.network.bottleneck)
    return sampled_flows(seen.flow_samples, {(names[source.node], source.port) for source in sources})


def by_class(values: Floats, sizes: NDArray[np.uint64], groups: Mapping[str, NDArray[np.bool_]]) -> Samples:
    """Mean and percentiles of each size class, and of each group."""
    return {name: sample(values[members]) for name, members in (_classes(sizes) | dict(groups)).items()}


def within_times(seen: Observation, groups: Mapping[str, NDArray[np.bool_]]) -> dict[str, tuple[float, ...]]:
    """Fractions of each size class and group that finished within each of TIMES_NS; unfinished flows did not."""
    ends = ~seen.flows.endless
    finished = seen.fct_ns >= 0
    result = {}
    for name, members in (_classes(seen.flows.size_bytes) | dict(groups)).items():
        count = int(np.sum(members & ends))
        if count:
            ordered = np.sort(seen.fct_ns[members & ends & finished])
            result[name] = tuple((np.searchsorted(ordered, TIMES_NS, side="right") / count).tolist())
    return result


def _classes(sizes: NDArray[np.uint64]) -> dict[str, NDArray[np.bool_]]:
    """Masks of the size classes."""
    most = np.iinfo(np.uint64).max
    return {
        name: (sizes > above) & (sizes <= (up_to if up_to is not None else most))
        for name, (above, up_to) in CLASSES.items()
    }


def _round_trips(probes: Sequence[Probe], seen: Observation) -> dict[str, RttSample]:
    """Round trips of each probe, and of all probes together."""
    if not probes:
        return {}
    number, rtt_ns = seen.probes["probe"], seen.probes["rtt_ns"]
    of = {ALL_PROBES: np.ones(len(number), dtype=np.bool_)}
    of |= {probe.label: number == place for place, probe in enumerate(probes)}
    came = rtt_ns >= 0
    return {
        label: RttSample(**sample(rtt_ns[chosen & came] / 1e3).model_dump(), lost=int(np.sum(chosen & ~came)))
        for label, chosen in of.items()
    }


def _tcp_round_trips(experiment: Experiment, seen: Observation) -> Distribution | None:
    if seen.rtts is None:
        return None
    found = of_histogram(seen.rtts["rtt_ns"] / 1e3, seen.rtts["packets"])
    # Quantiles are as long as all other numbers of a seed, so only runs that ask for distributions keep them.
    return found if experiment.spec.sample_queues_ns else found.model_copy(update={"quantiles": ()})


def flow_round_trip_us(seen: Observation) -> float | None:
    """Mean of the flows' round trips over the time that each is under way, which ends with the run at the latest."""
    rtt_ns = seen.per_flow.get("rtt_mean_ns")
    if rtt_ns is None or not rtt_ns.any():
        return None
    until_end_ns = np.maximum(seen.report["end_ns"] - seen.flows.start_ns.astype(np.int64), 0)
    under_way_ns = np.where(rtt_ns > 0, np.where(seen.fct_ns < 0, until_end_ns, seen.fct_ns), 0)
    return float(np.average(rtt_ns, weights=under_way_ns)) / 1e3


def _windows(experiment: Experiment, seen: Observation) -> dict[int, float]:
    """Mean windows of the flows that measured a round trip, if there are few flows."""
    cwnd_bytes = seen.per_flow.get("cwnd_mean_bytes")
    if cwnd_bytes is None or len(cwnd_bytes) > FEW_FLOWS:
        return {}
    payload = experiment.spec.transport.payload_bytes
    return {flow: cwnd / payload for flow, cwnd in enumerate(cwnd_bytes.tolist()) if cwnd}


def _without_base_delay(experiment: Experiment, seen: Observation) -> int:
    """Count flows whose sender took a queue longer than half of its threshold for the empty network."""
    threshold_ns = experiment.spec.transport.threshold_ns(experiment.spec.rate_bps)
    if threshold_ns is None or "base_delay_ns" not in seen.per_flow:
        return 0
    beyond_ns = seen.per_flow["base_delay_ns"] - full_frame_ns(experiment.spec, experiment.network, seen.flows)
    return int(np.sum(beyond_ns > threshold_ns / 2))


def _place(drop: Any) -> str:
    port = "" if drop["port"] is None else f" port {drop['port']}"
    return f"{drop['node']}{port}: {drop['reason']} ({drop['packets']})"


def _marks(scheme: ReadyScheme, seen: Observation) -> Marks:
    by_cause: Counter[str] = Counter()
    counted: Counter[str] = Counter()
    for cell in seen.report["counters"]:
        name = cell["counter"].rpartition(".")[2]
        counted[name] += cell["packets"]
        if name == "marks":
            cause = cell["index"] % CAUSES_PER_PORT
            by_cause[scheme.causes.get(cause, f"cause {cause}")] += cell["packets"]
    ports = {f"{port['node']}:{port['port']}": port["marked"] for port in seen.report["ports"] if port["marked"]}
    return Marks(
        total=sum(ports.values()),
        by_cause=dict(by_cause),
        by_port=ports,
        not_capable=counted["not_capable"],
        dropped=counted["drops"],
    )


def _priorities(experiment: Experiment, seen: Observation) -> tuple[Priority, ...] | None:
    thresholds_bytes = experiment.spec.pias_thresholds_bytes
    if thresholds_bytes is None:
        return None
    counts = zip((0, *thresholds_bytes), seen.report["priorities"], strict=True)
    return tuple(Priority(above_bytes=above, **count) for above, count in counts)


def _sharing(seen: Observation) -> Sharing | None:
    """Goodput of each service, if there are several."""
    services = [int(dscp) for dscp in np.unique(seen.flows.dscp)]
    if len(services) < 2:
        return None
    duration_s = (seen.report["end_ns"] - int(seen.flows.start_ns[0])) / 1e9
    delivered = {dscp: float(seen.per_flow["delivered_bytes"][seen.flows.dscp == dscp].sum()) for dscp in services}
    goodput = {dscp: 8 * delivered[dscp] / duration_s if duration_s else 0.0 for dscp in services}
    return Sharing(goodput_bps=goodput, jain=jain(list(goodput.values())))
