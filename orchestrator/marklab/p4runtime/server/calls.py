# SPDX-License-Identifier: MIT OR Apache-2.0
"""Calls of actions: checks a client's (P4Runtime specification, 9.1.2) and converts them to the engine's form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from marklab.engine.binding import json_number
from marklab.p4runtime.messages import p4info_pb2, p4runtime_pb2
from marklab.p4runtime.server.objects import Objects
from marklab.p4runtime.server.refusal import denied, invalid, unsupported
from marklab.p4runtime.server.values import by_id, decode, encode

_SCOPES = p4info_pb2.ActionRef.Scope


@dataclass(frozen=True)
class Call:
    """An action with its arguments. Each argument has the id and the name of its parameter."""

    action_id: int
    name: str
    args: tuple[tuple[int, str, int], ...]

    def message(self) -> Any:
        """The call as a client reads it, in canonical form."""
        action = p4runtime_pb2.Action(action_id=self.action_id)
        for number, _, value in self.args:
            action.params.add(param_id=number, value=encode(value))
        return action

    def engine(self) -> dict[str, Any]:
        """The call in the engine's form."""
        return {"action": self.name, "params": {name: json_number(value) for _, name, value in self.args}}


def read_call(objects: Objects, table: Any, action: Any, *, as_default: bool = False) -> Call:
    """Read a call that a client sent, for an entry or the default action of a table."""
    _check_scope(objects, table, action.action_id, as_default=as_default)
    described = objects.find("actions", action.action_id)
    name = described.preamble.name
    params = {param.id: param for param in described.params}
    sent = ((param.param_id, param.value) for param in action.params)
    given = by_id(f"action `{name}`", "parameter", sent, {number: param.name for number, param in params.items()})
    args = []
    for number, param in params.items():
        what = f"action `{name}`: parameter `{param.name}`"
        if number not in given:
            raise invalid(f"{what} has no value", "give one; there are no defaults")
        if not param.bitwidth:
            raise unsupported(f"{what} has a type that the controller sees as a string", "leave out the translation")
        args.append((number, param.name, decode(given[number], param.bitwidth, what)))
    return Call(action.action_id, name, tuple(args))


def _check_scope(objects: Objects, table: Any, action_id: int, *, as_default: bool) -> None:
    refs = {ref.id: ref for ref in table.action_refs}
    if action_id not in refs:
        known = ", ".join(f"{objects.action_name(number)} {number:#010x}" for number in refs)
        raise invalid(f"table `{table.preamble.name}` has no action with id {action_id:#010x}", f"its actions: {known}")
    scope, name = refs[action_id].scope, objects.action_name(action_id)
    if as_default and scope == _SCOPES.Value("TABLE_ONLY"):
        raise denied(f"action `{name}` of table `{table.preamble.name}` is for entries only", "choose another default")
    if not as_default and scope == _SCOPES.Value("DEFAULT_ONLY"):
        raise denied(f"action `{name}` of table `{table.preamble.name}` is only its default", "choose another action")
