# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tables of comparisons, in the page about them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from marklab.errors import BadInput
from marklab.ns3.agreement import CORRELATION_TOLERANCE, Agreement, Difference, Pool
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
    return _lines(columns, rows)


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


def agreement_tables(name: str, agreement: Agreement) -> dict[str, str]:
    """Tables of a kept list, by their places in the page."""
    tables = {name: _agreement(agreement), f"{name}-flows": _most_different(agreement)}
    return {**tables, f"{name}-stacks": _stacks(agreement)}


def _agreement(agreement: Agreement) -> str:
    rows = [_of_difference(each) for each in agreement.differences]
    ours, own = agreement.pool.correlation, agreement.itself.correlation
    close = _verdict(agreement.lacking_correlation <= CORRELATION_TOLERANCE)
    rows += [
        _counts("retransmissions", agreement.pool),
        _counts("timeouts", agreement.pool),
        ["correlation of log FCT", f"{ours:.4f}", "", "", "", ""],
        [
            "the same of the lab with itself, starts moved",
            f"{own:.4f}",
            "",
            f"{ours - own:+.4f}",
            "",
            f"0.005: {close}",
        ],
    ]
    columns = ["FCT, µs", "here", "ns-3", "difference", "95 % interval", "agrees within"]
    return _lines(columns, rows)


def _of_difference(each: Difference) -> list[str]:
    tolerance = each.quantity.tolerance
    within = "" if tolerance is None else f"{100 * tolerance:.0f} %: {_verdict(bool(each.is_agreement))}"
    low, high = (f"{100 * bound:+.1f}" for bound in each.interval)
    difference = f"{100 * each.relative:+.1f} %"
    numbers = [_number(each.here_us), _number(each.there_us)]
    return [each.quantity.name, *numbers, difference, f"{low} to {high} %", within]


def _counts(name: str, pool: Pool) -> list[str]:
    return [name, *(f"{int(side[name].sum()):,}" for side in (pool.here, pool.there)), "", "", ""]


def _verdict(agrees: bool) -> str:
    return "yes" if agrees else "**no**"


def _most_different(agreement: Agreement) -> str:
    pool, rows = agreement.pool, []
    for at, (least, most) in zip(pool.most_different, agreement.ranges_us, strict=True):
        here, there = ({name: int(column[at]) for name, column in side.items()} for side in (pool.here, pool.there))
        pairs = (f"{here[name]}, {there[name]}" for name in ("retransmissions", "timeouts"))
        times = (f"{side['fct_ns'] / 1e3:,.0f}" for side in (here, there))
        flow = (pool.seeds[pool.seed[at]], pool.flow[at], f"{pool.size_bytes[at]:,}")
        rows.append([*map(str, flow), *times, f"{least:,.0f} to {most:,.0f}", *pairs])
    columns = ["seed", "flow", "bytes", "here, µs", "ns-3, µs", "here, starts moved", "retransmissions", "timeouts"]
    return _lines(columns, rows)


def _stacks(agreement: Agreement) -> str:
    pools = {"profile `ns-3.37`": agreement.pool, **agreement.stacks}
    shown = [each.quantity for each in agreement.differences if each.quantity.tolerance is not None]
    rows = []
    for name, pool in pools.items():
        found = [pool.difference(quantity) for quantity in shown]
        cells = [f"{100 * each.relative:+.1f} %" for each in found]
        rows.append([name, *cells, f"{int(pool.here['retransmissions'].sum()):,}", f"{pool.correlation:.4f}"])
    columns = ["stack here", *(quantity.name for quantity in shown), "retransmissions", "correlation of log FCT"]
    return _lines(columns, rows)


def _lines(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "".join(f"{line}\n" for line in markdown.table(columns, rows, "l" + "r" * (len(columns) - 1)))


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
