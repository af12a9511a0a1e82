# SPDX-License-Identifier: MIT OR Apache-2.0
"""The entries in a program's source, as the write request that would install them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marklab.errors import BadInput
from marklab.p4runtime.ids import Kind, field_ids
from marklab.p4runtime.messages import p4runtime_pb2
from marklab.p4runtime.program import Program
from marklab.p4runtime.types import encode


def build(program: Program) -> Any:
    """All entries of all tables, in the order of the source.

    Fields and parameters have their ids of P4Info. p4c numbers them instead, which is the same without `@id`.
    """
    request = p4runtime_pb2.WriteRequest()
    for table in program.described["tables"]:
        for entry in table["entries"]:
            update = request.updates.add(type=p4runtime_pb2.Update.INSERT)
            message = update.entity.table_entry
            message.table_id = program.symbols.id(Kind.TABLE, table["name"])
            numbers = field_ids(table["name"], table["keys"])
            for number, key, admitted in zip(numbers, table["keys"], entry["keys"], strict=True):
                _match(program, table["name"], number, key, admitted, message)
            action = message.action.action
            action.action_id = program.symbols.id(Kind.ACTION, entry["action"]["action"])
            for number, value in program.arguments(entry["action"]):
                action.params.add(param_id=number, value=value)
            message.is_const = entry["is_const"]
            message.priority = entry["priority"] or 0
    return request


def _match(program: Program, owner: str, number: int, key: Mapping[str, Any], admitted: Any, message: Any) -> None:
    """Add one key of an entry. A key that admits all values is left out, as P4Runtime requires."""
    bits = program.types.bits(key["type"])
    full = (1 << bits) - 1
    low, high, mask = _limits(program, owner, key["type"], admitted, full)
    if mask == 0 or (low, high) == (0, full):
        return
    target = message.match.add(field_id=number)
    match key["match_kind"]:
        case "exact" | "optional" as kind:
            getattr(target, kind).value = encode(low, bits)
        case "lpm":
            target.lpm.value = encode(low, bits)
            target.lpm.prefix_len = mask.bit_count()
        case "ternary":
            target.ternary.value = encode(low, bits)
            target.ternary.mask = encode(mask, bits)
        case "range":
            target.range.low = encode(low, bits)
            target.range.high = encode(high, bits)
        case other:
            raise BadInput(
                f"{owner}: P4Runtime has no form for entries that match `{other}`", "let the program do without"
            )


def _limits(program: Program, owner: str, ty: Any, admitted: Any, full: int) -> tuple[int, int, int]:
    """Smallest and largest value that a key admits, and its mask. For a masked value, both are the value itself."""

    def image(value: Mapping[str, Any]) -> int:
        return int.from_bytes(program.value(owner, ty, value), "big")

    match admitted:
        case {"exact": value}:
            return image(value), image(value), full
        case {"mask": [value, mask]}:
            return image(value) & image(mask), image(value) & image(mask), image(mask)
        case {"range": [low, high]}:
            return image(low), image(high), full
    return 0, full, 0
