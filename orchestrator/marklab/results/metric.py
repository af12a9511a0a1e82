# SPDX-License-Identifier: MIT OR Apache-2.0
"""Metrics: name, unit and direction of a number of a seed, where a result has it, and how it is written.

Tables, charts, comparisons, rules and the claims of papers all use these definitions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from marklab.errors import BadInput, unknown
from marklab.results.summary import (
    ALL_PORTS,
    ALL_PROBES,
    ALL_STATISTICS,
    ECN,
    LARGE_BYTES,
    NOT_ECN,
    QUERY,
    SHORT_BYTES,
    TIMES_NS,
    WORKLOAD_SHORT,
    Pauses,
    SeedResult,
)
from marklab.spec.windows import TimeWindow
from marklab.statistics.samples import Interval, mean, mean_interval
from marklab.units import format_time, parse_time

# A number over the seeds, with its 95 % confidence interval if that is known.
Value = tuple[float, Interval | None]
Of = Callable[[SeedResult], float | None]
Match = re.Match[str]


def with_interval(value: float | None, interval: Interval | None, form: str, none: str = "no flow") -> str:
    """A number and half the width of its confidence interval."""
    if value is None:
        return none
    half = f" ±{form.format((interval[1] - interval[0]) / 2)}" if interval else ""
    return form.format(value) + half


@dataclass(frozen=True)
class Metric:
    """A number of each seed. `worse` is +1 if more is worse, -1 if less is, 0 if neither is; counts have no unit.

    Tables call it `title` and write it as `form`; charts explain it with `says`. `needs` names the settings without
    which a run does not have it. A `counted` metric is added up over seeds and over points of a grid, and may be 0.
    Other metrics are averaged over the seeds, and compared as ratios.
    """

    name: str
    of: Of
    worse: int
    unit: str = ""
    title: str = ""
    says: str = ""
    form: str = "{:,.0f}"
    needs: tuple[str, ...] = ()
    window: TimeWindow | None = None
    counted: bool = False

    @property
    def in_percent(self) -> bool:
        """Whether it is a fraction that is shown in percent."""
        return self.form.endswith("%}")

    def per_seed(self, seeds: Sequence[SeedResult]) -> Value | None:
        """Its mean over the seeds that have it."""
        values = self._values(seeds)
        return (mean(values), mean_interval(values)) if values else None

    def text(self, seeds: Sequence[SeedResult], none: str = "", *, bounds: bool = True) -> str:
        """Its value over the seeds that have it, as tables write it: the sum of a count, or the mean with `bounds`."""
        if self.counted:
            values = self._values(seeds)
            return self.form.format(sum(values)) if values else none
        value, interval = self.per_seed(seeds) or (None, None)
        return with_interval(value, interval if bounds else None, self.form, none)

    def _values(self, seeds: Sequence[SeedResult]) -> list[float]:
        return [value for seed in seeds if (value := self.of(seed)) is not None]


@dataclass(frozen=True)
class FlowGroup:
    """Flows that are shown together, their names in tables and charts, and the settings that they need."""

    title: str
    says: str
    needs: tuple[str, ...] = ()


GROUPS = {
    "overall": FlowGroup("overall", "all flows"),
    "short": FlowGroup(f"short ≤{SHORT_BYTES // 1000} KB", f"flows up to {SHORT_BYTES // 1000} KB"),
    "medium": FlowGroup("medium", "medium flows"),
    "large": FlowGroup(f"large >{LARGE_BYTES // 1_000_000} MB", f"flows above {LARGE_BYTES // 1_000_000} MB"),
    QUERY: FlowGroup("queries", "flows of queries", ("queries",)),
    WORKLOAD_SHORT: FlowGroup("short, no queries", "flows up to 100 KB that are no part of a query", ("queries",)),
    ECN: FlowGroup("with ECN", "flows with ECN", ("ecn_share",)),
    NOT_ECN: FlowGroup("without ECN", "flows without ECN", ("ecn_share",)),
}
STATISTIC_NAMES = {"mean": "mean", "p50": "median", "p99": "99th percentile", "p999": "99.9th percentile"}

# The completion times that the papers' figures show: group of flows, statistic.
HEADLINE = (("overall", "mean"), ("short", "mean"), ("short", "p99"), ("large", "mean"))
# In addition, where a run has queries.
QUERY_HEADLINE = ((QUERY, "mean"), (QUERY, "p99"))


def _field(of: Callable[[SeedResult], Any], name: str, times: float = 1) -> Of:
    """A number of a block that only some seeds have."""

    def value(seed: SeedResult) -> float | None:
        found = getattr(of(seed), name, None)
        return None if found is None else times * found

    return value


def _of_flows() -> Iterator[Metric]:
    for name, group in GROUPS.items():
        for stat in ALL_STATISTICS:
            title, says = f"{group.title} {stat}", f"{STATISTIC_NAMES[stat]} of {group.says}"
            fct, slowdown = (_field(_group(block, name), stat) for block in ("fct_us", "slowdown"))
            yield Metric(f"{name}.{stat}", fct, 1, "µs", title, says, needs=group.needs)
            yield Metric(f"slowdown.{name}.{stat}", slowdown, 1, "", title, says, "{:.2f}", group.needs)


def _group(block: str, name: str) -> Callable[[SeedResult], Any]:
    return lambda seed: getattr(seed, block).get(name)


def _count(name: str, says: str, of: Callable[[SeedResult], int], worse: int = 1, title: str = "") -> Metric:
    return Metric(name, lambda seed: float(of(seed)), worse, "", title or name, says, counted=True)


def _counts() -> Iterator[Metric]:
    yield _count("drops.host", "Packets that a host lost.", lambda seed: seed.drops.host)
    yield _count("drops.link", "Packets that a link lost.", lambda seed: seed.drops.link)
    yield _count("drops.queue", "Packets that found a full queue.", lambda seed: seed.drops.queue, title="drops: queue")
    yield _count("drops.switch", "Packets that the program dropped.", lambda seed: seed.drops.switch)
    yield _count("drops", "Packets lost at all places.", lambda seed: seed.drops.total)
    says = "Flows that finished."
    yield _count("completed", says, lambda seed: seed.fct_us["overall"].n, worse=-1, title="completed flows")
    yield _count("unfinished", "Flows that did not finish.", lambda seed: seed.unfinished, title="unfinished flows")
    yield _count("timeouts", "Retransmission timeouts of senders.", lambda seed: seed.timeouts)
    yield _count("retransmissions", "Segments that were sent again.", lambda seed: seed.retransmissions)
    yield _count("marks", "Packets that a switch marked.", lambda seed: seed.marks.total, worse=0)


def _of_pauses() -> Iterator[Metric]:
    pauses = _pause(lambda found: float(found.pauses))
    share = _pause(lambda found: 100 * found.share)
    rate = _pause(lambda found: found.rate_bps / 1e6)
    needs, says = ("pfc",), "Fraction of the run in which a line was paused."
    yield Metric("pauses", pauses, 1, "", "pauses", "Pauses of lines.", needs=needs, counted=True)
    yield Metric("pause_share", share, 1, "%", "paused", says, "{:.2f}%", needs)
    yield Metric("pause_rate", rate, 1, "Mb/s", "pause frames", "Rate of pause frames.", "{:,.2f} Mb/s", needs)


def _pause(of: Callable[[Pauses], float]) -> Of:
    return lambda seed: None if seed.pauses is None else of(seed.pauses)


def _sampled() -> Iterator[Metric]:
    for stat in ALL_STATISTICS:
        rtt = _field(lambda seed: seed.rtt_us.get(ALL_PROBES), stat)
        tcp = _field(lambda seed: seed.tcp_rtt_us, stat)
        queues = _field(lambda seed: seed.queues_packets.get(ALL_PORTS), stat)
        yield Metric(f"rtt.{stat}", rtt, 1, "µs", stat, "Of ICMP echoes.", "{:,.1f}", ("probes",))
        yield Metric(f"tcp_rtt.{stat}", tcp, 1, "µs", stat, "As senders measure it.", "{:,.1f}")
        yield Metric(f"queues.{stat}", queues, 1, "packets", stat, "At all ports.", "{:,.1f}", ("sample_queues",))
    says = "As senders measure it, averaged over the time that flows are under way."
    yield Metric("flow_rtt.mean", lambda seed: seed.flow_rtt_us, 1, "µs", "mean", says, "{:,.1f}")
    longest = _field(lambda seed: seed.queues_packets.get(ALL_PORTS), "max")
    yield Metric("queues.max", longest, 1, "packets", "max", "At all ports.", needs=("sample_queues",))
    says = "Flows with packets that wait at a port of the bottleneck."
    for stat in ("mean", "p50", "p90", "p99", "max"):
        active = _field(lambda seed: seed.active_flows, stat)
        yield Metric(f"active.{stat}", active, 0, "flows", f"active {stat}", says, "{:,.1f}", ("sample_queues",))
    lost = _field(lambda seed: seed.rtt_us.get(ALL_PROBES), "lost")
    yield Metric("rtt.lost", lost, 1, "", "lost", "Requests without a reply.", needs=("probes",), counted=True)


def _metrics() -> Iterator[Metric]:
    yield from _of_flows()
    yield from _counts()
    yield from _of_pauses()
    jain = _field(lambda seed: seed.sharing, "jain")
    says = "Jain's index of the services' goodputs; 1 if all are equal."
    yield Metric("jain", jain, -1, "", "Jain's index", says, "{:.4f}")
    yield from _sampled()
    for part in ("accuracy", "recall"):
        of = _field(lambda seed: seed.classification, part, 100)
        yield Metric(part, of, -1, "%", part, "", "{:.1f}%", ("trace_flows", "trace_queue"))
    says = "Fraction of time that the bottleneck was busy, until the last flow began."
    yield Metric("utilisation", lambda seed: seed.utilisation, -1, "", "utilisation", says, "{:.1%}")


METRICS = {metric.name: metric for metric in _metrics()}


def find_metric(name: str, kind: str = "metric") -> Metric:
    """Find a metric by its name, also one of a flow, service, window or time. Unknown names are refused as a `kind`."""
    if name in METRICS:
        return METRICS[name]
    for pattern, made in _PATTERNS.items():
        if match := pattern.fullmatch(name):
            return made(match)
    error = unknown(kind, name, METRICS)
    others = "overall.within.500ms, cwnd.flow0, cwnd.flow0@0ms..9ms, rate.flow0@0ms..9ms, rate.service0@0ms..9ms"
    more = "rate.all@0ms..9ms, queue.mean@0ms..9ms, queue.beyond.5ms@0ms..9ms, converged.flow0@0s, job.all-reduce.done"
    raise BadInput(str(error), f"{error.remedy}; {others}, {more}")


def _of_rate(match: Match) -> Metric:
    """The mean rate in a window, of a flow by its number, of a service by its code point, or of all flows."""
    window = TimeWindow.parse(match["window"])
    rate = _rate(match["what"], int(match["number"] or 0), str(window))
    return Metric(match[0], rate, -1, "Mb/s", needs=("trace_flows",), window=window)


def _of_queue(match: Match) -> Metric:
    """The packets that wait at the bottleneck's ports in a window."""
    window = TimeWindow.parse(match["window"])
    length = _field(lambda seed: getattr(seed.windows.get(str(window)), "queue_packets", None), match["statistic"])
    return Metric(match[0], length, 1, "packets", needs=("trace_queue",), window=window)


def _of_queue_beyond(match: Match) -> Metric:
    """The fraction of a window in which what waits takes the line longer than a time."""
    window = TimeWindow.parse(match["window"])
    beyond = _beyond(str(window), _place_of(match["time"], match[0]))
    return Metric(match[0], beyond, 1, form="{:.1%}", needs=("trace_queue",), window=window)


def _of_flows_within(match: Match) -> Metric:
    """The fraction of a group of flows that finished within a time."""
    group, place = match["group"], _place_of(match["time"], match[0])
    within = _part_at(lambda seed: seed.within.get(group, ()), place)
    return Metric(match[0], within, -1, form="{:.1%}", needs=GROUPS[group].needs)


def _of_job(match: Match) -> Metric:
    """An iteration of a job, the time between its first and its last host, or all of its iterations."""
    job, block, statistic = match["job"], match["block"], match["statistic"]
    if block is None:
        return Metric(match[0], _field(lambda seed: seed.jobs.get(job), "done_us"), 1, "µs", needs=("training",))
    of = _field(lambda seed: getattr(seed.jobs.get(job), f"{block}_us", None), statistic)
    return Metric(match[0], of, 1, "µs", needs=("training",))


def _of_convergence(match: Match) -> Metric:
    """The time that a flow takes to reach its share after a start."""
    start = format_time(parse_time(match["start"]))
    return Metric(match[0], _converged(int(match["number"]), start), 1, "µs", needs=("trace_flows",))


def _of_cwnd(match: Match) -> Metric:
    """The mean congestion window of a flow: of the whole run, or in a window of time."""
    flow, written = int(match["number"]), match["window"]
    if written is None:
        return Metric(match[0], lambda seed: seed.cwnd_packets.get(flow), 0, "packets")
    window = TimeWindow.parse(written)

    def of(seed: SeedResult) -> float | None:
        means = seed.windows.get(str(window))
        return None if means is None else means.cwnd_packets.get(flow)

    return Metric(match[0], of, 0, "packets", needs=("trace_flows",), window=window)


_WINDOW = r"@(?P<window>[0-9a-z.]+\.\.[0-9a-z.]+)"
_TIME = r"(?P<time>[0-9][0-9.]*[a-z]+)"
# Names that have numbers in them, and the metrics that they are.
_PATTERNS: dict[re.Pattern[str], Callable[[Match], Metric]] = {
    re.compile(r"rate\.(?:(?P<what>flow|service)(?P<number>[0-9]+)|all)" + _WINDOW): _of_rate,
    re.compile(r"queue\.(?P<statistic>mean|max)" + _WINDOW): _of_queue,
    re.compile(rf"queue\.beyond\.{_TIME}{_WINDOW}"): _of_queue_beyond,
    re.compile(rf"(?P<group>{'|'.join(map(re.escape, GROUPS))})\.within\.{_TIME}"): _of_flows_within,
    re.compile(
        r"job\.(?P<job>.+)\.(?:done|(?P<block>iteration|spread)\."
        rf"(?P<statistic>{'|'.join(ALL_STATISTICS)}))"
    ): _of_job,
    re.compile(r"converged\.flow(?P<number>[0-9]+)@(?P<start>[0-9][0-9a-z.]*)"): _of_convergence,
    re.compile(rf"cwnd\.flow(?P<number>[0-9]+)(?:{_WINDOW})?"): _of_cwnd,
}


def _place_of(time: str, name: str) -> int:
    """The place of a time among TIMES_NS."""
    time_ns = parse_time(time)
    if time_ns not in TIMES_NS:
        low, high = format_time(TIMES_NS[0]), format_time(TIMES_NS[-1])
        raise BadInput(f"`{name}`: nothing is counted at {time}", f"1, 2 or 5 times a power of ten, {low} to {high}")
    return TIMES_NS.index(time_ns)


def _part_at(parts: Callable[[SeedResult], tuple[float, ...]], place: int) -> Of:
    """The fraction at one of TIMES_NS; results of older versions have none."""

    def of(seed: SeedResult) -> float | None:
        found = parts(seed)
        return found[place] if found else None

    return of


def _beyond(window: str, place: int) -> Of:
    def parts(seed: SeedResult) -> tuple[float, ...]:
        means = seed.windows.get(window)
        return () if means is None or means.queue_packets is None else means.queue_packets.beyond

    return _part_at(parts, place)


def _rate(what: str | None, number: int, window: str) -> Callable[[SeedResult], float | None]:
    def of(seed: SeedResult) -> float | None:
        means = seed.windows.get(window)
        if means is None:
            return None
        if what is None:
            return sum(means.services_bps.values()) / 1e6 if means.services_bps else None
        rate = (means.flows_bps if what == "flow" else means.services_bps).get(number)
        return None if rate is None else rate / 1e6

    return of


def _converged(number: int, start: str) -> Callable[[SeedResult], float | None]:
    def of(seed: SeedResult) -> float | None:
        share = seed.convergence[start].flows.get(number) if start in seed.convergence else None
        return None if share is None else share.converged_us

    return of
