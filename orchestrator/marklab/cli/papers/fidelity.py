# SPDX-License-Identifier: MIT OR Apache-2.0
"""`fidelity`: writes the pages of all claims."""

from __future__ import annotations

from rich.console import Console

from marklab.errors import RunFailed
from marklab.papers.pages.chart import draw_chart
from marklab.papers.pages.files import OVERVIEW, PAGES, charts, pages
from marklab.papers.pages.readme import README, readme
from marklab.paths import require_tree


def fidelity() -> None:
    """Write docs/fidelity.md, docs/fidelity/ and the README's table of claims from what `reproduce --record` found."""
    require_tree("the pages that `fidelity` writes")
    for path, text in {**pages(), README: readme()}.items():
        try:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise RunFailed(f"cannot write {path}: {error.strerror}") from error
    for path, rows in charts().items():
        draw_chart(rows, path)
    Console(highlight=False).print(f"[dim]{OVERVIEW}, {PAGES}/, {README}[/dim]", soft_wrap=True)
