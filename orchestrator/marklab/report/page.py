# SPDX-License-Identifier: MIT OR Apache-2.0
"""A collection as one HTML file that needs nothing else: no network, no server.

Text and tables are shown at once. Charts are drawn by Plotly when they come into view. Plotly and the data are
compressed in the file, and the browser unpacks them. The same collection gives the same bytes.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from marklab.errors import RunFailed
from marklab.report import charts, terminal
from marklab.report.chart import Chart, Section, Series
from marklab.report.claims import Claims, read_claims
from marklab.report.facts import facts
from marklab.report.grid import Grid
from marklab.report.key_numbers import key_numbers
from marklab.report.styles import Style, styles_of
from marklab.results.collection import Collection
from marklab.template import filled

MOST_BYTES = 5_000_000

# Level 9 takes three times as long and saves only a tenth of the bytes.
_COMPRESSION_LEVEL = 3
_SIGNIFICANT_DIGITS = 6
# More values than this become a drop-down list instead of a row of buttons.
_MOST_BUTTONS = 5

# Draws the charts: the unmodified npm package plotly.js-basic-dist-min 4.1.1, which has lines and bars.
_PLOTLY = Path(__file__).parent / "plotly" / "plotly-basic.min.js"


@dataclass(frozen=True)
class Switch:
    """A choice that readers have. `chart` names the chart that it changes, and is empty if it changes all charts."""

    key: str
    says: str
    values: tuple[str, ...]
    chosen: str
    chart: str = ""

    @property
    def is_list(self) -> bool:
        """Whether there are too many values for buttons."""
        return len(self.values) > _MOST_BUTTONS


def report_page(collection: Collection, claims: Claims | None = None) -> str:
    """The HTML of a collection, with a paper's claims if there are any.

    Charts whose data would make the page larger than `MOST_BYTES` are left out, with a note in their sections.
    """
    plotly, sections = _packed(_PLOTLY.read_bytes()), charts.sections(collection)
    while True:
        html = _html(collection, claims, sections, plotly)
        largest = max((chart for section in sections for chart in section.charts), key=_numbers, default=None)
        if len(html.encode()) <= MOST_BYTES or largest is None:
            return html
        sections = tuple(_without(section, largest) for section in sections)


def _html(collection: Collection, claims: Claims | None, sections: Sequence[Section], plotly: str) -> str:
    grid = Grid(collection.points)
    styles = styles_of(grid.schemes, grid.baseline, uncongested=charts.shows_uncongested(sections))
    return filled(
        Path(__file__).with_name("page.html"),
        collection=collection,
        facts=facts(collection),
        claims=claims or Claims(),
        key_numbers=key_numbers(grid),
        line_use=_line_use(collection),
        all_numbers=_all_numbers(collection),
        doubts=_doubts(collection),
        sections=sections,
        switches=_switches(sections, grid),
        picks={chart.name: _picks(chart) for section in sections for chart in section.charts},
        styles=styles,
        baseline=grid.baseline,
        versions=_yaml(collection.versions),
        plotly=plotly,
        data=_packed(_json(sections, styles, grid)),
    )


def _packed(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content, _COMPRESSION_LEVEL, mtime=0)).decode("ascii")


def _numbers(chart: Chart) -> int:
    return sum(len(series.x) + len(series.y) + len(series.low) + len(series.high) for series in chart.series)


def _without(section: Section, chart: Chart) -> Section:
    if chart not in section.charts:
        return section
    note = f"“{chart.title}” is left out: with its {_numbers(chart):,} numbers the page would be too large."
    return Section(section.title, tuple(each for each in section.charts if each is not chart), (*section.notes, note))


def _json(sections: Sequence[Section], styles: Mapping[str, Style], grid: Grid) -> bytes:
    plain = {
        "styles": {scheme: asdict(style) | {"outline": style.outline} for scheme, style in styles.items()},
        "baseline": grid.baseline,
        "charts": [_plain(chart) for section in sections for chart in section.charts],
    }
    return json.dumps(plain, separators=(",", ":"), allow_nan=False).encode()


def _plain(chart: Chart) -> dict[str, Any]:
    axes = {
        mode: [{"title": axis.title, "unit": axis.unit, "log": axis.log} for axis in chart.axes(mode)]
        for mode in chart.modes or ("absolute",)
    }
    return {
        "name": chart.name,
        "title": chart.title,
        "kind": chart.kind,
        "axes": axes,
        "one": "x" if chart.ratio_x else "y",
        "series": [_plain_series(series) for series in chart.series],
    }


def _plain_series(series: Series) -> dict[str, Any]:
    plain = {"scheme": series.scheme, "part": series.part, "mode": series.mode}
    numbers = {name: [_rounded(value) for value in getattr(series, name)] for name in ("x", "y", "low", "high")}
    return plain | {"at": dict(series.at), "pick": dict(series.pick)} | numbers


def _rounded(value: float | str | None) -> float | str | None:
    if value is None or isinstance(value, str):
        return value
    short = float(f"{value:.{_SIGNIFICANT_DIGITS}g}")
    return int(short) if short.is_integer() else short


def _switches(sections: Sequence[Section], grid: Grid) -> list[Switch]:
    """Switches for all charts: the mode, and each setting of the grid that some chart does not have as its axis."""
    found = [chart for section in sections for chart in section.charts]
    switches = []
    if any(len(chart.modes) > 1 for chart in found):
        switches.append(Switch("mode", "numbers", ("absolute", "normalised"), "absolute"))
    for key, values in grid.values.items():
        if any(key in chart.settings for chart in found):
            texts = tuple(map(str, values))
            # Schemes differ most at the highest load. Charts with that axis do not follow the switch.
            along = key == grid.axis
            switches.append(Switch(key, f"at {key}" if along else key, texts, texts[-1] if along else texts[0]))
    return switches


def _picks(chart: Chart) -> list[Switch]:
    return [Switch(key, key, values, values[0], chart.name) for key, values in chart.picks.items() if len(values) > 1]


def _doubts(collection: Collection) -> list[list[str]]:
    """Reasons to doubt numbers, as in the terminal. Doubts that differ only in values are grouped."""
    found: dict[tuple[str, str], list[str]] = {}
    for point in collection.points:
        for scheme, result in point.summary.schemes.items():
            for doubt in result.doubts:
                at = f", {point.label}" if point.label else ""
                found.setdefault(doubt.reason, []).append(f"{scheme}{at}: {doubt}")
    return list(found.values())


def _all_numbers(collection: Collection) -> list[tuple[str, list[tuple[str, list[str]]]]]:
    """The terminal's table, only for a run: tables of all points of a grid would be long."""
    if len(collection.points) != 1:
        return []
    summary = collection.points[0].summary
    results = list(summary.schemes.values())
    return [
        (title, [(name, [str(cell(result)) for result in results]) for name, cell in rows])
        for title, rows in terminal.sections(summary)
    ]


def _line_use(collection: Collection) -> list[tuple[str, list[str]]]:
    """Utilisation by tier, and the busiest lines, only for a run of several switches."""
    if len(collection.points) != 1:
        return []
    summary = collection.points[0].summary
    results = list(summary.schemes.values())
    tiers = [(name, [str(cell(it)) for it in results]) for _, rows in terminal.tiers(summary) for name, cell in rows]
    busiest = [
        "\n".join(f"{found.line} {found.utilisation:.1%} seed {found.seed}" for found in it.line_use.busiest)
        if it.line_use
        else ""
        for it in results
    ]
    return [*tiers, ("busiest lines", busiest)] if tiers else []


def _yaml(plain: Mapping[str, Any]) -> str:
    return yaml.safe_dump(json.loads(json.dumps(plain)), sort_keys=False, allow_unicode=True)


def write_page(collection: Collection, path: Path) -> None:
    """Write the HTML of a collection, whole or not at all. Raises RunFailed if the file cannot be written."""
    html = report_page(collection, read_claims(collection.folder))
    staging = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        staging.write_text(html, encoding="utf-8")
        staging.replace(path)
    except OSError as error:
        raise RunFailed(f"cannot write {path}: {error.strerror}") from error
    finally:
        staging.unlink(missing_ok=True)
