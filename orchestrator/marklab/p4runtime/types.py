# SPDX-License-Identifier: MIT OR Apache-2.0
"""Widths of types, and P4Info's description of types other than plain bits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marklab.errors import BadInput
from marklab.p4runtime import annotation
from marklab.p4runtime.messages import p4types_pb2

TRANSLATION = "p4runtime_translation"

# Fields of messages that refer to structs, headers and header unions.
_FIELDS = {"struct": "struct", "header": "header", "union": "header_union"}


def encode(value: int, bits: int) -> bytes:
    """A number in network order, padded to whole bytes as p4c does."""
    return (value % (1 << bits)).to_bytes((bits + 7) // 8, "big")


class Types:
    """The types of a program. `info` collects the types that are asked for."""

    def __init__(self, described: Mapping[str, Any], info: Any) -> None:
        self.info = info
        self._fields: dict[str, Mapping[str, Any]] = {each["name"]: each for each in described["fields"]}
        self._enums = {each["name"]: each for each in described["enums"]}
        self._new_types = {each["name"]: each for each in described["new_types"]}
        self._errors = described["errors"]

    def fields(self, name: str) -> Mapping[str, Any]:
        """A struct, header or header union."""
        return self._fields[name]

    def members(self, name: str) -> list[str]:
        """The members of an enum."""
        return [member for member, _ in self._enums[name]["members"]]

    def below(self, ty: Any) -> Any:
        """The type below a new type, through all levels of new types."""
        while isinstance(ty, dict) and "new" in ty:
            ty = self._new_types[ty["new"]]["type"]
        return ty

    def bits(self, ty: Any) -> int:
        """Width in the control plane. For a translated type, the controller's width, or 0 if it uses a string."""
        if isinstance(ty, dict) and "new" in ty:
            translated = self._translation(self._new_types[ty["new"]])
            return self.bits(self.below(ty)) if translated is None else translated[1] or 0
        match ty:
            case "bool":
                return 1
            case {"bit": width} | {"int": width} | {"varbit": width}:
                return int(width)
            case {"enum": name} if self._enums[name]["underlying"]:
                return self.bits(self._enums[name]["underlying"])
            case _:
                return 0

    def describe(self, ty: Any) -> Any:
        """A type as a data type specification. Adds the types that it refers to to the type information."""
        spec = p4types_pb2.P4DataTypeSpec()
        match ty:
            case "bool":
                spec.bool.SetInParent()
            case "error":
                spec.error.SetInParent()
                if not self.info.HasField("error"):
                    self.info.error.members.extend(self._errors)
            case {"bit": width}:
                spec.bitstring.bit.bitwidth = width
            case {"int": width}:
                spec.bitstring.int.bitwidth = width
            case {"varbit": width}:
                spec.bitstring.varbit.max_bitwidth = width
            case {"tuple": parts}:
                spec.tuple.SetInParent()
                spec.tuple.members.extend(self.describe(part) for part in parts)
            case _:
                self._describe_named(ty, spec)
        return spec

    def _describe_named(self, ty: Any, spec: Any) -> None:
        match ty:
            case {"stack": [{"fields": name}, size]}:
                kind = _FIELDS[self._fields[name]["kind"]]
                stack = getattr(spec, f"{kind}_stack")
                getattr(stack, kind).name = name
                stack.size = size
                self._add_fields(name)
            case {"fields": name}:
                getattr(spec, _FIELDS[self._fields[name]["kind"]]).name = name
                self._add_fields(name)
            case {"enum": name}:
                kind = "serializable_enum" if self._enums[name]["underlying"] else "enum"
                getattr(spec, kind).name = name
                self._add_enum(name)
            case {"new": name}:
                spec.new_type.name = name
                self._add_new_type(name)
            case _:
                shown = ty.get("other", ty) if isinstance(ty, dict) else ty
                raise BadInput(f"P4Runtime has no form for the type {shown}", "use bits, enums, structs or headers")

    def _add_fields(self, name: str) -> None:
        decl = self._fields[name]
        known = f"{_FIELDS[decl['kind']]}s"
        if name in getattr(self.info, known):
            return
        target = getattr(self.info, known)[name]
        fields = self.flat(name) if decl["kind"] == "header" else decl["fields"]
        for field in fields:
            member = target.members.add(name=field["name"])
            spec = self.describe(self._as_bits(field["type"]) if decl["kind"] == "header" else field["type"])
            match decl["kind"]:
                case "struct":
                    member.type_spec.CopyFrom(spec)
                case "header":
                    member.type_spec.CopyFrom(spec.bitstring)
                case _:
                    member.header.CopyFrom(spec.header)

    def _as_bits(self, ty: Any) -> Any:
        """The type of a header's field on the wire."""
        below = self.below(ty)
        if isinstance(below, dict) and "enum" in below:
            return self._enums[below["enum"]]["underlying"]
        return {"bit": 1} if below == "bool" else below

    def flat(self, name: str) -> list[dict[str, Any]]:
        """The fields of a header. Fields of its structs are named by their paths."""
        flat: list[dict[str, Any]] = []
        for field in self._fields[name]["fields"]:
            below = self.below(field["type"])
            if not (isinstance(below, dict) and "fields" in below):
                flat.append(dict(field))
                continue
            for inner in self.flat(below["fields"]):
                own = {each["name"] for each in inner["annotations"]}
                merged = inner["annotations"] + [each for each in field["annotations"] if each["name"] not in own]
                flat.append({**inner, "name": f"{field['name']}.{inner['name']}", "annotations": merged})
        return flat

    def _add_enum(self, name: str) -> None:
        decl = self._enums[name]
        if decl["underlying"] is None:
            if name not in self.info.enums:
                self.info.enums[name].members.extend(
                    p4types_pb2.P4EnumTypeSpec.Member(name=member) for member, _ in decl["members"]
                )
            return
        if name not in self.info.serializable_enums:
            bits = self.bits(decl["underlying"])
            target = self.info.serializable_enums[name]
            target.underlying_type.bitwidth = bits
            for member, value in decl["members"]:
                target.members.add(name=member, value=encode(int(value["number"]), bits))

    def _add_new_type(self, name: str) -> None:
        if name in self.info.new_types:
            return
        decl = self._new_types[name]
        target = self.info.new_types[name]
        below = self.describe(self.below(decl["type"]))
        annotation.copy(decl["annotations"], target, {TRANSLATION})
        translation = self._translation(decl)
        if translation is None:
            target.original_type.CopyFrom(below)
            return
        uri, bits = translation
        target.translated_type.uri = uri
        if bits is None:
            target.translated_type.sdn_string.SetInParent()
        else:
            target.translated_type.sdn_bitwidth = bits

    def _translation(self, decl: Mapping[str, Any]) -> tuple[str, int | None] | None:
        """URI and width of the controller's type for a translated type; the width is None for a string."""
        form = '"uri", bit<32>'
        given = annotation.values(decl["annotations"], TRANSLATION, form)
        if given is None:
            return None
        if len(given) != 2 or not isinstance(given[0], str):
            raise BadInput(f"{decl['name']}: @{TRANSLATION} is of the wrong form", f"write @{TRANSLATION}({form})")
        return given[0], None if given[1] == "string" else int(given[1])
