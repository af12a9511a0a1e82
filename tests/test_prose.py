# SPDX-License-Identifier: MIT OR Apache-2.0
"""The beginnings of pages, and words that must not be used: those of docs/glossary.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from marklab.paths import REPOSITORY
from sources import tracked

GLOSSARY = REPOSITORY / "docs" / "glossary.md"
PAGES = sorted((REPOSITORY / "docs").glob("*.md"))
READERS = re.compile(
    r"^For (?:new )?(?:researchers|operators|P4 engineers|authors|developers|teams|readers|users|everybody)\b"
)
# Texts by others, and texts of earlier versions.
NOT_OURS = re.compile(
    r"^(?:LICENSE|THIRD-PARTY|CHANGELOG\.md|docs/glossary\.md|requirements/|orchestrator/marklab/studio/page/"
    r"|.*\.(?:lock|min\.js|svg|png|ico)$)"
)


def refused() -> list[str]:
    """The first column of the glossary's second table."""
    section = GLOSSARY.read_text().partition("\n## Words that we do not use\n")[2]
    return re.findall(r"^\| `(.*?)` \|", section, re.MULTILINE)


def first_paragraph(page: str) -> str:
    """The paragraph after the title, without comments of the source."""
    text = re.sub(r"<!--.*?-->", "", page, flags=re.DOTALL).strip()
    return re.sub(r"\s+", " ", re.split(r"\n\s*\n", text)[1])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_says_whom_it_is_for(page: Path) -> None:
    assert READERS.match(first_paragraph(page.read_text()))


def test_words_that_the_glossary_refuses_are_nowhere() -> None:
    """Also if a line ends between two words."""
    assert len(refused()) > 10
    patterns = [r"\W+".join(map(re.escape, re.findall(r"[\w']+", words))) for words in refused()]
    pattern = re.compile(rf"\b(?:{'|'.join(patterns)})\b", re.IGNORECASE)
    found = []
    for path in tracked():
        if NOT_OURS.match(path) or not (REPOSITORY / path).is_file():
            continue
        try:
            text = (REPOSITORY / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path}:{text.count(chr(10), 0, at.start()) + 1}: {at[0]!r}" for at in pattern.finditer(text)]
    assert not found, "words of docs/glossary.md, second table:\n" + "\n".join(found)


def test_the_glossary_is_in_order_and_names_each_term_once() -> None:
    section = GLOSSARY.read_text().partition("\n## Terms\n")[2].partition("\n## ")[0]
    terms = [row.split(" | ")[0].removeprefix("| ").lower() for row in section.strip().splitlines()[2:]]
    assert len(terms) > 50
    assert len(set(terms)) == len(terms)
    assert terms == sorted(terms)


def test_recipes_count_their_files_and_name_files_that_are_there() -> None:
    """In `Where do I ...`, numbers in headings are those of the lists; NAME and mine stand for new names."""
    page = (REPOSITORY / "docs" / "where.md").read_text()
    sections = re.findall(r"^## \.\.\. (.*?)\? \((.*?)\)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert len(sections) == 8
    for what, counts, text in sections:
        assert re.findall(r"\d+", counts)[-1] == re.findall(r"^(\d+)\. ", text, re.MULTILINE)[-1], what
        for path in re.findall(r"^\d+\. `([\w./*-]+)`", text, re.MULTILINE):
            folder = Path(path).parent if re.search(r"NAME|mine|\*", path) else Path(path)
            while re.search("NAME", str(folder)):
                folder = folder.parent
            assert (REPOSITORY / folder).exists(), path
