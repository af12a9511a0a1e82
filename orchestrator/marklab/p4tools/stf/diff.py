# SPDX-License-Identifier: MIT OR Apache-2.0
"""Shows an unexpected packet field by field; the program's deparser gives the places of the fields."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from marklab.p4tools.stf.runner import Complaint
from marklab.p4tools.stf.trace import own_name


@dataclass(frozen=True)
class Row:
    """A field with its expected and its actual value, in digits; `*` matches any digit."""

    header: str
    name: str
    want: str
    got: str

    @property
    def differs(self) -> bool:
        """Whether a digit differs from the expected one."""
        return len(self.want) != len(self.got) or any(
            w not in ("*", g) for w, g in zip(self.want, self.got, strict=True)
        )


def lines(complaint: Complaint) -> Iterator[str]:
    """Lines with the fields of the packet beside the expected ones. Fields that differ have an arrow."""
    if complaint.frame is None:
        return
    if complaint.expected is None:
        yield f"  {complaint.frame.hex()}"
        return
    want, got = complaint.expected.digits, complaint.frame.hex()
    table = [("", "field", "expected", "got"), *_cells(rows(complaint))]
    widths = [max(len(cells[column]) for cells in table) for column in range(4)]
    for cells in table:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
    end = " and no more" if complaint.expected.whole else " or more"
    if complaint.expected.whole or len(want) > len(got):
        yield f"  {len(want) / 2:g} bytes expected{end}, {len(got) / 2:g} came"


def _cells(shown: Sequence[Row]) -> Iterator[tuple[str, str, str, str]]:
    for row in shown:
        name = f"{row.header}.{row.name}" if row.header else row.name
        yield "->" if row.differs else "", name, row.want or "-", row.got or "-"


def rows(complaint: Complaint) -> list[Row]:
    """The packet's fields as the last deparser wrote them, and the bytes after them."""
    if complaint.expected is None or complaint.frame is None:
        return []
    want, got = complaint.expected, complaint.frame.hex()
    found, at = [], 0
    for header, name, width in _emitted(complaint):
        found.append(Row(header, own_name(name), _bits(want.digits, at, width), _bits(got, at, width)))
        at += width
    rest_want, rest_got = want.digits[at // 4 :], got[at // 4 :]
    if not want.whole:
        # The packet may be longer than expected.
        rest_got = rest_got[: len(rest_want)]
    if rest_want or rest_got:
        found.append(Row("", "bytes beyond", rest_want, rest_got))
    return found


def _emitted(complaint: Complaint) -> Iterator[tuple[str, str, int]]:
    """Header, field and width of everything emitted for the last frame that left. Copies of a packet may differ."""
    events = complaint.exchange.events if complaint.exchange else []
    fields: list[tuple[str, str, int]] = []
    fresh = False
    for event in events:
        if event["kind"] == "block":
            fresh = True
        if event["kind"] == "emit":
            if fresh:
                fields = []
            fresh = False
            fields += [(event["header"], name, width) for name, width, _ in event["fields"]]
    length = 8 * len(complaint.frame or b"")
    # If they do not fit the frame, they belong to another copy.
    yield from fields if sum(width for *_, width in fields) <= length else []


def _bits(digits: str, start: int, width: int) -> str:
    """Bits of a row of digits, again as digits; `*` if an open digit takes part. Shorter if the row ends before."""
    open_bits = "".join("*" * 4 if digit == "*" else f"{int(digit, 16):04b}" for digit in digits)
    bits = open_bits[start : start + width]
    bits = bits.rjust(-(-len(bits) // 4) * 4, "0")
    groups = [bits[at : at + 4] for at in range(0, len(bits), 4)]
    return "".join("*" if "*" in group else f"{int(group, 2):x}" for group in groups)
