# SPDX-License-Identifier: MIT OR Apache-2.0
"""The files of a report: a page, and figures beside it."""

from __future__ import annotations

from pathlib import Path

from marklab.report.chart import Form
from marklab.results.collection import Collection

REPORT = "report.html"


def write_report(collection: Collection, page: Path, figures: Form | None = None) -> list[Path]:
    """Write the page, and figures into a folder beside it. Returns the page and the folder."""
    # Templates and tables load slowly, and Matplotlib still more slowly, so other commands do not import them.
    from marklab.report.page import write_page  # noqa: PLC0415

    write_page(collection, page)
    if figures is None:
        return [page]
    from marklab.report.figures import FOLDER, draw_figures  # noqa: PLC0415

    drawn = list(draw_figures(collection, page.parent / FOLDER, figures))
    return [page, *{path.parent for path in drawn}]
