# SPDX-License-Identifier: MIT OR Apache-2.0
"""The files of the project."""

from __future__ import annotations

import subprocess

from marklab.paths import REPOSITORY


def tracked(*patterns: str) -> list[str]:
    """Paths of files in the index, relative to the top of the tree; all files if there are no patterns."""
    command = ["git", "ls-files", "--", *patterns]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout.splitlines()
