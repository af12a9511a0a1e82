# SPDX-License-Identifier: MIT OR Apache-2.0
"""The rooms of the package: their number, their sizes, their docstrings. `make lint` checks their dependencies."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tools.floors import PACKAGE, PAGE, drawn, floors, page_with, room_says

ROOMS = sorted(path.parent for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE)


def name_of(room: Path) -> str:
    return room.relative_to(PACKAGE).as_posix()


def modules(room: Path) -> list[str]:
    return sorted(path.stem for path in room.glob("*.py") if path.stem not in ("__init__", "__main__"))


def test_at_most_six_modules_are_in_no_room() -> None:
    assert len(modules(PACKAGE)) <= 6


@pytest.mark.parametrize("room", ROOMS, ids=name_of)
def test_a_room_is_small_and_says_what_it_is_for(room: Path) -> None:
    text = ast.get_docstring(ast.parse((room / "__init__.py").read_text())) or ""
    assert len(modules(room)) <= 15
    assert text.partition("\n")[0].endswith("."), "the first line says what the room is for"
    # Commands are known by name, so rooms of `cli` need not list their modules.
    if name_of(room).partition("/")[0] != "cli":
        assert [name for name in modules(room) if f"`{name}`" not in text] == []


def test_there_are_at_most_eight_floors() -> None:
    assert len(floors()) <= 8


def test_the_map_shows_the_floors_as_the_contract_has_them() -> None:
    assert page_with(drawn()) == PAGE.read_text(), "run: python tools/floors.py"


def test_a_room_is_shown_by_its_own_first_line() -> None:
    assert room_says("units").startswith("Numbers with units")
    assert room_says("results") == "The results of runs and sweeps: their numbers and their folders"


def test_no_function_is_longer_than_a_screen() -> None:
    long = [
        f"{path.relative_to(PACKAGE)}: {node.name}"
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and (node.end_lineno or 0) - node.lineno >= 60
    ]
    assert long == []
