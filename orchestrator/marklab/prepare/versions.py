# SPDX-License-Identifier: MIT OR Apache-2.0
"""What made a result: versions of everything that can change it."""

from __future__ import annotations

import functools
import hashlib
import platform
import subprocess
from importlib.metadata import version
from typing import Any

from marklab.engine import binding as engine
from marklab.paths import IN_TREE, NOTED_COMMIT, PACKAGE, REPOSITORY
from marklab.prepare.experiment import Experiment

# What records and their pages write into the tree. No run reads it, so a tree that differs only there is the commit's.
_FINDINGS = ("experiments/found", "docs/fidelity", "docs/fidelity.md")


def versions(experiment: Experiment) -> dict[str, Any]:
    """Versions of the lab, of what it uses, and of the programs."""
    return {**lab_versions(), "programs": {scheme.label: scheme.program.digest for scheme in experiment.schemes}}


def lab_versions() -> dict[str, Any]:
    """Versions of the lab and of what it uses."""
    return lab_itself() | _libraries()


def lab_itself() -> dict[str, Any]:
    """Versions of the lab, without the libraries that it uses."""
    return {
        "marklab": version("marklab"),
        "engine": engine.version(),
        "commit": commit(),
        "python": platform.python_version(),
    }


@functools.cache
def _libraries() -> dict[str, str]:
    return {library: version(library) for library in ("numpy", "polars", "scipy")}


@functools.cache
def code_digest() -> str:
    """Digest of the code that makes results here: the engine as it was built, Python's files, Python and libraries.

    Two builds of the same engine may differ in it, so it tells only whether something was made here, by this code.
    """
    state = hashlib.sha256(repr((platform.python_version(), _libraries())).encode())
    for path in [*engine.files(), *sorted(PACKAGE.rglob("*.py"))]:
        state.update(path.read_bytes())
    return state.hexdigest()[:16]


@functools.cache
def origin() -> dict[str, str | None]:
    """What the lab here is made of, as far as that is the same in equal trees on all machines.

    The engine is known by the commit only, since it is built on each machine.
    """
    state = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        state.update(path.read_bytes())
    checked_out = commit()
    return {
        "commit": checked_out.removesuffix("-dirty") if checked_out else None,
        "Python files": state.hexdigest()[:16],
    }


@functools.cache
def commit() -> str | None:
    """The commit that is checked out, marked if files differ from it; None where nothing tells.

    As it was when the process first asked: what runs is older than files that are written meanwhile. An installed lab
    has the commit that its wheel was built from, and the source in an artifact the one that it was taken from.
    """
    if not (IN_TREE and (REPOSITORY / ".git").exists()):
        return NOTED_COMMIT.read_text(encoding="utf-8").strip() if NOTED_COMMIT.exists() else None
    checked_out = _git("rev-parse", "HEAD")
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", ".", *(f":!{path}" for path in _FINDINGS))
    if checked_out is None or changed is None:
        return None
    return f"{checked_out}-dirty" if changed else checked_out


def _git(*words: str) -> str | None:
    """What git says about the tree; None if it cannot tell."""
    command = ["git", "-C", str(REPOSITORY), *words]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()
