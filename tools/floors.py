# SPDX-License-Identifier: MIT OR Apache-2.0
"""Draws the floors of the package in docs/design.md: rooms of the contract in pyproject.toml, with their first lines.

`python tools/floors.py` writes the picture; tests/test_rooms.py checks that it is up to date.
"""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "orchestrator" / "marklab"
PAGE = ROOT / "docs" / "design.md"

_BEGIN, _END = "<!-- floors: written by tools/floors.py -->\n", "<!-- end of floors -->\n"


def floors() -> list[list[str]]:
    """Rooms and modules at the root of the package, floor by floor, the highest first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (layers,) = [each["layers"] for each in settings["contracts"] if each["id"] == "floors"]
    return [re.split(r"\s*[:|]\s*", layer) for layer in layers]


def room_says(name: str) -> str:
    """The first line of the docstring of a room or module, without the full stop."""
    path = PACKAGE / name / "__init__.py" if (PACKAGE / name).is_dir() else PACKAGE / f"{name}.py"
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0].rstrip(".")


def drawn() -> str:
    """The floors as text."""
    width = max(len(room) for floor in floors() for room in floor) + 2
    storeys = ["".join(f"{room:{width}}{room_says(room)}\n" for room in floor) for floor in floors()]
    line = "-" * 118 + "\n"
    return f"{_BEGIN}\n```\n{line.join(storeys)}```\n\n{_END}"


def page_with(picture: str) -> str:
    """The page with the new picture."""
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(_BEGIN)
    return before + picture + rest.split(_END)[1]


if __name__ == "__main__":
    PAGE.write_text(page_with(drawn()), encoding="utf-8")
