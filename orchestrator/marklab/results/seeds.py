# SPDX-License-Identifier: MIT OR Apache-2.0
"""Combines seeds: a scheme over its seeds, and schemes beside their baseline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from marklab.results.summary import (
    ALL_STATISTICS,
    MOST_BUSIEST,
    BusyLine,
    Change,
    Classification,
    Confidence,
    Drops,
    EcnInterference,
    Estimate,
    Estimates,
    FlowShare,
    JobEstimate,
    JobSample,
    LineUse,
    Marks,
    Pauses,
    PortPauses,
    Priority,
    QueueEstimate,
    QueueLength,
    RttEstimate,
    Sample,
    Samples,
    SchemeResult,
    SeedResult,
    Sharing,
    Summary,
    TierUse,
    WindowMeans,
)
from marklab.statistics.samples import mean, mean_interval, ratio, ratio_interval


def joined(
    results: Sequence[SchemeResult], spec: dict[str, Any], baseline: str | None, versions: dict[str, Any]
) -> Summary:
    """Summarise schemes on the same flows. The first is the main scheme; ratios need the baseline among them."""
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
        ecn=EcnInterference(**_sums(seed.ecn.model_dump() for seed in seeds)),
        pauses=all_pauses([seed.pauses for seed in seeds if seed.pauses is not None]),
        priorities=_all_priorities([seed.priorities for seed in seeds if seed.priorities is not None]),
        sharing=_mean_sharing(seeds),
        jobs=_mean_jobs(seeds),
        rtt_us=_mean_round_trips(seeds),
        tcp_rtt_us=_estimate([seed.tcp_rtt_us for seed in seeds if seed.tcp_rtt_us]) if seeds[0].tcp_rtt_us else None,
        queues_packets=_mean_queues(seeds),
        windows=_mean_windows(seeds),
        convergence=_mean_convergence(seeds),
        classification=_all_classified(seeds),
        utilisation=mean([seed.utilisation for seed in seeds]),
        line_use=_mean_line_use([seed.line_use for seed in seeds if seed.line_use is not None]),
        link_transmissions=sum(seed.link_transmissions for seed in seeds),
        events=sum(seed.events for seed in seeds),
        engine_cpu_s=round(sum(seed.engine_cpu_s for seed in seeds), 6),
        seeds=tuple(seeds),
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


def _estimates(seeds: Sequence[Samples]) -> Estimates:
    return {name: _estimate([seed[name] for seed in seeds]) for name in seeds[0]}


def _estimate(samples: Sequence[Sample]) -> Estimate:
    """Seeds without a flow of the class are left out."""
    there = [sample for sample in samples if sample.n]
    if not there:
        return Estimate(n=0)
    columns = {name: [getattr(sample, name) for sample in there] for name in ALL_STATISTICS}
    # Results of older versions of the lab lack some of them.
    columns = {name: values for name, values in columns.items() if None not in values}
    return Estimate(
        n=sum(sample.n for sample in there),
        **{name: mean(values) for name, values in columns.items()},
        ci95=Confidence(**{name: mean_interval(values) for name, values in columns.items()}),
    )


def _sums(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(total)


def _mean_jobs(seeds: Sequence[SeedResult]) -> dict[str, JobEstimate]:
    return {name: _mean_job([seed.jobs[name] for seed in seeds]) for name in seeds[0].jobs}


def _mean_job(seeds: Sequence[JobSample]) -> JobEstimate:
    over = [seed.done_us for seed in seeds if seed.done_us is not None]
    return JobEstimate(
        iterations=sum(seed.iterations for seed in seeds),
        of=sum(seed.of for seed in seeds),
        iteration_us=_estimate([seed.iteration_us for seed in seeds]),
        spread_us=_estimate([seed.spread_us for seed in seeds]),
        done_us=mean(over) if over else None,
        done_ci95=mean_interval(over) if over else None,
    )


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


def _all_priorities(seeds: Sequence[tuple[Priority, ...]]) -> tuple[Priority, ...] | None:
    if not seeds:
        return None
    return tuple(
        Priority(
            above_bytes=of[0].above_bytes, sent=sum(each.sent for each in of), marked=sum(each.marked for each in of)
        )
        for of in zip(*seeds, strict=True)
    )


def _mean_sharing(seeds: Sequence[SeedResult]) -> Sharing | None:
    """Means over the seeds that have services. A seed without flows of a service has a goodput of 0 for it."""
    there = [seed.sharing for seed in seeds if seed.sharing is not None]
    if not there:
        return None
    services = sorted({dscp for sharing in there for dscp in sharing.goodput_bps})
    goodput = {dscp: mean([sharing.goodput_bps.get(dscp, 0.0) for sharing in there]) for dscp in services}
    known = [sharing.jain for sharing in there if sharing.jain is not None]
    return Sharing(goodput_bps=goodput, jain=mean(known) if known else None)


def _mean_windows(seeds: Sequence[SeedResult]) -> dict[str, WindowMeans]:
    """Means over the seeds, for flows that all have. A seed without flows of a service has a rate of 0 for it."""
    result = {}
    for window in seeds[0].windows:
        of = [seed.windows[window] for seed in seeds]
        services = sorted({dscp for means in of for dscp in means.services_bps})
        flows = [flow for flow in of[0].flows_bps if all(flow in means.flows_bps for means in of)]
        senders = [flow for flow in of[0].cwnd_packets if all(flow in means.cwnd_packets for means in of)]
        result[window] = WindowMeans(
            services_bps={dscp: mean([means.services_bps.get(dscp, 0.0) for means in of]) for dscp in services},
            flows_bps={flow: mean([means.flows_bps[flow] for means in of]) for flow in flows},
            cwnd_packets={flow: mean([means.cwnd_packets[flow] for means in of]) for flow in senders},
            queue_packets=mean_length([means.queue_packets for means in of if means.queue_packets is not None]),
        )
    return result


def mean_length(lengths: Sequence[QueueLength]) -> QueueLength | None:
    """The mean of each number over seeds or ports."""
    if not lengths:
        return None
    return QueueLength(
        mean=mean([length.mean for length in lengths]),
        max=mean([length.max for length in lengths]),
        beyond=tuple(mean(list(parts)) for parts in zip(*(length.beyond for length in lengths), strict=False)),
    )


def _mean_convergence(seeds: Sequence[SeedResult]) -> dict[str, Change]:
    """Means over the seeds, for starts that all have with the same flows. None if a seed did not converge."""
    result = {}
    for start, first in seeds[0].convergence.items():
        of = [seed.convergence[start] for seed in seeds if start in seed.convergence]
        if len(of) == len(seeds) and all(change.flows.keys() == first.flows.keys() for change in of):
            flows = {flow: _mean_share([change.flows[flow] for change in of]) for flow in first.flows}
            result[start] = Change(until_us=mean([change.until_us for change in of]), flows=flows)
    return result


def _mean_share(shares: Sequence[FlowShare]) -> FlowShare:
    times = [share.converged_us for share in shares if share.converged_us is not None]
    return FlowShare(
        share_bps=mean([share.share_bps for share in shares]),
        rate_bps=mean([share.rate_bps for share in shares]),
        converged_us=mean(times) if len(times) == len(shares) else None,
    )


def _all_classified(seeds: Sequence[SeedResult]) -> Classification | None:
    there = [seed.classification for seed in seeds if seed.classification is not None]
    counts = _sums(found.model_dump(exclude={"accuracy", "recall"}) for found in there)
    return Classification.of(**counts) if there else None


def _mean_line_use(seeds: Sequence[LineUse]) -> LineUse | None:
    """Means over the seeds, and the lines that were busiest in one of them."""
    if not seeds:
        return None
    tiers = {
        direction: TierUse(
            lines=first.lines,
            mean=mean([seed.tiers[direction].mean for seed in seeds]),
            max=mean([seed.tiers[direction].max for seed in seeds]),
        )
        for direction, first in seeds[0].tiers.items()
    }
    busiest: dict[str, BusyLine] = {}
    for found in sorted((found for seed in seeds for found in seed.busiest), key=lambda found: -found.utilisation):
        busiest.setdefault(found.line, found)
    return LineUse(tiers=tiers, busiest=tuple(busiest.values())[:MOST_BUSIEST])


def all_pauses(seeds: Sequence[Pauses]) -> Pauses | None:
    """Sums over the seeds, but means of shares and rates."""
    if not seeds:
        return None
    names = sorted({name for seed in seeds for name in seed.by_port})
    ports = {name: [seed.by_port[name] for seed in seeds if name in seed.by_port] for name in names}
    return Pauses(
        pauses=sum(seed.pauses for seed in seeds),
        paused_us=sum(seed.paused_us for seed in seeds),
        share=mean([seed.share for seed in seeds]),
        rate_bps=mean([seed.rate_bps for seed in seeds]),
        max_held_bytes=max(seed.max_held_bytes for seed in seeds),
        by_port={
            name: PortPauses(pauses=sum(each.pauses for each in of), paused_us=sum(each.paused_us for each in of))
            for name, of in ports.items()
        },
    )
