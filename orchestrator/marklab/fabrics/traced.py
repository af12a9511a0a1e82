# SPDX-License-Identifier: MIT OR Apache-2.0
"""Ports whose queues are recorded, and what is recorded of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from marklab.catalog.scheme import PortEstimate
from marklab.errors import BadInput, unknown
from marklab.metrics.passages import active_flows
from marklab.prepare.experiment import Experiment
from marklab.results.observation import ACTIVE_FLOWS, ESTIMATED, Columns
from marklab.topology import Network, Port


def traced_ports(experiment: Experiment) -> list[Port]:
    """Ports whose queues are recorded: those of the bottleneck that belong to switches."""
    if experiment.spec.trace_queue_ns is None:
        return []
    graph = experiment.network.graph
    return [line.source for line in experiment.network.bottleneck if not graph.is_host(line.source.node)]


def with_estimates(
    experiment: Experiment, queues: Sequence[Columns], passages: Columns | None, estimates: Sequence[PortEstimate]
) -> list[Columns]:
    """Give the registers of a recorded port their names and units, and put the truth beside an estimate of flows."""
    port, *others = queues
    columns = {name: values for name, values in port.items() if not name.startswith("register_")}
    cells = iter(port[name] for name in port if name.startswith("register_"))
    for estimate in estimates:
        values = [next(cells) for _ in estimate.registers]
        columns[ESTIMATED + estimate.name] = np.maximum.reduce(values) * estimate.scale
        if passages is not None and estimate.within_ns is not None:
            last_ns = port["time_ns"] + np.uint64((experiment.spec.trace_queue_ns or 1) - 1)
            columns[ACTIVE_FLOWS] = active_flows(passages, last_ns, estimate.within_ns)
    return [columns, *others]


def trace_settings(experiment: Experiment, at: Port, estimates: Sequence[PortEstimate]) -> dict[str, Any]:
    """What is recorded of a port, as the engine takes it."""
    registers = [
        {"register": register, "index": estimate.cell} for estimate in estimates for register in estimate.registers
    ]
    spec = experiment.spec
    packets = spec.trace_flows_ns is not None or any(estimate.within_ns is not None for estimate in estimates)
    return {
        "node": at.node,
        "port": at.port,
        "interval_ns": spec.trace_queue_ns,
        "registers": registers,
        "packets": packets,
    }


def find_port(network: Network, text: str) -> Port:
    """Read `host`, or `switch:port`."""
    graph = network.graph
    name, colon, number = text.partition(":")
    if name not in graph.names:
        raise unknown("node", name, graph.names)
    node = graph.names.index(name)
    ports = {line.source.port for line in graph.lines_from[node]}
    if graph.is_host(node) and not colon:
        return Port(node, 0)
    if not number.isdecimal() or int(number) not in ports:
        numbers = ", ".join(str(port) for port in sorted(ports))
        raise BadInput(f"`{text}` is not a port", f"ports of `{name}`: {numbers}; write it as {name}:{min(ports)}")
    return Port(node, int(number))
