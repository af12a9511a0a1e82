"""Numbers of a seed by name: what comparisons, rules and the claims of papers are about."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from orchestrator.errors import BadInput, unknown
from orchestrator.summary import ALL_PROBES, CLASSES, STATISTICS, SeedResult
from orchestrator.units import format_time, parse_time
from orchestrator.windows import TimeWindow


@dataclass(frozen=True)
class Metric:
    """A number of each seed. `worse` is +1 if more is worse, -1 if less is, 0 if neither is; counts have no unit."""

    name: str
    of: Callable[[SeedResult], float | None]
    worse: int
    unit: str = ""


def _sample(block: str, size_class: str, statistic: str) -> Callable[[SeedResult], float | None]:
    return lambda seed: getattr(getattr(seed, block)[size_class], statistic)


def _drops(place: str) -> Callable[[SeedResult], float | None]:
    return lambda seed: float(getattr(seed.drops, place))


def _round_trips(statistic: str) -> Callable[[SeedResult], float | None]:
    return lambda seed: getattr(seed.rtt_us.get(ALL_PROBES), statistic, None)


def _classified(statistic: str) -> Callable[[SeedResult], float | None]:
    def of(seed: SeedResult) -> float | None:
        part = getattr(seed.classification, statistic, None)
        return None if part is None else 100 * part

    return of


def _metrics() -> Iterator[Metric]:
    for size_class in CLASSES:
        for statistic in STATISTICS:
            yield Metric(f"{size_class}.{statistic}", _sample("fct_us", size_class, statistic), 1, "µs")
            yield Metric(f"slowdown.{size_class}.{statistic}", _sample("slowdown", size_class, statistic), 1)
    for place in ("host", "link", "queue", "switch"):
        yield Metric(f"drops.{place}", _drops(place), 1)
    yield Metric("drops", lambda seed: float(seed.drops.total), 1)
    yield Metric("unfinished", lambda seed: float(seed.unfinished), 1)
    yield Metric("timeouts", lambda seed: float(seed.timeouts), 1)
    yield Metric("retransmissions", lambda seed: float(seed.retransmissions), 1)
    yield Metric("marks", lambda seed: float(seed.marks.total), 0)
    yield Metric("jain", lambda seed: seed.sharing.jain if seed.sharing else None, -1)
    for statistic in STATISTICS:
        yield Metric(f"rtt.{statistic}", _round_trips(statistic), 1, "µs")
    yield Metric("accuracy", _classified("accuracy"), -1, "%")
    yield Metric("recall", _classified("recall"), -1, "%")
    yield Metric("rtt.lost", _round_trips("lost"), 1)
    yield Metric("utilisation", lambda seed: seed.utilisation, -1)


METRICS = {metric.name: metric for metric in _metrics()}

# Of a flow by its number, or a service by its code point, the mean rate in a window; of a flow, the time to its share
# after the start at a time.
_RATE = re.compile(r"rate\.(?P<what>flow|service)(?P<number>[0-9]+)@(?P<window>[0-9a-z.]+\.\.[0-9a-z.]+)")
_CONVERGED = re.compile(r"converged\.flow(?P<number>[0-9]+)@(?P<start>[0-9][0-9a-z.]*)")


def find_metric(name: str, kind: str = "metric") -> Metric:
    """The metric of a name, which may be one of a flow, service or window; an unknown one is refused as `kind`."""
    if name in METRICS:
        return METRICS[name]
    if match := _RATE.fullmatch(name):
        window = str(TimeWindow.parse(match["window"]))
        return Metric(name, _rate(match["what"], int(match["number"]), window), -1, "Mb/s")
    if match := _CONVERGED.fullmatch(name):
        start = format_time(parse_time(match["start"]))
        return Metric(name, _converged(int(match["number"]), start), 1, "µs")
    error = unknown(kind, name, METRICS)
    raise BadInput(str(error), f"{error.remedy}; rate.flow0@0ms..9ms, rate.service0@0ms..9ms, converged.flow0@0s")


def window_of(name: str) -> TimeWindow | None:
    """The window that a metric is about."""
    match = _RATE.fullmatch(name)
    return TimeWindow.parse(match["window"]) if match else None


def _rate(what: str, number: int, window: str) -> Callable[[SeedResult], float | None]:
    def of(seed: SeedResult) -> float | None:
        rates = seed.windows.get(window)
        if rates is None:
            return None
        rate = (rates.flows_bps if what == "flow" else rates.services_bps).get(number)
        return None if rate is None else rate / 1e6

    return of


def _converged(number: int, start: str) -> Callable[[SeedResult], float | None]:
    def of(seed: SeedResult) -> float | None:
        share = seed.convergence[start].flows.get(number) if start in seed.convergence else None
        return None if share is None else share.converged_us

    return of
