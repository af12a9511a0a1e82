"""Every language feature and extern: the programs of tests/p4 with their packet tests, on both engines."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.stf.runner import Verdict, run_pair

FOLDER = Path(__file__).parent.parent / "p4"
TESTS = sorted(FOLDER.rglob("*.stf"))


@pytest.mark.parametrize("test", TESTS, ids=lambda path: path.stem)
def test_packets_come_out_as_expected(test: Path) -> None:
    outcome = run_pair(test.with_suffix(".p4"), test)
    assert outcome.verdict is Verdict.PASSED, outcome.message


def test_every_program_has_a_packet_test() -> None:
    assert {path.stem for path in FOLDER.glob("*.p4")} == {test.stem for test in TESTS}
