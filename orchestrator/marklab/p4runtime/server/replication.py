# SPDX-License-Identifier: MIT OR Apache-2.0
"""Multicast groups and clone sessions (P4Runtime specification, section 9.5).

A clone session is a multicast group with a number that does not fit `mcast_grp`, so no packet can select it directly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from marklab.engine.binding import Control
from marklab.p4runtime.messages import p4runtime_pb2
from marklab.p4runtime.server.refusal import absent, invalid, present, unsupported
from marklab.p4runtime.server.values import decode

# `mcast_grp` and `egress_rid` of v1model have 16 bits; a clone session of BMv2 has 15 bits.
MAX_GROUP = (1 << 16) - 1
MAX_INSTANCE = (1 << 16) - 1
MAX_SESSION = (1 << 15) - 1
# Width of `egress_spec`: ports are 0 to 511.
_PORT_BITS = 9

# Offset from the number of a clone session to its multicast group.
_SESSION_GROUPS = 1 << 16


@dataclass
class _Replicas:
    message: Any
    nodes: list[int] = field(default_factory=list)


class Replication:
    """The packet replication engine."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._groups: dict[int, _Replicas] = {}
        self._sessions: dict[int, _Replicas] = {}

    def write(self, kind: str, entry: Any) -> None:
        """Insert, modify or delete a group or a session."""
        match entry.WhichOneof("type"):
            case "multicast_group_entry":
                self._write_group(kind, entry.multicast_group_entry)
            case "clone_session_entry":
                self._write_session(kind, entry.clone_session_entry)
            case _:
                raise _empty()

    def read(self, wanted: Any) -> Iterator[Any]:
        """The groups or sessions that a request selects."""
        match wanted.WhichOneof("type"):
            case "multicast_group_entry":
                number, known = wanted.multicast_group_entry.multicast_group_id, self._groups
            case "clone_session_entry":
                number, known = wanted.clone_session_entry.session_id, self._sessions
            case _:
                raise _empty()
        for each, replicas in known.items():
            if number in {0, each}:
                message = p4runtime_pb2.PacketReplicationEngineEntry()
                getattr(message, wanted.WhichOneof("type")).CopyFrom(replicas.message)
                yield message

    def reset(self) -> None:
        """Remove all groups and sessions."""
        for session, found in self._sessions.items():
            self._control.mirroring_delete(session)
            self._destroy(_SESSION_GROUPS + session, found)
        for group, found in self._groups.items():
            self._destroy(group, found)
        self._sessions.clear()
        self._groups.clear()

    def _write_group(self, kind: str, entry: Any) -> None:
        number = entry.multicast_group_id
        what = f"multicast group {number}"
        _check(kind, number, MAX_GROUP, self._groups, what)
        if kind == "DELETE":
            self._destroy(number, self._groups.pop(number))
            return
        replicas = _replicas(entry, what)
        if kind == "INSERT":
            self._control.mc_mgrp_create(number)
            self._groups[number] = _Replicas(entry)
        self._fill(number, self._groups[number], replicas)
        self._groups[number].message = entry

    def _write_session(self, kind: str, entry: Any) -> None:
        number = entry.session_id
        what, group = f"clone session {number}", _SESSION_GROUPS + number
        _check(kind, number, MAX_SESSION, self._sessions, what)
        if kind == "DELETE":
            self._control.mirroring_delete(number)
            self._destroy(group, self._sessions.pop(number))
            return
        for name in ("class_of_service", "packet_length_bytes"):
            if getattr(entry, name):
                raise unsupported(f"{what}: v1model has no {name} of clones", "leave it 0")
        replicas = _replicas(entry, what)
        if kind == "INSERT":
            self._control.mc_mgrp_create(group)
            self._control.mirroring_add_mc(number, group)
            self._sessions[number] = _Replicas(entry)
        self._fill(group, self._sessions[number], replicas)
        self._sessions[number].message = entry

    def _fill(self, group: int, found: _Replicas, replicas: list[tuple[int, int]]) -> None:
        """Give a group these replicas. Each is a separate node, so copies leave in the client's order."""
        for node in found.nodes:
            self._control.mc_node_destroy(node)
        found.nodes = [self._control.mc_node_create(instance, [port]) for port, instance in replicas]
        for node in found.nodes:
            self._control.mc_node_associate(group, node)

    def _destroy(self, group: int, found: _Replicas) -> None:
        for node in found.nodes:
            self._control.mc_node_destroy(node)
        self._control.mc_mgrp_destroy(group)


def _empty() -> Exception:
    return invalid("the packet replication entry is empty", "set multicast_group_entry or clone_session_entry")


def _check(kind: str, number: int, largest: int, known: dict[int, _Replicas], what: str) -> None:
    if not 0 < number <= largest:
        raise invalid(f"{what} is not in 1..{largest}", "choose another number")
    if kind == "INSERT" and number in known:
        raise present(f"{what} is there already", "modify it")
    if kind != "INSERT" and number not in known:
        raise absent(f"{what} is not there", "insert it")


def _replicas(entry: Any, what: str) -> list[tuple[int, int]]:
    """Port and instance of each replica."""
    replicas = []
    for replica in entry.replicas:
        match replica.WhichOneof("port_kind"):
            case "port":
                port = decode(replica.port, _PORT_BITS, f"{what}: port")
            case _:
                port = replica.egress_port
        if port >= 1 << _PORT_BITS:
            raise invalid(f"{what}: there is no port {port}", f"ports are 0..{(1 << _PORT_BITS) - 1}")
        if replica.instance > MAX_INSTANCE:
            raise invalid(f"{what}: instance {replica.instance} is too large", f"it is 0..{MAX_INSTANCE}")
        if (port, replica.instance) in replicas:
            raise invalid(f"{what}: port {port} with instance {replica.instance} is given twice", "give it once")
        replicas.append((port, replica.instance))
    return replicas
