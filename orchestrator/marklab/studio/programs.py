# SPDX-License-Identifier: MIT OR Apache-2.0
"""The programs that a page can open: the schemes of the catalog."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from marklab.catalog.choice import parse_choice
from marklab.catalog.scheme import find_scheme, known_schemes
from marklab.errors import unknown
from marklab.paths import PROGRAMS


@dataclass(frozen=True)
class Program:
    """A scheme: its name in the catalog, the path that its includes start from, and its title."""

    name: str
    path: Path
    title: str
    summary: str

    def to_plain(self) -> dict[str, Any]:
        """For the list of programs."""
        return {"name": self.name, "title": self.title, "summary": self.summary}


def programs() -> list[Program]:
    """All schemes of the catalog."""
    return [program_named(name) for name in known_schemes()]


def program_named(name: str) -> Program:
    """A scheme of the catalog. Raises BadInput for another name."""
    if name not in known_schemes():
        raise unknown("scheme", name, known_schemes())
    scheme = find_scheme(parse_choice(name))
    spec = scheme.spec
    return Program(name, PROGRAMS / f"{name}.p4", spec.title if spec else name, spec.summary.strip() if spec else "")
