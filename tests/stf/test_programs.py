# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every language feature and extern: programs of v1model and TNA with their packet tests, on both engines."""

from __future__ import annotations

from pathlib import Path

import pytest

from marklab.p4tools.stf.runner import Verdict, run_pair

FOLDERS = [Path(__file__).parent.parent / name for name in ("p4", "tna")]
TESTS = sorted(test for folder in FOLDERS for test in folder.rglob("*.stf"))


@pytest.mark.parametrize("test", TESTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_packets_come_out_as_expected(test: Path) -> None:
    outcome = run_pair(test.with_suffix(".p4"), test)
    assert outcome.verdict is Verdict.PASSED, outcome.message


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_every_program_has_a_packet_test(folder: Path) -> None:
    assert {path.stem for path in folder.glob("*.p4")} == {test.stem for test in TESTS if test.parent == folder}
