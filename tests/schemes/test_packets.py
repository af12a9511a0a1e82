"""Packets in, packets out: STF tests under stf/, in a folder per scheme, on both engines."""

from __future__ import annotations

import json
import re
from pathlib import Path

import marklab_engine
import pytest
from stf import read, run
from switches import compiled

from orchestrator.catalog.scheme import known_schemes

FOLDER = Path(__file__).with_name("stf")
TESTS = sorted(FOLDER.rglob("*.stf"))


def complaints(scheme: str, text: str, interpret: bool = False) -> list[str]:
    script = read(text)
    program = compiled(known_schemes()[scheme], interpret)
    return run(script, marklab_engine.Harness(program, json.dumps(script.entries)))


@pytest.mark.parametrize("interpret", [False, True], ids=["jit", "interpreter"])
@pytest.mark.parametrize("test", TESTS, ids=lambda path: str(path.relative_to(FOLDER)))
def test_packets_come_out_as_expected(test: Path, interpret: bool) -> None:
    program = compiled(known_schemes()[test.parent.name], interpret)
    assert (program.jit_declined is None) != interpret
    assert not (found := complaints(test.parent.name, test.read_text(), interpret)), "\n".join(found)


def test_every_scheme_has_a_packet_test() -> None:
    assert {test.parent.name for test in TESTS} == set(known_schemes())


EXAMPLE = FOLDER / "dctcp-red" / "mark.stf"


@pytest.mark.parametrize(
    ("wrong", "right", "complaint"),
    [
        ("enq_qdepth=4", "enq_qdepth=3", "want"),
        ("expect 1", "expect 2", "unexpected on port 1"),
        (" $", "00 $", "want"),
        ("packet 0", "# ", "nothing came"),
    ],
)
def test_a_wrong_packet_is_told(wrong: str, right: str, complaint: str) -> None:
    head, found, tail = EXAMPLE.read_text().partition(wrong)
    assert found
    assert any(complaint in line for line in complaints("dctcp-red", head + right + tail))


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
    ],
)
def test_digits_wildcards_and_ends(expected: str, matched: bool) -> None:
    (pattern,) = read(f"expect 1 {expected}").expected[1]
    assert pattern.matches(bytes.fromhex("0a5f")) == matched


@pytest.mark.parametrize(
    "line",
    ["paket 0 00", "packet 0 0", "packet x 00", "expect 1", "expect 1 0g", "# queue depth=3", "add t k:1", "add"],
)
def test_a_line_that_is_not_understood_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"line 2: {line}: ")):
        read(f"# a test\n{line}\n")
