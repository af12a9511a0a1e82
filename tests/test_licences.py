# SPDX-License-Identifier: MIT OR Apache-2.0
"""Licences: each file has one, and third-party code in the wheel is listed with its licences."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from marklab.paths import REPOSITORY
from tools import third_party_notices as notices


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run `reuse lint` as `make lint` does."""
    command = [str(Path(sys.executable).with_name("reuse")), "lint", "--lines"]
    settings = os.environ | {"REUSE_ENCODING_MODULE": "charset_normalizer"}
    return subprocess.run(command, cwd=folder, env=settings, capture_output=True, text=True)


SOURCES = (
    "engine/tm/src/new.rs",
    "engine/p4/p4include/new.p4",
    "p4src/v1model/new.p4",
    "orchestrator/marklab/new.py",
    "orchestrator/marklab/lab/new.bpf.c",
    "orchestrator/marklab/report/new.js",
    "orchestrator/marklab/report/new.html",
    "bench/peers/ns3/new.cc",
    "bench/peers/ns3/new.h",
    "docs/new.css",
    "docker/new.sh",
    "bench/Makefile",
)


def test_a_source_file_without_a_licence_is_refused(tmp_path: Path) -> None:
    shutil.copy(REPOSITORY / "REUSE.toml", tmp_path)
    shutil.copytree(REPOSITORY / "LICENSES", tmp_path / "LICENSES")
    for path in SOURCES:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("1\n")
    refused = lint(tmp_path)
    assert refused.returncode == 1
    assert [path for path in SOURCES if f"{path}: no license identifier" not in refused.stdout] == []

    # REUSE-IgnoreStart
    line = "// SPDX-License-Identifier: MIT OR Apache-2.0"
    # REUSE-IgnoreEnd
    for path in SOURCES:
        (tmp_path / path).write_text(f"{line}\n1\n")
    found = lint(tmp_path).stdout
    assert [path for path in SOURCES if f"{path}:" in found] == []


def test_the_licences_at_the_top_are_those_that_files_name() -> None:
    apache, mit = (REPOSITORY / "LICENSES" / f"{name}.txt" for name in ("Apache-2.0", "MIT"))
    assert (REPOSITORY / "LICENSE-APACHE").read_text() == apache.read_text()
    ours = mit.read_text().replace("<year> <copyright holders>", "2026 The developers of Marklab")
    assert (REPOSITORY / "LICENSE-MIT").read_text() == ours


def test_a_wheel_has_the_licences_and_the_notices() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert project["license-files"] == ["LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY-NOTICES"]
    assert all((REPOSITORY / name).is_file() for name in project["license-files"])


def test_the_notices_are_those_of_the_crates_that_are_locked() -> None:
    listed = notices.crates()
    written = notices.NOTICES.read_text(encoding="utf-8")
    missing = [crate.label for crate in listed if f"\n{crate.label} " not in written]
    assert not missing, f"THIRD-PARTY-NOTICES lacks {', '.join(missing)}: run `make notices`"
    assert written == notices.render(listed), "THIRD-PARTY-NOTICES is not up to date: run `make notices`"


@pytest.mark.parametrize(
    ("offered", "taken"),
    [
        ("MIT OR Apache-2.0", "MIT"),
        ("Apache-2.0/MIT", "MIT"),
        ("Apache-2.0 WITH LLVM-exception", "Apache-2.0 WITH LLVM-exception"),
        ("GPL-3.0-only OR Zlib", "Zlib"),
        ("GPL-3.0-only", None),
        ("MIT AND GPL-3.0-only", None),
        ("", None),
    ],
)
def test_a_crate_is_carried_under_a_licence_that_permits_it(offered: str, taken: str | None) -> None:
    assert notices.choose(offered) == taken
