# SPDX-License-Identifier: MIT OR Apache-2.0
"""Takes the pictures of README.md and docs/studio.md: a first use of the studio.

PYTHONPATH=tests .venv/bin/python tests/studio_pictures.py
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from playwright.sync_api import Page, expect

from browsing import serving, started
from marklab.paths import REPOSITORY

DOCS = REPOSITORY / "docs"
PATIENCE_MS = 120_000
# What a person types first, with a mistake, and then: TCN marks 50 us earlier.
MISTAKE, RIGHT = "t = t - q.sojourn / 2;", "t = t - 50;"


def shot(page: Page, name: str) -> None:
    """The page as it stands, with the beginning of each line of the program."""
    page.locator(".cm-scroller").evaluate("each => { each.scrollLeft = 0; }")
    page.screenshot(path=DOCS / f"studio-{name}.png")


def take(page: Page) -> None:
    """Four pictures: written, running, looked at, explained."""
    page.locator("#program").select_option("tcn")
    page.get_by_label("Program tcn").get_by_text("params.apply();", exact=True).click()
    page.keyboard.press("End")
    page.keyboard.type(f"\n{MISTAKE}")
    page.locator(".cm-lintRange-error").first.hover()
    expect(page.locator(".cm-tooltip-lint")).to_be_visible()
    shot(page, "1-write")
    for _ in MISTAKE:
        page.keyboard.press("Backspace")
    page.keyboard.type(RIGHT)
    expect(page.locator("#start")).to_be_enabled()
    page.get_by_label("flows", exact=True).fill("3000")
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#clock")).to_contain_text(re.compile(r"\d{3}\."))
    shot(page, "2-run")
    page.get_by_title("Look at tcn-edited", exact=True).click()
    expect(page.locator("#asks")).to_be_visible()
    page.locator("#result").evaluate("each => each.scrollIntoView()")
    shot(page, "3-look")
    page.get_by_role("button", name="marked", exact=True).click()
    page.get_by_title("The life of this flow").click()
    expect(page.locator("#life")).to_be_visible()
    page.locator("#packet .place").filter(has_text="threshold").first.click()
    page.locator("#asks").evaluate("each => each.scrollIntoView()")
    page.wait_for_timeout(300)
    shot(page, "4-ask")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as address, started() as chromium:
        page = chromium.new_page(viewport={"width": 1280, "height": 800}, color_scheme="light")
        page.set_default_timeout(PATIENCE_MS)
        expect.set_options(timeout=PATIENCE_MS)
        page.goto(address)
        take(page)
