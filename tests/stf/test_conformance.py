# SPDX-License-Identifier: MIT OR Apache-2.0
"""A corpus in p4c's layout: passes, failures, unsupported programs, and the page."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from marklab.errors import SetupError
from marklab.p4tools.peers.conformance import REFUSED_BY_P4C, Conformance, check, conformance_page
from marklab.p4tools.stf.runner import Verdict

# A name that the lab should translate as p4c-bm2-ss does.
REFUSED_SAMPLE = min(REFUSED_BY_P4C)
PROGRAMS = Path(__file__).parent.parent / "p4"

_PASSED, _FAILED, _UNSUPPORTED = Verdict.PASSED, Verdict.FAILED, Verdict.UNSUPPORTED


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    samples, errors = (tmp_path / "testdata" / name for name in ("p4_16_samples", "p4_16_errors"))
    errors.mkdir(parents=True)
    shutil.copytree(PROGRAMS / "include", samples / "include")
    queue = (PROGRAMS / "queue.p4").read_text()
    test = (PROGRAMS / "queue.stf").read_text()
    for name in ("right", "wrong", "untested", "asked"):
        (samples / f"{name}.p4").write_text(queue)
    (samples / "right.stf").write_text(test)
    (samples / "wrong.stf").write_text(test.replace("expect 1", "expect 2"))
    (samples / "asked.stf").write_text("meter_get_rates m 0\n")
    (samples / "broken.p4").write_text(queue.replace("s.egress_spec = 1", "s.egress_spec = nothing"))
    (samples / REFUSED_SAMPLE).write_text(queue)
    (samples / "other.p4").write_text("// of another architecture")
    (errors / "accepted.p4").write_text(queue)
    (errors / "refused.p4").write_text(queue.replace("apply {", "apply {{"))
    return tmp_path


def test_what_comes_of_each_program(checkout: Path) -> None:
    found = check(checkout)
    packet_tests = {finding.name: finding.verdict for finding in found.packet_tests}
    assert packet_tests == {"right.p4": _PASSED, "wrong.p4": _FAILED, "asked.p4": _UNSUPPORTED}
    assert [(finding.name, finding.verdict) for finding in found.refusals] == [
        ("accepted.p4", _FAILED),
        ("refused.p4", _PASSED),
        (REFUSED_SAMPLE, _FAILED),
    ]
    assert {finding.name: (finding.verdict, finding.message) for finding in found.compilations} == {
        "broken.p4": (_UNSUPPORTED, "error[E0302]: `nothing` is not declared"),
        "untested.p4": (_PASSED, ""),
    }
    page = conformance_page(found)
    assert "| Packet tests | 3 | 1 | 1 | 1 |" in page
    assert "| broken.p4 | unsupported | error[E0302]: `nothing` is not declared |" in page


def test_other_packets_are_never_enough(checkout: Path) -> None:
    found = check(checkout)
    right = [finding for finding in found.packet_tests if finding.verdict is _PASSED]
    wrong = [finding for finding in found.packet_tests if finding.verdict is _FAILED]
    other = [finding for finding in found.packet_tests if finding.verdict is _UNSUPPORTED]

    def enough(tests: list[object]) -> bool:
        return Conformance("", tests, [], []).enough  # type: ignore[arg-type]

    assert enough(right * 19 + other)
    assert not enough(right * 18 + other)
    assert not enough(right * 99 + wrong)


def test_a_folder_that_is_no_checkout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="is not a checkout of p4c"):
        check(tmp_path)


@pytest.mark.needs("P4C_CHECKOUT")
def test_the_corpus_of_p4c() -> None:
    found = check(Path(os.environ["P4C_CHECKOUT"]))
    assert found.enough
    page = (Path(__file__).parents[2] / "docs" / "conformance.md").read_text()
    assert page == conformance_page(found), "run `make conformance` and commit docs/conformance.md"
