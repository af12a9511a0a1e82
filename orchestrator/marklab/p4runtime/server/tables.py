# SPDX-License-Identifier: MIT OR Apache-2.0
"""Table entries and default actions (P4Runtime specification, section 9.1)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from marklab.engine.binding import Control
from marklab.p4runtime.messages import p4runtime_pb2
from marklab.p4runtime.server import direct
from marklab.p4runtime.server.calls import Call, read_call
from marklab.p4runtime.server.matches import Key, engine_key, read_key, read_matches
from marklab.p4runtime.server.objects import Objects
from marklab.p4runtime.server.profiles import Pointer, Profiles
from marklab.p4runtime.server.refusal import absent, denied, full, invalid, present, unsupported

# Larger priorities win in P4Runtime, smaller ones in the engine. BMv2's server subtracts priorities from this number.
_LAST_PRIORITY = 2**31 - 1

_HANDLE_OF_FIRST = 1


@dataclass
class Entry:
    """An entry as a client wrote it, with its handle in the engine."""

    key: Key
    action: Call | Pointer
    handle: int
    is_const: bool = False
    controller_metadata: int = 0
    metadata: bytes = b""
    resources: direct.Resources = direct.NONE

    def message(self, table: Any) -> Any:
        """The entry as a client reads it, without direct resources."""
        message = p4runtime_pb2.TableEntry(
            table_id=table.preamble.id,
            priority=self.key.priority,
            controller_metadata=self.controller_metadata,
            metadata=self.metadata,
            is_const=self.is_const,
        )
        message.match.extend(match.message() for match in self.key.matches)
        _put_action(self.action, message)
        return message


@dataclass
class _Default:
    """A default action that a client has set."""

    call: Call
    controller_metadata: int
    metadata: bytes


class Tables:
    """The entries of all tables. `initial` has the program's own entries, as a WriteRequest."""

    def __init__(self, objects: Objects, control: Control, profiles: Profiles, initial: Any) -> None:
        self._objects = objects
        self._control = control
        self._profiles = profiles
        self._initial = initial
        self._entries: dict[int, dict[Key, Entry]] = {number: {} for number in objects.all("tables")}
        self._defaults: dict[int, _Default] = {}

    def write(self, kind: str, sent: Any) -> None:
        """Insert, modify or delete an entry, or set a default action."""
        table = self._objects.find("tables", sent.table_id)
        if sent.is_const:
            raise invalid(f"table `{table.preamble.name}`: only the program can make an entry const", "leave it out")
        if sent.is_default_action:
            self._set_default(kind, table, sent)
            return
        match kind:
            case "INSERT":
                self._insert(table, sent)
            case "MODIFY":
                self._modify(table, sent)
            case "DELETE":
                self._delete(table, sent)

    def read(self, wanted: Any) -> Iterator[Any]:
        """The entries that a request selects (section 9.1.6)."""
        for table in self._objects.selected("tables", wanted.table_id):
            if wanted.is_default_action:
                yield self._default_message(table)
                continue
            matches = read_matches(table, wanted) if wanted.match else None
            for entry in self._entries[table.preamble.id].values():
                if _admits(wanted, entry, matches):
                    message = entry.message(table)
                    self._direct(table).read(entry.handle, entry.resources, wanted, message)
                    yield message

    def entry(self, sent: Any) -> tuple[Any, Entry]:
        """The entry that a direct counter or meter belongs to, and its table."""
        table = self._objects.find("tables", sent.table_id)
        if sent.is_default_action:
            raise unsupported(f"table `{table.preamble.name}`: misses are neither counted nor metered", "add an entry")
        key = read_key(table, sent)
        found = self._entries[table.preamble.id].get(key)
        if found is None:
            raise absent(f"table `{table.preamble.name}` has no such entry", "insert it")
        return table, found

    def entries(self, table_id: int) -> Iterator[tuple[Any, Entry]]:
        """All entries of a table, or of all tables for 0."""
        for table in self._objects.selected("tables", table_id):
            for entry in self._entries[table.preamble.id].values():
                yield table, entry

    def reset(self) -> None:
        """Restore the program's own entries and default actions."""
        for number, table in self._objects.all("tables").items():
            if not _is_sealed(table):
                self._control.clear_table(table.preamble.name)
            for entry in self._entries[number].values():
                self._release(entry.action)
            self._entries[number].clear()
            if not table.const_default_action_id:
                self._restore_default(table)
        for update in self._initial.updates:
            sent = update.entity.table_entry
            if sent.table_id in self._entries:
                self._bring(self._objects.find("tables", sent.table_id), sent)

    def _bring(self, table: Any, sent: Any) -> None:
        """Add an entry of the program. The engine already has it, numbered in the order of the source."""
        entries, key = self._entries[table.preamble.id], read_key(table, sent)
        call = read_call(self._objects, table, sent.action.action)
        entries[key] = Entry(key, call, _HANDLE_OF_FIRST + len(entries), is_const=sent.is_const)

    def _insert(self, table: Any, sent: Any) -> None:
        name, entries = table.preamble.name, self._entries[table.preamble.id]
        _check_open(table)
        if not table.match_fields:
            raise invalid(f"table `{name}` has no key, hence no entries", "set its default action")
        key = read_key(table, sent)
        if key in entries:
            raise present(f"table `{name}` has an entry with this key", "modify it")
        if len(entries) >= table.size:
            raise full(f"table `{name}` has its {table.size} entries", "enlarge its `size`, or delete entries")
        _check_idle(table, sent)
        own = self._direct(table)
        own.check(sent)
        action = self._action(table, sent.action)
        try:
            handle = self._add(table, key, action)
        except Exception:
            self._release(action)
            raise
        resources = own.write(handle, sent)
        entries[key] = Entry(key, action, handle, False, sent.controller_metadata, sent.metadata, resources)

    def _modify(self, table: Any, sent: Any) -> None:
        table, entry = self.entry(sent)
        if sent.HasField("action"):
            _check_open(table)
        _check_idle(table, sent)
        own = self._direct(table)
        own.check(sent)
        if sent.HasField("action"):
            self._replace_action(table, entry, self._action(table, sent.action))
        entry.controller_metadata, entry.metadata = sent.controller_metadata, sent.metadata
        entry.resources = own.rewrite(entry.handle, entry.resources, sent)

    def _replace_action(self, table: Any, entry: Entry, action: Call | Pointer) -> None:
        before = entry.action
        try:
            self._control.modify_entry(entry.handle, json.dumps({"table": table.preamble.name, **action.engine()}))
        except Exception:
            self._release(action)
            raise
        entry.action = action
        self._release(before)

    def _delete(self, table: Any, sent: Any) -> None:
        _check_open(table)
        table, entry = self.entry(sent)
        self._control.delete_entry(table.preamble.name, entry.handle)
        del self._entries[table.preamble.id][entry.key]
        self._release(entry.action)

    def _set_default(self, kind: str, table: Any, sent: Any) -> None:
        name = table.preamble.name
        if kind != "MODIFY":
            raise invalid(f"table `{name}`: its default action is always there", "use MODIFY; without action it resets")
        if sent.match or sent.priority:
            raise invalid(f"table `{name}`: a default action has neither match fields nor priority", "leave them out")
        if table.const_default_action_id:
            raise denied(f"table `{name}`: its default action is const", "leave out `const` in the program")
        if table.implementation_id:
            raise denied(f"table `{name}`: the default action of a table with an action profile is NoAction", None)
        if sent.HasField("meter_config") or sent.HasField("counter_data"):
            raise unsupported(f"table `{name}`: misses are neither counted nor metered", "leave the resources out")
        if not sent.HasField("action"):
            self._restore_default(table)
            return
        call = self._direct_call(table, sent.action, as_default=True)
        self._control.add_entry(json.dumps({"table": name, **call.engine()}))
        self._defaults[table.preamble.id] = _Default(call, sent.controller_metadata, sent.metadata)

    def _restore_default(self, table: Any) -> None:
        call = self._initial_default(table)
        if call is not None:
            self._control.add_entry(json.dumps({"table": table.preamble.name, **call.engine()}))
        self._defaults.pop(table.preamble.id, None)

    def _initial_default(self, table: Any) -> Call | None:
        """The program's own default action, or None if it is hidden from the control plane."""
        initial = table.initial_default_action
        if table.implementation_id or initial.action_id not in self._objects.all("actions"):
            return None
        action = p4runtime_pb2.Action(action_id=initial.action_id)
        for argument in initial.arguments:
            action.params.add(param_id=argument.param_id, value=argument.value)
        return read_call(self._objects, table, action, as_default=True)

    def _default_message(self, table: Any) -> Any:
        message = p4runtime_pb2.TableEntry(table_id=table.preamble.id, is_default_action=True)
        found = self._defaults.get(table.preamble.id)
        call = found.call if found else self._initial_default(table)
        if call is not None:
            _put_action(call, message)
        if found:
            message.controller_metadata, message.metadata = found.controller_metadata, found.metadata
        return message

    def _action(self, table: Any, action: Any) -> Call | Pointer:
        if table.implementation_id:
            return self._profiles.point(table, action)
        return self._direct_call(table, action, as_default=False)

    def _direct_call(self, table: Any, action: Any, *, as_default: bool) -> Call:
        sent = action.WhichOneof("type")
        if sent != "action":
            raise invalid(
                f"table `{table.preamble.name}` has no action profile, and its entry has {sent or 'no action'}",
                "set `action` to one of the table's actions",
            )
        return read_call(self._objects, table, action.action, as_default=as_default)

    def _add(self, table: Any, key: Key, action: Call | Pointer) -> int:
        entry = {
            "table": table.preamble.name,
            "match": engine_key(table, key.matches),
            "priority": _LAST_PRIORITY - key.priority if key.priority else 0,
            **action.engine(),
        }
        handle = self._control.add_entry(json.dumps(entry))
        assert handle is not None, "an entry with `match` has a handle"  # noqa: S101
        return handle

    def _release(self, action: Call | Pointer) -> None:
        if isinstance(action, Pointer):
            self._profiles.release(action)

    def _direct(self, table: Any) -> direct.Direct:
        return direct.Direct(self._objects, self._control, table)


def _is_sealed(table: Any) -> bool:
    """Whether the engine keeps a table's entries fixed. Like BMv2, it does so if the program has entries for it."""
    return bool(table.is_const_table or table.has_initial_entries)


def _check_open(table: Any) -> None:
    if table.is_const_table:
        raise denied(f"table `{table.preamble.name}` has const entries", "leave out `const entries` in the program")
    if table.has_initial_entries:
        raise unsupported(
            f"table `{table.preamble.name}` has entries of the program, and such tables stay as they are",
            "leave out `entries` in the program and insert them",
        )


def _put_action(action: Call | Pointer, message: Any) -> None:
    if isinstance(action, Pointer):
        message.action.CopyFrom(action.message)
    else:
        message.action.action.CopyFrom(action.message())


def _admits(wanted: Any, entry: Entry, matches: Any) -> bool:
    """Whether a request selects an entry. Fields that are not set select everything."""
    if matches is not None and entry.key.matches != matches:
        return False
    called = entry.action.action_id if isinstance(entry.action, Call) else None
    if wanted.action.HasField("action") and wanted.action.action.action_id != called:
        return False
    return (
        wanted.priority in {0, entry.key.priority}
        and wanted.controller_metadata in {0, entry.controller_metadata}
        and wanted.metadata in {b"", entry.metadata}
    )


def _check_idle(table: Any, sent: Any) -> None:
    if sent.idle_timeout_ns:
        raise unsupported(f"table `{table.preamble.name}`: entries do not grow old here", "leave idle_timeout_ns out")
