# SPDX-License-Identifier: MIT OR Apache-2.0
"""Values of any type as P4Data (P4Runtime specification, section 8.4): what registers hold and digests carry."""

from __future__ import annotations

from typing import Any

from marklab.p4runtime.messages import p4data_pb2
from marklab.p4runtime.server.bytestrings import decode, decode_signed, encode, encode_signed
from marklab.p4runtime.server.refusal import invalid, out_of_range, unsupported


class Codec:
    """Between P4Data of a type and the bits that the engine holds, as an unsigned number."""

    def __init__(self, spec: Any, types: Any, what: str) -> None:
        self._what = what
        self._form, self._bits = _form(spec, types, what)

    def decode(self, data: Any) -> int:
        """The bits of a value that a client sent."""
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
        """Bits of the engine as a client reads them."""
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
    """The form of P4Data that a type has, and its width in bits."""
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
