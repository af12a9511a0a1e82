# SPDX-License-Identifier: MIT OR Apache-2.0
"""Deliberate faults in twins are caught by a gate."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from marklab.catalog.twin import known_twins
from marklab.errors import BadInput
from marklab.p4tools.tofino import examine
from marklab.paths import REPOSITORY
from marklab.promotion.gates import decisions
from marklab.promotion.rules import Outcome, worst
from promotion.pairs import Pair, pair_of

MUTANTS: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("mutants.yaml").read_text())


def test_there_are_enough() -> None:
    assert len(MUTANTS) >= 20
    assert {each["scheme"] for each in MUTANTS} == set(known_twins())


def caught_by(pair: Pair, program: Path, described: Path) -> str | None:
    """The gate that catches a faulty twin."""
    try:
        twin = pair.with_program(program, described)
    except BadInput:
        return "compile"
    if examine(program, twin.fitted.defines).errors:
        return "tofino"
    findings = decisions(pair.agree(twin), pair.spec.agreement, pair.spec.marks_within)
    return None if worst(list(findings)) is Outcome.PASSED else "equivalence"


@pytest.mark.parametrize("mutant", MUTANTS, ids=[f"{each['scheme']}: {each['says']}" for each in MUTANTS])
def test_a_fault_is_caught(tmp_path: Path, mutant: dict[str, Any]) -> None:
    shutil.copytree(REPOSITORY / "p4src", tmp_path / "p4src")
    changed = tmp_path / "p4src" / "tna" / mutant["in"]
    text = changed.read_text()
    assert mutant["for"] in text, "the fault has no place any more"
    changed.write_text(text.replace(mutant["for"], mutant["put"]))
    program = tmp_path / "p4src" / "tna" / f"{mutant['scheme']}.p4"
    assert caught_by(pair_of(mutant["scheme"]), program, program.with_suffix(".yaml")) == mutant.get(
        "gate", "equivalence"
    )
