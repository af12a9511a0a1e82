# SPDX-License-Identifier: MIT OR Apache-2.0
"""Differences from BMv2 that have a verdict: they are listed, and still exist if BMv2 is installed.

The lab's behaviour is in the packet tests beside the programs, which test_programs.py runs.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from marklab.engine import p4c
from marklab.engine.binding import diagnose
from marklab.errors import MarklabError
from marklab.p4tools.peers import conformance, random_packets, verdicts

FOLDER = Path(__file__).parent.parent / "p4"

# The packets that BMv2 sends, if they differ from those that the packet test expects of the lab.
BMV2_SENDS = {
    "narrow_prefixes": {
        # 112 is not in 96 &&& 112: no entry matches.
        "0e000000": "fe000003",
        # 96 is not in 64 &&& 96: no entry matches.
        "1c010000": "fc010001",
        # 64 is not in 0 &&& 64: no entry matches, and of 31 the third one.
        "18000000": "f8000002",
        "181f0000": "f81f0002",
        "28020000": "f8020002",
    },
    "loops": {
        # The body runs once.
        "00000000000000": "00000000000001",
        "02000000000000": "02000000000001",
        "05000400000000": "05000400000000",
    },
    "unassigned": {
        # 0 instead of the former value.
        "00000500070000": "00000000070002",
        "01000100070000": "01000000070001",
    },
}

# The reason why p4c-bm2-ss refuses a program.
P4C_SAYS = {
    "hash_number": "expected a struct",
    "next_element": "next field read",
    "table_again": "back to itself",
}


def test_every_difference_has_a_program_and_every_program_a_difference() -> None:
    tests = {each.test for each in verdicts.differences().values()}
    assert all((FOLDER / test).is_file() for test in tests)
    assert {f"apart/{path.name}" for path in (FOLDER / "apart").glob("*.p4")} <= tests


def test_the_page_lists_the_differences() -> None:
    assert "".join(verdicts.section()) in conformance.PAGE.read_text(), "run `make conformance`"


@pytest.mark.needs("simple_switch")
@pytest.mark.parametrize("program", BMV2_SENDS)
def test_bmv2_still_does_otherwise(program: str) -> None:
    frames = {bytes.fromhex(sent): bytes.fromhex(received) for sent, received in BMV2_SENDS[program].items()}
    case = random_packets.Case(FOLDER / "apart" / f"{program}.p4", [], list(frames))
    here = random_packets.run_here(case, list(frames), interpret=True)
    there = random_packets.run_bmv2(case, list(frames))
    assert there.sent[1] == list(frames.values())
    assert all(exchange.frames != [(1, frames[exchange.packet.frame])] for exchange in here.exchanges)


@pytest.mark.needs("simple_switch")
@pytest.mark.parametrize("program", P4C_SAYS)
def test_p4c_still_refuses(program: str, tmp_path: Path) -> None:
    with pytest.raises(MarklabError, match=P4C_SAYS[program]):
        p4c.compile_program(FOLDER / "apart" / f"{program}.p4", tmp_path)


@pytest.mark.parametrize(
    ("program", "warning"),
    [*((program, "W0702") for program in P4C_SAYS), ("loops", "W0704"), ("narrow_prefixes", "W0705")],
)
def test_the_lab_warns_of_what_is_not_so_on_bmv2(program: str, warning: str) -> None:
    messages = diagnose(FOLDER / "apart" / f"{program}.p4")
    assert {(message["category"], message["id"]) for message in messages} == {("warning", warning)}
