"""From what a fabric observed to a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchestrator.experiment import Experiment, ReadyScheme
from orchestrator.fairness import jain
from orchestrator.ideal import ideal_ns
from orchestrator.observation import Observation
from orchestrator.randomness import Floats
from orchestrator.statistics import mean, mean_interval, nearest_rank, ratio, ratio_interval
from orchestrator.summary import (
    CLASSES,
    STATISTICS,
    Confidence,
    Drops,
    Estimate,
    Estimates,
    Marks,
    Sample,
    Samples,
    SchemeResult,
    SeedResult,
    Sharing,
    Summary,
)
from orchestrator.verdict import doubts

# Cells of the counters in include/switch.p4: port * 8 + cause.
_CAUSES_PER_PORT = 8


def summarise(experiment: Experiment, observations: Sequence[Observation], versions: dict[str, Any]) -> Summary:
    """Put the cells of a run together."""
    results: dict[str, SchemeResult] = {}
    for scheme in experiment.schemes:
        seeds = [seed_result(experiment, scheme, seen) for seen in observations if seen.scheme == scheme.label]
        results[scheme.label] = _scheme_result(scheme, seeds)
    baseline = results.get(experiment.baseline or "")
    for scheme in experiment.schemes:
        result = results[scheme.label]
        seen = [each for each in observations if each.scheme == scheme.label]
        update: dict[str, Any] = {"warnings": tuple(doubts(experiment, scheme, result, seen))}
        if baseline is not None and result is not baseline:
            update["normalised"] = normalise(result.seeds, baseline.seeds)
        results[scheme.label] = result.model_copy(update=update)
    return Summary(
        spec=experiment.spec.to_plain(),
        scheme=experiment.schemes[0].label,
        baseline=experiment.baseline,
        schemes=results,
        versions=versions,
    )


def seed_result(experiment: Experiment, scheme: ReadyScheme, seen: Observation) -> SeedResult:
    """Reduce a cell to numbers."""
    finished = seen.fct_ns >= 0
    sizes = seen.flows.size_bytes[finished]
    fct = seen.fct_ns[finished].astype(np.float64)
    ideal = ideal_ns(experiment.spec, experiment.network, seen.flows)[finished]
    report = seen.report
    lost = Counter[str]()
    for drop in report["drops"]:
        lost[drop["place"]] += drop["packets"]
    return SeedResult(
        seed=seen.seed,
        flow_list=seen.flows.digest(),
        fct_us=by_class(fct / 1e3, sizes),
        slowdown=by_class(fct / ideal, sizes),
        unfinished=int(np.sum(~finished)),
        drops=Drops(**lost),
        lost=tuple(_place(drop) for drop in report["drops"]),
        timeouts=int(seen.per_flow["timeouts"].sum()),
        retransmissions=int(seen.per_flow["retransmissions"].sum()),
        marks=_marks(scheme, seen),
        sharing=_sharing(seen),
        utilisation=_utilisation(experiment, seen),
        link_transmissions=report["link_transmissions"],
        events=report["events"],
        engine_cpu_s=round(seen.cpu_s, 6),
    )


def by_class(values: Floats, sizes: NDArray[np.uint64]) -> Samples:
    """Mean and percentiles of each size class."""
    samples = {}
    for name, (above, up_to) in CLASSES.items():
        chosen = values[(sizes > above) & (sizes <= (up_to if up_to is not None else np.iinfo(np.uint64).max))]
        if len(chosen):
            ordered = np.sort(chosen)
            p50, p99 = (nearest_rank(ordered, part) for part in (0.5, 0.99))
            samples[name] = Sample(n=len(chosen), mean=mean(chosen.tolist()), p50=p50, p99=p99)
        else:
            samples[name] = Sample(n=0)
    return samples


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
            cause = cell["index"] % _CAUSES_PER_PORT
            by_cause[scheme.causes.get(cause, f"cause {cause}")] += cell["packets"]
    ports = {f"{port['node']}:{port['port']}": port["marked"] for port in seen.report["ports"] if port["marked"]}
    return Marks(
        total=sum(ports.values()),
        by_cause=dict(by_cause),
        by_port=ports,
        not_capable=counted["not_capable"],
        dropped=counted["drops"],
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


def _utilisation(experiment: Experiment, seen: Observation) -> float:
    """Mean over the bottleneck's lines of the part of the time, until the last flow began, that they were busy."""
    network = experiment.network
    names = network.graph.names
    wanted = {(names[line.source.node], line.source.port) for line in network.bottleneck}
    busy = [line["busy_during_arrivals_ns"] for line in seen.report["lines"] if tuple(line["from"]) in wanted]
    end = seen.report["arrivals_end_ns"]
    return sum(busy) / len(busy) / end if end else 0.0


def _scheme_result(scheme: ReadyScheme, seeds: Sequence[SeedResult]) -> SchemeResult:
    fitted = scheme.fitted
    return SchemeResult(
        label=scheme.label,
        program=scheme.program.digest,
        parameters={name: setting.text(fitted.setup) for name, setting in fitted.reported.items()}
        or dict(fitted.choice.params),
        fct_us=_estimates([seed.fct_us for seed in seeds]),
        slowdown=_estimates([seed.slowdown for seed in seeds]),
        unfinished=sum(seed.unfinished for seed in seeds),
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
        sharing=_mean_sharing(seeds),
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
    return {name: _estimate([seed[name] for seed in seeds]) for name in CLASSES}


def _estimate(samples: Sequence[Sample]) -> Estimate:
    """Seeds without a flow of the class have no say."""
    there = [sample for sample in samples if sample.n]
    if not there:
        return Estimate(n=0)
    columns = {name: [getattr(sample, name) for sample in there] for name in STATISTICS}
    return Estimate(
        n=sum(sample.n for sample in there),
        **{name: mean(values) for name, values in columns.items()},
        ci95=Confidence(**{name: mean_interval(values) for name, values in columns.items()}),
    )


def normalise(seeds: Sequence[SeedResult], baseline: Sequence[SeedResult]) -> Estimates:
    """Ratios of the means over seeds, with the intervals of paired values."""
    estimates = {}
    for name in CLASSES:
        pairs = [(a.fct_us[name], b.fct_us[name]) for a, b in zip(seeds, baseline, strict=True)]
        pairs = [(a, b) for a, b in pairs if a.n and b.n]
        columns = {
            stat: ([getattr(a, stat) for a, _ in pairs], [getattr(b, stat) for _, b in pairs]) for stat in STATISTICS
        }
        if pairs:
            estimates[name] = Estimate(
                n=sum(a.n for a, _ in pairs),
                **{stat: ratio(*values) for stat, values in columns.items()},
                ci95=Confidence(**{stat: ratio_interval(*values) for stat, values in columns.items()}),
            )
        else:
            estimates[name] = Estimate(n=0)
    return estimates
