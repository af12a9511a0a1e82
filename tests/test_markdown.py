# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tables in Markdown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from marklab.tables import markdown

# The caller escapes Markdown's special characters.
TEXT = st.text(st.characters(categories=["L", "N"], include_characters=" |"), max_size=8).map(str.strip)


def read(lines: list[str]) -> list[list[str]]:
    """The cells that a Markdown parser finds."""
    tokens = MarkdownIt("commonmark").enable("table").parse("\n".join(lines))
    return _cells(tokens)


def _cells(tokens: list[Token]) -> list[list[str]]:
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append("".join(child.content for child in token.children or []))
    return rows


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(TEXT, min_size=n, max_size=n), min_size=1, max_size=4)))
def test_a_reader_finds_each_cell(rows: list[list[str]]) -> None:
    assert read(markdown.table(rows[0], rows[1:])) == rows


def test_numbers_stand_to_the_right_and_lines_stay_in_their_cell() -> None:
    lines = markdown.table(("scheme", "", "why"), [("tcn", 3, "a\nb")], "lr")
    assert lines == ["| scheme | | why |", "|---|---:|---|", "| tcn | 3 | a<br>b |"]
