# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tables of comparisons, in the page about them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from marklab.errors import BadInput
from marklab.ns3.comparison import PeerComparison, Row
from marklab.paths import REPOSITORY
from marklab.tables import markdown

PAGE = REPOSITORY / "docs" / "ns3.md"

# More than this is explained on the page.
NOTABLE = 0.1

_BEGIN, _END = "<!-- table of {} -->\n", "<!-- end of table -->\n"


def table(comparison: PeerComparison) -> str:
    """A comparison as a table of Markdown."""
    names = list(comparison.there)
    columns = ["quantity", "here", *(column for name in names for column in (name, "difference"))]
    rows = [_cells(row) for row in comparison.rows]
    if comparison.correlation is not None:
        rows.append(["correlation of log FCT", f"{comparison.correlation:.4f}", *[""] * (2 * len(names))])
    return "".join(f"{line}\n" for line in markdown.table(columns, rows, "l" + "r" * (len(columns) - 1)))


def _cells(row: Row) -> list[str]:
    there = zip(row.there, row.differences, strict=True)
    others = [text for value, difference in there for text in (_number(value), _percent(difference))]
    return [row.name, _number(row.here), *others]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:.3g}"


def _percent(difference: float | None) -> str:
    if difference is None:
        return ""
    text = f"{100 * difference:+.1f} %"
    return f"**{text}**" if abs(difference) > NOTABLE else text


def place(text: str, tables: Mapping[str, str]) -> str:
    """A page with tables in the places that it has for them."""
    for name, new in tables.items():
        begin = re.escape(_BEGIN.format(name))
        pattern = re.compile(f"({begin}).*?({re.escape(_END)})", re.DOTALL)
        text, count = pattern.subn(lambda found, new=new: found[1] + "\n" + new + "\n" + found[2], text)  # type: ignore[misc]
        if count != 1:
            raise BadInput(
                f"{PAGE.name} has {count} places for a table of {name}",
                f"lines `{_BEGIN.format(name).strip()}` and `{_END.strip()}`",
            )
    return text


def record(tables: Mapping[str, str], page: Path = PAGE) -> None:
    """Write tables into the page."""
    page.write_text(place(page.read_text(encoding="utf-8"), tables), encoding="utf-8")
