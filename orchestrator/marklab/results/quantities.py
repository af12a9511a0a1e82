# SPDX-License-Identifier: MIT OR Apache-2.0
"""Numbers of a seed by name: what comparisons, rules and the claims of papers are about."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from marklab.errors import BadInput, unknown
from marklab.results.summary import (
    ALL_PORTS,
    ALL_PROBES,
    ALL_STATISTICS,
    CLASSES,
    ECN,
    NOT_ECN,
    QUERY,
    Pauses,
    SeedResult,
)
from marklab.spec.windows import TimeWindow
from marklab.units import format_time, parse_time


@dataclass(frozen=True)
class Metric:
    """A number of each seed. `worse` is +1 if more is worse, -1 if less is, 0 if neither is; counts have no unit.

    `needs` names the settings without which a run does not have it. What is `counted` is added up over points of a
    grid, and may be 0; of other numbers ratios are compared.
    """

    name: str
    of: Callable[[SeedResult], float | None]
    worse: int
    unit: str = ""
    needs: tuple[str, ...] = ()
    window: TimeWindow | None = None
    counted: bool = False


def _sample(block: str, size_class: str, statistic: str) -> Callable[[SeedResult], float | None]:
    return lambda seed: getattr(getattr(seed, block).get(size_class), statistic, None)


def _drops(place: str) -> Callable[[SeedResult], float | None]:
    return lambda seed: float(getattr(seed.drops, place))


def _round_trips(statistic: str) -> Callable[[SeedResult], float | None]:
    return lambda seed: getattr(seed.rtt_us.get(ALL_PROBES), statistic, None)


def _tcp_round_trips(statistic: str) -> Callable[[SeedResult], float | None]:
    return lambda seed: getattr(seed.tcp_rtt_us, statistic, None)


def _queues(statistic: str) -> Callable[[SeedResult], float | None]:
    return lambda seed: getattr(seed.queues_packets.get(ALL_PORTS), statistic, None)


def _classified(statistic: str) -> Callable[[SeedResult], float | None]:
    def of(seed: SeedResult) -> float | None:
        part = getattr(seed.classification, statistic, None)
        return None if part is None else 100 * part

    return of


def _pauses(of: Callable[[Pauses], float]) -> Callable[[SeedResult], float | None]:
    return lambda seed: None if seed.pauses is None else of(seed.pauses)


# Settings without which a run has no such flows.
_NEEDS = {QUERY: ("queries",), ECN: ("ecn_share",), NOT_ECN: ("ecn_share",)}


def _metrics() -> Iterator[Metric]:
    for name in (*CLASSES, QUERY, ECN, NOT_ECN):
        needs = _NEEDS.get(name, ())
        for statistic in ALL_STATISTICS:
            yield Metric(f"{name}.{statistic}", _sample("fct_us", name, statistic), 1, "µs", needs=needs)
            yield Metric(f"slowdown.{name}.{statistic}", _sample("slowdown", name, statistic), 1, needs=needs)
    for place in ("host", "link", "queue", "switch"):
        yield Metric(f"drops.{place}", _drops(place), 1, counted=True)
    yield Metric("drops", lambda seed: float(seed.drops.total), 1, counted=True)
    yield Metric("unfinished", lambda seed: float(seed.unfinished), 1, counted=True)
    yield Metric("timeouts", lambda seed: float(seed.timeouts), 1, counted=True)
    yield Metric("retransmissions", lambda seed: float(seed.retransmissions), 1, counted=True)
    yield Metric("marks", lambda seed: float(seed.marks.total), 0, counted=True)
    yield Metric("pauses", _pauses(lambda found: float(found.pauses)), 1, needs=("pfc",), counted=True)
    yield Metric("pause_share", _pauses(lambda found: 100 * found.share), 1, "%", needs=("pfc",))
    yield Metric("pause_rate", _pauses(lambda found: found.rate_bps / 1e6), 1, "Mb/s", needs=("pfc",))
    yield Metric("jain", lambda seed: seed.sharing.jain if seed.sharing else None, -1)
    for statistic in ALL_STATISTICS:
        yield Metric(f"rtt.{statistic}", _round_trips(statistic), 1, "µs", needs=("probes",))
        yield Metric(f"tcp_rtt.{statistic}", _tcp_round_trips(statistic), 1, "µs")
        yield Metric(f"queues.{statistic}", _queues(statistic), 1, "packets", needs=("sample_queues",))
    yield Metric("queues.max", _queues("max"), 1, "packets", needs=("sample_queues",))
    yield Metric("rtt.lost", _round_trips("lost"), 1, needs=("probes",), counted=True)
    for part in ("accuracy", "recall"):
        yield Metric(part, _classified(part), -1, "%", needs=("trace_flows", "trace_queue"))
    yield Metric("utilisation", lambda seed: seed.utilisation, -1)


METRICS = {metric.name: metric for metric in _metrics()}

# Of a flow by its number, or a service by its code point, the mean rate in a window; of the bottleneck's ports, the
# packets that wait in a window; of a flow, the time to its share after the start at a time.
_WINDOW = r"@(?P<window>[0-9a-z.]+\.\.[0-9a-z.]+)"
_RATE = re.compile(r"rate\.(?P<what>flow|service)(?P<number>[0-9]+)" + _WINDOW)
_QUEUE = re.compile(r"queue\.(?P<statistic>mean|max)" + _WINDOW)
_CWND = re.compile(r"cwnd\.flow(?P<number>[0-9]+)")
_CONVERGED = re.compile(r"converged\.flow(?P<number>[0-9]+)@(?P<start>[0-9][0-9a-z.]*)")


def find_metric(name: str, kind: str = "metric") -> Metric:
    """The metric of a name, which may be one of a flow, service or window; an unknown one is refused as `kind`."""
    if name in METRICS:
        return METRICS[name]
    if match := _RATE.fullmatch(name):
        window = TimeWindow.parse(match["window"])
        rate = _rate(match["what"], int(match["number"]), str(window))
        return Metric(name, rate, -1, "Mb/s", needs=("trace_flows",), window=window)
    if match := _QUEUE.fullmatch(name):
        window = TimeWindow.parse(match["window"])
        length = _queue_length(match["statistic"], str(window))
        return Metric(name, length, 1, "packets", needs=("trace_queue",), window=window)
    if match := _CONVERGED.fullmatch(name):
        start = format_time(parse_time(match["start"]))
        return Metric(name, _converged(int(match["number"]), start), 1, "µs", needs=("trace_flows",))
    if match := _CWND.fullmatch(name):
        return Metric(name, _window_of(int(match["number"])), 0, "packets")
    error = unknown(kind, name, METRICS)
    others = "cwnd.flow0, rate.flow0@0ms..9ms, rate.service0@0ms..9ms, queue.mean@0ms..9ms, converged.flow0@0s"
    raise BadInput(str(error), f"{error.remedy}; {others}")


def _rate(what: str, number: int, window: str) -> Callable[[SeedResult], float | None]:
    def of(seed: SeedResult) -> float | None:
        means = seed.windows.get(window)
        if means is None:
            return None
        rate = (means.flows_bps if what == "flow" else means.services_bps).get(number)
        return None if rate is None else rate / 1e6

    return of


def _window_of(number: int) -> Callable[[SeedResult], float | None]:
    return lambda seed: seed.cwnd_packets.get(number)


def _queue_length(statistic: str, window: str) -> Callable[[SeedResult], float | None]:
    def of(seed: SeedResult) -> float | None:
        means = seed.windows.get(window)
        return getattr(means.queue_packets, statistic, None) if means is not None else None

    return of


def _converged(number: int, start: str) -> Callable[[SeedResult], float | None]:
    def of(seed: SeedResult) -> float | None:
        share = seed.convergence[start].flows.get(number) if start in seed.convergence else None
        return None if share is None else share.converged_us

    return of
