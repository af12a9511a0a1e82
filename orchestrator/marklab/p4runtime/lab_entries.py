# SPDX-License-Identifier: MIT OR Apache-2.0
"""Converts the lab's table entries (engine/bindings/src/entries.rs) to messages, with a program's P4Info.

A name may be any unique ending of a dotted name. The smallest priority wins in the lab, the largest in P4Runtime.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from marklab.errors import BadInput, unknown
from marklab.p4runtime.messages import p4info_pb2, p4runtime_pb2
from marklab.p4runtime.types import encode

Entry = Mapping[str, Any]

# BMv2's server subtracts priorities from this number. So the lab's priority 0 precedes all others.
_FIRST_PRIORITY = 2**31 - 1

_KINDS = p4info_pb2.MatchField.MatchType
_RANKED = {_KINDS.Value(name) for name in ("TERNARY", "RANGE", "OPTIONAL")}


def named(kind: str, name: str, known: Iterable[Any]) -> Any:
    """The object with this name, or the only one whose name ends in it after a dot."""
    by_name = {each.preamble.name: each for each in known}
    if name in by_name:
        return by_name[name]
    found = [each for full, each in by_name.items() if full.endswith(f".{name}")]
    if len(found) != 1:
        raise unknown(kind, name, by_name)
    return found[0]


def update(info: Any, entry: Entry) -> Any:
    """The update that writes an entry, or a default action, which has no `match`."""
    table = named("table", entry["table"], info.tables)
    message = p4runtime_pb2.Update(type=p4runtime_pb2.Update.INSERT)
    sent = message.entity.table_entry
    sent.table_id = table.preamble.id
    sent.action.action.CopyFrom(_action(info, table, entry))
    match = entry.get("match")
    if match is None:
        message.type = p4runtime_pb2.Update.MODIFY
        sent.is_default_action = True
        return message
    sent.match.extend(_matches(table, match))
    if any(field.match_type in _RANKED for field in table.match_fields):
        sent.priority = _FIRST_PRIORITY - int(entry.get("priority", 0))
    return message


def shown(entry: Entry) -> str:
    """Table and key of an entry, for messages."""
    match = entry.get("match")
    if match is None:
        return f"default action of `{entry['table']}`"
    key = ", ".join(f"{name} {value}" for name, value in match.items())
    return f"entry of `{entry['table']}` with {key or 'no key'}"


def _action(info: Any, table: Any, entry: Entry) -> Any:
    refs = {ref.id for ref in table.action_refs}
    actions = [each for each in info.actions if each.preamble.id in refs]
    action = named(f"action of `{entry['table']}`", entry["action"], actions)
    params = {param.name: param for param in action.params}
    message = p4runtime_pb2.Action(action_id=action.preamble.id)
    given = entry.get("params", {})
    for name in given:
        if name not in params:
            raise unknown(f"parameter of `{entry['action']}`", name, params)
    for name, param in params.items():
        what = f"parameter `{name}` of `{entry['action']}`"
        if name not in given:
            raise BadInput(f"{what} has no value", "add it to `params`")
        message.params.add(param_id=param.id, value=_bytes(given[name], param.bitwidth, what))
    return message


def _matches(table: Any, match: Mapping[str, Any]) -> Iterable[Any]:
    """The match fields in the table's order. A field that admits all values is left out, as P4Runtime requires."""
    name = table.preamble.name
    fields = {field.name: field for field in table.match_fields}
    for key in match:
        if key not in fields:
            raise unknown(f"key of `{name}`", key, fields)
    for key, field in fields.items():
        what = f"key `{key}` of `{name}`"
        message = _match(field, match[key], what) if key in match else None
        if message is not None:
            yield message
        elif field.match_type == _KINDS.Value("EXACT"):
            raise BadInput(f"{what} is exact and has no value", "add it to `match`")


def _match(field: Any, value: Any, what: str) -> Any | None:
    if value == "any":
        return None
    kind, bits, full = _KINDS.Name(field.match_type).lower(), field.bitwidth, (1 << field.bitwidth) - 1
    ((form, given),) = value.items()
    if form != ("exact" if kind == "optional" else kind):
        raise BadInput(f"{what} is {kind}, and the entry gives `{form}`", "write it as the program's key is")
    message = p4runtime_pb2.FieldMatch(field_id=field.id)
    match kind:
        case "exact" | "optional":
            getattr(message, kind).value = _bytes(given, bits, what)
        case "lpm":
            length = int(given[1])
            if not 0 <= length <= bits:
                raise BadInput(f"{what}: a prefix of {length} bits is not in 0..{bits}")
            message.lpm.value = _bytes(_number(given[0]) >> bits - length << bits - length, bits, what)
            message.lpm.prefix_len = length
            return message if length else None
        case "ternary":
            number, mask = _number(given[0]), _number(given[1])
            message.ternary.value = _bytes(number & mask, bits, what)
            message.ternary.mask = _bytes(mask, bits, what)
            return message if mask else None
        case "range":
            low, high = _number(given[0]), _number(given[1])
            if low > high:
                raise BadInput(f"{what}: the range {low}..{high} is empty")
            message.range.low, message.range.high = _bytes(low, bits, what), _bytes(high, bits, what)
            return message if (low, high) != (0, full) else None
    return message


def _number(value: int | str) -> int:
    """A number of an entry. Numbers beyond 64 bits are written as text."""
    return int(value, 0) if isinstance(value, str) else int(value)


def _bytes(value: int | str, bits: int, what: str) -> bytes:
    number = _number(value)
    if number < 0 or number.bit_length() > bits:
        raise BadInput(f"{what}: {value} does not fit its {bits} bits", "choose a smaller value")
    return encode(number, bits)
