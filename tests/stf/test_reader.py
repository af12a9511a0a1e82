# SPDX-License-Identifier: MIT OR Apache-2.0
"""The test language: every statement, and errors with their locations."""

from __future__ import annotations

from pathlib import Path

import pytest

from marklab.errors import BadInput
from marklab.p4tools.stf.commands import FORMS
from marklab.p4tools.stf.reader import read
from marklab.p4tools.stf.statements import (
    Add,
    Call,
    CheckCounter,
    Command,
    Expect,
    Key,
    NoPacket,
    Number,
    Packet,
    RemoveAll,
    SetDefault,
    Wait,
)


@pytest.mark.parametrize(
    ("line", "statement"),
    [
        ("add t f:1 a()", Add(1, "t", None, (Key("f", Number("1")),), Call("a"))),
        (
            "ADD c.t 7 h.f:0x0*1 a$0.g:0b1* x.a(p:2, q:0x3) = $one # rest",
            Add(
                1,
                "c.t",
                7,
                (Key("h.f", Number("0x0*1")), Key("a$0.g", Number("0b1*"))),
                Call("x.a", (("p", Number("2")), ("q", Number("0x3")))),
                "$one",
            ),
        ),
        ("add t f:0x0a/8 a()", Add(1, "t", None, (Key("f", Number("0x0a"), prefix_len=8),), Call("a"))),
        ("add t f:1&&&3 a()", Add(1, "t", None, (Key("f", Number("1"), mask=Number("3")),), Call("a"))),
        ("add t f:1..3 a()", Add(1, "t", None, (Key("f", Number("1"), high=Number("3")),), Call("a"))),
        ('add "odd name" h[2].f:1 a()', Add(1, "odd name", None, (Key("h[2].f", Number("1")),), Call("a"))),
        ("setdefault t a(p:1)", SetDefault(1, "t", Call("a", (("p", Number("1")),)))),
        ("packet 3 00 fF  0a", Packet(1, 3, bytes.fromhex("00ff0a"))),
        ("Expect 3 0A*f $", Expect(1, 3, "0a*f", True)),
        ("expect 3 0a$", Expect(1, 3, "0a", True)),
        ("expect 3 $", Expect(1, 3, "", True)),
        ("expect 3", Expect(1, 3, "", False)),
        ("no_packet", NoPacket(1)),
        ("wait", Wait(1)),
        ("remove all", RemoveAll(1)),
        ("check_counter c(3)", CheckCounter(1, "c", Number("3"))),
        ("check_counter c($one) bytes >= 4", CheckCounter(1, "c", "$one", "bytes", ">=", 4)),
        ("mirroring_add 5 1", Command(1, "mirroring_add", ("5", "1"))),
        ("mc_node_create 0x10 1 2 3", Command(1, "mc_node_create", ("16", "1", "2", "3"))),
        ("register_write a.r 0 0xff", Command(1, "register_write", ("a.r", "0", "255"))),
        ("meter_set_rates m 0 0.5:1 2:3", Command(1, "meter_set_rates", ("m", "0", "0.5:1", "2:3"))),
        ("act_prof_create_member p a", Command(1, "act_prof_create_member", ("p", "a"))),
        ("act_prof_create_member p c.a 1 0x2", Command(1, "act_prof_create_member", ("p", "c.a", "1", "2"))),
        (
            "table_indirect_add t 0x1 2/8 3&&&0xf 4->5 => 6 7",
            Command(1, "table_indirect_add", ("t", "1", "2/8", "3&&&15", "4->5", "=>", "6", "7")),
        ),
        ("table_indirect_add t => 6", Command(1, "table_indirect_add", ("t", "=>", "6"))),
    ],
)
def test_statements(line: str, statement: object) -> None:
    assert read(line) == [statement]


@pytest.mark.parametrize("operator", ["==", "!=", "<", "<=", ">", ">="])
def test_counter_comparisons(operator: str) -> None:
    (check,) = read(f"check_counter c(0) packets {operator} 2")
    assert isinstance(check, CheckCounter)
    assert (check.operator, check.value) == (operator, 2)


def test_every_command_of_the_switch_is_read() -> None:
    words = {"n": "1", "rate": "1.5:2", "key": "1&&&2", "=>": "=>"}
    for name, forms in FORMS.items():
        given = [words.get(form.rstrip("+*?"), "a.b") for form in forms.split()]
        assert read(f"{name} {' '.join(given)}") == [Command(1, name, tuple(given))]


def test_queue_signals_are_of_the_next_packet_alone() -> None:
    packets = read("# queue enq_qdepth=3 now_ns=9\npacket 0 00\n# a queue of words\npacket 0 00")
    assert [packet.queue for packet in packets if isinstance(packet, Packet)] == [{"enq_qdepth": 3, "now_ns": 9}, {}]


@pytest.mark.parametrize(
    ("expected", "matched"),
    [
        ("0a5f $", True),
        ("0A 5F $", True),
        ("0a5f", True),
        ("0a5", True),
        ("0a5 $", False),
        ("0a5f0", False),
        ("0a5e", False),
        ("**5f $", True),
        ("0*** $", True),
        ("**** $", True),
        ("***** $", False),
        ("*** $", False),
        ("", True),
    ],
)
def test_digits_wildcards_and_ends(expected: str, matched: bool) -> None:
    (pattern,) = read(f"expect 1 {expected}")
    assert isinstance(pattern, Expect)
    assert pattern.matches(bytes.fromhex("0a5f")) == matched


@pytest.mark.parametrize(
    ("line", "column", "complaint"),
    [
        ("paket 0 00", 1, "`paket` is not a statement"),
        ("packet 0 0", 9, "1 digits are not a whole number of bytes"),
        ("packet 0", 9, "a packet needs data"),
        ("packet x 00", 8, "expected a port, found `x`"),
        ("packet 0 00 # comment", 13, "`#` is not a hexadecimal digit"),
        ("expect 1 0g", 11, "`g` is not a hexadecimal digit"),
        ("expect 1 00 $ 00", 13, "`$` marks the end"),
        ("# queue depth=3", 9, "`depth` is not a queue signal"),
        ("# queue enq_qdepth=x", 9, "`enq_qdepth` needs a whole number"),
        ("add t k:1", 10, "expected a key or an action, found the end of the line"),
        ("add t k:1 a(p)", 14, "expected `:`, found `)`"),
        ("add t k:1 a() b", 15, "expected the end of the line, found `b`"),
        ("add", 4, "expected a table, found the end of the line"),
        ("add t k:? a()", 9, "`?` is not a word"),
        ("remove some", 8, "only `remove all`"),
        ("check_counter c(0) frames == 1", 20, "expected `packets` or `bytes`"),
        ("check_counter c(0) bytes = 1", 26, "`=` is not a comparison"),
        ("mirroring_add 5", 16, "expected a number, found the end of the line"),
        ("mirroring_add 5 1 1", 19, "expected the end of the line, found `1`"),
        ("meter_set_rates m 0", 20, "expected a rate, found the end of the line"),
        ("meter_set_rates m 0 1:x", 23, "expected a burst, found `x`"),
        ("table_indirect_add t 1 2", 25, "expected `=>`, found the end of the line"),
        ("table_indirect_add t 1 => 2 3 4", 31, "expected the end of the line, found `4`"),
        ("act_prof_create_member p 1", 26, "expected an action, found `1`"),
        ("pvs_add s 0x*", 11, "a number has no open digits"),
    ],
)
def test_what_is_wrong_is_told_at_its_place(line: str, column: int, complaint: str) -> None:
    with pytest.raises(BadInput) as error:
        read(f"# a test\n{line}\n", Path("folder/a.stf"))
    head, shown, caret = str(error.value).splitlines()
    assert head.startswith(f"folder/a.stf:2:{column}: {complaint}")
    assert shown == f"  {line}"
    assert caret == " " * (column + 1) + "^"


@pytest.mark.parametrize(
    ("text", "value", "mask", "prefix_len"),
    [
        ("10", 10, None, None),
        ("0x10", 16, 0xFF, 8),
        ("0x1*", 16, 0xF0, 4),
        ("0b1*0", 4, 0b101, 2),
        ("0x*", 0, 0, 0),
        ("007", 7, None, None),
    ],
)
def test_numbers_with_open_digits(text: str, value: int, mask: int | None, prefix_len: int | None) -> None:
    number = Number(text)
    assert (number.value, number.mask, number.prefix_len) == (value, mask, prefix_len)
