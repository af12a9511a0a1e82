# SPDX-License-Identifier: MIT OR Apache-2.0
"""Everything that a client writes and reads, by entity."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from marklab.engine import binding as engine
from marklab.engine.binding import Control
from marklab.errors import BadInput
from marklab.p4runtime.messages import p4runtime_pb2
from marklab.p4runtime.server.cells import Counters, Meters, Registers, check_modify, check_no_colours
from marklab.p4runtime.server.direct import Direct
from marklab.p4runtime.server.objects import Objects
from marklab.p4runtime.server.profiles import Profiles
from marklab.p4runtime.server.refusal import invalid, unsupported, untimely
from marklab.p4runtime.server.replication import Replication
from marklab.p4runtime.server.tables import Entry, Tables

_UNSUPPORTED = {
    "extern_entry": "v1model has no externs beyond those that P4Runtime names",
    "value_set_entry": "value sets cannot be changed by P4Runtime yet",
    "digest_entry": "digests are not sent to controllers yet",
}


class Entities:
    """The state of a switch that P4Runtime sees. Entries that others have added to its tables are removed."""

    def __init__(self, objects: Objects, control: Control, initial: Any) -> None:
        self._objects = objects
        self._control = control
        self._profiles = Profiles(objects, control)
        self._tables = Tables(objects, control, self._profiles, initial)
        self._counters = Counters(objects, control)
        self._meters = Meters(objects, control)
        self._registers = Registers(objects, control)
        self._replication = Replication(control)
        self._parts: dict[str, tuple[Callable[[str, Any], None], Callable[[Any], Iterator[Any]]]] = {
            "table_entry": (self._tables.write, self._tables.read),
            "direct_counter_entry": (self._write_direct_counter, self._read_direct_counters),
            "direct_meter_entry": (self._write_direct_meter, self._read_direct_meters),
            "action_profile_member": (self._profiles.write_member, self._profiles.read_members),
            "action_profile_group": (self._profiles.write_group, self._profiles.read_groups),
            "counter_entry": (self._counters.write, self._counters.read),
            "meter_entry": (self._meters.write, self._meters.read),
            "register_entry": (self._registers.write, self._registers.read),
            "packet_replication_engine_entry": (self._replication.write, self._replication.read),
        }
        with engine.refusals():
            self._tables.reset()

    def reset(self) -> None:
        """Restore the state that the program starts with."""
        with engine.refusals():
            # Entries are removed before the members and groups that they point to.
            self._tables.reset()
            for part in (self._profiles, self._counters, self._meters, self._registers, self._replication):
                part.reset()

    def write(self, update: Any) -> None:
        """Carry out one update."""
        kind = p4runtime_pb2.Update.Type.Name(update.type) if update.type in _TYPES else "UNSPECIFIED"
        if kind == "UNSPECIFIED":
            raise invalid("the update has no type", "set INSERT, MODIFY or DELETE")
        name = _entity(update.entity)
        write, _ = self._parts[name]
        with _refusals():
            write(kind, getattr(update.entity, name))

    def read(self, wanted: Any) -> Iterator[Any]:
        """The entities that a request selects."""
        name = _entity(wanted)
        _, read = self._parts[name]
        with _refusals():
            for found in read(getattr(wanted, name)):
                entity = p4runtime_pb2.Entity()
                getattr(entity, name).CopyFrom(found)
                yield entity

    def _direct(self, table: Any) -> Direct:
        return Direct(self._objects, self._control, table)

    def _write_direct_counter(self, kind: str, entry: Any) -> None:
        check_modify(kind, "direct counters")
        table, found = self._tables.entry(entry.table_entry)
        if entry.HasField("data"):
            found.resources = self._direct(table).set_count(found.handle, found.resources, entry.data)

    def _write_direct_meter(self, kind: str, entry: Any) -> None:
        check_modify(kind, "direct meters")
        check_no_colours(entry, "counter_data", "direct meters")
        table, found = self._tables.entry(entry.table_entry)
        config = entry.config if entry.HasField("config") else None
        found.resources = self._direct(table).set_rates(found.handle, found.resources, config)

    def _read_direct_counters(self, wanted: Any) -> Iterator[Any]:
        for table, entry in self._selected(wanted.table_entry, "direct_counters"):
            message = p4runtime_pb2.DirectCounterEntry(table_entry=_key_of(table, entry))
            message.data.CopyFrom(self._direct(table).count(entry.handle, entry.resources))
            yield message

    def _read_direct_meters(self, wanted: Any) -> Iterator[Any]:
        check_no_colours(wanted, "counter_data", "direct meters")
        for table, entry in self._selected(wanted.table_entry, "direct_meters"):
            message = p4runtime_pb2.DirectMeterEntry(table_entry=_key_of(table, entry))
            if entry.resources.meter_config is not None:
                message.config.CopyFrom(entry.resources.meter_config)
            yield message

    def _selected(self, wanted: Any, field: str) -> Iterator[tuple[Any, Entry]]:
        """The entry with a key, or all entries of a table, or of all tables that have such a resource."""
        owners = {each.direct_table_id for each in self._objects.all(field).values()}
        if wanted.table_id and wanted.table_id not in owners:
            name = self._objects.find("tables", wanted.table_id).preamble.name
            raise invalid(f"table `{name}` has no {field.replace('_', ' ').removesuffix('s')}", "read another table's")
        if wanted.match:
            yield self._tables.entry(wanted)
            return
        for table, entry in self._tables.entries(wanted.table_id):
            if table.preamble.id in owners:
                yield table, entry


_TYPES = p4runtime_pb2.Update.Type.values()


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn errors of the engine into FAILED_PRECONDITION: requests are already checked, so only state is at fault."""
    try:
        with engine.refusals():
            yield
    except BadInput as error:
        raise untimely(str(error), error.remedy) from error


def _key_of(table: Any, entry: Entry) -> Any:
    message = p4runtime_pb2.TableEntry(table_id=table.preamble.id, priority=entry.key.priority)
    message.match.extend(match.message() for match in entry.key.matches)
    return message


def _entity(message: Any) -> str:
    name = message.WhichOneof("entity")
    if name is None:
        raise invalid("the entity is empty", "set one of its fields")
    if name in _UNSUPPORTED:
        raise unsupported(f"{name}: {_UNSUPPORTED[name]}", "see docs/p4runtime.md")
    return str(name)
