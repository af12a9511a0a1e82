# SPDX-License-Identifier: MIT OR Apache-2.0
"""The lab of real packets: Mininet's namespaces, Linux's TCP, and a real-time P4 switch per node, in dilated time."""

from __future__ import annotations

import os
import selectors
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from marklab.devices.frames import FULL_LINE_BYTES
from marklab.devices.hosts import Transport
from marklab.engine import binding as engine
from marklab.errors import BadInput, RunFailed, SetupError, TooSlow
from marklab.fabrics.fabric import Cell
from marklab.fabrics.traced import find_port, trace_settings, with_estimates
from marklab.lab import workspace
from marklab.lab.bmv2 import limits as bmv2_limits
from marklab.lab.bmv2 import switch as bmv2
from marklab.lab.commands import require
from marklab.lab.health import watched
from marklab.lab.hosts import congestion, ecn_plus
from marklab.lab.hosts.delays import DelayLevels, delay_levels
from marklab.lab.hosts.host import PORT, Host, RealFlows, Seen, client_columns, host_process, joined
from marklab.lab.hosts.ping import pinging
from marklab.lab.hosts.tcp import configure
from marklab.lab.network import TOOLS, Net, address, host_drops, mininet
from marklab.lab.preflight import ce_received
from marklab.lab.records import replaced_answers
from marklab.lab.running import running_switches
from marklab.lab.switches import Plan, Switches
from marklab.lab.validity import Figures, Preflight, capacity, check_run, enough_dilation, preflight
from marklab.prepare.dilation import (
    dilated_flows,
    dilated_graph,
    dilated_probes,
    dilated_scheme,
    dilated_transport,
    undilated,
    undilated_columns,
)
from marklab.prepare.experiment import Experiment, ReadyScheme
from marklab.results.observation import Columns, CounterCell, Drop, Observation, PortUse, Report
from marklab.results.summary import RealTime
from marklab.spec.description import Mininet as Settings
from marklab.spec.description import Spec
from marklab.topology import Port
from marklab.traffic.flows import FlowList

# Dilations that `auto` chooses from.
LADDER = (100, 200, 400, 800)

# Connections of pools are opened before the start.
_AHEAD_S = 0.5
_TICK_S = 0.2
# Between the stop of the flows and the end of the hosts' processes.
_PATIENCE_S = 30.0
# The most of a recorded port, and the resolution where none was asked for.
_ROWS = 2000
_MS = 10**6


@dataclass(frozen=True)
class Dilated:
    """A cell as it runs: times longer, rates lower."""

    scheme: ReadyScheme
    transport: Transport
    delay_threshold_ns: int | None
    flows: FlowList
    levels: DelayLevels
    stop_ns: int
    trace_ns: int


def _check_simulated_only(spec: Spec) -> None:
    """Refuse settings and recordings that only the simulator has."""
    refused = {
        "trace_flows": spec.trace_flows_ns is not None,
        "windows": spec.windows is not None,
        "sample_queues": spec.sample_queues_ns is not None,
        "trace_packets": spec.trace_packets is not None,
    }
    for name in (name for name, given in refused.items() if given):
        raise BadInput(f"`{name}` is recorded in the simulator only", "leave it out, or --fabric sim")
    if spec.controller is not None:
        raise BadInput("a controller runs in virtual time only", "leave it out, or --fabric sim")
    if spec.ecn_share is not None:
        raise BadInput(
            "real hosts have no `ecn_share`: whether a host takes part in ECN is one setting for all of its flows",
            "leave it out, or --fabric sim",
        )
    if spec.transport.receive_windows is not None:
        raise BadInput("real hosts have one `receive_window` for all connections", "give one, or --fabric sim")
    if spec.connections.warm:
        raise BadInput(
            "real connections know the delays that they have measured: none is told a base delay",
            "leave out connections.warm, or --fabric sim",
        )
    if spec.connections.waits:
        raise BadInput("real hosts open a connection when all are busy", "leave out `busy`, or --fabric sim")


class Mininet:
    """Runs cells on this machine's kernel, one after the other."""

    name = "mininet"
    # Cells side by side would take time from each other.
    max_workers: int | None = 1

    def check(self, experiment: Experiment) -> None:
        """Refuse what real hosts and switches do not have, and a machine that cannot run them."""
        spec = experiment.spec
        if os.geteuid() != 0:
            raise SetupError("network namespaces need root", "sudo, or --fabric sim, which needs nothing")
        require([*TOOLS, "ping", "nstat"])
        congestion.control_named(spec.transport.control)
        _check_simulated_only(spec)
        if spec.transport.ecn_plus:
            ecn_plus.check()
        network = experiment.network
        if spec.pcap is not None and network.graph.is_host(find_port(network, spec.pcap).node):
            to_host = network.graph.lines_from[find_port(network, spec.pcap).node][0].target
            port = f"{network.graph.names[to_host.node]}:{to_host.port}"
            raise BadInput(f"`pcap` is of switches' ports here, and {spec.pcap} is a host", f"--pcap {port}")
        if any(flows.rate_bps.any() for flows in experiment.flow_lists.values()):
            raise BadInput("real applications write as fast as TCP takes it", "leave out `rate`, or --fabric sim")
        if _settings(experiment).switch == "bmv2":
            _check_bmv2(experiment)
        workspace.remove_orphans()
        congestion.remove_orphans()

    def settled(self, experiment: Experiment) -> Experiment:
        """With `auto`, the smallest dilation of the ladder at which all schemes leave the machine half of its time."""
        if experiment.dilation is not None:
            return experiment
        first = replace(experiment, dilation=LADDER[0])
        slowest = min(_capacity(first, scheme) for scheme in first.schemes)
        enough = enough_dilation(experiment.network, slowest)
        rung = next((each for each in LADDER if each >= enough), None)
        if rung is None:
            raise TooSlow(f"this machine carries {slowest:,.0f} frames/s with these programs", enough)
        return _at(experiment, rung)

    def cell_bytes(self, _experiment: Experiment) -> int:
        """Not known, and small: networks on one machine are."""
        return 0

    def slower(self, experiment: Experiment, error: RunFailed) -> Experiment | None:
        """With `auto`, the next dilation of the ladder, if that is what may help."""
        if _settings(experiment).dilation != "auto" or not isinstance(error, TooSlow):
            return None
        rung = next((each for each in LADDER if each > _factor(experiment)), None)
        return _at(experiment, rung) if rung is not None else None

    def run(self, cell: Cell, watch: engine.Watch) -> Observation:
        """Run a cell. One that did not keep up, or lost packets where none may be lost, is RunFailed."""
        experiment, dilated, factor = cell.experiment, dilate(cell), _factor(cell.experiment)
        with ExitStack() as stack:
            net, folder, control = stack.enter_context(network(experiment, dilated))
            hosts = range(len(net.graph.hosts))
            plan = switch_plan(cell, dilated)
            proven = preflight(experiment, cell.scheme, net, plan, dilated.levels, folder / "preflight")
            switches = stack.enter_context(running_switches(net, plan, folder / "switches"))
            marked = [ce_received(net, host) for host in hosts]
            with watched() as health:
                start_at_ns, seen, round_trips = _replay(net, cell, dilated, switches, watch, folder / "hosts")
            ended = switches.stop()
            found = joined(len(dilated.flows), seen)
            came = {host: ce_received(net, host) - marked[host] for host in hosts}
            drops, replaced = host_drops(net, hosts), replaced_answers(control)
            figures = Figures(ended, health, found.status, found.late_ns, drops, came, replaced)
            frame_ns = 8 * FULL_LINE_BYTES * 1e9 / min(line.rate_bps for line in net.graph.lines)
            check_run(experiment, str(cell), figures, frame_ns)
        observation = _observation(cell, dilated, start_at_ns, found, figures, proven)
        return replace(observation, probes=undilated_columns(round_trips, factor))


def _at(experiment: Experiment, dilation: int) -> Experiment:
    """With this dilation, at which BMv2 may not have the lines' rates."""
    slower = replace(experiment, dilation=dilation)
    if _settings(experiment).switch == "bmv2":
        _check_bmv2(slower)
    return slower


def _capacity(experiment: Experiment, scheme: ReadyScheme) -> float:
    """Frames per second that this machine carries with a scheme's program."""
    cell = Cell(experiment, scheme, experiment.spec.first_seed)
    dilated = dilate(cell)
    with network(experiment, dilated) as (net, folder, _):
        return capacity(experiment, net, replace(switch_plan(cell, dilated), captured=None), folder)


def _check_bmv2(experiment: Experiment) -> None:
    bmv2.require()
    for scheme in experiment.schemes:
        spec = scheme.fitted.scheme.spec
        why = bmv2_limits.obstacle(spec.needs) if spec is not None else None
        if why is not None:
            raise BadInput(f"`{scheme.label}` cannot run on BMv2: {why}", "--switch marklab")
        graph = dilated_graph(experiment.network.graph, experiment.dilation or LADDER[0])
        rates = sorted({line.rate_bps for line in graph.lines if not graph.is_host(line.source.node)})
        bmv2_limits.check(experiment.spec, scheme.queues, rates)
    if experiment.spec.pcap is not None:
        raise BadInput("BMv2 captures nothing here", "leave out `pcap`, tcpdump in its namespace, or --switch marklab")


@contextmanager
def network(experiment: Experiment, dilated: Dilated) -> Iterator[tuple[Net, Path, str]]:
    """Namespaces with hosts as they are to be, no switch running yet.

    Also a folder for what belongs to them, and the kernel's name of the congestion control that they use.
    """
    control = congestion.control_named(experiment.spec.transport.control)
    graph = dilated_graph(experiment.network.graph, _factor(experiment))
    with (
        workspace.workspace(experiment.spec.title()) as folder,
        congestion.loaded(control, delay_threshold_ns=dilated.delay_threshold_ns) as kernel_control,
        mininet(graph, folder.name, folder / "mininet.log", with_panel=_settings(experiment).switch == "bmv2") as net,
    ):
        for host in range(len(graph.hosts)):
            configure(net.inside(host), dilated.transport, kernel_control, ecn=control.ecn)
        if dilated.transport.ecn_plus:
            ecn_plus.attach(net, folder / "ecn_plus")
        yield net, folder, kernel_control


def _settings(experiment: Experiment) -> Settings:
    assert experiment.spec.mininet is not None  # noqa: S101 - who chose the fabric
    return experiment.spec.mininet


def _factor(experiment: Experiment) -> int:
    assert experiment.dilation is not None  # noqa: S101 - settled before anything runs
    return experiment.dilation


def dilate(cell: Cell) -> Dilated:
    """A cell in the times of its fabric."""
    experiment, factor = cell.experiment, _factor(cell.experiment)
    spec = experiment.spec
    flows = dilated_flows(experiment.flow_lists[cell.seed], factor)
    last_start_ns = int(flows.start_ns[-1])
    stop_ns = spec.until_ns * factor if spec.until_ns is not None else last_start_ns + spec.stop_ns * factor
    coarse_ns = max(_MS, last_start_ns // _ROWS // _MS * _MS)
    return Dilated(
        dilated_scheme(experiment, cell.scheme, factor),
        dilated_transport(spec.transport, factor),
        _delay_threshold_ns(experiment),
        flows,
        delay_levels(flows.extra_delay_ns),
        stop_ns,
        spec.trace_queue_ns * factor if spec.trace_queue_ns is not None else coarse_ns,
    )


def _delay_threshold_ns(experiment: Experiment) -> int | None:
    """What is too long for a control that reacts to delays, in the time of the fabric."""
    spec = experiment.spec
    threshold_ns = spec.transport.threshold_ns(spec.rate_bps)
    return None if threshold_ns is None else threshold_ns * _factor(experiment)


def switch_plan(cell: Cell, dilated: Dilated) -> Plan:
    """What the switches of a cell run."""
    experiment = cell.experiment
    spec, graph = experiment.spec, experiment.network.graph
    wanted = spec.trace_queue_ns is not None
    traced = {}
    for line in experiment.network.bottleneck:
        if not graph.is_host(line.source.node):
            estimates = dilated.scheme.estimates(line.source) if wanted else []
            settings = trace_settings(experiment, line.source, estimates)
            traced[line.source] = {"interval": f"{dilated.trace_ns}ns", "registers": settings["registers"]}
    return Plan(
        program=dilated.scheme.fitted.scheme.program,
        entries=dilated.scheme.entries,
        routes=experiment.routes[cell.scheme.forwarding],
        queues=dilated.scheme.queues,
        queue=spec.queue,
        framing=spec.framing,
        frame_bytes=experiment.setup.frame_bytes,
        ttl_delays_ns=dilated.levels.delays_ns,
        traced=traced,
        captured=_captured(cell),
        kind=_settings(experiment).switch,
    )


def _captured(cell: Cell) -> tuple[Port, Path] | None:
    """The port that is captured, and its file."""
    if cell.captures is None or cell.experiment.spec.pcap is None:
        return None
    at = find_port(cell.experiment.network, cell.experiment.spec.pcap)
    return at, cell.captures / f"{cell.experiment.network.graph.names[at.node]}-{at.port}.pcap"


def _replay(
    net: Net, cell: Cell, dilated: Dilated, switches: Switches, watch: engine.Watch, folder: Path
) -> tuple[int, list[Seen], Columns]:
    """Have the hosts replay the flows. Gives the common start (CLOCK_MONOTONIC), what hosts saw, and probes."""
    folder.mkdir()
    flows, connections = dilated.flows, cell.experiment.spec.connections
    per_pair = connections.per_pair if connections.mode == "persistent" else None
    asked = np.full(len(flows), connections.mode == "asked")
    peers = [f"{address(host)}:{PORT}" for host in range(len(net.graph.hosts))]
    with ExitStack() as stack:
        hosts = []
        for host in np.union1d(flows.src, flows.dst).tolist():
            plan = (client_columns(flows, host, ttl=dilated.levels.ttl, pull=asked), peers, per_pair)
            name = net.graph.names[host]
            hosts.append(
                stack.enter_context(host_process(net.keeping(host), name, peers[host], folder / str(host), plan))
            )
        start_at_ns = time.monotonic_ns() + round(_AHEAD_S * 1e9)
        stop_at_ns = start_at_ns + dilated.stop_ns
        probes = dilated_probes(cell.experiment.spec.probes or (), _factor(cell.experiment))
        pings = stack.enter_context(pinging(net, probes, start_at_ns, folder / "pings"))
        for each in hosts:
            each.begin(start_at_ns, stop_at_ns)
        _await_end(hosts, switches, watch, stop_at_ns)
        round_trips = pings.columns(time.monotonic_ns() - start_at_ns)
        return start_at_ns, [each.finish() for each in hosts], round_trips


def _await_end(hosts: Sequence[Host], switches: Switches, watch: engine.Watch, stop_at_ns: int) -> None:
    told = 0
    with selectors.DefaultSelector() as selector:
        for each in hosts:
            selector.register(each, selectors.EVENT_READ, each)
        while selector.get_map():
            for key, _ in selector.select(_TICK_S):
                host: Host = key.data
                if host.look():
                    selector.unregister(host)
            switches.check()
            if watch.cancelled:
                raise engine.Cancelled
            if time.monotonic_ns() > stop_at_ns + _PATIENCE_S * 1e9:
                raise RunFailed("hosts do not end their flows when the run is over", "run it again")
            ended = sum(each.flows_ended for each in hosts)
            watch.add(ended - told)
            told = ended


def _observation(
    cell: Cell, dilated: Dilated, start_at_ns: int, found: RealFlows, figures: Figures, proven: Preflight
) -> Observation:
    """All in times that are not dilated."""
    experiment, factor = cell.experiment, _factor(cell.experiment)
    names = experiment.network.graph.names
    traces, lines = {}, []
    report = _report(cell, dilated, figures)
    for seen in figures.seen:
        lag_ns = start_at_ns - int(seen.report["started_ns"])
        for at, queues in seen.traces.items():
            since = [_since(columns, lag_ns) for columns in queues]
            lines.append(_use(experiment, at, since[0], int(dilated.flows.start_ns[-1])))
            if experiment.spec.trace_queue_ns is not None:
                slow = [undilated_columns(columns, factor) for columns in since]
                traces[f"{names[at.node]}-{at.port}"] = with_estimates(
                    experiment, slow, None, dilated.scheme.estimates(at)
                )
    report["lines"] = lines
    return Observation(
        scheme=cell.scheme.label,
        seed=cell.seed,
        flows=experiment.flow_lists[cell.seed],
        fct_ns=undilated(found.fct_ns, factor),
        per_flow={
            "retransmissions": found.retransmissions,
            "timeouts": found.timeouts,
            "marked_packets": found.marked,
            "delivered_bytes": found.delivered_bytes,
            "late_ns": found.late_ns // np.uint64(factor),
        },
        report=report,
        traces=traces,
        passages={},
        flow_trace=None,
        packet_trace=None,
        probes={},
        cpu_s=sum(seen.cpu_s for seen in figures.seen),
        real_time=_real_time(experiment, figures, proven),
    )


def _since(columns: Columns, lag_ns: int) -> Columns:
    """Rows of a switch's record from the start of the flows on, in time since then."""
    after = columns["time_ns"] >= lag_ns
    kept = {name: values[after] for name, values in columns.items()}
    return kept | {"time_ns": kept["time_ns"] - np.uint64(max(0, lag_ns))}


def _use(experiment: Experiment, at: Port, port: Columns, last_start_ns: int) -> dict[str, Any]:
    """How busy a line of the bottleneck was: frames with their framing, over its rate."""
    line = next(line for line in experiment.network.bottleneck if line.source == at)
    wire_bits = 8.0 * (port["sent_bytes"] + port["departed"] * experiment.spec.framing.overhead_bytes)
    busy_ns = wire_bits * 1e9 / line.rate_bps
    names = experiment.network.graph.names
    return {
        "from": [names[at.node], at.port],
        "to": [names[line.target.node], line.target.port],
        "busy_ns": round(float(busy_ns.sum())),
        "busy_during_arrivals_ns": round(float(busy_ns[port["time_ns"] < last_start_ns].sum())),
    }


def _report(cell: Cell, dilated: Dilated, figures: Figures) -> Report:
    names = cell.experiment.network.graph.names
    factor = _factor(cell.experiment)
    drops: list[Drop] = [
        {"place": "host", "node": names[host], "port": 0, "reason": "NIC full", "packets": packets}
        for host, packets in figures.host_drops.items()
        if packets
    ]
    ports: list[PortUse] = []
    counters: list[CounterCell] = []
    frames = 0
    for seen in figures.seen:
        drops += [Drop(node=seen.name, **row) for row in seen.report["drops"]]
        counters += [
            CounterCell(node=seen.name, counter=row["counter"], index=row["index"], packets=row["packets"])
            for row in seen.report["counters"]
        ]
        for port in seen.report["ports"]:
            frames += port["sent"]
            ports.append(
                PortUse(
                    node=seen.name,
                    port=port["port"],
                    marked=port["marked"],
                    enqueued=port["enqueued"],
                    dropped=port["dropped"],
                    max_packets=port["max_packets"],
                    max_bytes=port["max_bytes"],
                )
            )
    if _settings(cell.experiment).switch == "bmv2":
        ports = _marked_ports(cell.experiment, figures.ce_received)
    return {
        "drops": drops,
        "lines": [],
        "ports": ports,
        "counters": counters,
        "faults": sum(seen.report["faults"] for seen in figures.seen),
        "link_transmissions": frames,
        "events": frames,
        "arrivals_end_ns": int(dilated.flows.start_ns[-1]) // factor,
        "end_ns": round(figures.health.duration_s * 1e9 / factor),
    }


def _marked_ports(experiment: Experiment, ce_received: Mapping[int, int]) -> list[PortUse]:
    """Ports to hosts, with what came to these: all that is known where switches do not tell."""
    graph = experiment.network.graph
    ports = []
    for host, packets in ce_received.items():
        node, port = graph.lines_from[host][0].target
        ports.append(
            PortUse(
                node=graph.names[node], port=port, marked=packets, enqueued=0, dropped=0, max_packets=0, max_bytes=0
            )
        )
    return ports


def _real_time(experiment: Experiment, figures: Figures, proven: Preflight) -> RealTime:
    p50_ns, p99_ns = figures.lateness_ns
    return RealTime(
        dilation=_factor(experiment),
        failed_attempts=proven.failed_attempts,
        switch=_settings(experiment).switch,
        duration_s=round(figures.health.duration_s, 3),
        capacity_fps=round(proven.capacity_fps),
        needed_fps=round(proven.needed_fps),
        lateness_p50_us=p50_ns / 1e3,
        lateness_p99_us=p99_ns / 1e3,
        late_start_p99_us=round(figures.late_start_p99_ns / 1e3, 1),
        cpu_busy=round(figures.health.cpu_busy, 3),
        softirq_drops=figures.health.softirq_drops,
        drain_ratio=None if proven.drain is None else round(proven.drain.rate_ratio, 4),
        standing_packets=proven.standing_packets,
        rtt_us=tuple((trip.expected_ns / 1e3, trip.measured_ns / 1e3) for trip in proven.round_trips),
        marks_made=proven.marks_made,
        ce_received=proven.long_flows.ce_received,
        marks_echoed=proven.long_flows.marks_echoed,
        buffers=proven.buffers,
        replaced_answers=figures.replaced_answers,
    )
