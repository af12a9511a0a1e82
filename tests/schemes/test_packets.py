# SPDX-License-Identifier: MIT OR Apache-2.0
"""Packets in, packets out: STF tests under stf/, in a folder per scheme, on both engines."""

from __future__ import annotations

from pathlib import Path

import pytest

from marklab.catalog.scheme import known_schemes
from marklab.p4tools.stf.runner import Outcome, Verdict, run_pair

FOLDER = Path(__file__).with_name("stf")
TESTS = sorted(FOLDER.rglob("*.stf"))


def outcome(test: Path, scheme: str) -> Outcome:
    return run_pair(known_schemes()[scheme], test)


@pytest.mark.parametrize("test", TESTS, ids=lambda path: str(path.relative_to(FOLDER)))
def test_packets_come_out_as_expected(test: Path) -> None:
    found = outcome(test, test.parent.name)
    assert found.verdict is Verdict.PASSED, found.message


def test_every_scheme_has_a_packet_test() -> None:
    assert {test.parent.name for test in TESTS} == set(known_schemes())


EXAMPLE = FOLDER / "dctcp-red" / "mark.stf"


@pytest.mark.parametrize(
    ("wrong", "right", "complaint"),
    [
        ("enq_qdepth=4", "enq_qdepth=3", "another packet came out of port 1"),
        ("expect 1", "expect 2", "unexpected packet on port 1"),
        (" $", "00 $", "another packet came out of port 1"),
        ("packet 0", "# ", "nothing came out of port 1"),
    ],
)
def test_a_wrong_packet_is_told(wrong: str, right: str, complaint: str, tmp_path: Path) -> None:
    head, found, tail = EXAMPLE.read_text().partition(wrong)
    assert found
    test = tmp_path / "wrong.stf"
    test.write_text(head + right + tail)
    failed = outcome(test, "dctcp-red")
    assert failed.verdict is Verdict.FAILED
    assert failed.report
    assert complaint in {each.text for each in failed.report.complaints}
