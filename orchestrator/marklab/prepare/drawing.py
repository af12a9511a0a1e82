# SPDX-License-Identifier: MIT OR Apache-2.0
"""Graphs of flows that wait for each other, while they are drawn: flows, joins, and what joins wait for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marklab.traffic.flows import FlowList, Joins, make_flows
from marklab.traffic.jobs import Job

Numbers = NDArray[np.int64]
# No flow, or no join.
NONE = -1


@dataclass
class Drawn:
    """A graph of flows and joins as it is drawn, in columns: of the flows, of the joins, and of what joins wait for."""

    flows: list[dict[str, Numbers]] = field(default_factory=list)
    joins: list[dict[str, Numbers]] = field(default_factory=list)
    waits: list[dict[str, Numbers]] = field(default_factory=list)
    flow_count: int = 0
    join_count: int = 0

    def add_flows(self, **columns: Any) -> Numbers:
        """Add flows, with a value or an array for each column. Returns their rows."""
        made = _columns(columns)
        rows = self.flow_count + np.arange(len(made["src"]))
        self.flows.append(made)
        self.flow_count += len(rows)
        return rows

    def add_joins(self, hosts: Numbers, time_ns: Numbers, not_before_ns: Any = 0) -> Numbers:
        """Add a join at each of these hosts, which would be reached at `time_ns`. Returns their numbers."""
        numbers = self.join_count + np.arange(len(hosts))
        self.joins.append(_columns({"host": hosts, "not_before_ns": not_before_ns, "time_ns": time_ns}))
        self.join_count += len(numbers)
        return numbers

    def wait(self, join: Numbers, *, flow: Any = NONE, on: Any = NONE, pause_ns: Any = 0) -> None:
        """Make joins wait for flows, or for joins, and a pause after them."""
        self.waits.append(_columns({"join": join, "flow": flow, "on": on, "pause_ns": pause_ns}))

    def listed(self) -> FlowList:
        """The flows in order of their start."""
        flow, join, wait = (_concatenated(each) for each in (self.flows, self.joins, self.waits))
        pairs = np.stack([flow["src"], flow["dst"]], axis=1).astype(np.uint32)
        none = np.zeros(len(pairs), np.uint64)
        made = replace(
            make_flows(flow["start_ns"].astype(np.uint64), pairs, flow["size_bytes"].astype(np.uint64), none),
            after=flow["after"],
            after_join=flow["after_join"],
            iteration=flow["iteration"],
            joins=Joins(
                join["host"].astype(np.uint32),
                join["not_before_ns"].astype(np.uint64),
                join["time_ns"].astype(np.uint64),
                wait["join"],
                wait["flow"],
                wait["on"],
                wait["pause_ns"].astype(np.uint64),
            ),
        )
        return made.taken(np.argsort(made.start_ns, kind="stable"))


def _columns(columns: dict[str, Any]) -> dict[str, Numbers]:
    arrays = np.broadcast_arrays(*(np.asarray(column, dtype=np.int64) for column in columns.values()))
    return {name: np.ravel(column) for name, column in zip(columns, arrays, strict=True)}


def _concatenated(parts: Sequence[dict[str, Numbers]]) -> dict[str, Numbers]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


@dataclass(frozen=True)
class Begun:
    """An iteration of a job: its hosts, and the joins at which they have computed, with their times."""

    job: Job
    hosts: Numbers
    number: int
    ready: Numbers
    ready_ns: Numbers

    @property
    def all_ready_ns(self) -> Numbers:
        """When all hosts have computed, for each of them."""
        return np.full(len(self.hosts), self.ready_ns.max())
