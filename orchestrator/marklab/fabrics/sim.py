# SPDX-License-Identifier: MIT OR Apache-2.0
"""The simulated network: virtual time, true line rates."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marklab.controllers import loop
from marklab.devices.hosts import Prague, Transport
from marklab.devices.lossless import thresholds
from marklab.engine import binding as engine
from marklab.errors import BadInput, RunFailed
from marklab.fabrics.fabric import Cell
from marklab.fabrics.memory import cell_bytes
from marklab.fabrics.traced import find_port, trace_settings, traced_ports, with_estimates
from marklab.metrics.sharing import FEW_FLOWS
from marklab.model import Model
from marklab.prepare.control import host_ip, mac
from marklab.prepare.experiment import Experiment, ReadyScheme
from marklab.prepare.ideal import full_frame_ns
from marklab.prepare.receive_windows import receive_windows
from marklab.results.observation import Columns, Observation, PacketTrace
from marklab.results.parallelism import THREADS, Parallelism, Work
from marklab.spec.description import Spec
from marklab.topology import Port
from marklab.traffic.flows import OWN_TRANSPORTS, FlowList, find_host

# So many curves are more than anyone looks at, and their files stay small.
MAX_TRACED_FLOWS = 1000

_PER_FLOW = (
    *("retransmissions", "timeouts", "fast_recoveries", "ecn_reductions", "marked_packets", "delivered_bytes"),
    *("rtt_mean_ns", "cwnd_mean_bytes"),
)
# Of transports that measure delays.
_BASE_DELAY = "base_delay_ns"
# In the engine's records: of probes.
_NO_FLOW = np.iinfo(np.uint32).max


class Sim:
    """Runs cells in the engine's network simulator."""

    name = "sim"
    max_workers: int | None = None

    def check(self, experiment: Experiment) -> None:
        """Refuse what simulated hosts and switches do not have."""
        if experiment.spec.pcap is not None:
            find_port(experiment.network, experiment.spec.pcap)
        _traced_packets(experiment)
        _probes(experiment)
        for scheme in experiment.schemes:
            if scheme.controller is not None:
                first = Cell(experiment, scheme, experiment.spec.first_seed)
                loop.rehearse(scheme.controller, experiment.network.graph, _inputs(first, []))
        if experiment.spec.trace_flows_ns is not None:
            _check_traced_flows(experiment)

    def cell_bytes(self, experiment: Experiment) -> int:
        """Memory that a cell takes, by estimate, without recordings."""
        return cell_bytes(experiment)

    def settled(self, experiment: Experiment) -> Experiment:
        """Virtual time leaves nothing to the machine."""
        return experiment

    def slower(self, _experiment: Experiment, _error: RunFailed) -> Experiment | None:
        """What fails here fails on any machine."""
        return None

    def run(self, cell: Cell, watch: engine.Watch) -> Observation:
        """Run a cell."""
        experiment = cell.experiment
        flows = experiment.flow_lists[cell.seed]
        traced = traced_ports(experiment)
        start = time.thread_time()
        result = _simulated(cell, traced, watch)
        cpu_s = time.thread_time() - start + result["other_threads_ns"] / 1e9
        flows, rows = flows.as_begun(result["start_ns"]) if flows.waiting.any() else (flows, np.arange(len(flows)))
        names = experiment.network.graph.names
        return Observation(
            scheme=cell.scheme.label,
            seed=cell.seed,
            flows=flows,
            fct_ns=result["fct_ns"][rows],
            per_flow={name: result[name][rows] for name in _per_flow(experiment.spec)},
            report=result["report"],
            traces={
                f"{names[at.node]}-{at.port}": with_estimates(experiment, queues, passages, cell.scheme.estimates(at))
                for at, queues, passages in zip(traced, result["traces"], result["passages"], strict=True)
            },
            passages={
                at: passages for at, passages in zip(traced, result["passages"], strict=True) if passages is not None
            },
            flow_trace=result.get("flow_trace"),
            sender_trace=result.get("sender_trace"),
            packet_trace=_packets(result.get("packet_trace"), rows, names),
            probes=result["probes"],
            cpu_s=cpu_s,
            rtts=result["rtts"],
            queue_samples=_named(result.get("queue_samples"), names),
            flow_samples=_named(result.get("flow_samples"), names),
            threads=result["threads"],
            control=result.get("control"),
            parallelism=_parallelism(result["parallelism"]) if "parallelism" in result else None,
        )


def _simulated(cell: Cell, traced: list[Port], watch: engine.Watch) -> Mapping[str, Any]:
    controller = cell.scheme.controller
    if controller is not None:
        # On one thread, since all switches are read and written at one time.
        return loop.simulate(controller, cell.experiment.network.graph, _inputs(cell, traced), watch)
    return engine.simulate(_inputs(cell, traced), watch, cell.threads, THREADS if cell.measured else ())


def session(cell: Cell) -> engine.Session:
    """A cell as a run in steps, without recordings: the same run as `Sim.run`.

    Raises BadInput if it has a controller.
    """
    if cell.scheme.controller is not None:
        raise BadInput(
            f"{cell.scheme.label} has the controller {cell.scheme.controller}, and cannot be run again in steps yet",
            "a run without --controller, or its records: --trace-packets, --trace-queue",
        )
    return engine.new_session(_inputs(replace(cell, captures=None), []))


def _inputs(cell: Cell, traced: list[Port]) -> engine.Inputs:
    experiment = cell.experiment
    flows = experiment.flow_lists[cell.seed]
    return engine.Inputs(
        configuration(experiment, cell.scheme, int(flows.start_ns[-1]), traced, cell.captures),
        cell.scheme.program,
        cell.scheme.settings,
        experiment.routes[cell.scheme.forwarding].as_json,
        flows.for_engine() | _of_connections(experiment, flows, cell.seed),
        cell.seed,
    )


def _parallelism(measured: Mapping[str, Any]) -> Parallelism:
    spans = zip(measured["span_events"].tolist(), measured["span_ns"].tolist(), strict=True)
    work = Work(measured["work_events"], measured["work_ns"])
    return Parallelism(measured["windows"], work, tuple(Work(events, ns) for events, ns in spans))


def _of_connections(experiment: Experiment, flows: FlowList, seed: int) -> dict[str, NDArray[np.uint64]]:
    """What the connections of flows have of their own."""
    spec = experiment.spec
    knows = spec.connections.warm and spec.transport.hears_delay
    base_ns = full_frame_ns(spec, experiment.network, flows) if knows else np.zeros(len(flows))
    return {
        "receive_window_bytes": receive_windows(spec, seed, len(flows)),
        "base_delay_ns": np.rint(base_ns).astype(np.uint64),
    }


def _per_flow(spec: Spec) -> tuple[str, ...]:
    return (*_PER_FLOW, _BASE_DELAY) if spec.transport.hears_delay else _PER_FLOW


def _named(samples: Columns | None, names: Sequence[str]) -> Columns | None:
    """Samples of queues with the names of their switches."""
    return None if samples is None else {**samples, "node": np.array(names)[samples["node"]]}


def _packets(recorded: Mapping[str, Any] | None, rows: NDArray[np.int64], names: Sequence[str]) -> PacketTrace | None:
    """A record of packets; `rows` has the engine's number of each flow of the list."""
    if recorded is None:
        return None
    columns = dict(recorded)
    reasons, dropped = columns.pop("reasons"), columns.pop("dropped")
    of_none = columns["flow"] == _NO_FLOW
    number_of = np.zeros(int(rows.max(initial=0)) + 1, np.uint32)
    number_of[rows] = np.arange(len(rows), dtype=np.uint32)
    columns["flow"] = np.where(of_none, _NO_FLOW, number_of[np.where(of_none, 0, columns["flow"])])
    return PacketTrace(columns, reasons, dropped, names)


def _traced_packets(experiment: Experiment) -> dict[str, Any] | None:
    """Which packets are recorded, as the engine takes it. Raises BadInput for a port or flow that is not there."""
    traced = experiment.spec.trace_packets
    if traced is None:
        return None
    ports = []
    if traced.port is not None:
        at = find_port(experiment.network, traced.port)
        if experiment.network.graph.is_host(at.node):
            raise BadInput(f"`{traced.port}` is a host, and packets are recorded at switches", "port=s0:0")
        ports = [(at.node, at.port)]
    fewest = min(len(flows) for flows in experiment.flow_lists.values())
    if traced.flow is not None and any(flows.waiting.any() for flows in experiment.flow_lists.values()):
        raise BadInput(
            "flows of this run wait for others, and have their numbers when they have begun",
            "leave out flow=, and take the flow from the record",
        )
    if traced.flow is not None and traced.flow >= fewest:
        raise BadInput(f"there is no flow {traced.flow} whose packets could be recorded", f"a number below {fewest:,}")
    only = [{"marks": "mark", "losses": "loss"}[what] for what in traced.only]
    return {"ports": ports, "only": only, "flow": traced.flow, "last": traced.last}


def _check_traced_flows(experiment: Experiment) -> None:
    most = _most_flows(experiment)
    if most > MAX_TRACED_FLOWS:
        raise BadInput(
            f"{most:,} flows per seed are too many to record the rate of each",
            f"--flows {MAX_TRACED_FLOWS} or fewer, a shorter flow list, or leave out --trace-flows",
        )


def _most_flows(experiment: Experiment) -> int:
    return max(len(flows) for flows in experiment.flow_lists.values())


def configuration(
    experiment: Experiment, scheme: ReadyScheme, last_start_ns: int, traced: list[Port], captures: Path | None
) -> dict[str, Any]:
    """The engine's description of a run."""
    spec, graph = experiment.spec, experiment.network.graph
    links = [{"a": link.a, "b": link.b, "rate_bps": link.rate_bps, "delay_ns": link.delay_ns} for link in graph.links]
    config = {
        "nodes": _nodes(experiment, scheme),
        "links": links,
        "framing": _numbers(spec.framing),
        "transport": transport_numbers(spec.transport, spec.rate_bps),
        "own_controls": OWN_TRANSPORTS,
        "nic": _numbers(spec.nic),
        "connections": _connections(spec),
        "stop_ns": spec.until_ns or last_start_ns + spec.stop_ns,
        "traces": [trace_settings(experiment, at, scheme.estimates(at)) for at in traced],
    }
    if spec.pfc is not None:
        xoff_bytes, xon_bytes = thresholds(spec.pfc, graph, spec.framing, experiment.setup.frame_bytes)
        per = {"per": spec.pfc.per} if spec.pfc.per is not None else {}
        config["pfc"] = {"xoff_bytes": xoff_bytes, "xon_bytes": xon_bytes, **per}
    if spec.pias_thresholds_bytes is not None:
        config["pias"] = {"thresholds_bytes": list(spec.pias_thresholds_bytes)}
    if spec.probes:
        config["probes"] = _probes(experiment)
    if spec.trace_flows_ns is not None:
        config["trace_flows_ns"] = spec.trace_flows_ns
        if spec.windows and not spec.transport.is_paced and _most_flows(experiment) <= FEW_FLOWS:
            config["trace_senders_ns"] = spec.trace_flows_ns
    if (packets := _traced_packets(experiment)) is not None:
        config["trace_packets"] = packets
    if spec.sample_queues_ns is not None:
        config["sample_queues"] = {
            "interval_ns": spec.sample_queues_ns,
            "until_ns": spec.until_ns or last_start_ns,
        }
    if captures is not None and spec.pcap is not None:
        at = find_port(experiment.network, spec.pcap)
        path = captures / f"{graph.names[at.node]}-{at.port}.pcap"
        config["captures"] = [{"node": at.node, "port": at.port, "path": str(path)}]
    return config


def _probes(experiment: Experiment) -> list[dict[str, Any]]:
    hosts = experiment.network.graph.hosts
    probes = []
    for probe in experiment.spec.probes or ():
        src, dst = (find_host(host, hosts) for host in (probe.src, probe.dst))
        if src == dst:
            raise BadInput(f"the probe {probe.label} runs from a host to itself", "probe another host")
        probes.append(
            {
                "src": src,
                "dst": dst,
                "dscp": probe.dscp,
                "frame_bytes": probe.size_bytes,
                "start_ns": probe.start_ns,
                "interval_ns": probe.every_ns,
            }
        )
    return probes


def _nodes(experiment: Experiment, scheme: ReadyScheme) -> list[dict[str, Any]]:
    graph = experiment.network.graph
    queueing = scheme.queues.to_engine(experiment.spec.queue_limit, experiment.setup.frame_bytes)
    hosts = [
        {"kind": "host", "name": name, "mac": list(mac(graph, host).to_bytes(6, "big")), "ip": host_ip(host)}
        for host, name in enumerate(graph.hosts)
    ]
    switches = [
        {
            "kind": "switch",
            "name": name,
            "ports": graph.ports(switch),
            "queueing": queueing,
            "mirrors": list(scheme.mirrors.items()),
        }
        for switch, name in enumerate(graph.switches)
    ]
    return hosts + switches


def transport_numbers(transport: Transport, rate_bps: int) -> dict[str, Any]:
    """TCP as the engine takes it, on lines of a rate."""
    numbers = _numbers(transport)
    # Those of connections come with the flows.
    del numbers["receive_windows"]
    stack = _numbers(transport.stack)
    del stack["profile"]
    idle = stack.pop("idle")
    del numbers["idle_restart"]
    return numbers | {
        "stack": stack | {"idle_restart": idle if transport.idle_restart else "never"},
        "delay_threshold_ns": transport.threshold_ns(rate_bps),
        "syn_ack_timer": bool(transport.syn_ack_timer),
        "dcqcn": _numbers(transport.dcqcn) if transport.dcqcn else None,
        "prague": _numbers(transport.prague or Prague()),
    }


_ENGINE_NAMES = {"initial_window": "initial_window_segments", "ack_every": "ack_every_segments"}


def _numbers(model: Model) -> dict[str, Any]:
    """A description as the engine takes it: plain numbers, units in the names."""
    return {_ENGINE_NAMES.get(name, name): value for name, value in model}


def _connections(spec: Spec) -> Any:
    if spec.connections.mode == "new":
        return "new"
    if spec.connections.mode == "asked":
        return {"asked": {"request_bytes": spec.connections.request_bytes}}
    return {"queued" if spec.connections.waits else "persistent": {"per_pair": spec.connections.per_pair}}
