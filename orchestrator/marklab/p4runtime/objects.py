# SPDX-License-Identifier: MIT OR Apache-2.0
"""P4Info of all objects except tables and actions: externs, value sets, digests, packets of the controller."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from marklab.errors import BadInput
from marklab.p4runtime import annotation
from marklab.p4runtime.ids import Kind, field_ids
from marklab.p4runtime.program import OBJECTS, Program, hidden, match_type, size_of

_UNITS = {"packets": "PACKETS", "bytes": "BYTES", "packets_and_bytes": "BOTH"}
_PROFILE_ANNOTATIONS = frozenset({"max_group_size", "max_member_weight", "selector_size_semantics"})

_log = logging.getLogger(__name__)


def add_objects(program: Program, info: Any) -> None:
    """Add counters, meters, registers and action profiles that no table owns."""
    users = _profile_users(program)
    for each in program.described["objects"]:
        match each["extern"]:
            case "counter" | "meter" as kind:
                message = info.counters.add() if kind == "counter" else info.meters.add()
                program.preamble(message, OBJECTS[kind], each)
                message.size = size_of(each, each["args"].get("size"))
                _unit(message, each)
            case "register":
                message = info.registers.add()
                program.preamble(message, Kind.REGISTER, each)
                message.size = size_of(each, each["args"].get("size"))
                message.type_spec.CopyFrom(program.types.describe(each["type_args"][0]))
            case "action_profile" | "action_selector":
                _profile(program, info, each, users)
    for table in program.described["tables"]:
        made = program.attached(table, "implementation")
        if not hidden(table) and made is not None and made["name"] not in program.objects:
            _profile(program, info, made, users)


def add_direct(program: Program, info: Any, table: Mapping[str, Any], message: Any) -> None:
    """Add the counter and the meter that a table owns."""
    for name, kind, known in (
        ("counters", Kind.DIRECT_COUNTER, info.direct_counters),
        ("meters", Kind.DIRECT_METER, info.direct_meters),
    ):
        direct = program.attached(table, name)
        if direct is not None:
            own = known.add(direct_table_id=message.preamble.id)
            message.direct_resource_ids.append(program.preamble(own, kind, direct))
            _unit(own, direct)


def _unit(message: Any, described: Mapping[str, Any]) -> None:
    message.spec.unit = message.spec.Unit.Value(_UNITS[described["args"]["type"]["member"]])


def _profile_users(program: Program) -> dict[str, set[str]]:
    """The tables of each action profile."""
    users: dict[str, set[str]] = defaultdict(set)
    for table in program.described["tables"]:
        profile = program.attached(table, "implementation")
        if profile is not None:
            users[profile["name"]].add(table["name"])
    return users


def _profile(program: Program, info: Any, described: Mapping[str, Any], users: Mapping[str, set[str]]) -> None:
    message = info.action_profiles.add()
    program.preamble(message, Kind.ACTION_PROFILE, described, _PROFILE_ANNOTATIONS)
    message.size = size_of(described, described["args"].get("size"))
    message.table_ids.extend(program.symbols.id(Kind.TABLE, name) for name in sorted(users.get(described["name"], ())))
    message.with_selector = described["extern"] == "action_selector"
    if message.with_selector:
        _selector(message, described["name"], described["annotations"])
        return
    for name in sorted(_PROFILE_ANNOTATIONS & {each["name"] for each in described["annotations"]}):
        _log.warning("%s has no selector: @%s is ignored", described["name"], name)


def _selector(message: Any, name: str, given: annotation.Annotations) -> None:
    message.max_group_size = annotation.number(given, "max_group_size") or 0
    semantics = (annotation.text(given, "selector_size_semantics") or "").lower()
    if semantics not in {"", "sum_of_weights", "sum_of_members"}:
        raise BadInput(f"{name}: unknown @selector_size_semantics `{semantics}`", "sum_of_weights or sum_of_members")
    if semantics:
        getattr(message, semantics).SetInParent()
    weight = annotation.number(given, "max_member_weight")
    if weight is not None and semantics == "sum_of_members":
        message.sum_of_members.max_member_weight = weight
    elif weight is not None:
        _log.warning("%s does not count members: @max_member_weight is ignored", name)


def add_value_sets(program: Program, info: Any) -> None:
    """Add value sets of parsers."""
    for each in program.described["value_sets"]:
        message = info.value_sets.add()
        program.preamble(message, Kind.VALUE_SET, each)
        message.size = size_of(each, each["size"])
        for number, field in _value_set_fields(program, each):
            kind = annotation.find(field["annotations"], "match")
            target = message.match.add(id=number, name=field["name"], bitwidth=program.types.bits(field["type"]))
            match_type(target, kind["text"] if kind else "exact")
            annotation.copy(field["annotations"], target, {"match"})
            annotation.document(field["annotations"], target)


def _value_set_fields(program: Program, described: Mapping[str, Any]) -> list[tuple[int, Mapping[str, Any]]]:
    match described["type"]:
        case {"bit": _} | {"int": _} as ty:
            return [(1, {"name": "", "type": ty, "annotations": []})]
        case {"fields": name}:
            fields = program.types.fields(name)["fields"]
            return list(zip(field_ids(described["name"], fields), fields, strict=True))
        case {"enum": name} as ty if program.types.bits(ty):
            # Like p4c: a field for each member, not one field for the enum.
            members = enumerate(program.types.members(name), 1)
            return [(place, {"name": member, "type": ty, "annotations": []}) for place, member in members]
    remedy = "use bits, or a struct of bits"
    raise BadInput(f"{described['name']}: P4Runtime has no form for value sets of this type", remedy)


def add_controller_headers(program: Program, info: Any) -> None:
    """Add headers of packets from and to the controller, with the names in their annotations."""
    for header in program.controller_headers:
        if hidden(header):
            continue
        message = info.controller_packet_metadata.add()
        program.preamble(message, Kind.CONTROLLER_HEADER, header)
        message.preamble.name = annotation.text(header["annotations"], "controller_header")
        message.preamble.alias = message.preamble.name
        fields = program.types.flat(header["name"])
        for number, field in zip(field_ids(header["name"], fields), fields, strict=True):
            if not hidden(field):
                target = message.metadata.add(id=number, name=field["name"])
                annotation.copy(field["annotations"], target)
                program.typed(target, field["type"])


def add_digests(program: Program, info: Any) -> None:
    """Add the types that are sent as digests."""
    for name, ty in dict(program.digests).items():
        message = info.digests.add()
        program.preamble(message, Kind.DIGEST, {"name": name, "annotations": []})
        message.type_spec.CopyFrom(program.types.describe(ty))
