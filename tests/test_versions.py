# SPDX-License-Identifier: MIT OR Apache-2.0
"""The versions that made a result."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from marklab.prepare import versions


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    """Clear the values that the process caches."""
    versions.code_digest.cache_clear()
    versions.commit.cache_clear()
    yield
    versions.code_digest.cache_clear()
    versions.commit.cache_clear()


def test_other_libraries_are_other_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells made with numpy 1 are not reused with numpy 2."""
    found = versions.lab_versions()
    here = versions.code_digest()
    versions.code_digest.cache_clear()
    assert versions.code_digest() == here
    versions.code_digest.cache_clear()
    monkeypatch.setattr(versions, "_libraries", lambda: {"numpy": f"{found['numpy']}.1"})
    assert versions.code_digest() != here


def test_source_without_git_has_the_commit_that_was_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not the commit of an enclosing repository, such as that of this folder of tests."""
    noted = tmp_path / "commit"
    inside = Path(__file__).parent
    monkeypatch.setattr(versions, "REPOSITORY", inside)
    monkeypatch.setattr(versions, "NOTED_COMMIT", noted)
    assert versions.commit() is None
    versions.commit.cache_clear()
    noted.write_text("0123456789\n", encoding="utf-8")
    assert versions.commit() == "0123456789"
