# SPDX-License-Identifier: MIT OR Apache-2.0
"""A test may be skipped only for something that `doctor` knows and can tell how to get."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from marklab.doctor.examination import Resource, examine
from marklab.paths import REPOSITORY
from needs import lacking, machine, reason

_TESTS = Path(__file__).parent

# Ways to skip a test, and the form of the two places that skip with a reason of `needs.py`.
_SKIPS = re.compile(r"\b(?:skipif|importorskip|xfail|pytest\.skip\(|mark\.skip\b)")
_FROM_NEEDS = re.compile(r"pytest\.(?:mark\.)?skip\(reason\(absent\)\)")


@pytest.mark.parametrize("path", [pytest.param(path, id=path.name) for path in sorted(_TESTS.rglob("*.py"))])
def test_nothing_is_skipped_for_another_reason(path: Path) -> None:
    if path == Path(__file__):
        return
    text = _FROM_NEEDS.sub("", path.read_text(encoding="utf-8"))
    assert _SKIPS.findall(text) == []


def test_what_rust_skips_doctor_knows() -> None:
    sources = [*(REPOSITORY / "engine").glob("*/src/**/*.rs"), *(REPOSITORY / "engine").glob("*/tests/**/*.rs")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    said = re.findall(r'(?:eprintln!\("skipped: |\bskip\((?:&format!\()?")([^"]*)"', text)
    # Helpers that get the reason as an argument.
    said = [words for words in said if words != "{why}"]
    # Corpora are named by the variable that a test asks for.
    variables = set(re.findall(r'"((?:P4|OPEN)[A-Z0-9_]+)"', text))
    wanted = {name for words in said for name in _named(words, variables)}
    assert len(said) >= 4
    assert wanted <= machine().keys()


def _named(words: str, variables: set[str]) -> set[str]:
    named = re.fullmatch(r"needs ([^,]+), .*", words)
    assert named, words
    return variables if named[1] == "{variable}" else {named[1]}


def test_everything_that_may_be_missing_has_a_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for variable in ("P4C_CHECKOUT", "P4_TUTORIALS", "OPEN_P4STUDIO", "MARKLAB_CHROMIUM", "MARKLAB_CODE_SERVER"):
        monkeypatch.delenv(variable, raising=False)
    absent = [finding for finding in examine() if not finding.found]
    assert len(absent) > 15
    for finding in absent:
        assert finding.get, finding.name


def test_a_reason_names_the_thing_and_how_to_get_it() -> None:
    absent = Resource("Mininet", False, "not there", get="apt-get install mininet")
    assert reason([absent]) == "needs Mininet (not there): apt-get install mininet"


def test_a_need_that_doctor_does_not_know_is_an_error() -> None:
    with pytest.raises(pytest.UsageError, match="`doctor` knows nothing of Minninet; it knows engine, "):
        lacking(["Minninet"])
