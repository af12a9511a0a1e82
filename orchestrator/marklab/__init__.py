# SPDX-License-Identifier: MIT OR Apache-2.0
"""Marklab's orchestrator: describes runs, carries them out and reports results. It never touches a packet.

    from marklab import run, sweep, compare

gives the lab to Python (`marklab.api.functions`). docs/design.md shows the packages on their floors; each uses its own
floor and those below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from marklab.api.functions import compare, run, sweep

    __version__: str

__all__ = ["__version__", "compare", "run", "sweep"]


def __getattr__(name: str) -> Any:
    """Load the Python interface on first use: commands need not wait for all of it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415

        return version("marklab")
    from marklab.api import functions as api  # noqa: PLC0415

    return getattr(api, name)
