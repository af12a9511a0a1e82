# SPDX-License-Identifier: MIT OR Apache-2.0
"""The objects of a running program by their ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marklab.p4runtime.server.refusal import invalid

# Fields of P4Info, and the names of their objects in messages.
_KINDS = {
    "tables": "table",
    "actions": "action",
    "action_profiles": "action profile",
    "counters": "counter",
    "direct_counters": "direct counter",
    "meters": "meter",
    "direct_meters": "direct meter",
    "registers": "register",
    "value_sets": "value set",
    "digests": "digest",
}


class Objects:
    """P4Info's objects: `objects.tables[id]` and so on, in the order of P4Info."""

    def __init__(self, info: Any) -> None:
        self.info = info
        self._known: dict[str, dict[int, Any]] = {
            field: {each.preamble.id: each for each in getattr(info, field)} for field in _KINDS
        }

    def all(self, field: str) -> Mapping[int, Any]:
        """All objects of a field of P4Info."""
        return self._known[field]

    def find(self, field: str, number: int) -> Any:
        """The object with an id from a client. Raises a refusal if there is none."""
        found = self._known[field].get(number)
        if found is None:
            raise invalid(f"there is no {_KINDS[field]} with id {number:#010x}", self._remedy(field))
        return found

    def selected(self, field: str, number: int) -> list[Any]:
        """The object with an id, or all objects of its kind for 0, which selects all in a read."""
        return [self.find(field, number)] if number else list(self._known[field].values())

    def action_name(self, number: int) -> str:
        """Name of an action that the program itself refers to, which may be hidden."""
        found = self._known["actions"].get(number)
        return str(found.preamble.name) if found else f"{number:#010x}"

    def _remedy(self, field: str) -> str:
        known = [f"{each.preamble.name} {number:#010x}" for number, each in self._known[field].items()]
        return f"known: {', '.join(known)}" if known else f"the program has no {_KINDS[field]}"
