# SPDX-License-Identifier: MIT OR Apache-2.0
"""Match fields: checks a client's (P4Runtime specification, section 9.1.1) and converts them to the engine's form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from marklab.engine.binding import json_number
from marklab.p4runtime.messages import p4info_pb2, p4runtime_pb2
from marklab.p4runtime.server.refusal import invalid, unsupported
from marklab.p4runtime.server.values import by_id, decode, encode

_KIND_NAMES = p4info_pb2.MatchField.MatchType
_RANKED = {_KIND_NAMES.Value(name) for name in ("TERNARY", "RANGE", "OPTIONAL")}


@dataclass(frozen=True)
class Match:
    """One field of a key. `other` is the prefix length of `lpm`, the mask of `ternary`, the upper bound of `range`."""

    field_id: int
    kind: str
    value: int
    other: int = 0

    def message(self) -> Any:
        """The field as a client reads it, in canonical form."""
        message = p4runtime_pb2.FieldMatch(field_id=self.field_id)
        match self.kind:
            case "exact" | "optional":
                getattr(message, self.kind).value = encode(self.value)
            case "lpm":
                message.lpm.value = encode(self.value)
                message.lpm.prefix_len = self.other
            case "ternary":
                message.ternary.value = encode(self.value)
                message.ternary.mask = encode(self.other)
            case "range":
                message.range.low = encode(self.value)
                message.range.high = encode(self.other)
        return message

    def engine(self) -> dict[str, Any]:
        """The field in the engine's form."""
        match self.kind:
            case "exact" | "optional":
                return {"exact": json_number(self.value)}
            case "lpm":
                return {"lpm": [json_number(self.value), self.other]}
        return {self.kind: [json_number(self.value), json_number(self.other)]}


@dataclass(frozen=True)
class Key:
    """The key that identifies an entry of a table: match fields in the table's order, and priority."""

    matches: tuple[Match, ...]
    priority: int


def read_key(table: Any, entry: Any) -> Key:
    """Read the key of an entry that a client sent."""
    return Key(read_matches(table, entry), _priority(table, entry.priority))


def read_matches(table: Any, entry: Any) -> tuple[Match, ...]:
    """Read the match fields of an entry that a client sent, in the table's order."""
    name = table.preamble.name
    sent = ((match.field_id, match) for match in entry.match)
    given = by_id(f"table `{name}`", "match field", sent, {field.id: field.name for field in table.match_fields})
    matches = []
    for field in table.match_fields:
        what = f"table `{name}`: match field `{field.name}`"
        if field.id in given:
            matches.append(_read(field, given[field.id], what))
        elif _kind(field) == "exact":
            raise invalid(f"{what} is exact and cannot be left out", "give its value")
    return tuple(matches)


def is_ranked(table: Any) -> bool:
    """Whether priorities choose between the table's entries."""
    return any(field.match_type in _RANKED for field in table.match_fields)


def engine_key(table: Any, matches: Iterable[Match]) -> dict[str, Any]:
    """Match fields by name, in the engine's form. Fields that are left out match anything."""
    names = {field.id: field.name for field in table.match_fields}
    return {names[match.field_id]: match.engine() for match in matches}


def _priority(table: Any, priority: int) -> int:
    name = table.preamble.name
    if is_ranked(table) and priority <= 0:
        raise invalid(
            f"table `{name}`: priority {priority} of an entry with ternary, range or optional fields is not positive",
            "give a positive one; the largest wins",
        )
    if not is_ranked(table) and priority:
        raise invalid(f"table `{name}` has no ternary, range or optional fields, hence no priorities", "send 0")
    return int(priority)


def _kind(field: Any) -> str:
    if field.WhichOneof("match") == "other_match_type":
        return str(field.other_match_type)
    return str(_KIND_NAMES.Name(field.match_type).lower())


def _read(field: Any, match: Any, what: str) -> Match:
    kind, sent = _kind(field), match.WhichOneof("field_match_type")
    if sent != kind:
        raise invalid(f"{what} is {kind}, and {sent or 'nothing'} is given", f"set `{kind}`")
    if not field.bitwidth:
        raise unsupported(f"{what} has a type that the controller sees as a string", "leave out the translation")
    number, bits = field.id, field.bitwidth
    match kind:
        case "exact" | "optional":
            return Match(number, kind, decode(getattr(match, kind).value, bits, what))
        case "lpm":
            return _lpm(number, match.lpm, bits, what)
        case "ternary":
            return _ternary(number, match.ternary, bits, what)
        case "range":
            return _range(number, match.range, bits, what)
    raise unsupported(f"{what} is of kind {kind}", "use exact, lpm, ternary, range or optional")


def _lpm(number: int, sent: Any, bits: int, what: str) -> Match:
    value, length = decode(sent.value, bits, what), sent.prefix_len
    if not 0 < length <= bits:
        remedy = "leave the field out to match anything" if length == 0 else f"it has {bits} bits"
        raise invalid(f"{what}: prefix length {length} is not in 1..{bits}", remedy)
    if value & (1 << bits - length) - 1:
        raise invalid(f"{what}: {value:#x} has bits set behind its prefix of {length}", "set them to 0")
    return Match(number, "lpm", value, length)


def _ternary(number: int, sent: Any, bits: int, what: str) -> Match:
    value, mask = decode(sent.value, bits, what), decode(sent.mask, bits, f"{what}, mask")
    if mask == 0:
        raise invalid(f"{what}: the mask is 0", "leave the field out to match anything")
    if value & ~mask:
        raise invalid(f"{what}: {value:#x} has bits set outside of its mask {mask:#x}", "set them to 0")
    return Match(number, "ternary", value, mask)


def _range(number: int, sent: Any, bits: int, what: str) -> Match:
    low, high = decode(sent.low, bits, f"{what}, low"), decode(sent.high, bits, f"{what}, high")
    if low > high:
        raise invalid(f"{what}: low {low:#x} is above high {high:#x}", "exchange them")
    if low == 0 and high == (1 << bits) - 1:
        raise invalid(f"{what}: the range has all values", "leave the field out to match anything")
    return Match(number, "range", low, high)
