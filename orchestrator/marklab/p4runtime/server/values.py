# SPDX-License-Identifier: MIT OR Apache-2.0
"""Numbers and values of any type as P4Runtime encodes them (P4Runtime specification, sections 8.3 and 8.4).

A number is a byte string in network order. The server sends the shortest string and accepts any length. A value is
P4Data, which registers hold and digests carry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from marklab.p4runtime.messages import p4data_pb2
from marklab.p4runtime.server.refusal import Refusal, invalid, out_of_range, unsupported

_Sent = TypeVar("_Sent")


def encode(value: int) -> bytes:
    """The shortest byte string of an unsigned number; 0 has one byte."""
    return value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")


def decode(string: bytes, bits: int, what: str, refuse: Callable[[str, str], Refusal] = invalid) -> int:
    """The unsigned number of a byte string. It must fit into `bits`; `what` names the field in a refusal."""
    _check_given(string, bits, what, refuse)
    value = int.from_bytes(string, "big")
    if value.bit_length() > bits:
        raise refuse(f"{what}: {value:#x} does not fit its {bits} bits", "send a smaller value")
    return value


def encode_signed(value: int) -> bytes:
    """The shortest byte string of a number in two's complement."""
    bits = (value if value >= 0 else ~value).bit_length() + 1
    return value.to_bytes((bits + 7) // 8, "big", signed=True)


def decode_signed(string: bytes, bits: int, what: str, refuse: Callable[[str, str], Refusal] = invalid) -> int:
    """The number of a byte string in two's complement. It must fit into `bits`."""
    _check_given(string, bits, what, refuse)
    value = int.from_bytes(string, "big", signed=True)
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise refuse(f"{what}: {value} does not fit its {bits} signed bits", "send a value nearer to 0")
    return value


def _check_given(string: bytes, bits: int, what: str, refuse: Callable[[str, str], Refusal]) -> None:
    if not string:
        raise refuse(f"{what}: the value is empty", f"send its {bits} bits in network order; 0 is one zero byte")


def by_id(owner: str, kind: str, sent: Iterable[tuple[int, _Sent]], names: Mapping[int, str]) -> dict[int, _Sent]:
    """What a client gives, by the ids of an owner's parameters or fields: `names` has them all. Each is given once."""
    given: dict[int, _Sent] = {}
    for number, value in sent:
        if number not in names:
            known = ", ".join(f"{name} {each}" for each, name in names.items()) or "none"
            raise invalid(f"{owner} has no {kind} {number}", f"its {kind.rpartition(' ')[2]}s: {known}")
        if number in given:
            raise invalid(f"{owner}: {kind} `{names[number]}` is given twice", "give it once")
        given[number] = value
    return given


class Codec:
    """Converts between P4Data of a type and the engine's bits, as an unsigned number."""

    def __init__(self, spec: Any, types: Any, what: str) -> None:
        self._what = what
        self._form, self._bits = _form(spec, types, what)

    def decode(self, data: Any) -> int:
        """Convert a client's value to bits."""
        wanted = {"bit": "bitstring", "int": "bitstring", "bool": "bool", "enum": "enum_value"}[self._form]
        sent = data.WhichOneof("data")
        if sent != wanted:
            raise invalid(f"{self._what} holds {wanted}, and {sent or 'nothing'} is given", f"set `{wanted}`")
        match self._form:
            case "bool":
                return int(data.bool)
            case "int":
                return decode_signed(data.bitstring, self._bits, self._what, out_of_range) % (1 << self._bits)
        return decode(getattr(data, wanted), self._bits, self._what, out_of_range)

    def encode(self, value: int) -> Any:
        """Convert bits of the engine to P4Data."""
        data = p4data_pb2.P4Data()
        match self._form:
            case "bool":
                data.bool = bool(value)
            case "enum":
                data.enum_value = encode(value)
            case "int":
                is_negative = value >> self._bits - 1
                data.bitstring = encode_signed(value - (is_negative << self._bits))
            case _:
                data.bitstring = encode(value)
        return data


def _form(spec: Any, types: Any, what: str) -> tuple[str, int]:
    """The P4Data field for a type, and the type's width in bits."""
    match spec.WhichOneof("type_spec"):
        case "bool":
            return "bool", 1
        case "bitstring" if spec.bitstring.WhichOneof("type_spec") in {"bit", "int"}:
            kind = spec.bitstring.WhichOneof("type_spec")
            return kind, getattr(spec.bitstring, kind).bitwidth
        case "serializable_enum":
            return "enum", types.serializable_enums[spec.serializable_enum.name].underlying_type.bitwidth
        case "new_type" if types.new_types[spec.new_type.name].WhichOneof("representation") == "original_type":
            return _form(types.new_types[spec.new_type.name].original_type, types, what)
        case other:
            raise unsupported(f"{what} has a type of the form {other}", "hold bits, bool or an enum with a width")
