# SPDX-License-Identifier: MIT OR Apache-2.0
"""Questions about the text of a program, which may be broken and need not be saved.

Lines and columns count from 1, columns in characters, as in the compiler's messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from marklab.engine.binding import candidates_at, declared, diagnose, interface, names_of
from marklab.paths import PROGRAMS, TWINS

# A chip's interface, which has programs and included files of its own.
_OF_A_CHIP = re.compile(r"^\s*#\s*include\s*<t2?na\.p4>", re.MULTILINE)


@dataclass(frozen=True)
class Place:
    """A piece of one line, or of several."""

    path: Path
    line: int
    column: int
    end_line: int
    # After the last one.
    end_column: int

    def holds(self, line: int, column: int) -> bool:
        """Whether a cursor at this column touches it."""
        return (self.line, self.column) <= (line, column) <= (self.end_line, self.end_column)


@dataclass(frozen=True)
class Problem:
    """A message of the compiler."""

    identifier: str
    # error, warning or unsupported
    category: str
    text: str
    help: str | None
    place: Place
    labels: tuple[tuple[str, Place], ...]


@dataclass(frozen=True)
class Candidate:
    """A name that may stand at a place; `text` and `comment` are those of its declaration, if it has one."""

    name: str
    role: str
    text: str
    comment: str


@dataclass(frozen=True)
class Name:
    """A name, and what it stands for; the language's own names have no declaration."""

    place: Place
    declaration: Place | None
    role: str


@dataclass(frozen=True)
class Source:
    """The text of a program at a path, which decides what its includes mean.

    `within` are the only folders from which it may include files; None stands for all.
    """

    path: Path
    text: str
    within: tuple[Path, ...] | None = None

    @property
    def includes(self) -> Path:
        """Where its includes are looked for."""
        return TWINS if _OF_A_CHIP.search(self.text) else PROGRAMS

    def problems(self) -> Iterator[Problem]:
        """The compiler's messages."""
        for each in diagnose(self.path, self.text, self.includes, self.within):
            labels = tuple((label["text"], _place(label["place"])) for label in each["labels"])
            yield Problem(each["id"], each["category"], each["text"], each["help"], _place(each["place"]), labels)

    @cached_property
    def names(self) -> tuple[Name, ...]:
        """All names of the program, and of the files that it includes."""
        return tuple(
            Name(_place(each["place"]), each["declaration"] and _place(each["declaration"]), each["role"])
            for each in names_of(self.path, self.text, self.includes, self.within)
        )

    def name_at(self, line: int, column: int) -> Name | None:
        """The name that a cursor touches."""
        return next((name for name in self._own() if name.place.holds(line, column)), None)

    def uses_of(self, name: Name) -> list[Place]:
        """Where else the program has a name, its declaration among them, in the order of the source."""
        if name.declaration is None:
            return [name.place]
        places = {each.place for each in self.names if each.declaration == name.declaration}
        return sorted(places, key=lambda place: (str(place.path), place.line, place.column))

    def outline(self) -> list[Name]:
        """What this file declares, without what is inside of declarations."""
        declared = [name for name in self._own() if name.place == name.declaration and name.role not in _LOCAL]
        return sorted(declared, key=lambda name: (name.place.line, name.place.column))

    def candidates(self, offset: int) -> list[Candidate]:
        """The names that may stand at a character of the text, whatever part of a name is there."""
        found = candidates_at(self.path, self.text, offset, self.includes, self.within)
        return [Candidate(**each) for each in found]

    def declaration(self, of: Name) -> tuple[str, str]:
        """A name's declaration as its author wrote it, on one line, and the comment there, which may have a unit."""
        if of.declaration is None:
            return "", ""
        text = self.text if of.declaration.path == self.path else text_of(of.declaration.path)
        start = _offset(text, of.declaration.line, of.declaration.column)
        return declared(text, start, _offset(text, of.declaration.end_line, of.declaration.end_column))

    def _own(self) -> Iterator[Name]:
        return (name for name in self.names if name.place.path == self.path)


_LOCAL = ("parameter", "variable", "field")


def text_of(path: Path) -> str:
    """The text of a file that a program includes, or of an interface that comes with the front end."""
    return interface(path) or path.read_text(encoding="utf-8")


def _offset(text: str, line: int, column: int) -> int:
    before = text.split("\n", line - 1)[: line - 1]
    return sum(len(each) + 1 for each in before) + column - 1


def _place(plain: Mapping[str, Any]) -> Place:
    return Place(**{**plain, "path": Path(plain["path"])})
