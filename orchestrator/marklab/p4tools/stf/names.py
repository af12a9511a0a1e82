# SPDX-License-Identifier: MIT OR Apache-2.0
"""Expands the short names of tables, keys and actions in tests, by the rules of p4c's runner.

An entry is converted to the engine's form (engine/bindings/src/entries.rs), by the table's match kinds and widths.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from marklab.engine.binding import json_number
from marklab.errors import BadInput, unknown
from marklab.p4tools.stf.statements import Add, Call, Key, Number, SetDefault

Entry = dict[str, Any]

# Larger priorities win in a test, smaller ones in BMv2. p4c's runner subtracts a test's priority from this number.
_LOWEST_PRIORITY = 10_000


def find(kind: str, name: str, known: Iterable[str]) -> str:
    """The full name: the name itself, or the only name that ends in it. An ending after a dot has precedence."""
    names = list(dict.fromkeys(known))
    if name in names:
        return name
    for ending in (f".{name}", name):
        found = [full for full in names if full.endswith(ending)]
        if len(found) == 1:
            return found[0]
        if found:
            raise BadInput(f"{kind} `{name}` can be any of {', '.join(found)}", "write more of its name")
    raise unknown(kind, name, names)


def _named(kind: str, name: str, known: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    full = find(kind, name, [each["name"] for each in known])
    return next(each for each in known if each["name"] == full)


def _direct(table: Mapping[str, Any]) -> Mapping[str, Any]:
    """The table, if its entries name actions. Raises BadInput if they point to members."""
    if profile := table["implementation"]:
        raise BadInput(
            f"entries of table `{table['name']}` point to members of `{profile}`",
            "use act_prof_create_member and table_indirect_add",
        )
    return table


def default_action(statement: SetDefault, tables: Sequence[Mapping[str, Any]]) -> Entry:
    """A default action in the engine's form."""
    table = _direct(_named("table", statement.table, tables))
    return {"table": table["name"], **_call(statement.call, table)}


def entry(statement: Add, tables: Sequence[Mapping[str, Any]]) -> Entry:
    """An entry in the engine's form. Keys that are left out are 0 if they are exact, otherwise open."""
    table = _direct(_named("table", statement.table, tables))
    keys = keys_of(table)
    match = {key["name"]: {"exact": 0} for key in keys if key["match"] == "exact"}
    for component in statement.keys:
        key = next(key for key in keys if key["name"] == _key_name(component.name, keys))
        value = key_match(component, key)
        if value is not None:
            match[key["name"]] = value
    priority = max(0, _LOWEST_PRIORITY - (statement.priority or 0)) if is_ordered(table) else 0
    return {"table": table["name"], "match": match, "priority": priority, **_call(statement.call, table)}


def spelled_out(entry: Mapping[str, Any], tables: Sequence[Mapping[str, Any]]) -> Entry:
    """An entry of a scheme with the full names of table and action, as simple_switch_CLI requires them."""
    table = _named("table", entry["table"], tables)
    action = _named(f"action of `{table['name']}`", entry["action"], table["actions"])
    return {**entry, "table": table["name"], "action": action["name"]}


def keys_of(table: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The keys that an entry gives. The keys of a selector are only for packets."""
    return [key for key in table["keys"] if key["match"] != "selector"]


def is_ordered(table: Mapping[str, Any]) -> bool:
    """Whether several entries can match, so the priority chooses one."""
    return any(key["match"] in {"ternary", "range", "optional"} for key in table["keys"])


def _key_name(name: str, keys: Sequence[Mapping[str, Any]]) -> str:
    """The key of a name in a test: `a$0` is `a[0]`, and `h.valid` is the validity of `h`."""
    known = [key["name"] for key in keys]
    if name in known:
        return name
    spelled = re.sub(r"\$(\d+)", r"[\1]", name)
    spelled = re.sub(r"(^|\.)(valid|\$valid\$?)$", r"\1$valid$", spelled)
    return find("key", spelled, known)


def _call(call: Call, table: Mapping[str, Any]) -> dict[str, Any]:
    action = _named(f"action of `{table['name']}`", call.action, table["actions"])
    widths = {param["name"]: param["bits"] for param in action["params"]}
    params = {}
    for name, value in call.params:
        if name not in widths:
            raise unknown(f"parameter of `{action['name']}`", name, widths)
        if value.wild:
            raise BadInput(f"parameter `{name}` of `{action['name']}` has no open digits")
        # simple_switch_CLI refuses values that are too wide.
        params[name] = json_number(fitting(value.value, widths[name], f"parameter `{name}`"))
    return {"action": action["name"], "params": params}


def key_match(component: Key, key: Mapping[str, Any]) -> dict[str, Any] | None:
    """The match in the engine's form; None matches anything."""
    what, bits = f"key `{key['name']}`", key["bits"]
    value = fitting(component.value.value, bits, what)
    if (form := _form(component)) not in _FORMS[key["match"]]:
        raise BadInput(f"{what} is {key['match']}, and {form} is not for it")
    match key["match"]:
        case "exact":
            return {"exact": json_number(value)}
        case "lpm":
            return {"lpm": [json_number(value), _prefix_len(component, bits)]}
        case "ternary":
            return {"ternary": [json_number(value), json_number(_mask(component, bits))]}
        case "optional":
            return None if component.value.mask == 0 else {"exact": json_number(value)}
    high = component.high or component.value
    return {"range": [json_number(value), json_number(fitting(high.value, bits, what))]}


# Forms that can be written for a key, by its match kind.
_FORMS = {
    "exact": {"a value"},
    "lpm": {"a value", "a prefix", "a value with open digits"},
    "ternary": {"a value", "a mask", "a value with open digits"},
    "optional": {"a value", "a value with open digits"},
    "range": {"a value", "a range"},
}


def _form(component: Key) -> str:
    if component.prefix_len is not None:
        return "a prefix"
    if component.mask is not None:
        return "a mask"
    if component.high is not None:
        return "a range"
    return "a value with open digits" if component.value.wild else "a value"


def _prefix_len(component: Key, bits: int) -> int:
    if component.prefix_len is not None:
        return component.prefix_len
    written = component.value.prefix_len
    return bits if written is None else min(bits, written)


def _mask(component: Key, bits: int) -> int:
    every = (1 << bits) - 1
    written: Number | int | None = component.mask or component.value.mask
    if isinstance(written, Number):
        return fitting(written.value, bits, f"mask of `{component.name}`")
    return every if written is None else written & every


def fitting(value: int, bits: int, what: str) -> int:
    """The value, if it fits into `bits`. Raises BadInput otherwise."""
    if value.bit_length() > bits:
        raise BadInput(f"{value:#x} does not fit {what}, which has {bits} bits")
    return value
