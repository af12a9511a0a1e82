# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pages of the documentation: their fenced blocks, and the comments directly above a block.

<!-- save as: mine.p4 -->             a reader saves the block under this name
<!-- exits with: 1 -->                its last command ends with this code (default: 0)
<!-- output: as shown -->             it prints the text below its commands, except for line breaks; `...` is any text
<!-- needs: BMv2 -->                  run only if `doctor` finds these things, which the text above names
<!-- tested by: tests/test_x.py -->   another test runs it, or all of its variants
<!-- not run: it installs packages --> no test runs it, for this reason
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from marklab.paths import REPOSITORY

# Pages at the top of the repository; they are not part of the site.
TOP = tuple(REPOSITORY / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING", "SECURITY"))

PAGES = (*TOP, *sorted((REPOSITORY / "docs").glob("*.md")))

MARKS = ("save as", "exits with", "output", "needs", "tested by", "not run")

_FENCE = re.compile(r"^(`{3,})(\w*)\n(.*?)^\1$\n?", re.MULTILINE | re.DOTALL)
_COMMENTS = re.compile(r"(?:^<!-- [^\n]* -->\n)*\Z", re.MULTILINE)
_COMMENT = re.compile(r"^<!-- ([a-z ]+): ([^\n]*) -->$", re.MULTILINE)
_PROMPT = "$ "
_FIRST_TABLE = re.compile(
    r"^\$ python orchestrator\.py --scheme diffecn --load 0\.8\n(web_search.*?)^```", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Block:
    """A fenced block: where its fence is, its language (empty without one), its text, the comments above it by name."""

    page: Path
    line: int
    language: str
    text: str
    marks: Mapping[str, str]
    # All text of the page before it.
    above: str

    @property
    def needs(self) -> list[str]:
        """The tools that it needs, by the names of `doctor`."""
        return [name for name in self.marks.get("needs", "").split(", ") if name]

    @property
    def script(self) -> str:
        """Its commands, one per line: all lines of a `sh` block; in other blocks, lines that begin with a prompt."""
        if self.language == "sh":
            return self.text
        lines = [line for line in self.text.splitlines(keepends=True) if line.startswith(_PROMPT)]
        return "".join(line.removeprefix(_PROMPT) for line in lines)

    @property
    def output(self) -> str | None:
        """A pattern of its output, with single spaces for white space; None if the block promises no output."""
        if "output" not in self.marks:
            return None
        shown = " ".join(line for line in self.text.splitlines() if not line.startswith(_PROMPT))
        return ".*".join(re.escape(part) for part in " ".join(shown.split()).split("..."))

    def __str__(self) -> str:
        return f"{self.page.relative_to(REPOSITORY)}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page in their order."""
    text = page.read_text(encoding="utf-8")
    for fence in _FENCE.finditer(text):
        above = _COMMENTS.search(text, 0, fence.start())
        marks = dict(_COMMENT.findall(above[0] if above else ""))
        shown = re.sub(r"<!--.*?-->", "", text[: fence.start()], flags=re.DOTALL)
        yield Block(page, text.count("\n", 0, fence.start()) + 1, fence[2], fence[3], marks, shown)


def first_table() -> str:
    """What README.md shows for the first command of a new user."""
    text = TOP[0].read_text(encoding="utf-8")
    (shown,) = _FIRST_TABLE.finditer(text)
    return shown[1]
