# SPDX-License-Identifier: MIT OR Apache-2.0
"""The network of scripts: pairs of hosts at one switch, which runs p4src/v1model/lib/scripted.p4.

Host 2 i sends to host 2 i + 1; they are at the ports of these numbers. Behind them each delay has two ports, with one
line from the first to the second. A quarter of the round trip is on each direction of each host's line, so that a burst
of acknowledgements has passed the switch before the answers to it come.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from marklab.catalog.description import Forwarding
from marklab.catalog.scheme import Entry
from marklab.hosts.script import Case, Control, Happening, Match, ScriptFlow
from marklab.paths import PROGRAMS
from marklab.prepare.control import forwarding_entries, host_ip
from marklab.topology import Graph, Link, Port

PROGRAM = PROGRAMS / "lib" / "scripted.p4"

SERVER_PORT = 5001
# Numbers of simulated connections; Linux's clients are bound to the same ones.
FIRST_CLIENT_PORT = 1024

# Lines of scripts have no rate that counts.
_RATE_BPS = 10**11
# As the program has it.
_RECIPROCAL_BITS = 40
_ALL_ONES = 2**32 - 1
_KEYS = ("packet", "segment", "copy", "opening", "closing", "signal", "round", "place")

# Segments take so much longer than other packets, as if a line had a rate. So the shortest round trip is that of the
# handshake, however slow the machine was then: Linux takes a retransmission's acknowledgement for that of the original
# if it comes within the shortest round trip (`tcp_rack_advance`).
SEGMENT_NS = 2 * 10**6

# Of advertised windows, by the window scale that simulated hosts have.
WINDOW_UNIT_BYTES = 256

# Of the simulator's `report` and the real switch's.
COUNTER = "met"


@dataclass(frozen=True)
class Placed:
    """A flow of a case on a pair of hosts."""

    case: Case
    flow: int
    pair: int
    client_port: int

    @property
    def described(self) -> ScriptFlow:
        """As the script has it."""
        return self.case.script.all_flows[self.flow]

    @property
    def quarter_ns(self) -> int:
        """Delay of a host's line."""
        return self.case.script.rtt_ns // 4


@dataclass(frozen=True)
class Bottleneck:
    """Cases side by side, each flow on a pair of its own."""

    cases: tuple[Case, ...]
    mss_bytes: int
    # Of the whole network, which may have more than these cases need.
    pairs: int
    detours: int
    # Of each transport, if hosts are those of one; else pair i is that of flow i.
    pairs_of: Mapping[Control, Sequence[int]] | None = None
    first_port: int = FIRST_CLIENT_PORT

    @cached_property
    def placed(self) -> tuple[Placed, ...]:
        """All flows with their hosts."""
        pairs = iter(range(self.pairs))
        free = {control: iter(own) for control, own in self.pairs_of.items()} if self.pairs_of is not None else {}
        flows = [(case, flow) for case in self.cases for flow in range(len(case.script.all_flows))]
        taken = [next(free.get(case.control, pairs)) for case, _ in flows]
        return tuple(
            Placed(case, flow, pair, self.first_port + pair) for (case, flow), pair in zip(flows, taken, strict=True)
        )

    @cached_property
    def delays_ns(self) -> tuple[int, ...]:
        """Of the detours, each once; segments without an event take the first one."""
        delays = {_delay_ns(event) for case in self.cases for event in case.script.events if event.by_ns is not None}
        return (SEGMENT_NS, *sorted(delays - {SEGMENT_NS}))

    @cached_property
    def graph(self) -> Graph:
        """Hosts, the switch, and the lines with their delays; pairs and detours that no case needs have none."""
        switch = 2 * self.pairs
        hosts = tuple(f"{side}{pair}" for pair in range(self.pairs) for side in ("a", "b"))
        quarters = {placed.pair: placed.quarter_ns for placed in self.placed}
        links = [
            Link(Port(host, 0), Port(switch, host), _RATE_BPS, quarters.get(host // 2, 0))
            for host in range(2 * self.pairs)
        ]
        for number in range(self.detours):
            delay = self.delays_ns[number] if number < len(self.delays_ns) else 0
            links.append(
                Link(
                    Port(switch, self.detour_port(number)), Port(switch, self.detour_port(number) + 1), _RATE_BPS, delay
                )
            )
        return Graph(hosts, ("s0",), tuple(links))

    def detour_port(self, number: int) -> int:
        """The port at which a detour begins; it ends at the next one."""
        return 2 * self.pairs + 2 * number

    def entries(self) -> list[Entry]:
        """For all tables of the program."""
        routes = forwarding_entries(self.graph, 0, Forwarding())
        returning = [
            {"table": "returning", "match": {"port": {"exact": self.detour_port(number) + 1}}, "action": "NoAction"}
            for number in range(len(self.delays_ns))
        ]
        flows = [entry for placed in self.placed for entry in self._flow_entries(placed)]
        return [*routes, *returning, *flows, *(self._event_entry(*event) for event in enumerate(self.happenings()))]

    def _flow_entries(self, placed: Placed) -> Iterator[Entry]:
        ends = [(host_ip(2 * placed.pair), placed.client_port), (host_ip(2 * placed.pair + 1), SERVER_PORT)]
        reciprocal = -(-(2**_RECIPROCAL_BITS) // self.mss_bytes)
        # As many units as hold the segments.
        window = -(-(placed.described.receive_window or 0) * self.mss_bytes // WINDOW_UNIT_BYTES)
        for direction, (source, target) in enumerate((ends, ends[::-1])):
            match = {"src_addr": source[0], "dst_addr": target[0], "src_port": source[1], "dst_port": target[1]}
            yield {
                "table": "flow",
                "match": {name: {"exact": value} for name, value in match.items()},
                "action": "set_flow",
                "params": {
                    "flow": placed.pair,
                    "direction": direction,
                    "segment_bytes": self.mss_bytes,
                    "segment_reciprocal": reciprocal,
                    "window": window if direction else 0,
                    "segment_port": self.detour_port(0),
                },
            }

    def happenings(self) -> Iterator[tuple[Placed, int, Match]]:
        """All packets that events are about, in the order of the counter's cells: flow, number of the event, packet."""
        for placed in self.placed:
            for number, event in enumerate(placed.case.script.events):
                if event.flow == placed.flow + 1:
                    for match in event.matches():
                        yield placed, number, match

    def _event_entry(self, cell: int, happening: tuple[Placed, int, Match]) -> Entry:
        placed, number, match = happening
        event = placed.case.script.events[number]
        keys = match.keys
        ternary = {name: {"ternary": [keys[name], _ALL_ONES] if name in keys else [0, 0]} for name in _KEYS}
        exact = {"flow": placed.pair, "direction": 0 if event.direction == "data" else 1}
        action, params = {"drop": "drop_packet"}.get(event.action, event.action), {"event": cell}
        if event.by_ns is not None:
            params["port"] = self.detour_port(self.delays_ns.index(_delay_ns(event)))
        return {
            "table": "script",
            "match": {name: {"exact": value} for name, value in exact.items()} | ternary,
            "action": action,
            "params": params,
            # Of several events for one packet the script's first one happens.
            "priority": cell,
        }

    def never(self, met: dict[int, int]) -> dict[Case, list[str]]:
        """Packets that events are about and that never came, by case; `met` has packets by the counter's cells."""
        absent: dict[Case, list[str]] = {}
        for cell, (placed, number, match) in enumerate(self.happenings()):
            if not met.get(cell):
                event = placed.case.script.events[number]
                flow = f"flow {event.flow}: " if len(placed.case.script.all_flows) > 1 else ""
                absent.setdefault(placed.case, []).append(
                    f"event {number + 1} ({event.action} {event.direction}): {flow}there was no {match}"
                )
        return absent


def _delay_ns(event: Happening) -> int:
    """Of the line by which an event's packets go: segments are late by that much behind others."""
    return (event.by_ns or 0) + (SEGMENT_NS if event.direction == "data" else 0)


def detours_of(cases: Sequence[Case]) -> int:
    """How many detours cases need that run side by side."""
    return len(Bottleneck(tuple(cases), 1, 0, 0).delays_ns)


def alone(case: Case, mss_bytes: int) -> Bottleneck:
    """A network with what a case needs."""
    network = Bottleneck((case,), mss_bytes, len(case.script.all_flows), 0)
    return replace(network, detours=len(network.delays_ns))
