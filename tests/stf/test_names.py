# SPDX-License-Identifier: MIT OR Apache-2.0
"""Short names and values of a test become entries of the program's tables."""

from __future__ import annotations

from typing import Any

import pytest

from marklab.errors import BadInput
from marklab.p4tools.stf.names import default_action, entry, find
from marklab.p4tools.stf.reader import read
from marklab.p4tools.stf.statements import Add, SetDefault


def key(name: str, match: str, bits: int) -> dict[str, Any]:
    return {"name": name, "match": match, "bits": bits}


ACTIONS = [
    {"name": "ingress.set", "params": [{"name": "port", "bits": 9}, {"name": "mac", "bits": 128}]},
    {"name": "NoAction", "params": []},
]
TABLES = [
    {"name": "ingress.one", "keys": [key("hdr.h.f", "exact", 8), key("meta.g", "exact", 4)], "actions": ACTIONS},
    {
        "name": "ingress.members",
        "keys": [key("hdr.h.f", "exact", 8)],
        "actions": ACTIONS,
        "implementation": "ingress.p",
    },
    {"name": "ingress.pre", "keys": [key("hdr.ip.dst", "lpm", 32)], "actions": ACTIONS},
    {"name": "egress.pre", "keys": [key("hdr.ip.dst", "lpm", 12)], "actions": ACTIONS},
    {
        "name": "ingress.many",
        "keys": [
            key("hdr.a[0].x", "ternary", 12),
            key("hdr.b.$valid$", "ternary", 1),
            key("meta.r", "range", 8),
            key("meta.o", "optional", 8),
            key("meta.s", "selector", 8),
        ],
        "actions": ACTIONS,
    },
]

TABLES = [{"implementation": None, **table} for table in TABLES]


def made(line: str) -> dict[str, Any]:
    (statement,) = read(line)
    assert isinstance(statement, Add)
    return entry(statement, TABLES)


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("add one f:7 g:1 NoAction()", {"hdr.h.f": {"exact": 7}, "meta.g": {"exact": 1}}),
        ("add one hdr.h.f:7 NoAction()", {"hdr.h.f": {"exact": 7}, "meta.g": {"exact": 0}}),
        ("add ingress.pre dst:0x0a000000/8 NoAction()", {"hdr.ip.dst": {"lpm": [10 << 24, 8]}}),
        ("add ingress.pre dst:0x0a****** NoAction()", {"hdr.ip.dst": {"lpm": [10 << 24, 8]}}),
        ("add ingress.pre dst:0x0a000000 NoAction()", {"hdr.ip.dst": {"lpm": [10 << 24, 32]}}),
        ("add ingress.pre dst:7 NoAction()", {"hdr.ip.dst": {"lpm": [7, 32]}}),
        ("add egress.pre dst:0x0007 NoAction()", {"hdr.ip.dst": {"lpm": [7, 12]}}),
        ("add ingress.pre NoAction()", {}),
        ("add many 1 a$0.x:0x12* NoAction()", {"hdr.a[0].x": {"ternary": [0x120, 0xFF0]}}),
        # As in p4c's runner, omitted digits match any value.
        ("add many 1 a$0.x:0x2 NoAction()", {"hdr.a[0].x": {"ternary": [2, 0xF]}}),
        ("add many 1 a$0.x:2 NoAction()", {"hdr.a[0].x": {"ternary": [2, 0xFFF]}}),
        ("add many 1 a[0].x:2&&&6 NoAction()", {"hdr.a[0].x": {"ternary": [2, 6]}}),
        ("add many 1 b.valid:1 NoAction()", {"hdr.b.$valid$": {"ternary": [1, 1]}}),
        ("add many 1 b.$valid:0b1 NoAction()", {"hdr.b.$valid$": {"ternary": [1, 1]}}),
        ("add many 1 r:3..5 NoAction()", {"meta.r": {"range": [3, 5]}}),
        ("add many 1 r:3 NoAction()", {"meta.r": {"range": [3, 3]}}),
        ("add many 1 o:0x03 NoAction()", {"meta.o": {"exact": 3}}),
        ("add many 1 o:0x** NoAction()", {}),
    ],
)
def test_keys(line: str, match: dict[str, Any]) -> None:
    assert made(line)["match"] == match


def test_the_larger_priority_wins_and_only_where_entries_overlap() -> None:
    assert [made(f"add many {n} NoAction()")["priority"] for n in (0, 1, 10_000)] == [10_000, 9_999, 0]
    assert made("add one 5 NoAction()")["priority"] == 0


def test_actions_and_numbers_beyond_64_bits() -> None:
    call = made(f"add one set(port:1, mac:0x1{'0' * 16})")
    assert (call["action"], call["params"]) == ("ingress.set", {"port": 1, "mac": "0x10000000000000000"})
    (statement,) = read("setdefault ingress.pre set(port:2, mac:3)")
    assert isinstance(statement, SetDefault)
    assert default_action(statement, TABLES) == {
        "table": "ingress.pre",
        "action": "ingress.set",
        "params": {"port": 2, "mac": 3},
    }


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("add pre dst:1 NoAction()", "table `pre` can be any of ingress.pre, egress.pre"),
        ("add two f:1 NoAction()", "unknown table `two`"),
        ("add one h:1 NoAction()", "unknown key `h`"),
        ("add members f:1 NoAction()", "entries of table `ingress.members` point to members of `ingress.p`"),
        ("add one f:1 drop()", "unknown action of `ingress.one` `drop`"),
        ("add one f:1 set(vlan:1)", "unknown parameter of `ingress.set` `vlan`"),
        ("add one f:1 set(port:512)", "0x200 does not fit parameter `port`, which has 9 bits"),
        ("add one f:1 set(port:0x*)", "parameter `port` of `ingress.set` has no open digits"),
        ("add one f:256 NoAction()", "0x100 does not fit key `hdr.h.f`, which has 8 bits"),
        ("add one f:0x0* NoAction()", "key `hdr.h.f` is exact, and a value with open digits is not for it"),
        ("add one f:1/8 NoAction()", "key `hdr.h.f` is exact, and a prefix is not for it"),
        ("add ingress.pre dst:1&&&1 NoAction()", "key `hdr.ip.dst` is lpm, and a mask is not for it"),
        ("add many 1 s:1 NoAction()", "unknown key `s`"),
    ],
)
def test_what_does_not_fit_the_program_is_refused(line: str, complaint: str) -> None:
    with pytest.raises(BadInput) as error:
        made(line)
    assert complaint in str(error.value)


def test_a_name_is_found_whole_then_after_a_dot_then_at_the_end() -> None:
    names = ["a.b", "x.a.b", "c.my_t"]
    assert find("table", "a.b", names) == "a.b"
    assert find("table", "x.a.b", names) == "x.a.b"
    assert find("table", "t", names) == "c.my_t"
    assert find("table", "my_t", [*names, "d.not_my_t"]) == "c.my_t"
