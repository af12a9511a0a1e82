# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds reasons to doubt the numbers of a run, so a bad run says so instead of just printing a number."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from marklab.catalog.parameters import Setting, Setup
from marklab.devices.frames import HEADER_BYTES
from marklab.prepare.experiment import Experiment, ReadyScheme
from marklab.results.doubts import Doubt, doubt
from marklab.results.summary import QUERY, SchemeResult
from marklab.units import format_rate, format_time

# Below this many values the 99th percentile by nearest rank is the largest value.
_P99_NEEDS = 100

# Utilisation as a fraction of the load. A run of some thousand flows comes within a few percent of its load; a short
# run ends before it gets there.
_SETTLED = 0.75

# Fraction of the packets beside which the others do not matter.
_NEARLY_ALL = 0.99

# Fraction of flows that a run's numbers do not depend on.
_FEW = 0.01


# Fraction of the senders that may have no flow in a seed. Of fewer senders than `_SENDERS` a single one is more.
_SILENT = 0.05
_SENDERS = 20
# Flows per sender that leave 2 % of them without a flow, which is e^-4; 3 would leave 5 %.
_FLOWS_EACH = 4


def doubts(experiment: Experiment, scheme: ReadyScheme, result: SchemeResult) -> Iterator[Doubt]:
    """Reasons to doubt the numbers of a scheme."""
    yield from _of_marks(experiment, scheme, result)
    yield from _of_signals(experiment, result)
    yield from _of_ecn(result)
    yield from _of_losses(experiment, result)
    yield from _of_rates(experiment)
    yield from _of_thresholds(scheme)
    yield from _of_priorities(result)
    if scheme.program.jit_declined is not None:
        yield doubt("interpreted", why=scheme.program.jit_declined)
    yield from _of_length(experiment, result)
    yield from _of_windows(experiment, result)
    yield from _of_senders(experiment, result)
    yield from _of_percentiles(result)
    yield from _of_seeds(result)
    yield from _of_attempts(result)
    yield from _of_answers(result)


def _of_seeds(result: SchemeResult) -> Iterator[Doubt]:
    """Doubt intervals over seeds that are the same run: a list of flows where nothing else is random."""
    first, *others = result.seeds
    alike = [seed for seed in others if (seed.flow_list, seed.fct_us) == (first.flow_list, first.fct_us)]
    if others and len(alike) == len(others):
        yield doubt("same-seeds", seeds=len(result.seeds))


def _of_attempts(result: SchemeResult) -> Iterator[Doubt]:
    """Doubts about a machine that passed its checks only after failed attempts."""
    for seed in result.seeds:
        if seed.real_time is not None and seed.real_time.failed_attempts:
            *_, last = failed = seed.real_time.failed_attempts
            yield doubt("late-attempt", seed=seed.seed, failed=len(failed), last=last)


def _of_answers(result: SchemeResult) -> Iterator[Doubt]:
    """Doubt hosts whose congestion control the kernel left out."""
    for seed in result.seeds:
        if seed.real_time is not None and seed.real_time.replaced_answers:
            yield doubt("left-out", seed=seed.seed, answers=seed.real_time.replaced_answers)


def _of_percentiles(result: SchemeResult) -> Iterator[Doubt]:
    for name, what in (("short", "short flows"), (QUERY, "flows of queries")):
        fewest = min((seed.fct_us[name].n for seed in result.seeds if name in seed.fct_us), default=0)
        if 0 < fewest < _P99_NEEDS:
            yield doubt("few-samples", name, fewest=fewest, what=what)


def _of_marks(experiment: Experiment, scheme: ReadyScheme, result: SchemeResult) -> Iterator[Doubt]:
    marks = result.marks
    spec = scheme.fitted.scheme.spec
    marking = bool(spec and spec.causes)
    # If ECN did not arrive, the queue may have reached its threshold.
    arrived = not result.ecn.bleached and not result.ecn.refused
    if marking and experiment.spec.transport.uses_ecn and arrived and marks.total == 0:
        yield doubt("no-marks")
    counted = sum(marks.by_cause.values())
    if marking and counted != marks.total:
        yield doubt("marks-miscounted", counted=counted, seen=marks.total)


def _of_signals(experiment: Experiment, result: SchemeResult) -> Iterator[Doubt]:
    """Doubts about congestion signals that did not reach the senders."""
    transport = experiment.spec.transport
    if not transport.uses_ecn and result.marks.not_capable > 0 and result.marks.dropped == 0:
        yield doubt("no-ecn", control=transport.control, packets=result.marks.not_capable)
    deaf, flows = sum(seed.without_base_delay for seed in result.seeds), result.fct_us["overall"].n
    if deaf > _FEW * flows:
        threshold_ns = transport.threshold_ns(experiment.spec.rate_bps) or 0
        yield doubt("no-base-delay", deaf=deaf, flows=flows, threshold=format_time(threshold_ns))


def _of_ecn(result: SchemeResult) -> Iterator[Doubt]:
    """Doubt a network that does more to ECN than mark."""
    for what, count in result.ecn.model_dump().items():
        if count:
            yield doubt(f"ecn-{what}", count=count)


def _of_length(experiment: Experiment, result: SchemeResult) -> Iterator[Doubt]:
    spec = experiment.spec
    if spec.flow_list is None and spec.flows and result.utilisation < _SETTLED * spec.offered_load:
        yield doubt("idle", busy=result.utilisation, load=spec.offered_load)


def _of_windows(experiment: Experiment, result: SchemeResult) -> Iterator[Doubt]:
    """Doubt a window of time that lasts longer than flows come. Readers who wait come when the network lets them."""
    spec = experiment.spec
    if not spec.flows or (spec.sessions is not None and spec.sessions.closed_loop):
        return
    lists = [experiment.flow_lists[seed.seed] for seed in result.seeds]
    # Where `until` has cut off flows, they come until the end.
    whole = [flows for flows in lists if spec.flow_list is not None or len(flows) >= spec.flows]
    last_ns = min((int(flows.start_ns[-1]) for flows in whole), default=None)
    for window in spec.windows or ():
        if last_ns is not None and window.end_ns > last_ns:
            last = format_time(last_ns)
            yield doubt("empty-window", str(window), window=str(window), last=last, flows=len(whole[0]))


def _of_senders(experiment: Experiment, result: SchemeResult) -> Iterator[Doubt]:
    """Doubt generated flows that are too few for the hosts. A web's flows are few sessions', whatever their number."""
    spec, senders = experiment.spec, experiment.network.pairs.senders
    if spec.flow_list is not None or not spec.flows or spec.sessions is not None or len(senders) < _SENDERS:
        return
    lists = {seed.seed: experiment.flow_lists[seed.seed] for seed in result.seeds}
    silent = {seed: int(np.isin(senders, flows.src, invert=True).sum()) for seed, flows in lists.items()}
    worst = max(silent, key=silent.__getitem__)
    if silent[worst] > _SILENT * len(senders):
        enough = _rounded_up(_FLOWS_EACH * len(senders))
        remedy = f"take --flows {enough} or more"
        if len(lists[worst]) < spec.flows:  # `until` has ended the run before the others began
            remedy = f"end the run later, after {enough:,} flows or more"
        yield doubt(
            "few-flows", silent=silent[worst], senders=len(senders), flows=len(lists[worst]), seed=worst, remedy=remedy
        )


def _rounded_up(count: int) -> int:
    """A number with two digits that is not smaller, and zeros."""
    step: int = 10 ** max(0, len(str(count)) - 2)
    return -(-count // step) * step


def _of_rates(experiment: Experiment) -> Iterator[Doubt]:
    """Doubt an application whose rate is above what its sender's line carries: the rate limits nothing."""
    spec, graph = experiment.spec, experiment.network.graph
    payload = spec.transport.payload_bytes / (spec.transport.mss_bytes + HEADER_BYTES + spec.framing.overhead_bytes)
    flows = experiment.flow_lists[spec.first_seed]
    lines = np.array([min(line.rate_bps for line in graph.lines_from[host]) for host in range(len(graph.hosts))])
    beyond = np.flatnonzero(flows.rate_bps > payload * lines[flows.src])
    if len(beyond):
        rate, line = int(flows.rate_bps[beyond[0]]), int(lines[flows.src[beyond[0]]])
        yield doubt(
            "rate-beyond-line", flow=int(beyond[0]), rate=format_rate(rate), line=format_rate(line),
            payload_gbps=payload * line / 1e9,
        )  # fmt: skip


def _of_losses(experiment: Experiment, result: SchemeResult) -> Iterator[Doubt]:
    if result.unfinished and experiment.spec.until_ns is not None:
        end = format_time(experiment.spec.until_ns)
        yield doubt("under-way", flows=result.unfinished, end=end)
    elif result.unfinished:
        yield doubt("unfinished", flows=result.unfinished)
    for name, job in result.jobs.items():
        if job.iterations < job.of:
            yield doubt("job-cut", name, job=name, of=job.of, missing=job.of - job.iterations)
    if result.drops.queue and experiment.spec.pfc is not None:
        yield doubt("lossless-lost", packets=result.drops.queue)
    elif result.drops.queue and experiment.spec.transport.is_paced:
        yield doubt("go-back-n", packets=result.drops.queue, again=result.retransmissions)
    # A scheme may drop by decision. Hosts, links and the rest of a program must lose nothing.
    elsewhere = result.drops.total - result.drops.queue - result.marks.dropped
    if elsewhere > 0:
        places = sorted({place for seed in result.seeds for place in seed.lost if "queue full" not in place})
        yield doubt("lost-elsewhere", packets=elsewhere, places="; ".join(places))
    faults = sum(seed.faults for seed in result.seeds)
    if faults:
        yield doubt("undefined", faults=faults)


def _of_priorities(result: SchemeResult) -> Iterator[Doubt]:
    """Doubt strict priorities if nearly all packets have the same one: the queues are then a FIFO."""
    sent = [priority.sent for priority in result.priorities or ()]
    if len(sent) > 1 and max(sent) > _NEARLY_ALL * sum(sent):
        most = sent.index(max(sent))
        yield doubt("one-priority", share=max(sent) / sum(sent), priority=most)


def _of_thresholds(scheme: ReadyScheme) -> Iterator[Doubt]:
    fitted = scheme.fitted
    for setting in fitted.reported.values():
        if setting.parameter.kind == "time" and float(setting.exact) < 1:
            yield doubt("below-clock", setting.name, name=setting.name, us=float(setting.exact))
        if setting.parameter.threshold and _in_packets(setting, fitted.setup) >= fitted.setup.queue_packets:
            limit = f"{fitted.setup.queue_packets:g} packets of {fitted.setup.packet_bytes} bytes"
            threshold = setting.text(fitted.setup)
            yield doubt("beyond-queue", setting.name, name=setting.name, threshold=threshold, limit=limit)


def _in_packets(setting: Setting, setup: Setup) -> float:
    value = float(setting.value)
    return value * setup.packets_per_us if setting.parameter.kind == "time" else value
