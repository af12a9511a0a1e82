# SPDX-License-Identifier: MIT OR Apache-2.0
"""A chart of a paper's claims: the lab's numbers as multiples of the paper's, with intervals and tolerances."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from marklab.papers.claims import Claim
from marklab.papers.experiment import Column
from marklab.papers.findings import Finding
from marklab.papers.verdicts import agreeing
from marklab.statistics.samples import Interval

# Key of the digest of what is drawn, in the file's metadata.
DIGEST = "Description"

_INCHES_WIDE, _INCHES_PER_CLAIM, _INCHES_AROUND, _DPI = 9.0, 0.3, 1.1, 100
# Multiples beyond these are drawn at the edge, as triangles.
_LEAST, _MOST = 0.25, 4.0
_COLORS = {Column.PRINTED: "#888888", Column.READING: "#1f5fa8"}
_OFFSETS = {Column.PRINTED: 0.16, Column.READING: -0.16}


@dataclass(frozen=True)
class Multiple:
    """The lab's number as a multiple of the paper's, with its interval; for changes, the multiple of what remains."""

    value: float
    interval: Interval | None


@dataclass(frozen=True)
class ChartRow:
    """A claim with a number: what it says, the multiples that agree, and the lab's by columns."""

    says: str
    agrees: Interval
    lab: Mapping[Column, Multiple]


def chart_rows(columns: Mapping[Column, Sequence[Finding]]) -> list[ChartRow]:
    """The claims that have numbers to be divided by; bounds and directions have none."""
    rows = []
    for found in zip(*columns.values(), strict=True):
        claim, number = found[0].claim, found[0].claim.paper
        if isinstance(number, str) or claim.bound is not None or _base(claim) + number <= 0:
            continue
        whole, base = _base(claim) + number, _base(claim)
        near = agreeing(claim)
        lab = {
            column: Multiple((base + each.value) / whole, _divided(each.interval, base, whole))
            for column, each in zip(columns, found, strict=True)
            if each.value is not None
        }
        rows.append(ChartRow(claim.says, ((base + near.low) / whole, (base + near.high) / whole), lab))
    return rows


def _base(claim: Claim) -> float:
    return 100.0 if claim.over is not None else 0.0


def _divided(interval: Interval | None, base: float, whole: float) -> Interval | None:
    return None if interval is None else ((base + interval[0]) / whole, (base + interval[1]) / whole)


def digest_of(rows: Sequence[ChartRow]) -> str:
    """Digest of what a chart shows."""
    plain = [[row.says, row.agrees, {c: [m.value, m.interval] for c, m in row.lab.items()}] for row in rows]
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()[:16]


def draw_chart(rows: Sequence[ChartRow], path: Path) -> None:
    """Draw the claims, the first one on top, into a PNG file."""
    # It loads slowly, so commands that draw nothing do not import it.
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure((_INCHES_WIDE, _INCHES_AROUND + _INCHES_PER_CLAIM * len(rows)), layout="constrained")
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.set_xlim(_LEAST, _MOST)
    axes.set_ylim(-0.7, len(rows) - 0.3)
    axes.axvline(1, color="black", linewidth=0.8)
    for place, row in enumerate(reversed(rows)):
        low, high = (_clipped(end) for end in row.agrees)
        axes.barh(place, high - low, left=low, height=0.8, color="#dcebd8", zorder=0)
        for column, multiple in row.lab.items():
            _draw_multiple(axes, place + _OFFSETS[column], multiple, _COLORS[column])
    for column, color in _COLORS.items():
        axes.plot([], [], "o-", color=color, label=column.head, markersize=4)
    axes.set_yticks(range(len(rows)), [row.says for row in reversed(rows)], fontsize=7)
    ticks = (0.25, 0.5, 0.8, 1, 1.25, 2, 4)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("lab / paper, with 95 % intervals; green: agrees")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False, fontsize=8)
    axes.set_ylim(-0.7, len(rows) + 0.7)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(path, dpi=_DPI, metadata={DIGEST: digest_of(rows), "Software": None})


def _draw_multiple(axes: object, place: float, multiple: Multiple, color: str) -> None:
    value = _clipped(multiple.value)
    marker = "o" if value == multiple.value else "<" if multiple.value < _LEAST else ">"
    if multiple.interval is not None:
        low, high = (_clipped(end) for end in multiple.interval)
        axes.plot([low, high], [place, place], color=color, linewidth=1.2)  # type: ignore[attr-defined]
    axes.plot([value], [place], marker, color=color, markersize=4)  # type: ignore[attr-defined]


def _clipped(multiple: float) -> float:
    return min(max(multiple, _LEAST), _MOST)
