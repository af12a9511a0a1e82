# SPDX-License-Identifier: MIT OR Apache-2.0
"""From what a fabric observed to a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marklab.experiment import Experiment, ReadyScheme
from marklab.fairness import jain
from marklab.histograms import of_histogram, sampled_queues
from marklab.ideal import full_frame_ns, ideal_ns
from marklab.observation import Observation
from marklab.pauses import all_pauses, pauses
from marklab.randomness import Floats
from marklab.sharing import FEW_FLOWS, classification, convergence
from marklab.statistics import PERCENTILES, mean, mean_interval, nearest_rank, ratio, ratio_interval
from marklab.summary import (
    ALL_PROBES,
    ALL_STATISTICS,
    CLASSES,
    ECN,
    NOT_ECN,
    QUERY,
    Change,
    Classification,
    Confidence,
    Distribution,
    Drops,
    Estimate,
    Estimates,
    FlowShare,
    Marks,
    Priority,
    QueueEstimate,
    QueueLength,
    RttEstimate,
    RttSample,
    Sample,
    Samples,
    SchemeResult,
    SeedResult,
    Sharing,
    Summary,
    WindowMeans,
)
from marklab.traffic.probes import Probe
from marklab.verdict import doubts
from marklab.window_means import window_means

# Cells of the counters in include/switch.p4: port * 8 + cause.
CAUSES_PER_PORT = 8


def summarise(experiment: Experiment, observations: Sequence[Observation], versions: dict[str, Any]) -> Summary:
    """Put the cells of a run together."""
    results = []
    for scheme in experiment.schemes:
        seeds = [seed_result(experiment, scheme, seen) for seen in observations if seen.scheme == scheme.label]
        result = scheme_result(scheme.label, scheme.program.digest, parameters_of(scheme), seeds)
        results.append(result.model_copy(update={"warnings": tuple(doubts(experiment, scheme, result))}))
    return joined(results, experiment.spec.to_plain(), experiment.baseline, versions)


def joined(
    results: Sequence[SchemeResult], spec: dict[str, Any], baseline: str | None, versions: dict[str, Any]
) -> Summary:
    """A summary of schemes on the same flows, the first of which it is about, beside a baseline if that is there."""
    schemes = {result.label: result for result in results}
    under = schemes.get(baseline or "")
    if under is not None:
        schemes = {
            label: result
            if result is under
            else result.model_copy(update={"normalised": normalise(result.seeds, under.seeds)})
            for label, result in schemes.items()
        }
    return Summary(
        spec=spec, scheme=results[0].label, baseline=baseline if under else None, schemes=schemes, versions=versions
    )


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
        endless=int(np.sum(seen.flows.endless)),
        without_base_delay=_without_base_delay(experiment, seen),
        drops=Drops(**lost),
        lost=tuple(_place(drop) for drop in report["drops"]),
        faults=report["faults"],
        timeouts=int(seen.per_flow["timeouts"].sum()),
        retransmissions=int(seen.per_flow["retransmissions"].sum()),
        marks=_marks(scheme, seen),
        pauses=pauses(seen),
        priorities=_priorities(experiment, seen),
        sharing=_sharing(seen),
        rtt_us=_round_trips(experiment.spec.probes or (), seen),
        tcp_rtt_us=_tcp_round_trips(experiment, seen),
        cwnd_packets=_windows(experiment, seen),
        queues_packets=sampled_queues(seen.queue_samples),
        windows=window_means(experiment, seen),
        convergence=convergence(experiment, seen),
        classification=classification(experiment, seen),
        utilisation=_utilisation(experiment, seen),
        link_transmissions=report["link_transmissions"],
        events=report["events"],
        engine_cpu_s=round(seen.cpu_s, 6),
        real_time=seen.real_time,
    )


def _groups(experiment: Experiment, seen: Observation) -> dict[str, NDArray[np.bool_]]:
    """Flows that are told apart beside their size."""
    groups = {QUERY: seen.flows.query} if experiment.spec.queries is not None else {}
    return groups | ({ECN: seen.flows.ecn, NOT_ECN: ~seen.flows.ecn} if experiment.spec.ecn_share is not None else {})


def by_class(values: Floats, sizes: NDArray[np.uint64], groups: Mapping[str, NDArray[np.bool_]]) -> Samples:
    """Mean and percentiles of each size class, and of each group."""
    samples = {}
    for name, (above, up_to) in CLASSES.items():
        chosen = values[(sizes > above) & (sizes <= (up_to if up_to is not None else np.iinfo(np.uint64).max))]
        samples[name] = sample(chosen)
    return samples | {name: sample(values[members]) for name, members in groups.items()}


def sample(values: Floats) -> Sample:
    """Mean and percentiles."""
    if not len(values):
        return Sample(n=0)
    ordered = np.sort(values)
    p50, p99, p999 = (nearest_rank(ordered, part) for part in PERCENTILES)
    return Sample(n=len(values), mean=mean(values.tolist()), p50=p50, p99=p99, p999=p999)


def _round_trips(probes: Sequence[Probe], seen: Observation) -> dict[str, RttSample]:
    """Each probe by itself, and all together."""
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
    # As long as all other numbers of a seed, so that only whoever wants distributions has them.
    return found if experiment.spec.sample_queues_ns else found.model_copy(update={"quantiles": ()})


def _windows(experiment: Experiment, seen: Observation) -> dict[int, float]:
    """Of flows that measured a round trip, where there are few."""
    cwnd_bytes = seen.per_flow.get("cwnd_mean_bytes")
    if cwnd_bytes is None or len(cwnd_bytes) > FEW_FLOWS:
        return {}
    payload = experiment.spec.transport.payload_bytes
    return {flow: cwnd / payload for flow, cwnd in enumerate(cwnd_bytes.tolist()) if cwnd}


def _without_base_delay(experiment: Experiment, seen: Observation) -> int:
    """Flows whose sender took a queue of more than half of its threshold for the empty network."""
    threshold_ns = experiment.spec.transport.threshold_ns(experiment.spec.rate_bps)
    if threshold_ns is None or "base_delay_ns" not in seen.per_flow:
        return 0
    beyond_ns = seen.per_flow["base_delay_ns"] - full_frame_ns(experiment.spec, experiment.network, seen.flows)
    return int(np.sum(beyond_ns > threshold_ns / 2))


def _mean_round_trips(seeds: Sequence[SeedResult]) -> dict[str, RttEstimate]:
    return {
        label: RttEstimate(
            **_estimate([seed.rtt_us[label] for seed in seeds]).model_dump(),
            lost=sum(seed.rtt_us[label].lost for seed in seeds),
        )
        for label in seeds[0].rtt_us
    }


def _mean_queues(seeds: Sequence[SeedResult]) -> dict[str, QueueEstimate]:
    return {
        kind: QueueEstimate(
            **_estimate([seed.queues_packets[kind] for seed in seeds]).model_dump(),
            max=max(seed.queues_packets[kind].max for seed in seeds),
        )
        for kind in seeds[0].queues_packets
    }


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


def _all_priorities(seeds: Sequence[tuple[Priority, ...]]) -> tuple[Priority, ...] | None:
    if not seeds:
        return None
    return tuple(
        Priority(
            above_bytes=of[0].above_bytes, sent=sum(each.sent for each in of), marked=sum(each.marked for each in of)
        )
        for of in zip(*seeds, strict=True)
    )


def _sharing(seen: Observation) -> Sharing | None:
    """What each service got, if there are several."""
    services = [int(dscp) for dscp in np.unique(seen.flows.dscp)]
    if len(services) < 2:
        return None
    duration_s = (seen.report["end_ns"] - int(seen.flows.start_ns[0])) / 1e9
    delivered = {dscp: float(seen.per_flow["delivered_bytes"][seen.flows.dscp == dscp].sum()) for dscp in services}
    goodput = {dscp: 8 * delivered[dscp] / duration_s if duration_s else 0.0 for dscp in services}
    return Sharing(goodput_bps=goodput, jain=jain(list(goodput.values())))


def _mean_sharing(seeds: Sequence[SeedResult]) -> Sharing | None:
    """Means over the seeds that have services; one without flows of a service has a goodput of 0 there."""
    there = [seed.sharing for seed in seeds if seed.sharing is not None]
    if not there:
        return None
    services = sorted({dscp for sharing in there for dscp in sharing.goodput_bps})
    goodput = {dscp: mean([sharing.goodput_bps.get(dscp, 0.0) for sharing in there]) for dscp in services}
    known = [sharing.jain for sharing in there if sharing.jain is not None]
    return Sharing(goodput_bps=goodput, jain=mean(known) if known else None)


def _mean_windows(seeds: Sequence[SeedResult]) -> dict[str, WindowMeans]:
    """Means over the seeds, of flows that all have; one without flows of a service has a rate of 0 there."""
    result = {}
    for window in seeds[0].windows:
        of = [seed.windows[window] for seed in seeds]
        services = sorted({dscp for means in of for dscp in means.services_bps})
        flows = [flow for flow in of[0].flows_bps if all(flow in means.flows_bps for means in of)]
        result[window] = WindowMeans(
            services_bps={dscp: mean([means.services_bps.get(dscp, 0.0) for means in of]) for dscp in services},
            flows_bps={flow: mean([means.flows_bps[flow] for means in of]) for flow in flows},
            queue_packets=_mean_length([means.queue_packets for means in of if means.queue_packets is not None]),
        )
    return result


def _mean_length(lengths: Sequence[QueueLength]) -> QueueLength | None:
    if not lengths:
        return None
    return QueueLength(mean=mean([length.mean for length in lengths]), max=mean([length.max for length in lengths]))


def _mean_convergence(seeds: Sequence[SeedResult]) -> dict[str, Change]:
    """Means over the seeds of starts that all have, with the same flows; None where a seed did not converge."""
    result = {}
    for start, first in seeds[0].convergence.items():
        of = [seed.convergence[start] for seed in seeds if start in seed.convergence]
        if len(of) == len(seeds) and all(change.flows.keys() == first.flows.keys() for change in of):
            flows = {flow: _mean_share([change.flows[flow] for change in of]) for flow in first.flows}
            result[start] = Change(until_us=mean([change.until_us for change in of]), flows=flows)
    return result


def _all_classified(seeds: Sequence[SeedResult]) -> Classification | None:
    there = [seed.classification for seed in seeds if seed.classification is not None]
    counts = _sums(found.model_dump(exclude={"accuracy", "recall"}) for found in there)
    return Classification.of(**counts) if there else None


def _mean_share(shares: Sequence[FlowShare]) -> FlowShare:
    times = [share.converged_us for share in shares if share.converged_us is not None]
    return FlowShare(
        share_bps=mean([share.share_bps for share in shares]),
        rate_bps=mean([share.rate_bps for share in shares]),
        converged_us=mean(times) if len(times) == len(shares) else None,
    )


def _utilisation(experiment: Experiment, seen: Observation) -> float:
    """Mean over the bottleneck's lines of the part of the time that they were busy.

    The time is that until the last flow began, as a run then runs dry; or all of it, where `until` ends the run.
    """
    network = experiment.network
    names = network.graph.names
    wanted = {(names[line.source.node], line.source.port) for line in network.bottleneck}
    ended = experiment.spec.until_ns is not None
    column = "busy_ns" if ended else "busy_during_arrivals_ns"
    end = seen.report["end_ns" if ended else "arrivals_end_ns"]
    busy = [line[column] for line in seen.report["lines"] if tuple(line["from"]) in wanted]
    # The frame that is being sent at the end counts as a whole.
    return min(1.0, sum(busy) / len(busy) / end) if end else 0.0


def parameters_of(scheme: ReadyScheme) -> dict[str, str]:
    """Its parameters as reports show them."""
    fitted = scheme.fitted
    return {name: setting.text(fitted.setup) for name, setting in fitted.reported.items()} or dict(fitted.choice.params)


def scheme_result(label: str, program: str, parameters: dict[str, str], seeds: Sequence[SeedResult]) -> SchemeResult:
    """One scheme over its seeds."""
    return SchemeResult(
        label=label,
        program=program,
        parameters=parameters,
        fct_us=_estimates([seed.fct_us for seed in seeds]),
        slowdown=_estimates([seed.slowdown for seed in seeds]),
        unfinished=sum(seed.unfinished for seed in seeds),
        endless=sum(seed.endless for seed in seeds),
        drops=Drops(**_sums(seed.drops.model_dump() for seed in seeds)),
        timeouts=sum(seed.timeouts for seed in seeds),
        retransmissions=sum(seed.retransmissions for seed in seeds),
        marks=Marks(
            total=sum(seed.marks.total for seed in seeds),
            by_cause=_sums(seed.marks.by_cause for seed in seeds),
            by_port=_sums(seed.marks.by_port for seed in seeds),
            not_capable=sum(seed.marks.not_capable for seed in seeds),
            dropped=sum(seed.marks.dropped for seed in seeds),
        ),
        pauses=all_pauses([seed.pauses for seed in seeds if seed.pauses is not None]),
        priorities=_all_priorities([seed.priorities for seed in seeds if seed.priorities is not None]),
        sharing=_mean_sharing(seeds),
        rtt_us=_mean_round_trips(seeds),
        tcp_rtt_us=_estimate([seed.tcp_rtt_us for seed in seeds if seed.tcp_rtt_us]) if seeds[0].tcp_rtt_us else None,
        queues_packets=_mean_queues(seeds),
        windows=_mean_windows(seeds),
        convergence=_mean_convergence(seeds),
        classification=_all_classified(seeds),
        utilisation=mean([seed.utilisation for seed in seeds]),
        link_transmissions=sum(seed.link_transmissions for seed in seeds),
        events=sum(seed.events for seed in seeds),
        engine_cpu_s=round(sum(seed.engine_cpu_s for seed in seeds), 6),
        seeds=tuple(seeds),
    )


def _sums(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(total)


def _estimates(seeds: Sequence[Samples]) -> Estimates:
    return {name: _estimate([seed[name] for seed in seeds]) for name in seeds[0]}


def _estimate(samples: Sequence[Sample]) -> Estimate:
    """Seeds without a flow of the class have no say."""
    there = [sample for sample in samples if sample.n]
    if not there:
        return Estimate(n=0)
    columns = {name: [getattr(sample, name) for sample in there] for name in ALL_STATISTICS}
    # Results of older versions of the lab do not have all.
    columns = {name: values for name, values in columns.items() if None not in values}
    return Estimate(
        n=sum(sample.n for sample in there),
        **{name: mean(values) for name, values in columns.items()},
        ci95=Confidence(**{name: mean_interval(values) for name, values in columns.items()}),
    )


def normalise(seeds: Sequence[SeedResult], baseline: Sequence[SeedResult]) -> Estimates:
    """Ratios of the means over the seeds that both have, with the intervals of paired values."""
    estimates = {}
    under = {seed.seed: seed for seed in baseline}
    both = [(seed, under[seed.seed]) for seed in seeds if seed.seed in under]
    for name in seeds[0].fct_us:
        pairs = [(a.fct_us[name], b.fct_us[name]) for a, b in both]
        pairs = [(a, b) for a, b in pairs if a.n and b.n]
        columns = {
            stat: ([getattr(a, stat) for a, _ in pairs], [getattr(b, stat) for _, b in pairs])
            for stat in ALL_STATISTICS
        }
        columns = {stat: (a, b) for stat, (a, b) in columns.items() if None not in (*a, *b)}
        if pairs:
            estimates[name] = Estimate(
                n=sum(a.n for a, _ in pairs),
                **{stat: ratio(*values) for stat, values in columns.items()},
                ci95=Confidence(**{stat: ratio_interval(*values) for stat, values in columns.items()}),
            )
        else:
            estimates[name] = Estimate(n=0)
    return estimates
