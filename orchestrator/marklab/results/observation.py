# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a fabric reports about one cell, that is one scheme on the flows of one seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray

from marklab.results.parallelism import Parallelism
from marklab.results.summary import RealTime
from marklab.topology import Port
from marklab.traffic.flows import FlowList

# Columns by name.
Columns = Mapping[str, NDArray[Any]]

# Prefix of the names of columns that hold a scheme's estimates.
ESTIMATED = "estimated_"
# Column of the true number of active 5-tuples: those whose packets left a port in the time that an estimate covers.
ACTIVE_FLOWS = "active_flows"


class Drop(TypedDict):
    """Packets lost at a place: `host`, `link`, `queue`, or `switch` (dropped by its program)."""

    place: str
    node: str
    port: int | None
    reason: str
    packets: int


class PortUse(TypedDict):
    """A port of a switch. `marked` counts what the network saw: packets that arrived ECN capable and left marked."""

    node: str
    port: int
    marked: int
    enqueued: int
    dropped: int
    max_packets: int
    max_bytes: int


class CounterCell(TypedDict):
    """A cell of a counter of the P4 program."""

    node: str
    counter: str
    index: int
    packets: int


class PriorityCount(TypedDict):
    """Packets with data that hosts sent with a priority, and those that switches marked."""

    sent: int
    marked: int


class EcnCounts(TypedDict):
    """Packets whose ECN field arrived wrong, and connections to which ECN was refused."""

    bleached: int
    forged: int
    erased: int
    rewritten: int
    refused: int


class Report(TypedDict):
    """Everything that is not a column."""

    drops: list[Drop]
    lines: list[dict[str, Any]]
    ports: list[PortUse]
    counters: list[CounterCell]
    faults: int
    ecn: NotRequired[EcnCounts]  # hosts of Linux do not count
    priorities: NotRequired[list[PriorityCount]]  # the highest first
    link_transmissions: int
    events: int
    arrivals_end_ns: int
    end_ns: int


@dataclass(frozen=True)
class PacketTrace:
    """Packets at switches, as the engine gives them, and the names of nodes; `flow` is that of the list of flows.

    `reasons` are of losses, by number; `dropped` counts earlier packets that were given up for these.
    """

    columns: Columns
    reasons: Sequence[str]
    dropped: int
    nodes: Sequence[str]


@dataclass(frozen=True)
class ControlWrite:
    """What a controller wrote into a switch: an entry of a table, or a cell of a register.

    Without a `match` it is a default action, without an `action` a deletion. `match` and `params` are JSON.
    """

    time_ns: int  # from when on it holds
    node: str
    target: str  # the table or the register
    match: str | None
    action: str | None
    params: str | None


@dataclass(frozen=True)
class Observation:
    """A finished cell."""

    scheme: str
    seed: int
    flows: FlowList
    fct_ns: NDArray[np.int64]  # -1 where the flow did not finish
    per_flow: dict[str, NDArray[np.uint64]]
    report: Report
    # For each recorded port: the whole port, then each of its queues if it has several.
    traces: Mapping[str, Sequence[Columns]]
    # The single packets of recorded ports, if they were asked for.
    passages: Mapping[Port, Columns]
    flow_trace: Columns | None
    # Packets at switches, if they were recorded.
    packet_trace: PacketTrace | None
    # For each request of a probe: `probe`, `time_ns`, and `rtt_ns`, which is -1 if no reply came.
    probes: Columns
    cpu_s: float
    # Round trips that TCP measured, to within 1 %: `rtt_ns`, ascending, and how many `packets` had them.
    rtts: Columns | None = None
    # Samples of queue lengths: `node` (name), `port`, `packets` that waited, and the number of `looks` that found them.
    queue_samples: Columns | None = None
    # The same for the number of `flows` (5-tuples) that these packets belong to.
    flow_samples: Columns | None = None
    # Windows of few flows, if their rates were recorded: `time_ns` of a change, `flow`, `cwnd_bytes`.
    sender_trace: Columns | None = None
    real_time: RealTime | None = None
    # Threads on which it ran.
    threads: int = 1
    parallelism: Parallelism | None = None
    # Of the run's controller, if it has one, in order of time.
    control: Sequence[ControlWrite] | None = None

    def after(self, given_up: Sequence[str]) -> Observation:
        """The same observation, with the reasons why earlier ways of running it do not count."""
        if self.real_time is None or not given_up:
            return self
        return replace(self, real_time=self.real_time.model_copy(update={"given_up": tuple(given_up)}))
