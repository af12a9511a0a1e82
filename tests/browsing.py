# SPDX-License-Identifier: MIT OR Apache-2.0
"""Headless Chromium for tests and benchmarks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Download, Page, TimeoutError, sync_playwright  # noqa: A004

from marklab.doctor.examination import chromium
from marklab.paths import REPOSITORY

DESK = {"viewport": {"width": 1280, "height": 900}}
PHONE = {"viewport": {"width": 375, "height": 812}, "device_scale_factor": 2, "is_mobile": True, "has_touch": True}

# Milliseconds that a page may take on a busy machine.
_PATIENCE_MS = 60_000


@dataclass
class Opened:
    """A page, with its error messages and the addresses that it tried to load."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def taken(self, button: str) -> Download:
        """The file that a button saves. On a busy machine Chromium occasionally loses a download, so the click is
        repeated.
        """
        for patience_ms in (_PATIENCE_MS / 4, _PATIENCE_MS / 4, _PATIENCE_MS):
            try:
                with self.page.expect_download(timeout=patience_ms) as started:
                    self.page.click(button)
            except TimeoutError:
                continue
            return started.value
        raise AssertionError(f"{button} gives nothing to be kept")

    def show(self, chart: str) -> None:
        """Bring a chart into view, and wait until it is drawn with the present choices."""
        self.page.locator(f"#{chart} .plot").scroll_into_view_if_needed()
        self.page.wait_for_selector(f"#{chart}[data-stale=false] .plot .main-svg")

    def drawn(self, chart: str) -> dict[str, dict[str, list[Any]]]:
        """The traces that Plotly has drawn: x and y by name."""
        self.show(chart)
        text = "name => document.querySelector(`#${name} .plot`).data.map(({name, x, y}) => [name, {x, y}])"
        return dict(self.page.evaluate(text, chart))

    def axis_titles(self, chart: str) -> list[str]:
        """Texts at the axes of a chart."""
        self.show(chart)
        text = "name => ['xaxis', 'yaxis'].map(it => document.querySelector(`#${name} .plot`).layout[it].title.text)"
        return list(self.page.evaluate(text, chart))


@contextmanager
def started() -> Iterator[Browser]:
    """Start Chromium. A process can run only one at a time."""
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=root)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser: Browser, path: Path, **device: Any) -> Iterator[Opened]:
    """Open a file in a new window, without a network."""
    context = browser.new_context(**(device or DESK), offline=True)
    try:
        context.set_default_timeout(_PATIENCE_MS)
        result = Opened(context.new_page())
        result.page.on("console", lambda message: result.complaints.append(f"{message.type}: {message.text}"))
        result.page.on("pageerror", lambda error: result.complaints.append(str(error)))
        result.page.on("request", lambda request: result.requests.append(request.url))
        result.page.goto(path.resolve().as_uri())
        yield result
    finally:
        context.close()


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[str]:
    """The address of a studio that was started in a folder, with its token."""
    command = [sys.executable, str(REPOSITORY / "orchestrator.py"), "studio", "--no-open", *arguments]
    out = ["--out", str(folder / "results")]
    with subprocess.Popen([*command, *out], cwd=folder, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        said = re.search(r"http://\S+", server.stdout.readline())
        assert said is not None
        # The port listens already: the server answers as soon as it can.
        try:
            yield said[0]
        finally:
            server.terminate()


def complaints_of(page: Page) -> list[str]:
    """Errors of a page of the studio from now on. What the server refuses is none: the page says it."""
    complaints: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        if message.type == "error" and "status of 400" not in message.text:
            complaints.append(message.text)

    page.on("console", hear)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    return complaints
