# SPDX-License-Identifier: MIT OR Apache-2.0
"""p4c's golden messages are read with their locations, and ours are compared with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from marklab.errors import BadInput
from marklab.p4tools.stf import messages
from marklab.p4tools.stf.golden import Golden, Place, read_golden
from marklab.p4tools.stf.messages import Agreement, compare

PROGRAM = """\
#define SEVEN 7
const bit<8>   first =   16w1;
const bit<8> second = SEVEN + 16w1;
"""

GOLDEN = """\
a.p4(2): [--Wwarn=unused] warning: 'first' is unused
const bit<8> first = 16w1;
             ^^^^^
a.p4(2): [--Werror=type-error] error: 'first'
const bit<8> first = 16w1;
             ^^^^^
  ---- Actual error:
a.p4(2): Cannot cast implicitly type 'bit<16>' to type 'bit<8>'
  const bit<8> first = 16w1;
                       ^^^^
a.p4(3): [--Werror=type-error] error: {
  a:1; }: is no number
const bit<8> second = 7 + 16w1;
                          ^^^^
a.p4(3): [--Werror=type-error] error: Error while analyzing second
const bit<8> second = 7 + 16w1;
             ^^^^^^
a.p4(4):syntax error, unexpected END
[--Werror=overlimit] error: 3 errors encountered, aborting compilation
"""


def test_errors_are_read_with_all_places() -> None:
    assert read_golden(GOLDEN, {"a.p4": PROGRAM.splitlines()}) == [
        Golden("'first'", [Place("a.p4", 2, (16, 21)), Place("a.p4", 2, (26, 30))]),
        Golden("{", [Place("a.p4", 3, (31, 35))]),
        Golden("unexpected END", [Place("a.p4", 4, None)]),
    ]


@pytest.mark.parametrize(
    ("source", "shown", "carets", "columns"),
    [
        ("x  =  y;", "x = y;", "    ^", (7, 8)),
        ("\tx = y;", "\tx = y;", "\t    ^", (6, 7)),
        ("f(SEVEN, y);", "f(7, y);", "     ^", (10, 11)),
        ("f(SEVEN, y);", "f(7, y);", "^", (1, 2)),
        ("f(SEVEN);", "f(7);", "  ^", (3, 8)),
        ("f(SEVEN, SEVEN);", "f(7, 7);", "     ^", None),
        ("something long = x;", "...ng = x;", "        ^", (18, 19)),
        ("x = y", "x = y", "     ^", (6, 7)),
    ],
)
def test_columns_are_those_of_the_source(source: str, shown: str, carets: str, columns: tuple[int, int] | None) -> None:
    text = f"a.p4(1): [--Werror=invalid] error: it\n{shown}\n{carets}\n"
    assert read_golden(text, {"a.p4": [source]}) == [Golden("it", [Place("a.p4", 1, columns)])]


def _golden(line: int, shown: str, carets: str, *others: str) -> str:
    return f"a.p4({line}): [--Werror=invalid] error: it\n{shown}\n{carets}\n" + "".join(others)


_SOURCE = "const bit<8> one = 16w1;\nconst bit<8> two = 1;\nconst bit<8> two = 2;\n"


@pytest.mark.parametrize(
    ("golden", "agreement"),
    [
        (_golden(1, "const bit<8> one = 16w1;", "                   ^^^^"), Agreement.SAME),
        (_golden(1, "const bit<8> one = 16w1;", "                   ^"), Agreement.SAME),
        (_golden(1, "const bit<8> one = 16w1;", "                    ^^"), Agreement.NESTED),
        (_golden(1, "const bit<8> one = 16w1;", "                 ^^^^^^"), Agreement.NESTED),
        (_golden(1, "const bit<8> one = 16w1;", "                 ^"), Agreement.UNARGUED),
        (_golden(1, "const bit<8> one = 16w1;", "                       ^"), Agreement.UNARGUED),
        (_golden(2, "const bit<8> two = 1;", "             ^^^"), Agreement.LABEL),
        (
            _golden(2, "const bit<8> two = 1;", "^", "a.p4(3)\nconst bit<8> two = 2;\n", " " * 13 + "^^^\n"),
            Agreement.NAMED,
        ),
        (_golden(2, "const bit<8> two = 1;", "                   ^"), Agreement.UNARGUED),
    ],
)
def test_where_the_nearest_message_is(tmp_path: Path, golden: str, agreement: Agreement) -> None:
    program = tmp_path / "a.p4"
    program.write_text(_SOURCE)
    (tmp_path / "a.p4-stderr").write_text(golden)
    found = compare([program], tmp_path)
    assert [message.agreement for message in found.compared] == [agreement]
    assert bool(found.unargued) == (agreement is Agreement.UNARGUED)


def test_what_is_elsewhere_needs_a_reason_and_a_reason_needs_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "a.p4"
    program.write_text(_SOURCE)
    (tmp_path / "a.p4-stderr").write_text(_golden(1, "const bit<8> one = 16w1;", "^^^^^"))
    reasons = tmp_path / "reasons.yaml"
    monkeypatch.setattr(messages, "REASONS", reasons)
    reasons.write_text("p4c shows the keyword: [a.p4:1]\n")
    found = compare([program], tmp_path)
    assert [message.agreement for message in found.compared] == [Agreement.ARGUED]
    assert found.reasons == {"p4c shows the keyword": ["a.p4:1"]}
    assert not found.stale
    reasons.write_text("p4c shows the keyword: [a.p4:1, a.p4:2, b.p4:1]\n")
    assert compare([program], tmp_path).stale == ["a.p4:2"]
    reasons.write_text("one: [a.p4:1]\ntwo: [a.p4:1]\n")
    with pytest.raises(BadInput, match=r"a\.p4:1 has two reasons"):
        compare([program], tmp_path)


def test_programs_that_are_not_refused_have_no_messages_to_compare(tmp_path: Path) -> None:
    program = Path(__file__).parent.parent / "p4" / "queue.p4"
    (tmp_path / "queue.p4-stderr").write_text(_golden(1, "#include <core.p4>", "^").replace("a.p4", "queue.p4"))
    assert compare([program], tmp_path).compared == []
