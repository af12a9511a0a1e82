# SPDX-License-Identifier: MIT OR Apache-2.0
"""The charts of a collection. They show the summary and the curves, as means and intervals over the seeds.

A chart has the grid's numeric setting as its axis. Without such a setting it becomes bars, one per scheme.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from marklab.report.chart import Axis, Chart, Kind, Mode, Section, Series
from marklab.report.grid import Grid
from marklab.report.styles import UNCONGESTED
from marklab.results import curves
from marklab.results.collection import Collection, Point
from marklab.results.metric import GROUPS, HEADLINE, METRICS, QUERY_HEADLINE, STATISTIC_NAMES, Metric, Value
from marklab.results.summary import (
    ALL_PROBES,
    CLASSES,
    QUERY,
    STATISTICS,
    Distribution,
    Estimate,
    SchemeResult,
    SeedResult,
)

_PLACES = ("queue", "switch", "host", "link")
_UNCONGESTED_SAYS = "Uncongested: each flow alone in an empty network."
_INTERVALS = "Whiskers are 95 % confidence intervals over the seeds."

Of = Callable[[SchemeResult], Value | None]


def sections(collection: Collection) -> tuple[Section, ...]:
    """All charts of a collection."""
    # It imports Polars for traces, which only some runs have.
    from marklab.report.traced import traced_sections  # noqa: PLC0415

    grid = Grid(collection.points)
    found = (
        Section("Flow completion times", tuple(_fct(grid))),
        Section("Distributions", (*_cdf(grid), *_ccdf(grid), *_slowdown(grid))),
        *traced_sections(collection, grid),
        Section("Marks, drops, timeouts", (*_marks(grid), *_losses(grid))),
        Section("Use of the bottleneck", (_metric_chart(grid, "utilisation"),)),
        Section("Services", tuple(_services(grid))),
        Section("Round trips", (*_round_trips(grid), *_distributions(grid))),
    )
    kept = (_without_empty(section) for section in found)
    return tuple(section for section in kept if section.charts or section.notes)


def shows_uncongested(found: Sequence[Section]) -> bool:
    """Whether a chart has a series `styles.UNCONGESTED`."""
    return any(series.scheme == UNCONGESTED for each in found for chart in each.charts for series in chart.series)


def _without_empty(section: Section) -> Section:
    return Section(section.title, tuple(chart for chart in section.charts if chart.series), section.notes)


def _fct(grid: Grid) -> Iterator[Chart]:
    queries = any(QUERY in result.fct_us for point in grid.points for result in point.summary.schemes.values())
    for name, statistic in HEADLINE + (QUERY_HEADLINE if queries else ()):
        metric = METRICS[f"{name}.{statistic}"]
        absolute = _compared(grid, _per_seed(metric), "absolute")
        normalised = _compared(grid, _estimate("normalised", name, statistic), "normalised")
        yield _against(
            grid,
            f"fct-{name}-{statistic}",
            f"FCT: {metric.says}",
            f"Over those that finished. {_INTERVALS}",
            Axis(f"FCT, {STATISTIC_NAMES[statistic]}", metric.unit),
            [*absolute, *normalised],
            ratio=Axis(f"FCT, ratio to {grid.baseline}"),
        )


def _against(
    grid: Grid, name: str, title: str, says: str, y: Axis, series: Iterable[Series], ratio: Axis | None = None
) -> Chart:
    along = grid.axis
    kind: Kind = "stacks" if along is None else "lines"
    x = Axis("scheme" if along is None else along)
    return Chart(name, title, says, kind, x, y, tuple(series), ratio_y=ratio)


def _compared(grid: Grid, of: Of, mode: Mode | None = None, pick: Mapping[str, str] | None = None) -> Iterator[Series]:
    """Numbers of each scheme along the axis of the grid, or one number per scheme if the grid has no axis."""
    for at, points in grid.lines:
        for scheme in grid.schemes:
            found = [
                (point, value)
                for point in points
                if scheme in point.summary.schemes and (value := of(point.summary.schemes[scheme])) is not None
            ]
            if found:
                x = (scheme,) if grid.axis is None else tuple(float(p.settings[grid.axis]) for p, _ in found)
                yield _series(scheme, x, [value for _, value in found], mode=mode, at=at, pick=pick or {})


def _series(
    scheme: str,
    x: tuple[float, ...] | tuple[str, ...],
    values: Iterable[Value],
    *,
    part: str = "",
    mode: Mode | None = None,
    at: Mapping[str, str],
    pick: Mapping[str, str] | None = None,
) -> Series:
    found = list(values)
    bounds = [interval or (None, None) for _, interval in found]
    low, high = (tuple(bound[side] for bound in bounds) for side in (0, 1))
    known = any(interval for _, interval in found)
    y = tuple(number for number, _ in found)
    return Series(scheme, x, y, low if known else (), high if known else (), part, mode, at, pick or {})


def _estimate(block: str, name: str, statistic: str) -> Of:
    def of(result: SchemeResult) -> Value | None:
        estimates: Mapping[str, Estimate] = getattr(result, block) or {}
        value = getattr(estimates.get(name), statistic, None)
        return None if value is None else (value, getattr(estimates[name].ci95, statistic))

    return of


def _per_seed(metric: Metric) -> Of:
    """A metric over the seeds, in percent if tables show it in percent."""
    drawn = replace(metric, of=_times_100(metric.of)) if metric.in_percent else metric
    return lambda result: drawn.per_seed(result.seeds)


def _times_100(of: Callable[[SeedResult], float | None]) -> Callable[[SeedResult], float | None]:
    def value(seed: SeedResult) -> float | None:
        found = of(seed)
        return None if found is None else 100 * found

    return value


def _each(grid: Grid) -> Iterator[tuple[dict[str, str], Point, str]]:
    """Every point with each of its schemes, and its place in the grid."""
    for point in grid.points:
        for scheme in grid.schemes:
            if scheme in point.summary.schemes:
                yield grid.at(point), point, scheme


def _cdf(grid: Grid) -> Iterator[Chart]:
    series = [
        Series(scheme, x, curves.PARTS, mode=mode, at=at, pick={"class": GROUPS[name].says})
        for at, point, scheme in _each(grid)
        for name in CLASSES
        for mode, x in _quantiles(point, scheme, grid.baseline, name)
    ]
    series += [
        Series(UNCONGESTED, x, curves.PARTS, mode="absolute", at=at, pick={"class": GROUPS[name].says})
        for at, name, x in _uncongested(grid)
    ]
    yield Chart(
        "fct-cdf",
        "FCT: distribution",
        "The fraction of flows that finished within a time. The time of each fraction is the mean over the seeds; "
        "normalised, its ratio to the baseline's time for the same fraction. "
        f"{_UNCONGESTED_SAYS}",
        "lines",
        Axis("FCT", "µs", log=True),
        Axis("fraction of flows"),
        tuple(series),
        ratio_x=Axis(f"FCT, ratio to {grid.baseline}"),
    )


def _ccdf(grid: Grid) -> Iterator[Chart]:
    """The tail: one minus the fraction of flows. The last point is left out, as 0 has no logarithm."""
    parts = curves.PARTS[:-1]
    left = tuple(round(1 - part, 6) for part in parts)
    found = [
        (scheme, at, name, x)
        for at, point, scheme in _each(grid)
        for name in CLASSES
        for mode, x in _quantiles(point, scheme, None, name)
    ]
    found += [(UNCONGESTED, at, name, x) for at, name, x in _uncongested(grid)]
    yield Chart(
        "fct-ccdf",
        "FCT: tail of the distribution",
        "The fraction of finished flows that took longer than a time. The time of each fraction is the mean over the "
        f"seeds. {_UNCONGESTED_SAYS}",
        "lines",
        Axis("FCT", "µs", log=True),
        Axis("fraction of flows that took longer", log=True),
        tuple(
            Series(scheme, x[: len(parts)], left, at=at, pick={"class": GROUPS[name].says})
            for scheme, at, name, x in found
        ),
    )


def _uncongested(grid: Grid) -> Iterator[tuple[dict[str, str], str, tuple[float, ...]]]:
    """Ideal FCTs of each point's flows by class, from any scheme, as all have the same flows."""
    for point in grid.points:
        seeds = next((point.curves[scheme] for scheme in grid.schemes if point.curves.get(scheme)), {})
        for name in CLASSES:
            if ideal := curves.ideal_quantiles(seeds, name):
                yield grid.at(point), name, ideal


def _quantiles(point: Point, scheme: str, baseline: str | None, name: str) -> Iterator[tuple[Mode, tuple[float, ...]]]:
    seeds = point.curves.get(scheme, {})
    if absolute := curves.fct_quantiles(seeds, name):
        yield "absolute", absolute
    if normalised := curves.fct_ratios(seeds, _of_baseline(point, scheme, baseline), name):
        yield "normalised", normalised


def _of_baseline(point: Point, scheme: str, baseline: str | None) -> Mapping[int, curves.Curves]:
    """The curves that those of a scheme are divided by: none for the baseline itself."""
    return {} if baseline is None or baseline == scheme else point.curves.get(baseline, {})


def _slowdown(grid: Grid) -> Iterator[Chart]:
    series = [
        _series(scheme, sizes, values, mode=mode, at=at, pick={"statistic": STATISTIC_NAMES[statistic]})
        for at, point, scheme in _each(grid)
        for statistic in STATISTICS
        for mode, sizes, values in _slowdown_by_size(point, scheme, grid.baseline, statistic)
    ]
    yield Chart(
        "slowdown-by-size",
        "Slowdown by size",
        "FCT divided by the flow's FCT alone in an empty network. Bins of the flow size, two per octave. "
        f"With fewer than 100 flows the 99th percentile is the largest value. {_INTERVALS}",
        "lines",
        Axis("flow size, up to", "bytes", log=True),
        Axis("slowdown"),
        tuple(series),
        ratio_y=Axis(f"slowdown, ratio to {grid.baseline}"),
    )


def _slowdown_by_size(
    point: Point, scheme: str, baseline: str | None, statistic: str
) -> Iterator[tuple[Mode, tuple[float, ...], list[Value]]]:
    seeds = point.curves.get(scheme, {})
    if absolute := curves.slowdown_by_size(seeds, statistic):
        yield "absolute", tuple(absolute), list(absolute.values())
    if normalised := curves.slowdown_ratios(seeds, _of_baseline(point, scheme, baseline), statistic):
        yield "normalised", tuple(normalised), list(normalised.values())


def _marks(grid: Grid) -> Iterator[Chart]:
    if grid.axis is not None:
        yield _metric_chart(grid, "marks")
    causes = _causes(grid)

    def of(cause: str) -> Of:
        count = Metric(cause, lambda seed: seed.marks.by_cause.get(cause), worse=0)
        return _per_seed(count)

    yield _stacked(
        grid,
        "marks-by-cause",
        "Marks by cause",
        "Marked packets by the cause that the program counted, mean over the seeds.",
        Axis("marks per seed"),
        {cause: of(cause) for cause in causes},
    )


def _causes(grid: Grid) -> list[str]:
    results = [result for point in grid.points for result in point.summary.schemes.values()]
    return list(dict.fromkeys(cause for result in results for cause in result.marks.by_cause))


def _losses(grid: Grid) -> Iterator[Chart]:
    if grid.axis is not None:
        yield _metric_chart(grid, "drops")
    yield _stacked(
        grid,
        "drops-by-place",
        "Drops by place",
        "Lost packets, mean over the seeds: at a full queue, by the program of a switch, in a host, on a link.",
        Axis("drops per seed"),
        {place: _per_seed(METRICS[f"drops.{place}"]) for place in _PLACES},
    )
    yield _metric_chart(grid, "timeouts")


def _metric_chart(grid: Grid, name: str) -> Chart:
    """A chart of a metric for each scheme."""
    metric = METRICS[name]
    axis = Axis(f"{name} per seed") if metric.counted else Axis(metric.title, "%" if metric.in_percent else metric.unit)
    title = f"{metric.title[0].upper()}{metric.title[1:]}"
    return _against(grid, name, title, f"{metric.says} {_INTERVALS}", axis, _compared(grid, _per_seed(metric)))


def _stacked(grid: Grid, name: str, title: str, says: str, y: Axis, parts: Mapping[str, Of]) -> Chart:
    """A bar for each scheme at one point of the grid. Parts that are 0 for all schemes at the point are left out."""
    series = [
        _series(scheme, (scheme,), [value], part=part, at=at)
        for at, point, scheme in _each(grid)
        for part, of in parts.items()
        if (value := of(point.summary.schemes[scheme])) is not None
    ]
    some = {each.part for each in series if any(each.y)} or {each.part for each in series[:1]}
    return Chart(name, title, says, "stacks", Axis("scheme"), y, tuple(each for each in series if each.part in some))


def _services(grid: Grid) -> Iterator[Chart]:
    series = []
    for at, point, scheme in _each(grid):
        result = point.summary.schemes[scheme]
        services = sorted({dscp for seed in result.seeds if seed.sharing for dscp in seed.sharing.goodput_bps})
        values = [(str(dscp), value) for dscp in services if (value := _goodput(dscp)(result)) is not None]
        if values:
            series.append(_series(scheme, tuple(x for x, _ in values), [value for _, value in values], at=at))
    yield Chart(
        "goodput",
        "Goodput of services",
        f"Payload that receivers got in order, divided by the time of the whole run. {_INTERVALS}",
        "bars",
        Axis("service, by code point"),
        Axis("goodput", "Mb/s"),
        tuple(series),
    )
    yield _metric_chart(grid, "jain")


def _goodput(dscp: int) -> Of:
    def of(seed: SeedResult) -> float | None:
        rate_bps = seed.sharing.goodput_bps.get(dscp) if seed.sharing else None
        return None if rate_bps is None else rate_bps / 1e6

    return _per_seed(Metric(str(dscp), of, worse=-1))


def _distributions(grid: Grid) -> Iterator[Chart]:
    """Distributions of TCP round trips, and of the queues of all switches if they were sampled."""
    kinds = list(
        dict.fromkeys(
            kind for _, point, scheme in _each(grid) for kind in point.summary.schemes[scheme].seeds[0].queues_packets
        )
    )
    yield Chart(
        "rtt-cdf",
        "Round trips of TCP: distribution",
        "From data to its acknowledgement, as senders measure it; the time of each fraction is the mean over seeds.",
        "lines",
        Axis("round trip", "µs", log=True),
        Axis("fraction of round trips"),
        tuple(_sampled(grid, lambda seed: seed.tcp_rtt_us)),
    )
    yield Chart(
        "queue-cdf",
        "Queues of all switches: distribution",
        "Packets that waited at a port, sampled at even intervals; the length of each fraction is the mean over seeds.",
        "lines",
        Axis("queue length", "packets"),
        Axis("fraction of time"),
        tuple(each for kind in kinds for each in _sampled(grid, _queues_of(kind), {"switches": kind})),
    )


def _queues_of(kind: str) -> Callable[[SeedResult], Distribution | None]:
    return lambda seed: seed.queues_packets.get(kind)


def _sampled(
    grid: Grid, of: Callable[[SeedResult], Distribution | None], pick: Mapping[str, str] | None = None
) -> Iterator[Series]:
    for at, point, scheme in _each(grid):
        found = [each.quantiles for each in map(of, point.summary.schemes[scheme].seeds) if each and each.quantiles]
        if found:
            yield Series(scheme, curves.mean_curve(found), curves.PARTS, at=at, pick=pick or {})


def _round_trips(grid: Grid) -> Iterator[Chart]:
    results = [result for point in grid.points for result in point.summary.schemes.values()]
    probes = list(dict.fromkeys(probe for result in results for probe in result.rtt_us))
    if len(probes) == 2:
        # A single probe equals all probes together.
        probes.remove(ALL_PROBES)
    series = [
        each
        for probe in probes
        for statistic in STATISTICS
        for each in _compared(
            grid,
            _estimate("rtt_us", probe, statistic),
            pick={"probe": probe, "statistic": STATISTIC_NAMES[statistic]},
        )
    ]
    yield _against(
        grid, "probes", "Round trips of probes", f"Of ICMP echoes. {_INTERVALS}", Axis("round trip", "µs"), series
    )
