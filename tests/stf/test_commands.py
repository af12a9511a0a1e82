# SPDX-License-Identifier: MIT OR Apache-2.0
"""Commands of simple_switch_CLI are translated for the engine."""

from __future__ import annotations

from typing import Any

import pytest

from marklab.errors import BadInput
from marklab.p4tools.stf import commands
from marklab.p4tools.stf.reader import read
from marklab.p4tools.stf.statements import Command


def key(name: str, match: str, bits: int) -> dict[str, Any]:
    return {"name": name, "match": match, "bits": bits}


PARTS: dict[str, Any] = {
    "registers": [{"name": "c.r"}],
    "counters": [{"name": "c.events"}],
    "meters": [{"name": "c.m", "size": 4}, {"name": "c.hits", "size": None}],
    "action_profiles": [
        {
            "name": "c.p",
            "actions": [
                {"name": "c.set", "params": [{"name": "port", "bits": 9}, {"name": "mac", "bits": 128}]},
                {"name": "NoAction", "params": []},
            ],
        }
    ],
    "tables": [
        {"name": "c.t", "implementation": "c.p", "keys": [key("a", "exact", 8), key("h", "selector", 8)]},
        {"name": "c.plain", "implementation": None, "keys": [key("a", "exact", 8)]},
        {
            "name": "c.many",
            "implementation": "c.p",
            "keys": [key("l", "lpm", 8), key("t", "ternary", 8), key("r", "range", 8), key("o", "optional", 8)],
        },
    ],
    "value_sets": [{"name": "parser.s", "bits": [8, 72, 4]}],
}


def made(line: str) -> Command:
    (command,) = read(line)
    assert isinstance(command, Command)
    return commands.spelled_out(command, PARTS)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("register_write r 1 2", ("c.r", "1", "2")),
        ("counter_read events 1", ("c.events", "1")),
        ("act_prof_create_member p set 1 2", ("c.p", "c.set", "1", "2")),
        ("table_indirect_add t 5 => 0", ("c.t", "5", "=>", "0")),
        ("mirroring_add 5 1", ("5", "1")),
    ],
)
def test_names_are_spelled_out(line: str, words: tuple[str, ...]) -> None:
    assert made(line).words == words


@pytest.mark.parametrize(
    ("line", "operation"),
    [
        ("meter_get_rates m 2", {"get_meter_rates": {"meter": "c.m", "index": 2}}),
        (
            "meter_set_rates m 2 0.5:1 2:3",
            {"set_meter_rates": {"meter": "c.m", "index": 2, "committed": [0.5, 1], "peak": [2.0, 3]}},
        ),
        # A direct meter has a cell per entry: numbered from 0 in BMv2, from 1 in the engine.
        ("meter_get_rates hits 2", {"get_meter_rates": {"meter": "c.hits", "index": 3}}),
        ("meter_get_rates hits 0x1000002", {"get_meter_rates": {"meter": "c.hits", "index": 3}}),
        (
            "meter_array_set_rates m 0:1 0:3",
            {"set_all_meter_rates": {"meter": "c.m", "committed": [0.0, 1], "peak": [0.0, 3]}},
        ),
        (
            f"act_prof_create_member p set 1 0x1{'0' * 16}",
            {"add_member": {"profile": "c.p", "action": "c.set", "params": {"port": 1, "mac": f"0x1{'0' * 16}"}}},
        ),
        (
            "act_prof_modify_member p NoAction 3",
            {"modify_member": {"profile": "c.p", "action": "NoAction", "member": 3, "params": {}}},
        ),
        ("act_prof_delete_member p 3", {"delete_member": {"profile": "c.p", "member": 3}}),
        ("act_prof_create_group p", {"add_group": {"profile": "c.p"}}),
        ("act_prof_delete_group p 1", {"delete_group": {"profile": "c.p", "group": 1}}),
        # Member before group, as in simple_switch_CLI.
        ("act_prof_add_member_to_group p 3 1", {"add_to_group": {"profile": "c.p", "member": 3, "group": 1}}),
        ("act_prof_remove_member_from_group p 3 1", {"remove_from_group": {"profile": "c.p", "member": 3, "group": 1}}),
        # 0x12, then 72 bits, then 4 bits, side by side.
        (
            "pvs_add s 0x12000000000000000034f",
            {"insert_value": {"set": "parser.s", "value": [{"exact": 0x12}, {"exact": 0x34}, {"exact": 0xF}]}},
        ),
        ("pvs_remove s 0", {"remove_value": {"set": "parser.s", "value": [{"exact": 0}] * 3}}),
        ("pvs_clear s", {"clear_values": {"set": "parser.s"}}),
    ],
)
def test_operations(line: str, operation: dict[str, Any]) -> None:
    assert commands.operation(made(line), PARTS) == operation


@pytest.mark.parametrize(
    ("line", "entry"),
    [
        (
            "table_indirect_add t 5 => 2",
            {"match": {"a": {"exact": 5}}, "priority": 0, "action": "member", "params": {"id": 2}},
        ),
        (
            "table_indirect_add_with_group t 5 => 1",
            {"match": {"a": {"exact": 5}}, "priority": 0, "action": "group", "params": {"id": 1}},
        ),
        ("table_indirect_set_default t 3", {"action": "member", "params": {"id": 3}}),
        ("table_indirect_set_default_with_group t 3", {"action": "group", "params": {"id": 3}}),
        ("table_indirect_reset_default t", {"action": "nothing", "params": {}}),
        (
            "table_indirect_add many 16/4 3&&&15 4->5 6 => 7 9",
            {
                "match": {"l": {"lpm": [16, 4]}, "t": {"ternary": [3, 15]}, "r": {"range": [4, 5]}, "o": {"exact": 6}},
                "priority": 9,
                "action": "member",
                "params": {"id": 7},
            },
        ),
    ],
)
def test_entries_that_point_to_members(line: str, entry: dict[str, Any]) -> None:
    assert commands.indirect(made(line), PARTS) == {"table": line.split()[1].join(("c.", "")), **entry}


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("meter_get_rates n 0", "unknown meter `n`"),
        ("act_prof_create_group q", "unknown action profile `q`"),
        ("act_prof_create_member p drop", "unknown action of `c.p` `drop`"),
        ("act_prof_create_member p set 1", "`c.set` has 2 parameter(s), this gives 1"),
        ("act_prof_create_member p set 512 0", "0x200 does not fit parameter `port`, which has 9 bits"),
        ("meter_set_rates m 0 1:1", "a meter has 2 rates, this gives 1"),
        ("pvs_add s 0x1000000000000000000000", "does not fit value set `parser.s`, which has 84 bits"),
    ],
)
def test_what_does_not_fit_the_program_is_refused(line: str, complaint: str) -> None:
    with pytest.raises(BadInput) as error:
        commands.operation(made(line), PARTS)
    assert complaint in str(error.value)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("table_indirect_add plain 1 => 2", "entries of table `c.plain` name actions: it has no `implementation`"),
        ("table_indirect_set_default plain 2", "entries of table `c.plain` name actions: it has no `implementation`"),
        ("table_indirect_add t => 2", "table `c.t` has 1 key(s), this gives 0"),
        ("table_indirect_add t 5 => 2 1", "entries of table `c.t` have no priority"),
        ("table_indirect_add many 16/4 3&&&15 4->5 6 => 7", "entries of table `c.many` need a priority"),
        ("table_indirect_add t 256 => 2", "0x100 does not fit key `a`, which has 8 bits"),
        ("table_indirect_add t 5/8 => 2", "key `a` is exact, and a prefix is not for it"),
    ],
)
def test_entries_that_do_not_fit_their_table_are_refused(line: str, complaint: str) -> None:
    with pytest.raises(BadInput) as error:
        commands.indirect(made(line), PARTS)
    assert complaint in str(error.value)
