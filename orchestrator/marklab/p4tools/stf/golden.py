# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads p4c's golden messages (`p4_16_errors_outputs/*.p4-stderr`), with the places that they show.

p4c prints a line as the preprocessor left it, with blanks joined and macros expanded, and carets below it:

    tuple-to-header.p4(14): [--Werror=type-error] error: 'h = t'
            h = t; // illegal assignment between tuple and header
              ^
      ---- Originating from:
    tuple-to-header.p4(14): Source expression 't' produces a result of type 'tuple<bit<32>>' which cannot be ...
              h = t; // illegal assignment between tuple and header
                  ^

So columns are found in the source line by counting characters other than blanks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

_HEADLINE = re.compile(
    r"^(?:(?P<file>\S+?\.p4)\((?P<line>\d+)\): ?)?(?:\[--W[^\]]*\] )?"
    r"(?P<kind>syntax error|error|warning|info)\b[:,]? ?(?P<text>.*)$"
)
_PLACE = re.compile(r"^(?P<file>\S+?\.p4)\((?P<line>\d+)\)(?:: .*)?$")
_CARETS = re.compile(r"^\s*\^+$")

# p4c's message about a declaration after it has reported an error inside it.
_FOLLOW_UP = "Error while analyzing "


@dataclass(frozen=True)
class Place:
    """A part of a line. Lines and columns count from 1; the second column is past the end; None: columns unknown."""

    file: str
    line: int
    columns: tuple[int, int] | None


@dataclass(frozen=True)
class Golden:
    """An error of p4c: its place, and the other places that the message shows."""

    text: str
    places: Sequence[Place]


def read_golden(text: str, sources: Mapping[str, Sequence[str]]) -> list[Golden]:
    """Errors with a place, without errors that only follow another. `sources` has the lines of files by name."""
    lines = text.splitlines()
    found: list[tuple[str, list[Place]]] = []
    is_error = False
    for index, line in enumerate(lines):
        headline = _HEADLINE.match(line)
        if headline:
            is_error = "error" in headline["kind"] and bool(headline["file"])
            if is_error:
                found.append((headline["text"], []))
        place = headline if headline and headline["file"] else _PLACE.match(line)
        if place and is_error:
            file, number = place["file"], int(place["line"])
            source = sources.get(file, ())
            shown = _shown(lines[index + 1 :])
            columns = _columns(source[number - 1], *shown) if shown and number <= len(source) else None
            found[-1][1].append(Place(file, number, columns))
    return [Golden(text, places) for text, places in found if not text.startswith(_FOLLOW_UP)]


def _shown(lines: Sequence[str]) -> tuple[str, int, int] | None:
    """The source line that is shown for a place, and the columns where its carets begin and end."""
    for line, below in pairwise(lines):
        if _PLACE.match(line) or _HEADLINE.match(line):
            return None
        if _CARETS.match(below):
            return line, below.index("^"), len(below)
    return None


def _columns(source: str, shown: str, start: int, end: int) -> tuple[int, int] | None:
    """Source columns of the part that p4c marks in the line that it shows; None if a macro prevents a match."""
    solid = [column for column, character in enumerate(source, 1) if not character.isspace()]
    text = _solid(source)
    cut = text.find(_solid(shown.strip().removeprefix("...").removesuffix("...")))
    skipped = cut - 3 if cut >= 0 and shown.startswith("...") else 0
    edges = [_edge(text, _solid(shown[:column]), _solid(shown[column:]), skipped) for column in (start, end)]
    if edges[0] is None or edges[1] is None:
        return None
    if edges[0] >= len(solid):  # after the last word
        return len(source) + 1, len(source) + 2
    return solid[edges[0]], solid[max(edges[0], edges[1] - 1)] + 1


def _edge(text: str, before: str, behind: str, skipped: int) -> int | None:
    """Length of the text before an edge. p4c shows the text on both sides, one of which may contain a macro."""
    if skipped:  # p4c cuts long lines
        return skipped + len(before)
    if text.startswith(before):
        return len(before)
    return len(text) - len(behind) if text.endswith(behind) else None


def _solid(text: str) -> str:
    return "".join(text.split())
