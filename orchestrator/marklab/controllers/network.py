# SPDX-License-Identifier: MIT OR Apache-2.0
"""The network as a controller sees it: it reads how switches stand, and what it writes holds after its delay."""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marklab.engine import binding as engine
from marklab.errors import BadInput
from marklab.results.observation import ControlWrite
from marklab.topology import Graph

# Of a table entry: a number is matched exactly; other kinds are written as in docs/controllers.md.
Match = Mapping[str, int | Mapping[str, Any]]


@dataclass(frozen=True)
class Port:
    """A port of a switch, at the time of the call. What is counted is counted from the start of the run."""

    number: int
    peer: str  # name of the host or switch at the other end
    rate_bps: int
    packets: int  # waiting for it
    bytes: int
    sent_bytes: int  # on the line, with all that frames a packet
    marked: int  # packets
    lost: int  # packets


@dataclass(frozen=True)
class RoundTrips:
    """Round-trip times that hosts have measured: each, and how many acknowledgements had it."""

    rtt_ns: NDArray[np.uint64]
    packets: NDArray[np.uint64]

    def percentile_ns(self, percent: float) -> int | None:
        """The smallest time that is not exceeded by `percent` of all; None if there are none."""
        total = int(self.packets.sum())
        if total == 0:
            return None
        at = np.searchsorted(np.cumsum(self.packets), percent / 100 * total)
        return int(self.rtt_ns[min(int(at), len(self.rtt_ns) - 1)])


@dataclass(frozen=True)
class _Write:
    """Something that a line of the controller's file wrote."""

    what: ControlWrite
    line: int
    change: Callable[[], None]


class Switch:
    """A switch: its ports, and what P4Runtime reads and writes."""

    def __init__(self, network: Network, node: int, name: str, control: engine.Control) -> None:
        self.name = name
        self._network, self._node, self._control = network, node, control
        # By table, match and priority.
        self._handles: dict[tuple[str, str, int], int] = {}

    @property
    def ports(self) -> Sequence[Port]:
        """The ports with a line, as they stand now."""
        return self._network.ports_of(self._node)

    def write(
        self, table: str, action: str, match: Match | None = None, priority: int = 0, **params: int | str
    ) -> None:
        """Insert an entry, or modify the one with this match; without a match, set the default action.

        Raises BadInput for an entry of another writer, or one that the program cannot have, once it comes to hold.
        """
        keys = None if match is None else _keys(match)
        entry = {"table": table, "action": action, "params": params, "priority": priority}
        text = json.dumps(entry if keys is None else entry | {"match": keys})
        place = None if keys is None else (table, _text(keys), priority)

        def change() -> None:
            with engine.refusals():
                if place is not None and place in self._handles:
                    self._control.modify_entry(self._handles[place], text)
                    return
                handle = self._control.add_entry(text)
                if place is not None and handle is not None:
                    self._handles[place] = handle

        self._later(change, table, None if keys is None else _text(keys), action, _text(params))

    def delete(self, table: str, match: Match, priority: int = 0) -> None:
        """Delete an entry that this controller wrote. Raises BadInput for another one, once it would be gone."""
        keys = _text(_keys(match))

        def change() -> None:
            handle = self._handles.pop((table, keys, priority), None)
            if handle is None:
                raise BadInput(f"`{table}` of {self.name} has no entry of this controller for {keys}")
            with engine.refusals():
                self._control.delete_entry(table, handle)

        self._later(change, table, keys, None, None)

    def counter(self, name: str, index: int) -> tuple[int, int]:
        """Packets and bytes that a cell of a counter has counted."""
        with engine.refusals():
            return self._control.counter(name, index)

    def register(self, name: str, index: int) -> int:
        """The value of a cell of a register."""
        with engine.refusals():
            return self._control.register(name, index)

    def registers(self, name: str) -> dict[int, int]:
        """The cells of a register that are not 0."""
        with engine.refusals():
            return dict(self._control.register_values(name))

    def set_register(self, name: str, index: int, value: int) -> None:
        """Set a cell of a register."""

        def change() -> None:
            with engine.refusals():
                self._control.set_register(name, index, value)

        self._later(change, name, str(index), None, str(value))

    def _later(
        self, change: Callable[[], None], target: str, match: str | None, action: str | None, params: str | None
    ) -> None:
        # Of the caller of `write`, `delete` or `set_register`.
        line = sys._getframe(2).f_lineno
        what = ControlWrite(self._network.holds_from_ns, self.name, target, match, action, params)
        self._network.write(_Write(what, line, change))


def _keys(match: Match) -> Mapping[str, Mapping[str, Any]]:
    return {key: value if isinstance(value, Mapping) else {"exact": value} for key, value in match.items()}


def _text(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True)


class Network:
    """All switches, the time, and what hosts measure.

    `random` draws numbers from a stream of the run's seed: the same run draws the same ones.
    """

    def __init__(self, graph: Graph, run: engine.ControlledRun, delay_ns: int, seed: int) -> None:
        self.now_ns = 0
        self.random = Random(f"controller {seed}")  # noqa: S311 - not for secrets
        self._run, self._graph, self._delay_ns = run, graph, delay_ns
        self._writes: deque[_Write] = deque()
        self.written: list[ControlWrite] = []
        self._ends = run.lines()
        self._rates = [link.rate_bps for link in graph.links for _ in (0, 1)]
        self._seen: dict[int, list[Port]] | None = None
        self._counted: dict[int, int] = {}
        hosts = len(graph.hosts)
        self.switches = [
            Switch(self, hosts + number, name, run.switch(hosts + number)) for number, name in enumerate(graph.switches)
        ]

    def switch(self, name: str) -> Switch:
        """A switch by its name. Raises BadInput if there is none of this name."""
        for each in self.switches:
            if each.name == name:
                return each
        raise BadInput(f"there is no switch `{name}`", f"one of {', '.join(each.name for each in self.switches)}")

    def round_trips(self) -> RoundTrips:
        """Round-trip times that hosts have measured since this was last asked for, to one part in a hundred."""
        columns = self._run.rtts()
        before = np.array([self._counted.get(rtt, 0) for rtt in columns["rtt_ns"].tolist()], np.uint64)
        self._counted = dict(zip(columns["rtt_ns"].tolist(), columns["packets"].tolist(), strict=True))
        new = columns["packets"] - before
        return RoundTrips(columns["rtt_ns"][new > 0], new[new > 0])

    def ports_of(self, node: int) -> Sequence[Port]:
        """The ports of a node, in order of their numbers."""
        if self._seen is None:
            self._seen = self._look()
        return self._seen[node]

    def _look(self) -> dict[int, list[Port]]:
        view = {name: column.tolist() for name, column in self._run.view().items()}
        ports: dict[int, list[Port]] = {node: [] for node in range(len(self._graph.names))}
        for line, (node, number, peer, _) in enumerate(self._ends):
            ports[node].append(
                Port(
                    number, self._graph.names[peer], self._rates[line], view["packets"][line], view["bytes"][line],
                    view["wire_bytes"][line], view["marked"][line], view["lost"][line],
                )
            )  # fmt: skip
        return {node: sorted(each, key=lambda port: port.number) for node, each in ports.items()}

    # Of the loop.

    @property
    def holds_from_ns(self) -> int:
        """When what is written now holds: after the controller's delay."""
        return self.now_ns + self._delay_ns

    def write(self, write: _Write) -> None:
        """Let a change hold later."""
        self._writes.append(write)

    def moved_to(self, now_ns: int) -> None:
        """The run has come to this time: switches are looked at anew, and what was written until then holds."""
        self.now_ns = now_ns
        self._seen = None
        self.apply(now_ns)

    @property
    def next_write_ns(self) -> int | None:
        """When the next change holds."""
        return self._writes[0].what.time_ns if self._writes else None

    def apply(self, until_ns: int) -> None:
        """Let all changes hold up to those of a time. Raises BadInput for what a switch refuses."""
        while self._writes and self._writes[0].what.time_ns <= until_ns:
            write = self._writes.popleft()
            try:
                write.change()
            except BadInput as error:
                raise BadInput(f"line {write.line}: {error}", error.remedy) from error
            self.written.append(write.what)
