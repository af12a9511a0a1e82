# SPDX-License-Identifier: MIT OR Apache-2.0
"""The documentation as a site, and statements of its pages outside of commands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from marklab.paths import REPOSITORY
from marklab.results.sweep import COLUMNS
from pages import TOP, blocks
from sources import tracked

DOCS = REPOSITORY / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return folder


def test_every_page_is_on_the_site(site: Path) -> None:
    """Links and anchors are checked by the build, which ends with an error at a broken one."""
    assert {path.stem for path in site.glob("*.html")} - {"404", "search"} == {path.stem for path in DOCS.glob("*.md")}
    home = (site / "index.html").read_text()
    for page in DOCS.glob("*.md"):
        assert f'href="{page.stem}.html"' in home or page.stem == "index", f"{page} is not in `nav` of mkdocs.yml"


def test_the_site_needs_nothing_from_elsewhere(site: Path) -> None:
    for page in site.glob("*.html"):
        fetched = re.findall(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="((?:https?:)?//[^"]*)"', page.read_text())
        assert fetched == [], page


def test_comments_and_code_are_no_text_of_the_site(site: Path) -> None:
    """The site shows a page as a repository's file view does."""
    for page in site.glob("*.html"):
        text = re.sub(r"<!--.*?-->|<pre>.*?</pre>", "", page.read_text(), flags=re.DOTALL)
        for mark in ("&lt;!--", "```", "<p>|", "\n| ", "\\|"):
            assert mark not in text, f"{page}: {mark}"


def test_the_columns_of_a_sweep() -> None:
    section = (DOCS / "sweeps.md").read_text().partition("\n## The dataset\n")[2]
    rows = re.findall(r"^\| `(\w+)` \| ([^|\n]*) \|$", section.partition("| column |")[2], re.MULTILINE)
    assert dict(rows) == {name: says for name, (_, says) in COLUMNS.items()}
    assert [name for name, _ in rows] == list(COLUMNS)


@pytest.mark.parametrize("page", TOP, ids=lambda page: page.name)
def test_links_of_pages_at_the_top_lead_somewhere(page: Path) -> None:
    """They are not on the site, whose build checks all others."""
    for target, anchor in re.findall(r"\]\(([^)#]*)(?:#([^)]+))?\)", page.read_text()):
        there = REPOSITORY / target if target else page
        assert target.startswith("https://") or there.exists(), target
        if anchor and there.suffix == ".md":
            assert anchor in headings(there), f"{target}#{anchor}"


def headings(page: Path) -> set[str]:
    """Anchors of a page's headings, in the form of repositories."""
    found = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


@pytest.mark.parametrize("page", TOP, ids=lambda page: page.name)
def test_paths_and_targets_that_pages_at_the_top_name_are_there(page: Path) -> None:
    text = page.read_text()
    folders = {name.partition("/")[0] for name in tracked() if "/" in name}
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))
    saved = {block.marks["save as"] for block in blocks(page) if "save as" in block.marks}
    for named in set(re.findall(r"`([\w.*/-]+)`", text)) - saved:
        # NAME and similar words are placeholders.
        if named.partition("/")[0] in folders and "/" in named and not re.search(r"[A-Z]{2,}", named):
            assert any(REPOSITORY.glob(named)), named
    for target in re.findall(r"(?:`|^)make ([a-z][a-z0-9-]*)", text, re.MULTILINE):
        assert target in targets, f"make {target}"


def test_messages_that_troubleshooting_explains_are_said() -> None:
    """Messages that no command of the page causes: in bold, or in the first column of a table; `...` is any text."""
    page = (DOCS / "troubleshooting.md").read_text()
    cells = re.findall(r"\*\*(.*?)\*\*|^\| (.*?) \|", page, re.MULTILINE)
    quoted = [text for cell in cells for text in re.findall(r"`([^`]* [^`]*)`", "".join(cell))]
    sources = [REPOSITORY / "orchestrator.py", *(REPOSITORY / "orchestrator").rglob("*.py")]
    said = "\n".join(path.read_text() for path in sources)
    assert len(quoted) > 10
    for part in (part.strip() for text in quoted for part in text.split("...")):
        assert part in said, part
