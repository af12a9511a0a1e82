# SPDX-License-Identifier: MIT OR Apache-2.0
"""The result of a run as numbers: what `--json` prints, `summary.json` holds and every report reads."""

from __future__ import annotations

from typing import Any

from pydantic import Field, computed_field, model_validator

from marklab.model import Model
from marklab.results.doubts import Doubt
from marklab.statistics.samples import Interval

SHORT_BYTES = 100_000
LARGE_BYTES = 10_000_000

# Size classes: smallest size not in them, largest size in them.
CLASSES: dict[str, tuple[int, int | None]] = {
    "overall": (0, None),
    "short": (0, SHORT_BYTES),
    "medium": (SHORT_BYTES, LARGE_BYTES),
    "large": (LARGE_BYTES, None),
}
# Beside them, in runs that have queries: their flows, of whatever size.
QUERY = "query"
# And in runs in which some take part in ECN and others do not.
ECN, NOT_ECN = "ecn", "not-ecn"
STATISTICS = ("mean", "p50", "p99")
# With one that is for large runs: of fewer than a thousand values it is the largest.
ALL_STATISTICS = (*STATISTICS, "p999")


class Sample(Model):
    """Finished flows of one class and seed. Percentiles are by nearest rank; None where there is no flow."""

    n: int
    mean: float | None = None
    p50: float | None = None
    p99: float | None = None
    p999: float | None = None


class Confidence(Model):
    """95 % confidence intervals over the seeds; None where there are too few of them."""

    mean: Interval | None = None
    p50: Interval | None = None
    p99: Interval | None = None
    p999: Interval | None = None


class Estimate(Sample):
    """Means over the seeds of what each seed gives; `n` counts the flows of all."""

    ci95: Confidence = Confidence()


class RttSample(Sample):
    """Round trips of probes of one seed, in us; `lost` are requests without a reply, at the end under way or not."""

    lost: int = 0


class RttEstimate(Estimate):
    """Means over the seeds of what each seed gives; `n` and `lost` are sums."""

    lost: int = 0


class Distribution(Sample):
    """With the values that each of `curves.PARTS` is not beyond, where distributions are asked for."""

    quantiles: tuple[float, ...] = ()


class QueueSample(Distribution):
    """Packets found waiting at ports, by looks in even intervals, `n` of them; `max` is the most at any."""

    max: int


class QueueEstimate(Estimate):
    """Means over the seeds of what each seed gives, and the most that any of them found."""

    max: int


# All ports together, beside those of switches of one kind.
ALL_PORTS = "all"

# What stands for all probes together.
ALL_PROBES = "all"

Samples = dict[str, Sample]
Estimates = dict[str, Estimate]


class Drops(Model):
    """Lost packets by place. `switch` are those that a program dropped, `queue` those that found a queue full."""

    host: int = 0
    link: int = 0
    queue: int = 0
    switch: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.host + self.link + self.queue + self.switch


class Marks(Model):
    """Marked packets: as the network saw them, and as the program counted them by cause and by switch port."""

    total: int = 0
    by_cause: dict[str, int] = Field(default_factory=dict)
    by_port: dict[str, int] = Field(default_factory=dict)
    # What the program did with others that it picked: passed as they were not ECN capable, or dropped by decision.
    not_capable: int = 0
    dropped: int = 0


class Sharing(Model):
    """How services shared the network: of each, by code point, payload delivered over the time of the whole run.

    Jain's index is that of these rates; None if nothing was delivered.
    """

    goodput_bps: dict[int, float]
    jain: float | None


class QueueLength(Model):
    """Packets that waited in a port of the bottleneck: mean over time and ports, and the most that waited in one."""

    mean: float
    max: float


class WindowMeans(Model):
    """What was recorded of a window: rates of payload, of flows by themselves where they are few, and queue lengths."""

    services_bps: dict[int, float] = Field(default_factory=dict)
    flows_bps: dict[int, float] = Field(default_factory=dict)
    queue_packets: QueueLength | None = None


class FlowShare(Model):
    """A flow after a start: max-min share, mean rate in the second half, and time until it stayed near the share."""

    share_bps: float
    rate_bps: float
    converged_us: float | None


class Change(Model):
    """Flows that are under way after one has started, until one starts or ends."""

    until_us: float
    flows: dict[int, FlowShare]


class Classification(Model):
    """Flows by their marks, and by whether they sent faster than their max-min share (DiffECN paper, section IV-C).

    A flow is taken for congested if a packet of it was marked. Accuracy is the fraction of flows that were taken for
    what they are (Eq. 3), recall the part of the congested ones that were marked (Eq. 4); None where there are none.
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
        """Of numbers of flows."""
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
    """What a cell on real hosts and switches went through; times as they were, not those of the undilated result."""

    dilation: int
    switch: str
    # What earlier attempts to show that the machine carries the run found wrong, and smaller dilations that it was run
    # at before, each with the reason why that did not count.
    failed_attempts: tuple[str, ...] = ()
    given_up: tuple[str, ...] = ()
    duration_s: float
    # What the machine carries with this program, and what the run needs when its bottleneck is full.
    capacity_fps: float
    needed_fps: float
    # Of the switches' dequeues, against the time at which the line was free; and of flows' starts.
    lateness_p50_us: float
    lateness_p99_us: float
    late_start_p99_us: float
    cpu_busy: float
    softirq_drops: int
    # Of a burst of mixed sizes that fills the queue: rate of the line measured, and the most packets that waited.
    drain_ratio: float | None
    standing_packets: int | None
    # Pings through an empty network: expected and measured.
    rtt_us: tuple[tuple[float, float], ...]
    marks_made: int
    ce_received: int
    marks_echoed: int
    buffers: tuple[str, ...]


class PortPauses(Model):
    """Pauses of one transmitter."""

    pauses: int
    paused_us: float


class Pauses(Model):
    """Pauses of the transmitters whose lines lead to switches, under PFC.

    `share` is the part of the run that a transmitter was paused, in the mean over all of them; `rate_bps` what all
    pause frames are together, 64 bytes each, those that end pauses included. `by_port` has those that were paused.
    """

    pauses: int
    paused_us: float
    share: float
    rate_bps: float
    # Most that waited in a switch and had come by one port.
    max_held_bytes: int
    by_port: dict[str, PortPauses] = Field(default_factory=dict)


class Priority(Model):
    """Packets whose flow had sent more than `above_bytes` before, up to the next priority's number.

    `sent` counts those with data, as hosts send them; `marked` all that switches marked, whatever they carry.
    """

    above_bytes: int
    sent: int
    marked: int


class SeedResult(Model):
    """One cell."""

    seed: int
    flow_list: str  # digest: cells with the same one can be compared in pairs
    fct_us: Samples
    slowdown: Samples
    unfinished: int
    endless: int = 0
    # Flows on whose connection every packet had waited in queues for longer than half of the delay threshold.
    without_base_delay: int = 0
    drops: Drops
    lost: tuple[str, ...] = ()
    # What its program did that P4 leaves undefined.
    faults: int = 0
    timeouts: int
    retransmissions: int
    marks: Marks
    pauses: Pauses | None = None
    # The highest first.
    priorities: tuple[Priority, ...] | None = None
    sharing: Sharing | None = None
    # By probe, and all together.
    rtt_us: dict[str, RttSample] = Field(default_factory=dict)
    # Of data and its acknowledgement, as senders measure it, to a percent.
    tcp_rtt_us: Distribution | None = None
    # Mean windows of flows by their number, in full segments, where flows are few.
    cwnd_packets: dict[int, float] = Field(default_factory=dict)
    # What looks at ports found, by kind of switch and of all.
    queues_packets: dict[str, QueueSample] = Field(default_factory=dict)
    windows: dict[str, WindowMeans] = Field(default_factory=dict)
    # By the time of the start.
    convergence: dict[str, Change] = Field(default_factory=dict)
    classification: Classification | None = None
    utilisation: float
    link_transmissions: int
    events: int
    engine_cpu_s: float
    # Of a run on real hosts and switches.
    real_time: RealTime | None = None


class SchemeResult(Model):
    """One scheme over all seeds. Counts are sums, utilisation, sharing and rates are means."""

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
    pauses: Pauses | None = None
    # The highest first.
    priorities: tuple[Priority, ...] | None = None
    sharing: Sharing | None = None
    rtt_us: dict[str, RttEstimate] = Field(default_factory=dict)
    tcp_rtt_us: Estimate | None = None
    queues_packets: dict[str, QueueEstimate] = Field(default_factory=dict)
    windows: dict[str, WindowMeans] = Field(default_factory=dict)
    convergence: dict[str, Change] = Field(default_factory=dict)
    classification: Classification | None = None
    utilisation: float
    link_transmissions: int
    events: int
    engine_cpu_s: float
    doubts: tuple[Doubt, ...] = ()
    seeds: tuple[SeedResult, ...]

    @model_validator(mode="before")
    @classmethod
    def _of_older_versions(cls, plain: Any) -> Any:
        """They had doubts in words alone, which a file still has for its readers."""
        if not isinstance(plain, dict) or "warnings" not in plain:
            return plain
        return {"doubts": plain["warnings"], **{name: value for name, value in plain.items() if name != "warnings"}}

    @computed_field  # type: ignore[prop-decorator] # https://docs.pydantic.dev/2.0/usage/computed_fields
    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes its numbers doubtful, in words."""
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
        """The scheme that the run is about."""
        return self.schemes[self.scheme]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes numbers of the run doubtful."""
        return tuple(f"{label}: {text}" for label, result in self.schemes.items() for text in result.warnings)

    def to_json(self) -> dict[str, Any]:
        """Plain data: the main scheme's numbers on top, those of every scheme under `schemes`."""
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
