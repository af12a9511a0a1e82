# SPDX-License-Identifier: MIT OR Apache-2.0
"""All pages and charts, by their paths."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from marklab.papers.experiment import Column
from marklab.papers.pages.chart import ChartRow, chart_rows
from marklab.papers.pages.overview import overview_parts
from marklab.papers.pages.paper import paper_parts
from marklab.papers.pages.recorded import RecordedExperiment, findings_of
from marklab.papers.papers import papers
from marklab.paths import REPOSITORY

OVERVIEW = REPOSITORY / "docs" / "fidelity.md"
PAGES = OVERVIEW.with_suffix("")

_NOTE = "<!-- Written by `python orchestrator.py fidelity` from experiments/; what is changed here is lost. -->"


def pages() -> dict[Path, str]:
    """All pages, by their paths. Raises BadInput for a record that cannot be read, or that is of another experiment."""
    experiments = {name: [RecordedExperiment.read(each) for each in paper.runnable] for name, paper in papers().items()}
    written = {OVERVIEW: _page(overview_parts(experiments))}
    for name, paper in papers().items():
        written[PAGES / f"{name}.md"] = _page(paper_parts(name, paper, experiments[name]))
    return written


def charts() -> dict[Path, list[ChartRow]]:
    """What the charts of the pages show, by their paths."""
    shown = {}
    for name, paper in papers().items():
        rows = []
        for each in paper.runnable:
            found = {column: findings_of(each, column) for column in Column}
            rows += [replace(row, says=f"{each.partition('-')[2]}: {row.says}") for row in chart_rows(found)]
        shown[PAGES / f"{name}.png"] = rows
    return shown


def _page(parts: Iterable[str]) -> str:
    return "\n\n".join([_NOTE, *parts]) + "\n"
