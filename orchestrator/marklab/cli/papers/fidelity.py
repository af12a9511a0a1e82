# SPDX-License-Identifier: MIT OR Apache-2.0
"""`fidelity`: writes the page of all claims."""

from __future__ import annotations

from rich.console import Console

from marklab.errors import RunFailed
from marklab.papers.fidelity import PAGE, fidelity_page
from marklab.paths import require_tree


def fidelity() -> None:
    """Write docs/fidelity.md from the findings of `reproduce --record` and the texts beside them."""
    require_tree("the page that `fidelity` writes")
    page = fidelity_page()
    try:
        PAGE.write_text(page, encoding="utf-8")
    except OSError as error:
        raise RunFailed(f"cannot write {PAGE}: {error.strerror}") from error
    Console(highlight=False).print(f"[dim]{PAGE}[/dim]", soft_wrap=True)
