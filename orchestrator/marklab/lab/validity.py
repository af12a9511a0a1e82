# SPDX-License-Identifier: MIT OR Apache-2.0
"""Whether a run on real hosts and switches counts: figures against bounds.

One that does not is an error, not a result. `preflight` shows before the run what `check_run` cannot see in it;
docs/lab.md has the bounds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from marklab.devices.frames import FULL_LINE_BYTES
from marklab.engine import binding as engine
from marklab.errors import RunFailed, TooSlow
from marklab.lab.bmv2.limits import BUFFERS
from marklab.lab.burst import FULL_BYTES, MIXED_BYTES
from marklab.lab.health import Health
from marklab.lab.hosts.delays import FIRST_TTL, DelayLevels
from marklab.lab.network import Net, host_drops, shape_host
from marklab.lab.preflight import Drain, LongFlows, RoundTrip, drain, long_flows, round_trip
from marklab.lab.running import running_switches
from marklab.lab.switches import Plan, SwitchSeen
from marklab.prepare.experiment import Experiment, ReadyScheme
from marklab.statistics.samples import nearest_rank
from marklab.topology import Network

# A machine that is half busy at full load has time for what comes at the wrong moment.
_HEADROOM = 2.0
_CAPACITY_MS = 400
# Of long flows, until marks have come back: slow start, and a full queue in front of the first mark. In the time of the
# experiment, which a dilation stretches, and at least in real time.
_MARKING_US = 6000
_MARKING_AT_LEAST_MS = 600
# A segment and its part of acknowledgements where every second segment has one.
_FRAMES_PER_SEGMENT = 1.5

_BEFORE = (
    "host: TCP's socket buffers; a token bucket at the rate of the line, where TCP waits (TCP small queues)",
    "interfaces: none (veth)",
)

_REMEDY = "leave the machine to the lab alone, and try a larger --dilation"

# How often a machine is asked what it is worth before that is an error.
ATTEMPTS = 3

# Bounds.
_DRAIN_WITHIN = 0.02
_RTT_WITHIN = 0.05
_RTT_SLACK_NS = 300_000  # of Linux on the way, whatever the dilation
_LATE_PART_OF_RTT = 0.05
_START_PART_OF_RTT = 0.5


@dataclass(frozen=True)
class Preflight:
    """What was shown before a run."""

    capacity_fps: float
    needed_fps: float
    drain: Drain | None  # None of a network where no two hosts send to one
    standing_packets: int | None  # None of switches that do not tell
    round_trips: tuple[RoundTrip, ...]
    long_flows: LongFlows
    marks_made: int
    buffers: tuple[str, ...]
    # What was wrong in attempts before.
    failed_attempts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Problem:
    """Something that is not as it has to be. `slow` is what a machine that has more time may do better."""

    text: str
    slow: bool = True


def needed_fps(network: Network, factor: int) -> float:
    """Frames per second that all switches together handle while the bottleneck is full."""
    graph = network.graph
    pairs = network.pairs.take(np.arange(0, len(network.pairs), max(1, len(network.pairs) // 1000))).tolist()
    hops = float(np.mean([len(graph.path(*pair)) - 1 for pair in pairs]))
    segments_per_s = network.bottleneck_bps / factor / network.bottleneck_share / (8 * FULL_LINE_BYTES)
    return segments_per_s * _FRAMES_PER_SEGMENT * hops


def preflight(
    experiment: Experiment, scheme: ReadyScheme, net: Net, plan: Plan, levels: DelayLevels, folder: Path
) -> Preflight:
    """Show that machine and network can carry the run; hosts' lines have their rates then.

    A machine that did something else for a moment is asked again, `ATTEMPTS` times in all; what was wrong before is in
    what it gives. Raises TooSlow if more time may help, else RunFailed.
    """
    folder.mkdir()
    plan = replace(plan, captured=None)
    failed: list[str] = []
    capacity_fps = _sufficient_capacity(experiment, scheme, net, plan, folder, failed)
    for host in range(len(net.graph.hosts)):
        shape_host(net, host, experiment.spec.framing)
    for _ in range(ATTEMPTS):
        proven, problems = _attempt(experiment, scheme, net, plan, levels, _new_folder(folder, "attempt"))
        if not problems:
            return replace(proven, capacity_fps=capacity_fps, failed_attempts=tuple(failed))
        failed.append("; ".join(problem.text for problem in problems))
    what = f"{scheme.label}: the network is not what the experiment asks for, in {ATTEMPTS} attempts: {failed[-1]}"
    if all(problem.slow for problem in problems):
        raise TooSlow(what, 2 * _dilation(experiment))
    raise RunFailed(what, _REMEDY)


def _new_folder(parent: Path, name: str) -> Path:
    made = parent / f"{name}-{len(list(parent.iterdir()))}"
    made.mkdir()
    return made


def _dilation(experiment: Experiment) -> int:
    assert experiment.dilation is not None  # noqa: S101 - settled before anything runs
    return experiment.dilation


def _sufficient_capacity(
    experiment: Experiment, scheme: ReadyScheme, net: Net, plan: Plan, folder: Path, failed: list[str]
) -> float:
    """Frames per second that the machine carries, if they are enough in one of some attempts."""
    needed, best = needed_fps(experiment.network, _dilation(experiment)), 0.0
    for _ in range(ATTEMPTS):
        best = max(best, capacity(experiment, net, plan, _new_folder(folder, "capacity")))
        if needed * _HEADROOM <= best:
            return best
        failed.append(
            f"a full bottleneck is {needed:,.0f} frames/s, and this machine carries {best:,.0f} with this program, of "
            "which half may be used"
        )
    raise TooSlow(f"{scheme.label}: {failed[-1]}", enough_dilation(experiment.network, best))


def enough_dilation(network: Network, capacity_fps: float) -> int:
    """The dilation at which a full bottleneck takes half of what a machine carries, and a tenth more."""
    return max(1, math.ceil(needed_fps(network, 1) * _HEADROOM / max(capacity_fps, 1.0) * 1.1))


def _attempt(
    experiment: Experiment, scheme: ReadyScheme, net: Net, plan: Plan, levels: DelayLevels, folder: Path
) -> tuple[Preflight, list[Problem]]:
    """Everything once, and what was wrong."""
    senders, receiver = _meeting(experiment.network)
    framing = experiment.spec.framing
    lost_before = sum(host_drops(net, range(len(net.graph.hosts))).values())
    with running_switches(net, plan, folder / "measured") as switches:
        base_levels = (0, len(levels.delays_ns) - 1)
        round_trips = tuple(
            round_trip(net, (senders[0], receiver), FIRST_TTL + level, levels.delays_ns[level], framing)
            for level in dict.fromkeys(base_levels)
        )
        # BMv2 shapes by packets: a small one takes as long as a full one.
        payloads = FULL_BYTES if plan.kind == "bmv2" else MIXED_BYTES
        drained = None
        if len(senders) > 1:
            drained = drain(net, senders[:2], receiver, plan.queues.buffer or plan.queue, framing, payloads)
        filled = switches.stop()
    lost_by_hosts = sum(host_drops(net, range(len(net.graph.hosts))).values()) - lost_before
    # Of their own again: what long flows lose must not pass for what became of the datagrams.
    with running_switches(net, plan, folder / "marking") as switches:
        marking_ms = max(_MARKING_US * _dilation(experiment) // 1000, _MARKING_AT_LEAST_MS)
        flows = long_flows(net, senders[:2], receiver, marking_ms, folder / "flows")
        marked = switches.stop()
    proven = Preflight(
        capacity_fps=0.0,
        needed_fps=needed_fps(experiment.network, _dilation(experiment)),
        drain=drained,
        standing_packets=None if plan.kind == "bmv2" else _most_waiting(filled),
        round_trips=round_trips,
        long_flows=flows,
        marks_made=_marks(marked),
        buffers=_buffers(plan),
    )
    return proven, problems_of(experiment, scheme, proven, (filled, marked), lost_by_hosts)


def _most_waiting(seen: Sequence[SwitchSeen]) -> int:
    return max(port["max_packets"] for switch in seen for port in switch.report["ports"])


def _marks(seen: Sequence[SwitchSeen]) -> int:
    """As programs count them."""
    cells = [cell for switch in seen for cell in switch.report["counters"]]
    return sum(cell["packets"] for cell in cells if cell["counter"].rpartition(".")[2] == "marks")


def _meeting(network: Network) -> tuple[list[int], int]:
    """Hosts that send to one, and that one: of all receivers, one that most send to."""
    by_receiver: dict[int, list[int]] = {}
    for source, target in network.pairs:
        by_receiver.setdefault(target, []).append(source)
    receiver = max(by_receiver, key=lambda host: (len(by_receiver[host]), -host))
    return by_receiver[receiver], receiver


def capacity(experiment: Experiment, net: Net, plan: Plan, folder: Path) -> float:
    """Frames per second, both ways, that a long flow brings through the switches while no line has a rate."""
    senders, receiver = _meeting(experiment.network)
    with running_switches(net, replace(plan, with_rates=False), folder / "unlimited") as switches:
        long_flows(net, senders[:1], receiver, _CAPACITY_MS, folder / "flows")
        seen = switches.stop()
        return switches.handled(seen) / (_CAPACITY_MS / 1e3)


def _buffers(plan: Plan) -> tuple[str, ...]:
    if plan.kind == "bmv2":
        queue = [f"BMv2: {what}, {packets} packets" for what, packets in BUFFERS.items()]
        queue.append(f"BMv2, out: the queue, {plan.queue} per port")
        return (*_BEFORE, "panel: lines, in which frames travel, and no queue", *queue)
    shared = plan.queues.buffer is not None or plan.queues.count == 1
    return (
        *_BEFORE,
        "switch, in: a ring of 4096 frames, emptied at once; delay lines, in which frames travel",
        f"switch, out: {plan.queues.buffer or plan.queue} per {'port' if shared else 'queue'}; the line holds a frame",
    )


def problems_of(
    experiment: Experiment,
    scheme: ReadyScheme,
    proven: Preflight,
    seen: tuple[Sequence[SwitchSeen], Sequence[SwitchSeen]],
    host_lost: int,
) -> list[Problem]:
    """Bounds of what has to be shown before a run.

    The line's rate within 2 % by bytes (with a scheme that drops: no more than that), each datagram either received or
    dropped by the switch, whose queue was full then; round trips within 5 % and 0.3 ms; marks made, received and echoed
    if the scheme marks and the hosts let it.
    """
    filled, marked = seen
    problems = [Problem(text) for text in _off_queue([*filled, *marked])]
    if (drained := proven.drain) is not None:
        dropped = sum(row["packets"] for switch in filled for row in switch.report["drops"])
        full = any(row["place"] == "queue" for switch in filled for row in switch.report["drops"])
        limit = experiment.spec.queue if scheme.queues.buffer is None else scheme.queues.buffer
        # What a scheme drops by decision leaves a queue in no time, which then may run empty.
        kept = not any(row["place"] == "switch" for switch in filled for row in switch.report["drops"])
        if drained.rate_ratio > 1 + _DRAIN_WITHIN or (kept and drained.rate_ratio < 1 - _DRAIN_WITHIN):
            problems.append(Problem(f"a full queue drained at {drained.rate_ratio:.3f} of the line's rate"))
        if drained.sent - drained.received > dropped + host_lost:
            lost = drained.sent - drained.received
            problems.append(Problem(f"of {drained.sent} datagrams {lost} were lost, the switch dropped {dropped}"))
        waited = proven.standing_packets
        if full and limit.packets is not None and waited is not None and waited < limit.packets:
            text = f"packets were dropped while {waited} waited, fewer than {limit.packets}"
            problems.append(Problem(text, slow=False))
    if host_lost:
        problems.append(Problem(f"hosts lost {host_lost} packets in front of their lines"))
    for trip in proven.round_trips:
        allowed_ns = _RTT_WITHIN * trip.expected_ns + _RTT_SLACK_NS
        if abs(trip.measured_ns - trip.expected_ns) > allowed_ns:
            took, expected = trip.measured_ns / 1e6, trip.expected_ns / 1e6
            problems.append(
                Problem(f"a ping from {trip.source} to {trip.target} took {took:.3f} ms, not {expected:.3f} ms")
            )
    spec = scheme.fitted.scheme.spec
    if spec is not None and spec.causes and experiment.spec.transport.uses_ecn:
        steps = {
            "the switch marked nothing": proven.marks_made,
            "the receiver saw no CE": proven.long_flows.ce_received,
            "no mark came back to a sender": proven.long_flows.marks_echoed,
        }
        reached = (
            "" if proven.standing_packets is None else f" (the queue held {_most_waiting(marked)} packets at most)"
        )
        problems += [
            Problem(f"long flows filled the line, and {text}{reached}", slow=False)
            for text, count in steps.items()
            if not count
        ]
    return problems


@dataclass(frozen=True)
class Figures:
    """What a run did, in real time."""

    seen: Sequence[SwitchSeen]
    health: Health
    status: NDArray[np.uint8]
    late_ns: NDArray[np.uint64]
    host_drops: Mapping[int, int]
    ce_received: Mapping[int, int]  # packets, by host
    replaced_answers: int = 0  # thresholds that the kernel took without running DCTCP in BPF

    @property
    def lateness_ns(self) -> tuple[float, float]:
        """Median and 99th percentile of the switches' dequeues, of the worst switch."""
        rows = [switch.report["lateness_ns"] for switch in self.seen]
        return max(row["p50"] or 0 for row in rows), max(row["p99"] or 0 for row in rows)

    @property
    def late_start_p99_ns(self) -> float:
        """Of flows that started."""
        return nearest_rank(np.sort(self.late_ns), 0.99) if len(self.late_ns) else 0.0


def check_run(experiment: Experiment, label: str, figures: Figures, frame_ns: float) -> None:
    """Bounds of a run.

    The 99th percentile of dequeues' lateness below a full frame's time, or a twentieth of the smallest RTT
    if that is more; of flows' starts below half the smallest RTT; no loss outside of the queues; no flow without a
    connection.
    """
    rtt_ns = experiment.spec.rtt.min_ns * _dilation(experiment)
    problems = list(_off_queue(figures.seen))
    _, late_ns = figures.lateness_ns
    if late_ns > max(frame_ns, _LATE_PART_OF_RTT * rtt_ns):
        problems.append(
            f"1 % of all frames left more than {late_ns / 1e3:,.0f} us late, where a frame takes {frame_ns / 1e3:,.0f} "
            f"us and the smallest round trip {rtt_ns / 1e3:,.0f} us"
        )
    if figures.late_start_p99_ns > _START_PART_OF_RTT * rtt_ns:
        problems.append(f"1 % of the flows started more than {figures.late_start_p99_ns / 1e6:,.1f} ms late")
    if figures.health.softirq_drops:
        problems.append(f"the kernel dropped {figures.health.softirq_drops} packets, as its backlog was full")
    if lost := sum(figures.host_drops.values()):
        problems.append(f"hosts lost {lost} packets in front of their lines")
    names = engine.flow_statuses()
    fine = [names.index(name) for name in ("done", "unfinished", "not-started")]
    bad = figures.status[~np.isin(figures.status, fine)]
    if len(bad):
        kinds = ", ".join(sorted({names[code] for code in bad}))
        problems.append(f"{len(bad)} flows had no connection ({kinds})")
    if problems:
        busy = f"the machine was {figures.health.cpu_busy:.0%} busy"
        raise TooSlow(
            f"{label}: the run did not keep up, and is not counted: {'; '.join(problems)}; {busy}",
            2 * _dilation(experiment),
        )


def _off_queue(seen: Sequence[SwitchSeen]) -> list[str]:
    problems = []
    for switch in seen:
        for port in switch.report["ports"]:
            said = {
                "came faster than the switch could take them": port["missed"],
                "could not be sent by the switch": port["unsent"],
                "were larger than a line carries, or without a checksum": port["offloaded"],
            }
            where = f"({switch.name} port {port['port']})"
            problems += [f"{count} frames {text} {where}" for text, count in said.items() if count]
    return problems
