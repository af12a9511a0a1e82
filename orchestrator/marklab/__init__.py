# SPDX-License-Identifier: MIT OR Apache-2.0
"""Marklab's orchestrator: describes runs, carries them out and reports results. It never touches a packet.

    from marklab import run, sweep, compare

is the Python interface (`marklab.api.functions`). docs/design.md shows the packages on their floors; a package uses
only its own floor and those below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from marklab.api.functions import compare, run, sweep

    __version__: str

__all__ = ["__version__", "compare", "run", "sweep"]


def __getattr__(name: str) -> Any:
    """Load the Python interface on first use, so that commands start without it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415

        return version("marklab")
    from marklab.api import functions as api  # noqa: PLC0415

    return getattr(api, name)
