# SPDX-License-Identifier: MIT OR Apache-2.0
"""A switch of the engine under test, which carries out a test's statements."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from marklab.engine import binding as engine
from marklab.errors import BadInput
from marklab.p4tools.stf import commands, names
from marklab.p4tools.stf.statements import Add, Command, Packet, RemoveAll, SetDefault, Statement


class Unsupported(BadInput):
    """The test asks for something that the engine does not have."""


@dataclass(frozen=True)
class Exchange:
    """A packet that was sent, and the packets that left because of it."""

    packet: Packet
    frames: list[tuple[int, bytes]]
    losses: list[str] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Memory:
    """The state of a switch: cells of registers, and packets and bytes of counters."""

    registers: dict[str, list[int]]
    counters: dict[str, list[tuple[int, int]]]


class Device:
    """One switch, and the names of its objects."""

    def __init__(
        self,
        program: engine.CompiledProgram,
        *,
        entries: Sequence[Mapping[str, Any]] = (),
        queueing: str | None = None,
        trace: bool = False,
    ) -> None:
        self._parts: Mapping[str, Any] = engine.describe(program)
        self._aliases: dict[str, int] = {}
        self._trace = trace
        # The switch's clock, which advances only when a packet gives a later time.
        self._now_ns = 0
        with engine.refusals():
            self._harness = engine.new_harness(program, entries=entries, queueing=queueing)
            if trace:
                self._harness.trace(True)

    def send(self, packet: Packet) -> Exchange:
        """Send a packet. When it returns, everything that the packet causes has happened."""
        now_ns = packet.queue.get("now_ns", self._now_ns)
        if now_ns < self._now_ns:
            raise BadInput(f"now_ns={now_ns} is before {self._now_ns}, when the last packet left")
        self._now_ns = now_ns
        with engine.refusals():
            if packet.queue.keys() <= {"now_ns"}:
                frames = self._harness.inject(packet.port, packet.frame, now_ns)
            else:
                signals = {name: packet.queue.get(name, 0) for name in engine.QUEUE_SIGNALS} | {"now_ns": now_ns}
                port, frame, _ = self._harness.process(packet.port, packet.frame, **signals)
                frames = [] if port is None or frame is None else [(port, frame)]
            events = json.loads(self._harness.take_trace()) if self._trace else []
            losses = [reason for reason, _ in self._harness.losses]
        return Exchange(packet, frames, losses, events)

    def receive(self, packet: Packet, now_ns: int) -> int | None:
        """Receive a packet, which then waits for `transmit`. Returns its port, or None if it was lost."""
        with engine.refusals():
            place = self._harness.receive(packet.port, packet.frame, now_ns)
            return None if place is None else place[0]

    def transmit(self, port: int, now_ns: int) -> bytes | None:
        """Send the next packet of a port; None if egress drops it."""
        with engine.refusals():
            left = self._harness.transmit(port, now_ns)
            return None if left is None else left[0]

    def configure(self, statement: Statement) -> None:
        """Carry out a statement about the control plane."""
        with engine.refusals():
            match statement:
                case Add():
                    entry = names.entry(statement, self._parts["tables"])
                    handle = self._harness.add_entry(json.dumps(entry))
                    if statement.alias and handle is not None:
                        self._aliases[statement.alias] = handle
                case SetDefault():
                    self._harness.add_entry(json.dumps(names.default_action(statement, self._parts["tables"])))
                case RemoveAll():
                    for table in self._parts["tables"]:
                        if not table["const_entries"]:
                            self._harness.clear_table(table["name"])
                case Command():
                    self._command(statement)

    def count(self, counter: str, cell: int | str) -> tuple[int, int]:
        """Packets and bytes of a counter's cell, or of the entry that has this alias."""
        with engine.refusals():
            if isinstance(cell, str):
                if cell not in self._aliases:
                    raise BadInput(f"no entry has the alias `{cell}`", "give it one by `add ... = ALIAS`")
                cell = self._aliases[cell]
            return self._harness.counter(self._full_name("counter", counter), cell)

    def memory(self, parts: Mapping[str, Any] | None = None) -> Memory:
        """All registers and counters, or those of `parts`, without direct counters, which belong to entries."""
        kinds = ("registers", "counters")
        sizes = [{part["name"]: part["size"] or 0 for part in (parts or self._parts)[kind]} for kind in kinds]
        registers, counters = sizes
        return Memory(
            {name: self._register_cells(name, size) for name, size in registers.items()},
            {name: [self._harness.counter(name, at) for at in range(size)] for name, size in counters.items() if size},
        )

    def _register_cells(self, name: str, size: int) -> list[int]:
        cells = [0] * size
        for at, value in self._harness.register_values(name):
            cells[at] = value
        return cells

    def _full_name(self, kind: str, name: str) -> str:
        return names.find(kind, name, [part["name"] for part in self._parts[f"{kind}s"]])

    def _command(self, command: Command) -> None:
        """Carry out a command of simple_switch_CLI. Its output is not part of a test."""
        command = commands.spelled_out(command, self._parts)
        words = command.words
        match command.name.split("_", 2):
            case ["register", verb]:
                self._register(verb, words[0], [int(word) for word in words[1:]])
            case ["counter", "write"]:
                if commands.is_direct(self._parts, "counter", words[0]):
                    raise Unsupported(f"`counter_write` of `{words[0]}`, a direct counter, is not supported")
                # The order of simple_switch_CLI is the same: packets, then bytes.
                index, packets, bytes_ = (int(word) for word in words[1:])
                self._harness.set_counter(words[0], index, packets, bytes_)
            case ["counter", "read"]:
                self._harness.counter(words[0], commands.cell(self._parts, "counter", words[0], int(words[1])))
            case ["mirroring" | "mc", *_]:
                self._replication(command.name, [int(word) for word in words])
            case ["table", "indirect", "delete"]:
                self._harness.delete_entry(words[0], commands.entry_handle(int(words[1])))
            case ["table", "indirect", _]:
                self._harness.add_entry(json.dumps(commands.indirect(command, self._parts)))
            case ["pvs", "get"]:
                pass
            case _:
                self._harness.control(json.dumps(commands.operation(command, self._parts)))

    def _register(self, verb: str, name: str, numbers: list[int]) -> None:
        match verb:
            case "write":
                self._harness.set_register(name, *numbers)
            case "read":
                self._harness.register(name, *numbers)
            case _:
                self._harness.reset_register(name)

    def _replication(self, name: str, numbers: list[int]) -> None:
        """Set up clone sessions and multicast groups. Nodes are numbered from 0 as they are made, as in BMv2."""
        if name == "mirroring_get":
            return
        method = getattr(self._harness, name)
        if name in {"mc_node_create", "mc_node_update"}:
            method(numbers[0], numbers[1:])
        else:
            method(*numbers)
