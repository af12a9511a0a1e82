# SPDX-License-Identifier: MIT OR Apache-2.0
"""A run made ready: the network, the flows of each seed, and schemes with programs that the fabric can run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from marklab.catalog.choice import SchemeChoice
from marklab.catalog.controller import ControllerChoice
from marklab.catalog.description import Forwarding
from marklab.catalog.parameters import Setup
from marklab.catalog.scheme import Entry, FittedScheme, PortEstimate, Scheme, find_scheme
from marklab.catalog.twin import FIRST_RECIRCULATION_PORT, Arch, twin_of
from marklab.devices.frames import HEADER_BYTES, MTU_BYTES
from marklab.devices.hosts import Limit
from marklab.devices.lossless import check_cycles, check_memory, check_parts
from marklab.devices.pfc import Pfc
from marklab.devices.queueing import Queues
from marklab.engine import binding as engine
from marklab.errors import BadInput, unknown
from marklab.prepare.arrivals import added, generate
from marklab.prepare.control import (
    Routes,
    check_entries,
    check_estimates,
    check_forwarding,
    is_called,
    service_entries,
)
from marklab.prepare.jobs import job_flows
from marklab.spec.description import Spec
from marklab.statistics.randomness import integers, uniform
from marklab.topology import Network, Port, build
from marklab.traffic.flows import FlowList, merged, read_flow_list
from marklab.units import format_time


@dataclass(frozen=True)
class ReadyScheme:
    """A fitted scheme with its compiled program."""

    fitted: FittedScheme
    program: engine.CompiledProgram
    entries: list[Entry]
    queues: Queues
    # What reads and writes its switches during a run, if anything does.
    controller: ControllerChoice | None = None

    @property
    def label(self) -> str:
        """What it is called in tables."""
        return self.fitted.label

    def identity(self) -> dict[str, Any]:
        """What decides its results, beside the description of the run."""
        own: dict[str, Any] = {"queues": str(self.queues)} if self.fitted.deals_out_queues else {}
        if self.controller is not None:
            own["controller"] = self.controller.identity()
        if self.mirrors:
            own["mirrors"] = {str(session): port for session, port in self.mirrors.items()}
        if self.fitted.filters:
            own["filters"] = self.fitted.filters
        return {"program": self.program.digest, "entries": self.entries, **own}

    @property
    def settings(self) -> list[dict[str, Any]]:
        """Entries, and settings of filters, as the engine takes them before a run."""
        return [*self.entries, *({"set_filter": each} for each in self.fitted.filters)]

    @property
    def mirrors(self) -> dict[int, int]:
        """Ports that mirror sessions lead to, if the program has copies made."""
        spec = self.fitted.scheme.spec
        return spec.mirrors if spec and "mirrors" in dict(self.program.needs) else {}

    @property
    def causes(self) -> dict[int, str]:
        """Names of the causes that its counters distinguish."""
        spec = self.fitted.scheme.spec
        return spec.causes if spec else {}

    def estimates(self, at: Port) -> list[PortEstimate]:
        """What its program estimates of a port."""
        return self.fitted.estimates(at.port)

    @property
    def forwarding(self) -> Forwarding:
        """Names of its forwarding tables."""
        spec = self.fitted.scheme.spec
        return spec.forwarding if spec else Forwarding()


@dataclass(frozen=True)
class Experiment:
    """What a fabric needs to run the cells (scheme, seed) of a description."""

    spec: Spec
    network: Network
    schemes: tuple[ReadyScheme, ...]
    # How many times as long its times are on real hosts; None while `auto` has not been decided.
    dilation: int | None = None

    @cached_property
    def setup(self) -> Setup:
        """What the schemes' rules depend on."""
        return setup_of(self.spec, self.network)

    @property
    def baseline(self) -> str | None:
        """Label of the scheme that others are compared with."""
        return self.spec.baseline.label if self.spec.baseline else None

    @cached_property
    def routes(self) -> dict[Forwarding, Routes]:
        """Forwarding entries of all switches, by the names of the tables."""
        return {names: Routes(self.network.graph, names) for names in {scheme.forwarding for scheme in self.schemes}}

    @cached_property
    def flow_lists(self) -> dict[int, FlowList]:
        """The flow list of each seed; that of a file is the same for all."""
        found = {seed: self._flows_of(seed, flows) for seed, flows in self._described_flows().items()}
        if self.spec.pias is not None and any(flows.dscp.any() for flows in found.values()):
            raise BadInput("flows have code points, which are the priorities of packets under pias", "dscp 0 for all")
        return found

    def _described_flows(self) -> dict[int, FlowList]:
        spec, hosts = self.spec, self.network.graph.hosts
        more = [added(spec.added_flows, hosts)] if spec.added_flows else []

        def together(seed: int, flows: FlowList) -> FlowList:
            return merged([*([job_flows(spec.training, hosts, seed)] if spec.training else []), flows, *more])

        if spec.flow_list is not None:
            listed = read_flow_list(Path(spec.flow_list.path), hosts)
            if spec.training:
                return {seed: together(seed, listed) for seed in spec.seed_numbers}
            return dict.fromkeys(spec.seed_numbers, together(spec.first_seed, listed))
        if spec.flow_seed is not None:
            generated = together(spec.flow_seed, generate(spec, self.network, spec.flow_seed))
            return dict.fromkeys(spec.seed_numbers, generated)
        return {seed: together(seed, generate(spec, self.network, seed)) for seed in spec.seed_numbers}

    def _flows_of(self, seed: int, flows: FlowList) -> FlowList:
        """The flows as they start with this seed, up to the end of the run."""
        jitter_ns = self.spec.start_jitter_ns
        if jitter_ns is not None:
            draws = uniform(seed, "start jitter", len(flows))
            flows = flows.started_later(integers(draws, jitter_ns).astype(np.uint64))
        return _until(self.spec, flows)

    def digest(self) -> str:
        """Digest of all that decides the result."""
        return self.spec.digest({scheme.label: scheme.identity() for scheme in self.schemes})

    @property
    def folder_name(self) -> str:
        """Name of its folder among results."""
        return f"{self.spec.title()}-{self.digest()[:8]}"


def _until(spec: Spec, flows: FlowList) -> FlowList:
    """The flows that begin before the run ends, and all of jobs, whose starts nobody knows before."""
    if spec.until_ns is None:
        if flows.endless.any():
            raise BadInput("a flow is endless, and so would be the run", "--until 100ms, or give the flow a size")
        return flows
    begun = flows.taken(np.flatnonzero((flows.start_ns < spec.until_ns) | (flows.iteration >= 0)))
    if len(begun) == 0:
        first = format_time(int(flows.start_ns[0]))
        raise BadInput(f"the first flow starts at {first}, when the run has ended", f"an `until` beyond {first}")
    return begun


def setup_of(spec: Spec, network: Network) -> Setup:
    """What rules depend on, of a described run."""
    limit = spec.queues.buffer or spec.queue_limit
    frame_bytes = spec.transport.mss_bytes + HEADER_BYTES
    packet_bytes = spec.threshold_packet_bytes or MTU_BYTES
    queue_packets = limit.in_packets(packet_bytes)
    return Setup(network.line_rate_bps, spec.rtt, spec.lambda_, queue_packets, spec.queues, frame_bytes, packet_bytes)


def prepare(spec: Spec) -> Experiment:
    """Check all that can be checked before a run."""
    network = build(spec.topology, spec.rate_bps, spec.rtt.base_ns)
    setup = setup_of(spec, network)
    graph = network.graph
    _check_services(spec)
    if spec.pfc is not None:
        _check_lossless(spec, spec.pfc, network, setup.frame_bytes)
    if spec.arch is not None:
        _check_ports(network)
    ecmp = graph.has_equal_ways
    schemes = tuple(
        replace(
            ready_scheme(choice, setup, ecmp, spec.queue_limit, spec.arch),
            controller=spec.controller if choice in spec.schemes else None,
        )
        for choice in spec.choices
    )
    for scheme in schemes:
        _check_transports(spec, scheme)
        if spec.mininet is not None:
            _check_real(scheme)
        if spec.pias is not None and scheme.fitted.deals_out_queues:
            raise BadInput(
                f"{scheme.label} has a queue for each flow, and none for the priorities of pias",
                "leave out pias, or choose a scheme that marks the queues that there are, such as tcn",
            )
    return Experiment(spec, network, schemes, _given_dilation(spec))


def require_dilation(experiment: Experiment) -> None:
    """Refuse to choose a dilation for cells that are run one by one: the next ones could not have the same."""
    if experiment.spec.mininet is not None and experiment.dilation is None:
        raise BadInput(
            "cells that are compared with each other need one dilation, and only a single run can choose it",
            "--set mininet.dilation=100, or what `run` with --dilation auto chose here",
        )


def _given_dilation(spec: Spec) -> int | None:
    return spec.mininet.dilation if spec.mininet is not None and spec.mininet.dilation != "auto" else None


def _check_lossless(spec: Spec, pfc: Pfc, network: Network, frame_bytes: int) -> None:
    """Refuse lossless lines that could lose packets, or wait for each other for ever."""
    longest = max([frame_bytes, *(probe.size_bytes for probe in spec.probes or ())])
    check_parts(pfc, network.graph)
    check_memory(pfc, network.graph, spec.framing, longest)
    check_cycles(network.graph)


def check_needs(scheme: Scheme, program: engine.CompiledProgram) -> None:
    """Refuse a program that needs an extern without an implementation, or what a run would not set up."""
    path = scheme.program
    if program.foreign:
        raise BadInput(
            f"{path} cannot run: nothing here implements {', '.join(f'`{name}`' for name in program.foreign)}",
            "put the calls under an #ifdef that other targets define",
        )
    given = {"mirrors"} if scheme.spec is not None and scheme.spec.mirrors else set()
    unmet = [why for setting, why in program.needs if setting not in given]
    if unmet:
        raise BadInput(
            f"{path} cannot run in the simulated network, which sets up table entries, and `mirrors` that a YAML file "
            f"names: {'; '.join(unmet)}",
            "leave it out of the program, or put it under an #ifdef that other targets define",
        )


def _check_ports(network: Network) -> None:
    """Refuse switches on which a port of the network would be one by which Tofino sends packets to itself."""
    graph = network.graph
    for switch, name in enumerate(graph.switches):
        ports = graph.ports(switch)
        if ports > FIRST_RECIRCULATION_PORT:
            raise BadInput(
                f"{name} has {ports} ports, and those from {FIRST_RECIRCULATION_PORT} on lead back to a Tofino",
                "a topology of smaller switches, or leave out --arch",
            )


def _check_real(scheme: ReadyScheme) -> None:
    """Refuse what is set up in simulated switches only."""
    given = [name for name, asked in (("mirrors", scheme.mirrors), ("filters", scheme.fitted.filters)) if asked]
    if given:
        raise BadInput(f"`{given[0]}` of {scheme.label} are set up in the simulator only", "--fabric sim")


def _check_transports(spec: Spec, scheme: ReadyScheme) -> None:
    """Refuse hosts that would take what a scheme does to their packets for something else."""
    heard = scheme.fitted.scheme.spec.needs.transports if scheme.fitted.scheme.spec else ()
    deaf = next((name for name in spec.transports if heard and name not in heard), None)
    if deaf is not None:
        raise BadInput(
            f"hosts with {deaf} do not read the marks of {scheme.label} as it means them: it is for {', '.join(heard)}",
            f"--transport {heard[0]}, or another scheme",
        )


def _check_services(spec: Spec) -> None:
    """Refuse services that have no queue of their own."""
    queues = spec.queues.count - spec.queues.strict
    if spec.services is not None and spec.services.count > queues > 1:
        raise BadInput(
            f"{spec.services.count} services and {queues} queue(s) that take turns: each service needs one of its own",
            f"--queues {spec.queues.scheduler}:count={spec.services.count + spec.queues.strict}, or fewer services",
        )


def ready_scheme(choice: SchemeChoice, setup: Setup, ecmp: bool, queue: Limit, arch: Arch | None = None) -> ReadyScheme:
    """A scheme with its compiled program, for switches that may have several equal paths (`ecmp`)."""
    fitted = find_scheme(choice).fit(choice, setup)
    if arch is not None:
        fitted = twin_of(fitted, arch=arch)
    path = fitted.scheme.program
    program = engine.compile_program(path, fitted.defines)
    check_needs(fitted.scheme, program)
    described = engine.describe(program)
    tables = described["tables"]
    entries = fitted.entries if fitted.scheme.spec else _undescribed(fitted, tables)
    queues = fitted.queues
    if not fitted.deals_out_queues and queues.count > 1:
        entries = [*entries, *service_entries(path, tables, queues.count - queues.strict)]
    elif fitted.deals_out_queues and queues.buffer is None and queues.shared_bytes is None:
        # A port has as much room as that of other schemes, however many queues share it.
        queues = queues.model_copy(update={"buffer": queue})
    ready = ReadyScheme(fitted, program, entries, queues)
    if fitted.scheme.spec:
        check_entries(path.with_suffix(".yaml"), tables, entries)
        check_estimates(path.with_suffix(".yaml"), described["registers"], fitted.estimates(port=0))
    check_forwarding(path, tables, ready.forwarding, ecmp)
    return ready


def _undescribed(fitted: FittedScheme, tables: list[dict[str, Any]]) -> list[Entry]:
    """Parameters of a program without a description: those of the default action of its table `params`."""
    found = [table for table in tables if is_called(table["name"], "params")]
    known: dict[str, str] = {}
    action: dict[str, Any] = {"name": "", "params": []}
    if len(found) == 1:
        default = found[0]["default_action"]
        action = next(each for each in found[0]["actions"] if each["name"] == default["action"])
        known = dict(zip((param["name"] for param in action["params"]), default["args"], strict=True))
    given = dict(fitted.choice.params)
    for name, text in given.items():
        if name not in known:
            raise unknown(f"parameter of {fitted.scheme.name}:", name, known)
        if not text.isdecimal():
            raise BadInput(
                f"parameter `{name}` is a whole number, not `{text}`", "a YAML file beside it can give units"
            )
    if not given:
        return []
    values = {name: str(given.get(name, value)) for name, value in known.items()}
    return [{"table": found[0]["name"], "action": action["name"], "params": values}]
