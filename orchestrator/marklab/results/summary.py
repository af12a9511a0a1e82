# SPDX-License-Identifier: MIT OR Apache-2.0
"""The numbers of a run: what `--json` prints, `summary.json` holds and every report reads."""

from __future__ import annotations

from typing import Any

from pydantic import Field, computed_field, model_validator

from marklab.model import Model
from marklab.results.doubts import Doubt
from marklab.statistics.samples import Interval

SHORT_BYTES = 100_000
LARGE_BYTES = 10_000_000

# Size classes: the size that their flows exceed, and their largest size.
CLASSES: dict[str, tuple[int, int | None]] = {
    "overall": (0, None),
    "short": (0, SHORT_BYTES),
    "medium": (SHORT_BYTES, LARGE_BYTES),
    "large": (LARGE_BYTES, None),
}
# Further classes in runs with queries: the flows of queries, whatever their size, and the short flows of the workload.
QUERY, WORKLOAD_SHORT = "query", "workload-short"
# Further classes in runs in which only some flows use ECN.
ECN, NOT_ECN = "ecn", "not-ecn"
STATISTICS = ("mean", "p50", "p99")
# p999 is for large runs: with fewer than 1000 values it is the largest of them.
ALL_STATISTICS = (*STATISTICS, "p999")


# Times at which distributions are counted: 1, 2 and 5 times each power of ten, from 1 us to 50 s.
TIMES_NS = tuple(digit * 10**power for power in range(3, 11) for digit in (1, 2, 5))


class Sample(Model):
    """Finished flows of one class and seed. Percentiles are by nearest rank; None without a flow."""

    n: int
    mean: float | None = None
    p50: float | None = None
    p99: float | None = None
    p999: float | None = None


class Confidence(Model):
    """95 % confidence intervals over the seeds; None if there are too few seeds."""

    mean: Interval | None = None
    p50: Interval | None = None
    p99: Interval | None = None
    p999: Interval | None = None


class Estimate(Sample):
    """Means over the seeds of each seed's statistics; `n` counts the flows of all seeds."""

    ci95: Confidence = Confidence()


class RttSample(Sample):
    """Round trips of the probes of one seed, in us. `lost` counts requests without a reply when the run ended."""

    lost: int = 0


class RttEstimate(Estimate):
    """Means over the seeds of each seed's statistics; `n` and `lost` are sums."""

    lost: int = 0


class Distribution(Sample):
    """A sample with its quantiles at each of `curves.PARTS`, if distributions were asked for."""

    quantiles: tuple[float, ...] = ()


class QueueSample(Distribution):
    """Packets that waited at ports, sampled `n` times at even intervals; `max` is the largest sample."""

    max: int


class ActiveFlows(Model):
    """5-tuples with packets that waited at a port of the bottleneck, sampled `n` times over all of its ports.

    Percentiles are by nearest rank.
    """

    n: int
    mean: float
    p50: float
    p90: float
    p99: float
    max: int


class QueueEstimate(Estimate):
    """Means over the seeds of each seed's statistics, and the largest sample of all seeds."""

    max: int


# Key of all ports together, beside the keys of single kinds of switches.
ALL_PORTS = "all"

# Key of all probes together.
ALL_PROBES = "all"

Samples = dict[str, Sample]
Estimates = dict[str, Estimate]


class Drops(Model):
    """Lost packets by place. `switch` counts those that a program dropped, `queue` those that found a full queue."""

    host: int = 0
    link: int = 0
    queue: int = 0
    switch: int = 0

    @property
    def total(self) -> int:
        """Packets lost at all places."""
        return self.host + self.link + self.queue + self.switch


class Marks(Model):
    """Marked packets: as the network saw them by switch port, and as the program counted them by cause."""

    total: int = 0
    by_cause: dict[str, int] = Field(default_factory=dict)
    by_port: dict[str, int] = Field(default_factory=dict)
    # Other packets that the program chose: passed unmarked because they were not ECN capable, or dropped.
    not_capable: int = 0
    dropped: int = 0


class EcnInterference(Model):
    """What happened to ECN between hosts, apart from marks; all 0 if switches only mark. Real hosts do not count it.

    Packets that were sent ECN capable and arrived as Not-ECT (`bleached`), the reverse (`forged`), were marked and
    arrived unmarked (`erased`), or arrived with the other code point of ECT (`rewritten`); and connections that asked
    for ECN and did not get it (`refused`).
    """

    bleached: int = 0
    forged: int = 0
    erased: int = 0
    rewritten: int = 0
    refused: int = 0


class Sharing(Model):
    """How services shared the network: by code point, the payload delivered divided by the time of the whole run.

    `jain` is Jain's index of these rates; None if nothing was delivered.
    """

    goodput_bps: dict[int, float]
    jain: float | None


class QueueLength(Model):
    """Packets that waited at the bottleneck's ports: mean over time and ports, and the most at any one port.

    `beyond` has the fractions of time, as the mean over the ports, in which the bytes that waited took a line longer
    than each of TIMES_NS; results of older versions lack it.
    """

    mean: float
    max: float
    beyond: tuple[float, ...] = ()


class WindowMeans(Model):
    """What was recorded in a window: rates of services (payload), queue lengths; rates and windows of few flows."""

    services_bps: dict[int, float] = Field(default_factory=dict)
    flows_bps: dict[int, float] = Field(default_factory=dict)
    # Mean congestion windows of flows in full segments, over the part of the window in which they sent.
    cwnd_packets: dict[int, float] = Field(default_factory=dict)
    queue_packets: QueueLength | None = None


class FlowShare(Model):
    """A flow after a start: max-min share, mean rate in the second half, and time until the rate stayed near the share.

    The time is None if the rate never stayed there.
    """

    share_bps: float
    rate_bps: float
    converged_us: float | None


class JobSample(Model):
    """A job of parallel training in one seed.

    `iteration_us` are the times from when the last host has all of an iteration's result, or from the job's start,
    until the last host has that of the next iteration; with computation. `spread_us` are the times between the first
    and the last host to have it. `done_us` is the time of all iterations together; None if some were not over when the
    run ended.
    """

    iterations: int
    of: int
    iteration_us: Sample
    spread_us: Sample
    done_us: float | None = None


class JobEstimate(Model):
    """A job over the seeds; `done_us` is the mean over those in which it was over, with its interval."""

    iterations: int
    of: int
    iteration_us: Estimate
    spread_us: Estimate
    done_us: float | None = None
    done_ci95: Interval | None = None


class Change(Model):
    """The active flows after a flow has started, until the next start or end of a flow."""

    until_us: float
    flows: dict[int, FlowShare]


class Classification(Model):
    """Flows by their marks, and by whether they sent faster than their max-min share (DiffECN paper, section IV-C).

    A flow is classified as congested if one of its packets was marked. Accuracy is the fraction of flows that were
    classified correctly (Eq. 3), recall the fraction of congested flows that were marked (Eq. 4). A fraction of no
    flows is None.
    """

    congested_marked: int
    congested_unmarked: int
    others_marked: int
    others_unmarked: int
    accuracy: float | None
    recall: float | None

    @classmethod
    def of(
        cls, *, congested_marked: int, congested_unmarked: int, others_marked: int, others_unmarked: int
    ) -> Classification:
        """Classification with these numbers of flows."""
        right, congested = congested_marked + others_unmarked, congested_marked + congested_unmarked
        return cls(
            congested_marked=congested_marked,
            congested_unmarked=congested_unmarked,
            others_marked=others_marked,
            others_unmarked=others_unmarked,
            accuracy=_part(right, congested + others_marked + others_unmarked),
            recall=_part(congested_marked, congested),
        )


def _part(some: int, of: int) -> float | None:
    return some / of if of else None


class RealTime(Model):
    """How a cell ran on real hosts and switches. Times are as measured, without removing the dilation."""

    dilation: int
    switch: str
    # Why earlier attempts failed to show that the machine carries the run; and smaller dilations that were tried
    # before, each with the reason why its result does not count.
    failed_attempts: tuple[str, ...] = ()
    given_up: tuple[str, ...] = ()
    duration_s: float
    # Frames per second that the machine carries with this program, and that the run needs when its bottleneck is full.
    capacity_fps: float
    needed_fps: float
    # Lateness of the switches' dequeues after the time at which the line was free, and of the flows' starts.
    lateness_p50_us: float
    lateness_p99_us: float
    late_start_p99_us: float
    cpu_busy: float
    softirq_drops: int
    # From a burst of mixed sizes that fills the queue: measured rate of the line, and the most packets that waited.
    drain_ratio: float | None
    standing_packets: int | None
    # Pings through an empty network: expected and measured.
    rtt_us: tuple[tuple[float, float], ...]
    marks_made: int
    ce_received: int
    marks_echoed: int
    buffers: tuple[str, ...]
    # Thresholds that the kernel took for those of DCTCP in BPF, which it had not run.
    replaced_answers: int = 0


class PortPauses(Model):
    """Pauses of one transmitter."""

    pauses: int
    paused_us: float


class Pauses(Model):
    """Pauses of the transmitters whose lines lead to switches, under PFC.

    `share` is the fraction of the run that a transmitter was paused, as the mean over all transmitters. `rate_bps` is
    the rate of all pause frames together, 64 bytes each, including the frames that end pauses. `by_port` has the
    transmitters that were paused.
    """

    pauses: int
    paused_us: float
    share: float
    rate_bps: float
    # Most bytes that waited in a switch and had arrived at the same port.
    max_held_bytes: int
    by_port: dict[str, PortPauses] = Field(default_factory=dict)


class Priority(Model):
    """Packets whose flow had sent more than `above_bytes` before, up to the next priority's number.

    `sent` counts packets with data, as hosts send them; `marked` counts all packets that switches marked.
    """

    above_bytes: int
    sent: int
    marked: int


class TierUse(Model):
    """Utilisation of the lines from one tier to another: their number, the mean over them, and the largest."""

    lines: int
    mean: float
    max: float


class BusyLine(Model):
    """A line by its ends, as `l0:8 -> p1`, and its utilisation in a seed. Hosts have one port, which is left out."""

    line: str
    utilisation: float
    seed: int


class LineUse(Model):
    """Utilisation of all lines of a network of several switches, over the same time as that of the bottleneck.

    `tiers` has a key for each direction, as `leaf -> spine`. `busiest` has the lines with the highest utilisation in
    any seed, the highest first; lines without traffic are left out.
    """

    tiers: dict[str, TierUse]
    busiest: tuple[BusyLine, ...]


# Most lines of `LineUse.busiest`.
MOST_BUSIEST = 5


class SeedResult(Model):
    """One cell."""

    seed: int
    flow_list: str  # digest: cells with the same one can be compared in pairs
    fct_us: Samples
    slowdown: Samples
    unfinished: int
    # Of the flows of each class that have an end, also of unfinished ones, the fractions that finished within each of
    # TIMES_NS. Classes without flows are left out.
    within: dict[str, tuple[float, ...]] = Field(default_factory=dict)
    endless: int = 0
    # Flows on whose connection every packet waited in queues for longer than half of the delay threshold.
    without_base_delay: int = 0
    drops: Drops
    lost: tuple[str, ...] = ()
    # Operations of the program whose result P4 leaves undefined.
    faults: int = 0
    timeouts: int
    retransmissions: int
    marks: Marks
    ecn: EcnInterference = EcnInterference()
    pauses: Pauses | None = None
    # The highest first.
    priorities: tuple[Priority, ...] | None = None
    sharing: Sharing | None = None
    # By name.
    jobs: dict[str, JobSample] = Field(default_factory=dict)
    # By probe, and for all probes together.
    rtt_us: dict[str, RttSample] = Field(default_factory=dict)
    # From data to its acknowledgement, as senders measure it, to within 1 %.
    tcp_rtt_us: Distribution | None = None
    # Mean of each flow's round trips, averaged over the time that flows are under way.
    flow_rtt_us: float | None = None
    # Mean congestion windows of flows by number, in full segments, if there are few flows.
    cwnd_packets: dict[int, float] = Field(default_factory=dict)
    # Sampled queue lengths, by kind of switch and for all ports.
    queues_packets: dict[str, QueueSample] = Field(default_factory=dict)
    active_flows: ActiveFlows | None = None
    windows: dict[str, WindowMeans] = Field(default_factory=dict)
    # By the time at which a flow started.
    convergence: dict[str, Change] = Field(default_factory=dict)
    classification: Classification | None = None
    utilisation: float
    # None with one switch, and on real hosts.
    line_use: LineUse | None = None
    link_transmissions: int
    events: int
    engine_cpu_s: float
    # Only in a run on real hosts and switches.
    real_time: RealTime | None = None


class SchemeResult(Model):
    """One scheme over all seeds. Counts are sums; utilisation, sharing and rates are means."""

    label: str
    program: str
    parameters: dict[str, str]
    fct_us: Estimates
    normalised: Estimates | None = None
    slowdown: Estimates
    unfinished: int
    endless: int = 0
    drops: Drops
    timeouts: int
    retransmissions: int
    marks: Marks
    ecn: EcnInterference = EcnInterference()
    pauses: Pauses | None = None
    # The highest first.
    priorities: tuple[Priority, ...] | None = None
    sharing: Sharing | None = None
    jobs: dict[str, JobEstimate] = Field(default_factory=dict)
    rtt_us: dict[str, RttEstimate] = Field(default_factory=dict)
    tcp_rtt_us: Estimate | None = None
    queues_packets: dict[str, QueueEstimate] = Field(default_factory=dict)
    windows: dict[str, WindowMeans] = Field(default_factory=dict)
    convergence: dict[str, Change] = Field(default_factory=dict)
    classification: Classification | None = None
    utilisation: float
    # None with one switch, and on real hosts.
    line_use: LineUse | None = None
    link_transmissions: int
    events: int
    engine_cpu_s: float
    doubts: tuple[Doubt, ...] = ()
    seeds: tuple[SeedResult, ...]

    @model_validator(mode="before")
    @classmethod
    def _of_older_versions(cls, plain: Any) -> Any:
        """Read doubts from `warnings`: older versions wrote only that text, and files still have it for readers."""
        if not isinstance(plain, dict) or "warnings" not in plain:
            return plain
        return {"doubts": plain["warnings"], **{name: value for name, value in plain.items() if name != "warnings"}}

    @computed_field  # type: ignore[prop-decorator] # https://docs.pydantic.dev/2.0/usage/computed_fields
    @property
    def warnings(self) -> tuple[str, ...]:
        """Reasons to doubt its numbers, as text."""
        return tuple(map(str, self.doubts))


class Summary(Model):
    """A run."""

    spec: dict[str, Any]
    scheme: str
    baseline: str | None
    schemes: dict[str, SchemeResult]
    versions: dict[str, Any]

    @property
    def main(self) -> SchemeResult:
        """The main scheme of the run."""
        return self.schemes[self.scheme]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Reasons to doubt numbers of the run."""
        return tuple(f"{label}: {text}" for label, result in self.schemes.items() for text in result.warnings)

    def to_json(self) -> dict[str, Any]:
        """Plain data: the main scheme's numbers at the top level, the numbers of every scheme under `schemes`."""
        plain = self.model_dump(mode="json")
        top = plain["schemes"][self.scheme]
        shown = {key: value for key, value in top.items() if key not in ("label", "seeds", "warnings", "doubts")}
        return {
            "spec": plain["spec"],
            "scheme": self.scheme,
            "baseline": self.baseline,
            **shown,
            "warnings": list(self.warnings),
            "schemes": plain["schemes"],
            "versions": plain["versions"],
        }


def read_summary(plain: dict[str, Any]) -> Summary:
    """The summary that `to_json` wrote."""
    return Summary.model_validate({name: plain[name] for name in Summary.model_fields})
