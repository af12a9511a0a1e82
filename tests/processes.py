# SPDX-License-Identifier: MIT OR Apache-2.0
"""What processes run, from /proc: a bare machine has no `ps`."""

from __future__ import annotations

from pathlib import Path


def children_of(number: int) -> list[int]:
    """The processes that a process has started and that have not ended, by their numbers."""
    threads = Path(f"/proc/{number}/task").iterdir()
    return [int(word) for thread in threads for word in (thread / "children").read_text(encoding="ascii").split()]
