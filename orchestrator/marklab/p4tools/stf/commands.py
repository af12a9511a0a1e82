# SPDX-License-Identifier: MIT OR Apache-2.0
"""Commands of simple_switch_CLI in a test: their words, the names among them, and the operations of the engine.

A command has the same words as in simple_switch_CLI, but a name may be shortened to a unique ending.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from marklab.engine.binding import json_number
from marklab.errors import BadInput
from marklab.p4tools.stf import names
from marklab.p4tools.stf.statements import Command, Key, Number

# The words of each command. An object stands for its name, `action` for an action of the preceding profile, `n` for a
# number, `rate` for `0.5:8`, `key` for `5`, `5/8`, `5&&&15` or `5->9`; `+`, `*` and `?` are as in regular expressions.
FORMS = {
    "mirroring_add": "n n",
    "mirroring_add_mc": "n n",
    "mirroring_delete": "n",
    "mirroring_get": "n",
    "mc_mgrp_create": "n",
    "mc_mgrp_destroy": "n",
    "mc_node_create": "n n+",
    "mc_node_update": "n n+",
    "mc_node_destroy": "n",
    "mc_node_associate": "n n",
    "mc_node_dissociate": "n n",
    "counter_read": "counter n",
    "counter_write": "counter n n n",
    "register_read": "register n",
    "register_write": "register n n",
    "register_reset": "register",
    "meter_get_rates": "meter n",
    "meter_set_rates": "meter n rate+",
    "meter_array_set_rates": "meter rate+",
    "act_prof_create_member": "action_profile action n*",
    "act_prof_modify_member": "action_profile action n n*",
    "act_prof_delete_member": "action_profile n",
    "act_prof_create_group": "action_profile",
    "act_prof_delete_group": "action_profile n",
    "act_prof_add_member_to_group": "action_profile n n",
    "act_prof_remove_member_from_group": "action_profile n n",
    "table_indirect_add": "table key* => n n?",
    "table_indirect_add_with_group": "table key* => n n?",
    "table_indirect_delete": "table n",
    "table_indirect_set_default": "table n",
    "table_indirect_set_default_with_group": "table n",
    "table_indirect_reset_default": "table",
    "pvs_add": "value_set n",
    "pvs_remove": "value_set n",
    "pvs_get": "value_set",
    "pvs_clear": "value_set",
}

_OBJECTS = ("register", "counter", "meter", "action_profile", "table", "value_set")

Parts = Mapping[str, Any]
Operation = dict[str, dict[str, Any]]


def spelled_out(command: Command, parts: Parts) -> Command:
    """The command with full names, as simple_switch_CLI requires them."""
    words = list(command.words)
    # Names come before everything else.
    for at, form in enumerate(FORMS[command.name].split()):
        if form in _OBJECTS:
            words[at] = names.find(form.replace("_", " "), words[at], [part["name"] for part in parts[f"{form}s"]])
        elif form == "action":
            actions = _named(parts["action_profiles"], words[0])["actions"]
            words[at] = names.find(f"action of `{words[0]}`", words[at], [action["name"] for action in actions])
    return replace(command, words=tuple(words))


def _named(known: Sequence[Parts], name: str) -> Parts:
    return next(each for each in known if each["name"] == name)


def entry_handle(number: int) -> int:
    """The engine's handle of an entry.

    simple_switch_CLI counts from 0; bits 24 and up count how often the place was freed.
    """
    return (number & 0xFFFFFF) + 1


def is_direct(parts: Parts, kind: str, name: str) -> bool:
    """Whether a counter or meter has a cell for each entry of a table."""
    return _named(parts[f"{kind}s"], name)["size"] is None


def cell(parts: Parts, kind: str, name: str, number: int) -> int:
    """The engine's index of a cell of a counter or meter."""
    return entry_handle(number) if is_direct(parts, kind, name) else number


# The engine's operation for a command, and the names of its arguments (engine/bindings/src/objects.rs).
_OPERATIONS = {
    "meter_get_rates": ("get_meter_rates", "meter index"),
    "meter_set_rates": ("set_meter_rates", "meter index rates"),
    "meter_array_set_rates": ("set_all_meter_rates", "meter rates"),
    "act_prof_create_member": ("add_member", "profile action params"),
    "act_prof_modify_member": ("modify_member", "profile action member params"),
    "act_prof_delete_member": ("delete_member", "profile member"),
    "act_prof_create_group": ("add_group", "profile"),
    "act_prof_delete_group": ("delete_group", "profile group"),
    "act_prof_add_member_to_group": ("add_to_group", "profile member group"),
    "act_prof_remove_member_from_group": ("remove_from_group", "profile member group"),
    "pvs_add": ("insert_value", "set value"),
    "pvs_remove": ("remove_value", "set value"),
    "pvs_clear": ("clear_values", "set"),
}


def operation(command: Command, parts: Parts) -> Operation:
    """The engine's operation for a spelled-out command on a meter, an action profile or a value set."""
    name, fields = _OPERATIONS[command.name]
    words = list(command.words)
    given: dict[str, Any] = {}
    for field in fields.split():
        match field:
            case "rates":
                given |= _rates(words)
            case "params":
                given[field] = _params(parts, given["profile"], given["action"], words)
            case "value":
                given[field] = _value(parts, given["set"], int(words.pop(0)))
            case "index":
                given[field] = cell(parts, "meter", given["meter"], int(words.pop(0)))
            case "member" | "group":
                given[field] = int(words.pop(0))
            case _:
                given[field] = words.pop(0)
    return {name: given}


def _rates(words: Sequence[str]) -> dict[str, Any]:
    """Rates such as `0.5:8 1:16`: tokens per microsecond and bucket depth, the committed rate first."""
    if len(words) != 2:
        raise BadInput(
            f"a meter has 2 rates, this gives {len(words)}", "name the committed rate and the peak rate: `0.5:8 1:16`"
        )
    committed, peak = ([float(rate), int(burst)] for rate, _, burst in (word.partition(":") for word in words))
    return {"committed": committed, "peak": peak}


def _params(parts: Parts, profile: str, action: str, words: Sequence[str]) -> dict[str, Any]:
    params = _named(_named(parts["action_profiles"], profile)["actions"], action)["params"]
    if len(params) != len(words):
        raise BadInput(f"`{action}` has {len(params)} parameter(s), this gives {len(words)}")
    return {
        param["name"]: json_number(names.fitting(int(word), param["bits"], f"parameter `{param['name']}`"))
        for param, word in zip(params, words, strict=True)
    }


def _value(parts: Parts, name: str, value: int) -> list[dict[str, Any]]:
    """Split a number into the components of a value set, which lie side by side in it."""
    widths = _named(parts["value_sets"], name)["bits"]
    names.fitting(value, sum(widths), f"value set `{name}`")
    components = []
    for bits in reversed(widths):
        components.append({"exact": json_number(value & ((1 << bits) - 1))})
        value >>= bits
    return components[::-1]


def indirect(command: Command, parts: Parts) -> names.Entry:
    """The engine's entry or default action for a spelled-out command on a table with members."""
    name, *words = command.words
    table = _named(parts["tables"], name)
    if not table["implementation"]:
        raise BadInput(f"entries of table `{name}` name actions: it has no `implementation`", "use add or setdefault")
    call = "group" if command.name.endswith("_with_group") else "member"
    match command.name.removesuffix("_with_group"):
        case "table_indirect_reset_default":
            return {"table": name, "action": "nothing", "params": {}}
        case "table_indirect_set_default":
            return {"table": name, "action": call, "params": {"id": int(words[0])}}
    arrow = words.index("=>")
    number, *priority = (int(word) for word in words[arrow + 1 :])
    match = _match(table, words[:arrow], priority)
    return {
        "table": name,
        "match": match,
        "priority": priority[0] if priority else 0,
        "action": call,
        "params": {"id": number},
    }


def _match(table: Parts, words: Sequence[str], priority: Sequence[int]) -> dict[str, Any]:
    keys = names.keys_of(table)
    if len(words) != len(keys):
        raise BadInput(f"table `{table['name']}` has {len(keys)} key(s), this gives {len(words)}")
    if names.is_ordered(table) != bool(priority):
        verb = "need a" if names.is_ordered(table) else "have no"
        raise BadInput(f"entries of table `{table['name']}` {verb} priority")
    match = {}
    for key, word in zip(keys, words, strict=True):
        if (value := names.key_match(_component(key["name"], word), key)) is not None:
            match[key["name"]] = value
    return match


def _component(name: str, word: str) -> Key:
    """Parse `5`, `5/8`, `5&&&15` or `5->9`."""
    value, sign, other = re.split(r"(/|&&&|->|$)", word, maxsplit=1)
    match sign:
        case "/":
            return Key(name, Number(value), prefix_len=int(other))
        case "&&&":
            return Key(name, Number(value), mask=Number(other))
        case "->":
            return Key(name, Number(value), high=Number(other))
    return Key(name, Number(value))
