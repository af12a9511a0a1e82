# SPDX-License-Identifier: MIT OR Apache-2.0
"""How schemes look: the same colour, dash and marker in all charts.

The colours are from Okabe and Ito's palette, which people with any colour vision can distinguish. Its yellow is left
out, as it is too pale on white. Markers and dashes distinguish schemes in greyscale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# The baseline is black; dark pages draw it in white.
_BASELINE_COLOUR = "#000000"
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
# Plotly's names.
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
# Plotly's names, with SVG paths of their outlines around 0,0.
_MARKERS = {
    "circle": "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z",
    "square": "M-4,-4h8v8h-8z",
    "diamond": "M0,-5l5,5l-5,5l-5,-5z",
    "triangle-up": "M0,-5l5,9h-10z",
    "x": "M-4,-2l2,-2l2,2l2,-2l2,2l-2,2l2,2l-2,2l-2,-2l-2,2l-2,-2l2,-2z",
    "triangle-down": "M0,5l5,-9h-10z",
    "star": "M0,-5l1.3,3.4h3.7l-3,2.3l1.1,3.6l-3.1,-2.1l-3.1,2.1l1.1,-3.6l-3,-2.3h3.7z",
    "cross": "M-1.5,-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",
    "pentagon": "M0,-5l4.8,3.5l-1.8,5.5h-6l-1.8,-5.5z",
    "hexagon": "M-2.5,-4.3h5l2.5,4.3l-2.5,4.3h-5l-2.5,-4.3z",
}
_BASELINE_MARKER = "circle-open"

# A series that is drawn like a scheme: each flow alone in an empty network.
UNCONGESTED = "uncongested"


@dataclass(frozen=True)
class Style:
    """How a scheme is drawn; `marker` and `dash` are Plotly's names."""

    colour: str
    dash: str
    marker: str

    @property
    def outline(self) -> str:
        """Outline of the marker around 0,0, as an SVG path."""
        return _MARKERS[self.marker.removesuffix("-open")]


# Grey, which no scheme has, with enough contrast on white and on black.
_UNCONGESTED_STYLE = Style("#7A7A7A", "dot", "cross-open")


def styles_of(schemes: Sequence[str], baseline: str | None, *, uncongested: bool = False) -> dict[str, Style]:
    """A style for each scheme. If there are more schemes than colours, colours repeat with other markers and dashes."""
    markers = list(_MARKERS)
    others = [scheme for scheme in schemes if scheme != baseline]
    styles = {
        scheme: Style(
            _COLOURS[number % len(_COLOURS)],
            _DASHES[number // len(_COLOURS) % len(_DASHES)],
            markers[number % len(markers)],
        )
        for number, scheme in enumerate(others)
    }
    if baseline:
        styles[baseline] = Style(_BASELINE_COLOUR, "dash", _BASELINE_MARKER)
    return styles | ({UNCONGESTED: _UNCONGESTED_STYLE} if uncongested else {})
