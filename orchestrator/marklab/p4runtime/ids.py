# SPDX-License-Identifier: MIT OR Apache-2.0
"""Ids and short names of objects, the same as p4c's (P4Runtime specification, section 6.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

from marklab.errors import BadInput
from marklab.p4runtime.annotation import number


class Kind(IntEnum):
    """Kinds of objects. The value of a kind is the first byte of its ids."""

    ACTION = 0x01
    TABLE = 0x02
    VALUE_SET = 0x03
    CONTROLLER_HEADER = 0x04
    ACTION_PROFILE = 0x11
    COUNTER = 0x12
    DIRECT_COUNTER = 0x13
    METER = 0x14
    DIRECT_METER = 0x15
    REGISTER = 0x16
    DIGEST = 0x17


_HASH_BITS = 24
_HASH_MASK = (1 << _HASH_BITS) - 1
_WORD = 0xFFFF_FFFF


def jenkins(name: str) -> int:
    """Bob Jenkins' one-at-a-time hash, 32 bits."""
    value = 0
    for byte in name.encode():
        value = (value + byte) & _WORD
        value = (value + (value << 10)) & _WORD
        value ^= value >> 6
    value = (value + (value << 3)) & _WORD
    value ^= value >> 11
    return (value + (value << 15)) & _WORD


class Symbols:
    """All objects that have an id, including hidden ones, because ids and aliases must be unique among all of them."""

    def __init__(self) -> None:
        self._given: dict[tuple[Kind, str], int | None] = {}
        self._ids: dict[tuple[Kind, str], int] = {}
        self._names: set[str] = set()
        self._suffixes: Counter[tuple[str, ...]] = Counter()

    def add(self, kind: Kind, name: str, annotations: Sequence[Mapping[str, Any]] = ()) -> None:
        """Add an object. An object that is already known keeps its first annotations."""
        if (kind, name) in self._given:
            return
        given = number(annotations, "id")
        if given is not None:
            given = _with_prefix(kind, name, given)
            if given in self._given.values():
                raise BadInput(
                    f"{name}: @id({given}) is taken by another object", "give every object an @id of its own"
                )
        if name not in self._names:
            self._names.add(name)
            parts = tuple(reversed(name.split(".")))
            self._suffixes.update(parts[:length] for length in range(1, len(parts) + 1))
        self._given[kind, name] = given
        self._ids = {}

    def id(self, kind: Kind, name: str) -> int:
        """The id of an object."""
        if not self._ids:
            self._ids = self._assign()
        return self._ids[kind, name]

    def alias(self, name: str) -> str:
        """The shortest ending of a dotted name that no other object has."""
        parts = tuple(reversed(name.split(".")))
        for length in range(1, len(parts)):
            if self._suffixes[parts[:length]] < 2:
                return ".".join(reversed(parts[:length]))
        return name

    def _assign(self) -> dict[tuple[Kind, str], int]:
        ids = {symbol: given for symbol, given in self._given.items() if given is not None}
        taken = set(ids.values())
        # In the order of names, because the second of two colliding objects takes the next id.
        for kind, name in sorted(symbol for symbol, given in self._given.items() if given is None):
            low = jenkins(name)
            while (assigned := kind << _HASH_BITS | low & _HASH_MASK) in taken:
                low += 1
            taken.add(assigned)
            ids[kind, name] = assigned
        return ids


def _with_prefix(kind: Kind, name: str, given: int) -> int:
    prefix = given >> _HASH_BITS
    if not 0 <= given <= _WORD or prefix not in {0, kind}:
        raise BadInput(f"{name}: @id({given}) is no id of {kind.name.lower().replace('_', ' ')}s", "use 24 bits")
    return kind << _HASH_BITS | given


def field_ids(owner: str, fields: Sequence[Mapping[str, Any]]) -> list[int]:
    """Ids of fields or parameters: `@id`, else their places if these are free."""
    given = [number(field["annotations"], "id") for field in fields]
    taken: set[int] = set()
    for field, own in zip(fields, given, strict=True):
        if own is not None and (own <= 0 or own in taken):
            raise BadInput(
                f"{owner}: @id({own}) of {field['name']} is zero or used twice", "give each an @id of its own"
            )
        if own is not None:
            taken.add(own)
    ids, place = [], 1
    for own in given:
        if own is not None:
            ids.append(own)
            place += 1
            continue
        while place in taken:
            place += 1
        ids.append(place)
        taken.add(place)
    return ids
