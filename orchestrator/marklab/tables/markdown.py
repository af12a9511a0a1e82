# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tables in Markdown.

Cells are as long as their text: a column that were padded to its longest cell would change each line when one changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], align: str = "") -> list[str]:
    """Lines of a table: head, rule, rows. `align` has `l` or `r` for each column; the rest stand to the left."""
    sides = zip(columns, align.ljust(len(columns), "l"), strict=True)
    rule = f"|{'|'.join('---:' if side == 'r' else '---' for _, side in sides)}|"
    return [row(columns), rule, *map(row, rows)]


def row(cells: Iterable[object]) -> str:
    """A line of a table, however many lines a cell has."""
    return f"|{'|'.join(_cells(cells))}|"


def _cells(cells: Iterable[object]) -> Iterator[str]:
    for cell in cells:
        # A bar would end the cell.
        text = str(cell).replace("|", "\\|").replace("\n", "<br>")
        yield f" {text} " if text else " "
