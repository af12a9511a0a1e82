# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tables at the end of a run. They read a summary and compute nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from marklab.devices.stacks import transport_title
from marklab.results.metric import HEADLINE, METRICS, QUERY_HEADLINE, Metric, find_metric, with_interval
from marklab.results.parallelism import Parallelism
from marklab.results.summary import (
    ALL_PORTS,
    ALL_PROBES,
    ECN,
    NOT_ECN,
    QUERY,
    STATISTICS,
    Pauses,
    SchemeResult,
    Summary,
)
from marklab.statistics.fairness import WITHIN

_BY_ECN = ((ECN, "mean"), (ECN, "p99"), (NOT_ECN, "mean"), (NOT_ECN, "p99"))

_LABEL_WIDTH = 20
_COLUMN_WIDTH = 19
_NARROWEST = 40


def print_run(summary: Summary, console: Console) -> None:
    """Print a run: one column per scheme, as many side by side as the terminal has room for."""
    # On a narrower terminal lines wrap instead of losing numbers.
    console.width = max(console.width, _NARROWEST)
    labels = list(summary.schemes)
    at_once = max(1, (console.width - _LABEL_WIDTH) // _COLUMN_WIDTH)
    console.print(_heading(summary))
    for start in range(0, len(labels), at_once):
        results = [summary.schemes[label] for label in labels[start : start + at_once]]
        console.print(_table(results, summary))
    console.print(_footnotes(summary))


def print_parallelism(measured: Parallelism, console: Console) -> None:
    """Print what a speed-up on several threads cannot exceed."""
    console.print("Speed-up of the simulation, at most:")
    table = Table("threads", "by events", "by time")
    for column in table.columns:
        column.justify = "right"
    for threads, bounds in measured.bounds.items():
        table.add_row(str(threads), *(f"{bound:.1f}" for bound in bounds))
    console.print(table)
    each = measured.work.events / max(measured.windows, 1)
    console.print(
        f"Work divided by the longest share of a thread, over {measured.windows:,} windows of {each:,.0f} events on "
        "average. It is an upper bound: barriers, and caches that threads share, are not in it (docs/parallel.md)."
    )


def _heading(summary: Summary) -> Text:
    spec = summary.spec
    seeds = len(summary.main.seeds)
    what = f"{spec['flow_list']['path']}" if "flow_list" in spec else _traffic(spec)
    where = topology_name(spec["topology"])
    fabric = real_fabric(summary)
    controller = f"; controller {Path(spec['controller']['path']).stem}" if "controller" in spec else ""
    how = f"{transport_title(spec['transport'])}; {seeds} seed(s){f'; {fabric}' if fabric else ''}{controller}"
    return Text(f"{what}; {where}, {spec['rate']}b/s, RTT {spec['rtt']}; {how}")


def _traffic(spec: dict[str, Any]) -> str:
    workload = spec["workload"]
    name = workload["name"] if isinstance(workload, dict) else workload
    by_hand = sum(flow["count"] for flow in spec.get("added_flows", []))
    generated = [f"{name} at load {spec['load']:g}, {spec['flows']} flows"] if spec["flows"] else []
    jobs = [_job(job) for job in spec.get("training", [])]
    return ", ".join([*generated, *jobs, *([f"{by_hand} added flows"] if by_hand else [])])


def _job(job: dict[str, Any]) -> str:
    return f"trace {job['trace']}" if "trace" in job else f"{job['collective']} of {job['size']} x {job['iterations']}"


def real_fabric(summary: Summary) -> str:
    """The switch and the dilation of a run on real hosts; empty for a simulated run."""
    asked = summary.spec.get("mininet")
    if not asked:
        return ""
    found = {seed.real_time.dilation for seed in summary.main.seeds if seed.real_time is not None}
    chosen = asked["dilation"] == "auto" and len(found) == 1
    return f"real hosts, {asked['switch']}, times x {f'{found.pop()} (auto)' if chosen else asked['dilation']}"


def topology_name(topology: dict[str, object]) -> str:
    """A topology in a few characters."""
    match topology.get("builder"):
        case "incast":
            return f"{topology['senders']} -> 1"
        case "leaf-spine":
            return f"leaf-spine {topology['leaves']} x {topology['spines']} x {topology['hosts']}"
        case "fat-tree":
            oversubscribed = f", {topology['oversubscription']}:1" if topology["oversubscription"] != 1 else ""
            pattern = f", {topology['pattern']}" if topology["pattern"] != "any" else ""
            return f"fat-tree {topology['tiers']} tiers x {topology['radix']} ports{oversubscribed}{pattern}"
        case _:
            return "own topology"


def _table(results: Sequence[SchemeResult], summary: Summary) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("", min_width=_LABEL_WIDTH - 1, no_wrap=True)
    for result in results:
        table.add_column(result.label, justify="right", overflow="fold", min_width=_COLUMN_WIDTH - 1)

    for title, rows in sections(summary):
        table.add_row(Text(title, style="bold"))
        for name, cell in rows:
            style = "dim" if name.startswith(" ") else ""
            table.add_row(f"  {name}", *(cell(result) for result in results), style=style)
    return table


Rows = list[tuple[str, Callable[[SchemeResult], RenderableType]]]


def sections(summary: Summary) -> Iterator[tuple[str, Rows]]:
    """All rows of the table by section. A row is a name, and a function that gives the cell of a scheme."""
    fct: Rows = []
    groups = (QUERY_HEADLINE if QUERY in summary.main.fct_us else ()) + (_BY_ECN if ECN in summary.main.fct_us else ())
    for name, stat in HEADLINE + groups:
        fct.append(_row(f"{name}.{stat}", "no flow"))
        if any(result.normalised for result in summary.schemes.values()):
            fct.append(("  / baseline", _normalised(name, stat)))
    yield "FCT, µs", fct
    slowdowns = ("slowdown.overall.mean", "slowdown.short.mean", "slowdown.short.p99")
    yield "slowdown, FCT / ideal", [_row(name, "no flow") for name in slowdowns]
    yield from _of_groups(summary)
    if any(result.rtt_us for result in summary.schemes.values()):
        yield "round trips of probes, µs", _round_trips(summary)
    if any(result.tcp_rtt_us and result.queues_packets for result in summary.schemes.values()):
        yield "round trips of TCP, µs", [_row("tcp_rtt.mean"), _row("tcp_rtt.p99")]
        yield "queues, packets: mean p99 max", _sampled_queues(summary)
    paused = any(result.pauses for result in summary.schemes.values())
    per = (summary.spec.get("pfc") or {}).get("per", "port")
    yield from tiers(summary)
    yield "network, all seeds", [*_network(), *(_pauses(per) if paused else [])]


def _of_groups(summary: Summary) -> Iterator[tuple[str, Rows]]:
    """The sections about jobs, services, priorities, windows of time and single flows, where a run has them."""
    if any(result.jobs for result in summary.schemes.values()):
        yield "jobs, µs", _jobs(summary)
    if any(result.sharing for result in summary.schemes.values()):
        yield "services, goodput", _sharing(summary)
    if any(result.priorities for result in summary.schemes.values()):
        yield "priorities: sent, marked", _priorities(summary)
    if any(result.windows for result in summary.schemes.values()):
        yield "windows", _windows(summary)
    if any(result.convergence for result in summary.schemes.values()):
        within = summary.spec.get("converge_within", WITHIN)
        yield f"time to within {within:.0%} of max-min shares", _convergence(summary)
    if any(result.classification for result in summary.schemes.values()):
        yield "flows beyond their share, by marks", _classification()


def _row(name: str, none: str = "", *, bounds: bool = True) -> tuple[str, Callable[[SchemeResult], RenderableType]]:
    """A metric over the seeds."""
    metric = METRICS[name]
    return metric.title, lambda result: metric.text(result.seeds, none, bounds=bounds)


def _jobs(summary: Summary) -> Rows:
    def iterations(name: str) -> Callable[[SchemeResult], RenderableType]:
        def cell(result: SchemeResult) -> RenderableType:
            job = result.jobs[name]
            return Text(f"{job.iterations:,} of {job.of:,}", style="" if job.iterations == job.of else "bold red")

        return cell

    rows: Rows = []
    for name in summary.main.jobs:
        rows.append((f"{name}, iterations", iterations(name)))
        for title in ("iteration.mean", "iteration.p99", "spread.mean", "done"):
            rows.append((f"  {title}", partial(_metric_text, find_metric(f"job.{name}.{title}"))))
    return rows


def _metric_text(metric: Metric, result: SchemeResult) -> RenderableType:
    return metric.text(result.seeds, "not over")


def _sharing(summary: Summary) -> Rows:
    shared = [result.sharing for result in summary.schemes.values() if result.sharing]
    services = sorted({dscp for sharing in shared for dscp in sharing.goodput_bps})

    def goodput(dscp: int) -> Callable[[SchemeResult], RenderableType]:
        def cell(result: SchemeResult) -> RenderableType:
            rate = result.sharing.goodput_bps.get(dscp) if result.sharing else None
            return "" if rate is None else f"{rate / 1e6:,.1f} Mb/s"

        return cell

    rows: Rows = [(f"code point {dscp}", goodput(dscp)) for dscp in services]
    return [*rows, _row("jain", bounds=False)]


def _priorities(summary: Summary) -> Rows:
    levels = next(result.priorities for result in summary.schemes.values() if result.priorities)

    def cell(level: int) -> Callable[[SchemeResult], RenderableType]:
        def text(result: SchemeResult) -> RenderableType:
            if not result.priorities:
                return ""
            of, sent = result.priorities[level], sum(each.sent for each in result.priorities)
            return f"{of.sent / sent if sent else 0:.1%}, {of.marked:,}"

        return text

    return [
        (f"P{level} above {priority.above_bytes:,} B" if level else "P0", cell(level))
        for level, priority in enumerate(levels)
    ]


def _windows(summary: Summary) -> Rows:
    def rate(window: str, dscp: int) -> Callable[[SchemeResult], RenderableType]:
        return lambda result: f"{result.windows[window].services_bps[dscp] / 1e6:,.1f} Mb/s"

    def queue(window: str) -> Callable[[SchemeResult], RenderableType]:
        def cell(result: SchemeResult) -> RenderableType:
            length = result.windows[window].queue_packets
            return "" if length is None else f"{length.mean:,.1f} {length.max:,.0f} packets"

        return cell

    rows: Rows = []
    for window, means in summary.main.windows.items():
        rows.extend((f"{window} code point {dscp}", rate(window, dscp)) for dscp in means.services_bps)
        if means.queue_packets is not None:
            rows.append((f"{window} queue: mean max", queue(window)))
    return rows


def _convergence(summary: Summary) -> Rows:
    def cell(start: str, flow: int) -> Callable[[SchemeResult], RenderableType]:
        def text(result: SchemeResult) -> RenderableType:
            share = result.convergence[start].flows.get(flow) if start in result.convergence else None
            if share is None:
                return ""
            time = "never" if share.converged_us is None else f"{share.converged_us:,.0f} µs"
            return f"{time}, {share.rate_bps / 1e9:.2f}/{share.share_bps / 1e9:.2f}"

        return text

    starts = {start: change for result in summary.schemes.values() for start, change in result.convergence.items()}
    return [
        (f"{start} flow {flow}, Gb/s", cell(start, flow)) for start, change in starts.items() for flow in change.flows
    ]


def _classification() -> Rows:
    def part(name: str) -> Callable[[SchemeResult], RenderableType]:
        def cell(result: SchemeResult) -> RenderableType:
            value = getattr(result.classification, name, None)
            return "" if value is None else f"{value:.1%}"

        return cell

    def counts(result: SchemeResult) -> RenderableType:
        found = result.classification
        return f"{found.congested_marked:,} {found.congested_unmarked:,}" if found else ""

    def others(result: SchemeResult) -> RenderableType:
        found = result.classification
        return f"{found.others_marked:,} {found.others_unmarked:,}" if found else ""

    return [
        ("accuracy", part("accuracy")),
        ("recall", part("recall")),
        ("  beyond: marked, not", counts),
        ("  within: marked, not", others),
    ]


def _round_trips(summary: Summary) -> Rows:
    labels = [label for label in summary.main.rtt_us if label != ALL_PROBES]
    shown = labels if len(labels) == 1 else [ALL_PROBES, *labels]

    def cell(label: str, stat: str) -> Callable[[SchemeResult], RenderableType]:
        def text(result: SchemeResult) -> RenderableType:
            found = result.rtt_us[label]
            return with_interval(getattr(found, stat), getattr(found.ci95, stat), "{:,.1f}", "no reply")

        return text

    return [(f"{label} {stat}", cell(label, stat)) for label in shown for stat in STATISTICS]


def _sampled_queues(summary: Summary) -> Rows:
    def cell(kind: str) -> Callable[[SchemeResult], RenderableType]:
        def text(result: SchemeResult) -> RenderableType:
            found = result.queues_packets.get(kind)
            return f"{found.mean:,.1f} {found.p99:,.0f} {found.max:,}" if found else ""

        return text

    kinds = list(summary.main.queues_packets)
    shown = kinds if len(kinds) > 2 else kinds[:1]
    return [(f"switches {kind}" if kind != ALL_PORTS else "all ports", cell(kind)) for kind in shown]


def tiers(summary: Summary) -> Iterator[tuple[str, Rows]]:
    """The section about the lines between tiers, if the run has several switches."""

    def cell(direction: str) -> Callable[[SchemeResult], RenderableType]:
        def text(result: SchemeResult) -> RenderableType:
            found = result.line_use.tiers.get(direction) if result.line_use else None
            return f"{found.mean:.1%} {found.max:.1%}" if found else ""

        return text

    known = next((result.line_use.tiers for result in summary.schemes.values() if result.line_use), {})
    if known:
        yield "utilisation: mean max", [(direction, cell(direction)) for direction in known]


def _network() -> Rows:
    return [
        (METRICS["unfinished"].title, lambda r: Text(f"{r.unfinished:,}", style="bold red" if r.unfinished else "")),
        _row("drops.queue"),
        ("  host link switch", lambda r: f"{r.drops.host:,} {r.drops.link:,} {r.drops.switch:,}"),
        _row("timeouts"),
        _row("marks"),
        ("  by cause", lambda r: "\n".join(f"{name} {count:,}" for name, count in r.marks.by_cause.items())),
        _row("utilisation", bounds=False),
    ]


def _pauses(per: str) -> Rows:
    def of(text: Callable[[Pauses], str]) -> Callable[[SchemeResult], RenderableType]:
        return lambda result: text(result.pauses) if result.pauses else ""

    return [
        (f"pauses per {per}", of(lambda found: f"{found.pauses:,}")),
        ("  paused, pause frames", of(lambda found: f"{found.share:.2%} {found.rate_bps / 1e6:,.2f} Mb/s")),
    ]


def _normalised(name: str, stat: str) -> Callable[[SchemeResult], RenderableType]:
    def cell(result: SchemeResult) -> RenderableType:
        if result.normalised is None:
            return ""
        ratio = result.normalised[name]
        return with_interval(getattr(ratio, stat), getattr(ratio.ci95, stat), "{:.3f}")

    return cell


def _real_time(summary: Summary) -> Iterator[tuple[str, str]]:
    """How well the machine kept up in the worst seed of each scheme. Times are as measured, with their dilation."""
    for label, result in summary.schemes.items():
        seeds = [seed.real_time for seed in result.seeds if seed.real_time is not None]
        if seeds:
            worst = max(seeds, key=lambda seed: seed.lateness_p99_us)
            late = f"dequeues late by {worst.lateness_p50_us:,.0f} us (p99 {worst.lateness_p99_us:,.0f})"
            room = f"room for {worst.capacity_fps / worst.needed_fps:.0f} times its frames"
            yield label, f"{late}, machine {worst.cpu_busy:.0%} busy, {room}"


def _footnotes(summary: Summary) -> Group:
    lines = [Text("± is half a 95 % confidence interval over the seeds.", style="dim")]
    if len(summary.main.seeds) == 1:
        lines = [Text("One seed: no confidence intervals.", style="dim")]
    classes = ", ".join(f"{name} {sample.n:,}" for name, sample in summary.main.fct_us.items())
    lines.append(Text(f"Flows per scheme: {classes}.", style="dim"))
    for label, result in summary.schemes.items():
        values = ", ".join(f"{name} {value}" for name, value in result.parameters.items())
        lines.append(Text(f"{label}: {values or 'no parameters'}", style="dim"))
    if summary.main.line_use:
        found = summary.main.line_use.busiest
        busiest = ", ".join(f"{each.line.replace(' -> ', '→')} {each.utilisation:.0%}" for each in found)
        lines.append(Text(f"{summary.main.label}, busiest lines: {busiest}", style="dim"))
    lines.extend(Text(f"{label}: {text}", style="dim") for label, text in _real_time(summary))
    lines.extend(Text(f"! {warning}", style="bold yellow") for warning in summary.warnings)
    return Group(*lines)
