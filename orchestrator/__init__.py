"""Marklab's orchestrator: what to run, and what came out. It never touches a packet.

    from orchestrator import run, sweep, compare

gives the lab to Python (`orchestrator.api`). Inside, an arrow means "uses"; nothing uses anything to its left.

    cli, api -> reproduction -> sweeps  -> fabrics -> control -> catalog, traffic, topology -> spec -> units, errors
             -> comparison, report      -> execution, archive -> metrics
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orchestrator.api import compare, run, sweep

__all__ = ["compare", "run", "sweep"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Load what the lab is to Python when it is asked for: commands need not wait for all of it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from orchestrator import api  # noqa: PLC0415

    return getattr(api, name)
