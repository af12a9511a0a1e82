"""How schemes look: the same colour, dash and marker in all charts.

The colours are those of Okabe and Ito, which people with any colour vision tell apart; markers and dashes tell schemes
apart in grey. Their yellow is left out, as it is too pale on white.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# Black is the baseline's, which pages draw in white on black.
_BASELINE_COLOUR = "#000000"
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
# By their names in Plotly.
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
_MARKERS = ("circle", "square", "diamond", "triangle-up", "x", "triangle-down", "star", "cross", "pentagon", "hexagon")


@dataclass(frozen=True)
class Style:
    """How a scheme is drawn; `marker` and `dash` are Plotly's names."""

    colour: str
    dash: str
    marker: str


def styles_of(schemes: Sequence[str], baseline: str | None) -> dict[str, Style]:
    """A style for each scheme. With more than colours these come again, with another marker and dash."""
    others = [scheme for scheme in schemes if scheme != baseline]
    styles = {
        scheme: Style(
            _COLOURS[number % len(_COLOURS)],
            _DASHES[number // len(_COLOURS) % len(_DASHES)],
            _MARKERS[number % len(_MARKERS)],
        )
        for number, scheme in enumerate(others)
    }
    return styles | ({baseline: Style(_BASELINE_COLOUR, "dash", "circle-open")} if baseline else {})
