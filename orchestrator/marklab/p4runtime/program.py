# SPDX-License-Identifier: MIT OR Apache-2.0
"""A described program: its ids, its types, and the references between its parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marklab.errors import BadInput
from marklab.p4runtime import annotation
from marklab.p4runtime.ids import Kind, Symbols, field_ids
from marklab.p4runtime.messages import p4info_pb2
from marklab.p4runtime.types import Types, encode

# Extern objects of v1model that P4Info can describe.
OBJECTS = {
    "counter": Kind.COUNTER,
    "direct_counter": Kind.DIRECT_COUNTER,
    "meter": Kind.METER,
    "direct_meter": Kind.DIRECT_METER,
    "register": Kind.REGISTER,
    "action_profile": Kind.ACTION_PROFILE,
    "action_selector": Kind.ACTION_PROFILE,
}

# Table properties that name or make an object, and the kinds of objects that they accept.
_ATTACHED = {
    "implementation": ("action_profile", "action_selector"),
    "counters": ("direct_counter",),
    "meters": ("direct_meter",),
}

_MATCH_TYPES = ("exact", "lpm", "ternary", "range", "optional")


class Program:
    """A program. `info` collects its types."""

    def __init__(self, described: Mapping[str, Any], info: Any) -> None:
        self.described = described
        self.types = Types(described, info)
        self.symbols = Symbols()
        self.objects: dict[str, Mapping[str, Any]] = {each["name"]: each for each in described["objects"]}
        # An action that several controls run is a single action for the control plane: the first.
        self.actions: dict[str, Mapping[str, Any]] = {}
        for each in described["actions"]:
            self.actions.setdefault(each["name"], each)
        headers = (each for each in described["fields"] if each["kind"] == "header")
        self.controller_headers = [
            each for each in headers if annotation.find(each["annotations"], "controller_header")
        ]
        self.digests = self._digests()
        self._collect()

    def _digests(self) -> list[tuple[str, Any]]:
        """Names and types of digests. A type without a name gets a new name each time."""
        digests: list[tuple[str, Any]] = []
        nameless = 0
        for call in self.described["calls"]:
            if call["function"] != "digest":
                continue
            match call["type_args"][0]:
                case {"fields": name} | {"new": name} | {"enum": name} as ty:
                    digests.append((name, ty))
                case ty:
                    digests.append((f"digest_{nameless}", ty))
                    nameless += 1
        return digests

    def _collect(self) -> None:
        for name, _ in self.digests:
            self.symbols.add(Kind.DIGEST, name)
        for kind, objects in (
            (Kind.ACTION, self.described["actions"]),
            (Kind.TABLE, self.described["tables"]),
            (Kind.VALUE_SET, self.described["value_sets"]),
            (Kind.CONTROLLER_HEADER, self.controller_headers),
        ):
            for each in objects:
                self.symbols.add(kind, each["name"], each["annotations"])
        for each in self.described["objects"]:
            if each["extern"] in OBJECTS:
                self.symbols.add(OBJECTS[each["extern"]], each["name"], each["annotations"])
        for table in self.described["tables"]:
            for name in _ATTACHED:
                made = self.attached(table, name)
                if made is not None and made["name"] not in self.objects:
                    self.symbols.add(OBJECTS[made["extern"]], made["name"])

    def attached(self, table: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
        """The object that a property of a table names or makes."""
        found = property_of(table, name)
        match found and found["value"]:
            case None:
                return None
            case {"object": object_name} if self.objects[object_name]["extern"] in _ATTACHED[name]:
                return self.objects[object_name]
            case {"new": made} if found is not None and made["extern"] in _ATTACHED[name]:
                given = annotation.text(found["annotations"], "name")
                if given is None:
                    raise BadInput(
                        f"{table['name']}: its {name} has no name that a control plane could use",
                        f'write @name("...") before `{name}`, or declare the object outside of the table',
                    )
                return {**made, "name": given.removeprefix("."), "annotations": found["annotations"]}
        raise BadInput(f"{table['name']}: its {name} is no {' or '.join(_ATTACHED[name])}")

    def preamble(
        self, message: Any, kind: Kind, described: Mapping[str, Any], leave_out: frozenset[str] = frozenset()
    ) -> int:
        """Fill in the fields that all objects have. Returns the id."""
        name, given = described["name"], described["annotations"]
        message.preamble.id = self.symbols.id(kind, name)
        message.preamble.name = name
        message.preamble.alias = self.symbols.alias(name)
        annotation.copy(given, message.preamble, leave_out)
        annotation.document(given, message.preamble)
        return int(message.preamble.id)

    def typed(self, message: Any, ty: Any) -> None:
        """Fill in the width and, for a new type, the name of a field's type."""
        self.types.info.SetInParent()
        self.types.describe(ty)
        if self.types.bits(ty):
            message.bitwidth = self.types.bits(ty)
        match ty:
            case {"new": name}:
                message.type_name.name = name

    def arguments(self, call: Mapping[str, Any]) -> list[tuple[int, bytes]]:
        """Ids and values of the arguments with which the program calls an action."""
        name = call["action"]
        params = self.actions[name]["params"]
        ids = dict(zip((param["name"] for param in params), field_ids(name, params), strict=True))
        types = {param["name"]: param["type"] for param in params}
        return [(ids[param], self.value(name, types[param], value)) for param, value in call["args"]]

    def value(self, owner: str, ty: Any, value: Mapping[str, Any]) -> bytes:
        """A constant as P4Runtime sends it."""
        bits = self.types.bits(ty)
        match value:
            case {"number": digits} if bits:
                return encode(int(digits), bits)
            case {"bool": truth}:
                return encode(int(truth), bits)
        raise BadInput(f"{owner}: P4Runtime has no form for {next(iter(value.values()))}", "use a number")


def hidden(described: Mapping[str, Any]) -> bool:
    """Whether an object is hidden from the control plane."""
    return annotation.find(described["annotations"], "hidden") is not None


def property_of(table: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """The table property with this name, or None."""
    return next((each for each in table["properties"] if each["name"] == name), None)


def size_of(owner: Mapping[str, Any], value: Mapping[str, Any] | None) -> int:
    """A size, which must be a number."""
    match value:
        case {"number": digits}:
            return int(digits)
    raise BadInput(f"{owner['name']}: its size is not a constant", "write a number")


def match_type(message: Any, kind: str) -> None:
    """Fill in a match kind."""
    if kind in _MATCH_TYPES:
        message.match_type = p4info_pb2.MatchField.MatchType.Value(kind.upper())
    else:
        message.other_match_type = kind
