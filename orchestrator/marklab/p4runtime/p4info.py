# SPDX-License-Identifier: MIT OR Apache-2.0
"""P4Info: the objects of a program with their ids (P4Runtime specification, section 6)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from marklab.errors import BadInput
from marklab.p4runtime import annotation, objects
from marklab.p4runtime.ids import Kind, field_ids
from marklab.p4runtime.messages import p4info_pb2
from marklab.p4runtime.program import Program, hidden, match_type, property_of, size_of

ARCHITECTURE = "v1model"

# p4c's size for a table without a size, or with size 0.
_TABLE_SIZE = 1024

_PACKAGE_TEXTS = ("name", "version", "arch", "organization", "contact", "url")
_PACKAGE_SIZES = (
    "multicast_group_table_size",
    "multicast_group_table_total_replicas",
    "multicast_group_table_max_replicas_per_entry",
)

_log = logging.getLogger(__name__)


def build(described: Mapping[str, Any]) -> tuple[Any, Program]:
    """The P4Info message of a described program, and the program with its ids."""
    info = p4info_pb2.P4Info()
    program = Program(described, info.type_info)
    _package(info.pkg_info, described["annotations"])
    # p4c writes an empty type_info whenever it has looked for types.
    if described["objects"] or described["calls"]:
        info.type_info.SetInParent()
    _actions(program, info)
    for table in described["tables"]:
        if not hidden(table):
            _table(program, info, table)
    objects.add_objects(program, info)
    objects.add_value_sets(program, info)
    objects.add_controller_headers(program, info)
    objects.add_digests(program, info)
    _refuse_duplicates(info)
    return info, program


def _package(message: Any, given: annotation.Annotations) -> None:
    message.arch = ARCHITECTURE
    for name, target, known in (
        ("pkginfo", message, _PACKAGE_TEXTS),
        ("platform_property", message.platform_properties, _PACKAGE_SIZES),
    ):
        for key, value in annotation.pairs(given, name).items():
            if key in known:
                setattr(target, key, int(value) if known is _PACKAGE_SIZES else value)
            else:
                _log.warning("@%s has no key `%s`; known: %s", name, key, ", ".join(known))
    annotation.copy(given, message, {"pkginfo", "platform_property"})
    annotation.document(given, message)


def _actions(program: Program, info: Any) -> None:
    for action in program.actions.values():
        if hidden(action):
            continue
        message = info.actions.add()
        program.preamble(message, Kind.ACTION, action)
        for number, param in zip(field_ids(action["name"], action["params"]), action["params"], strict=True):
            target = message.params.add(id=number, name=param["name"])
            annotation.copy(param["annotations"], target)
            annotation.document(param["annotations"], target)
            program.typed(target, param["type"])
            match param["type"]:
                case {"enum": name} if not program.types.bits(param["type"]):
                    target.type_name.name = name


def _table(program: Program, info: Any, table: Mapping[str, Any]) -> None:
    info.type_info.SetInParent()
    message = info.tables.add()
    program.preamble(message, Kind.TABLE, table)
    size = property_of(table, "size")
    message.size = (size_of(table, size["value"]) if size else 0) or _TABLE_SIZE
    _default_action(program, table, message)
    for ref in table["actions"]:
        target = message.action_refs.add(id=program.symbols.id(Kind.ACTION, ref["action"]))
        annotation.copy(ref["annotations"], target)
        target.scope = _scope(table, ref)
    _match_fields(program, table, message)
    message.is_const_table = table["const_entries"]
    message.has_initial_entries = bool(table["entries"])
    timeout = property_of(table, "support_timeout")
    if timeout is not None and timeout["value"] == {"bool": True}:
        message.idle_timeout_behavior = p4info_pb2.Table.NOTIFY_CONTROL
    implementation = program.attached(table, "implementation")
    if implementation is not None:
        message.implementation_id = program.symbols.id(Kind.ACTION_PROFILE, implementation["name"])
    objects.add_direct(program, info, table, message)


def _default_action(program: Program, table: Mapping[str, Any], message: Any) -> None:
    call = table["default_action"]
    id_ = program.symbols.id(Kind.ACTION, call["action"])
    if table["const_default"]:
        message.const_default_action_id = id_
    message.initial_default_action.action_id = id_
    for number, value in program.arguments(call):
        message.initial_default_action.arguments.add(param_id=number, value=value)


def _scope(table: Mapping[str, Any], ref: Mapping[str, Any]) -> int:
    table_only = annotation.find(ref["annotations"], "tableonly")
    default_only = annotation.find(ref["annotations"], "defaultonly")
    if table_only and default_only:
        raise BadInput(f"{table['name']}: {ref['action']} is both @tableonly and @defaultonly", "say one of them")
    scope = "TABLE_ONLY" if table_only else "DEFAULT_ONLY" if default_only else "TABLE_AND_DEFAULT"
    return int(p4info_pb2.ActionRef.Scope.Value(scope))


def _match_fields(program: Program, table: Mapping[str, Any], message: Any) -> None:
    for number, key in zip(field_ids(table["name"], table["keys"]), table["keys"], strict=True):
        # The control plane does not see the fields that a selector hashes.
        if key["match_kind"] != "selector":
            target = message.match_fields.add(id=number, name=key["name"])
            annotation.copy(key["annotations"], target)
            annotation.document(key["annotations"], target)
            program.typed(target, key["type"])
            match_type(target, key["match_kind"])


def _refuse_duplicates(info: Any) -> None:
    for kind, listed in info.ListFields():
        if kind.name in {"pkg_info", "type_info"}:
            continue
        names: set[str] = set()
        for each in listed:
            if each.preamble.name in names:
                remedy = "give them @name annotations that tell them apart"
                raise BadInput(f"several {kind.name.replace('_', ' ')} are named {each.preamble.name}", remedy)
            names.add(each.preamble.name)
