# SPDX-License-Identifier: MIT OR Apache-2.0
"""What makes the numbers of a run doubtful. A bad run says so instead of just printing a number."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from marklab.catalog.parameters import Setting, Setup
from marklab.devices.frames import HEADER_BYTES, MTU_BYTES
from marklab.prepare.experiment import Experiment, ReadyScheme
from marklab.results.summary import QUERY, SchemeResult
from marklab.units import format_rate, format_time

# Below this many values the 99th percentile by nearest rank is the largest value.
_P99_NEEDS = 100

# A run of some thousand flows comes within a few percent of its load; a short one does not get there before it ends.
_SETTLED = 0.75

# Part of the packets beside which the others do not count.
_NEARLY_ALL = 0.99

# Fraction of flows that a run's numbers do not depend on.
_FEW = 0.01


def doubts(experiment: Experiment, scheme: ReadyScheme, result: SchemeResult) -> Iterator[str]:
    """Reasons to doubt the numbers of a scheme."""
    yield from _of_marks(experiment, scheme, result)
    yield from _of_signals(experiment, result)
    yield from _of_losses(experiment, result)
    yield from _of_rates(experiment)
    yield from _of_thresholds(scheme)
    yield from _of_priorities(result)
    if scheme.program.jit_declined is not None:
        yield f"the program was interpreted, which is slow: {scheme.program.jit_declined}"
    yield from _of_length(experiment, result)
    yield from _of_percentiles(result)
    yield from _of_attempts(result)


def _of_attempts(result: SchemeResult) -> Iterator[str]:
    """A machine that was not as it has to be a moment ago."""
    for seed in result.seeds:
        if seed.real_time is not None and seed.real_time.failed_attempts:
            *_, last = failed = seed.real_time.failed_attempts
            yield (
                f"what the machine has to show before seed {seed.seed} was right after {len(failed)} failed attempt(s) "
                f"only: {last}"
            )


def _of_percentiles(result: SchemeResult) -> Iterator[str]:
    for name, what in (("short", "short flows"), (QUERY, "flows of queries")):
        fewest = min((seed.fct_us[name].n for seed in result.seeds if name in seed.fct_us), default=0)
        if 0 < fewest < _P99_NEEDS:
            yield f"a seed has {fewest} {what} only: their 99th percentile is the largest of them"


def _of_marks(experiment: Experiment, scheme: ReadyScheme, result: SchemeResult) -> Iterator[str]:
    marks = result.marks
    spec = scheme.fitted.scheme.spec
    marking = bool(spec and spec.causes)
    if marking and experiment.spec.transport.uses_ecn and marks.total == 0:
        yield "nothing was marked: the queue never reached a threshold, so the scheme made no difference"
    counted = sum(marks.by_cause.values())
    if marking and counted != marks.total:
        yield f"the program counted {counted} marks, the network saw {marks.total}: its counters or its marks are wrong"


def _of_signals(experiment: Experiment, result: SchemeResult) -> Iterator[str]:
    """What senders should have heard, and did not."""
    transport = experiment.spec.transport
    if not transport.uses_ecn and result.marks.not_capable > 0 and result.marks.dropped == 0:
        yield (
            f"{transport.control} has no ECN: {result.marks.not_capable:,} packets that the scheme would have marked "
            "passed, and the scheme made no difference"
        )
    deaf, flows = sum(seed.without_base_delay for seed in result.seeds), result.fct_us["overall"].n
    if deaf > _FEW * flows:
        threshold_ns = transport.threshold_ns(experiment.spec.rate_bps) or 0
        yield (
            f"{deaf:,} of {flows:,} flows have no base delay: no packet of their connection came without waiting for "
            f"more than half of the threshold of {format_time(threshold_ns)}, which counts from there"
        )


def _of_length(experiment: Experiment, result: SchemeResult) -> Iterator[str]:
    spec = experiment.spec
    if spec.flow_list is None and spec.flows and result.utilisation < _SETTLED * spec.offered_load:
        yield (
            f"the bottleneck was busy {result.utilisation:.0%} of the time at a load of {spec.offered_load:.0%}: "
            "the run is too short to build it up, or the scheme leaves the line idle"
        )


def _of_rates(experiment: Experiment) -> Iterator[str]:
    """Applications that write more than their sender's line carries are not limited in their rate."""
    spec, graph = experiment.spec, experiment.network.graph
    payload = spec.transport.payload_bytes / (spec.transport.mss_bytes + HEADER_BYTES + spec.framing.overhead_bytes)
    flows = experiment.flow_lists[spec.first_seed]
    lines = np.array([min(line.rate_bps for line in graph.lines_from[host]) for host in range(len(graph.hosts))])
    beyond = np.flatnonzero(flows.rate_bps > payload * lines[flows.src])
    if len(beyond):
        rate, line = int(flows.rate_bps[beyond[0]]), int(lines[flows.src[beyond[0]]])
        yield (
            f"flow {beyond[0]} has an application of {format_rate(rate)}b/s behind a line of {format_rate(line)}b/s, "
            f"which carries {payload * line / 1e9:.4g} Gb/s of payload: the rate limits nothing"
        )


def _of_losses(experiment: Experiment, result: SchemeResult) -> Iterator[str]:
    if result.unfinished and experiment.spec.until_ns is not None:
        end = format_time(experiment.spec.until_ns)
        yield f"{result.unfinished} flows were under way when the run ended at {end}, and are in no mean"
    elif result.unfinished:
        yield f"{result.unfinished} flows did not finish and are in no mean: the others look better than they are"
    if result.drops.queue and experiment.spec.pfc is not None:
        yield f"{result.drops.queue} packets were lost in queues that are to be lossless"
    elif result.drops.queue and experiment.spec.transport.is_paced:
        yield (
            f"{result.drops.queue:,} packets were lost in queues, and hosts that go back to the first of them sent "
            f"{result.retransmissions:,} again: RDMA is made for lossless lines, --pfc on"
        )
    # A scheme may drop by decision. Hosts, links and the rest of a program must lose nothing.
    elsewhere = result.drops.total - result.drops.queue - result.marks.dropped
    if elsewhere > 0:
        places = sorted({place for seed in result.seeds for place in seed.lost if "queue full" not in place})
        yield f"{elsewhere} packets were lost outside of the queues: {'; '.join(places)}"
    faults = sum(seed.faults for seed in result.seeds)
    if faults:
        yield f"the program did {faults} things that P4 leaves undefined, such as an index beyond its register"


def _of_priorities(result: SchemeResult) -> Iterator[str]:
    """Strict queues of which one has all there is are a FIFO."""
    sent = [priority.sent for priority in result.priorities or ()]
    if len(sent) > 1 and max(sent) > _NEARLY_ALL * sum(sent):
        most = sent.index(max(sent))
        yield (
            f"{max(sent) / sum(sent):.1%} of the data packets had priority P{most}: thresholds that do not suit the "
            "sizes of the flows leave little to be scheduled"
        )


def _of_thresholds(scheme: ReadyScheme) -> Iterator[str]:
    fitted = scheme.fitted
    for setting in fitted.reported.values():
        if setting.parameter.kind == "time" and float(setting.exact) < 1:
            yield f"{setting.name} is {float(setting.exact):g} us, the switch's clock counts whole microseconds"
        if setting.parameter.threshold and _in_packets(setting, fitted.setup) >= fitted.setup.queue_packets:
            limit = f"{fitted.setup.queue_packets:g} packets of {MTU_BYTES} bytes"
            yield f"{setting.name} is {setting.text(fitted.setup)}, but the queue is full at {limit}"


def _in_packets(setting: Setting, setup: Setup) -> float:
    value = float(setting.value)
    return value * setup.packets_per_us if setting.parameter.kind == "time" else value
