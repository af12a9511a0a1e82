# SPDX-License-Identifier: MIT OR Apache-2.0
"""Comparisons as text: round trips of both side by side, and the tables of docs/hosts.md."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

from marklab.errors import BadInput
from marklab.hosts.causes import Difference
from marklab.hosts.comparison import CaseCompared, RoundPair, shares
from marklab.hosts.rounds import RoundTrip
from marklab.hosts.script import CONTROLS
from marklab.paths import REPOSITORY
from marklab.tables import markdown

PAGE = REPOSITORY / "docs" / "hosts.md"

_BEGIN, _END = "<!-- table of {} -->\n", "<!-- end of table -->\n"
_UNSTEADY = "Two runs of the script on Linux differ from each other: ticks of timers, or delays of the machine"
_SIDE = ("time", "sent", "again", "acks", "cwnd", "ssthresh", "state", "alpha")


def side_by_side(compared: CaseCompared) -> str:
    """All round trips of a case, simulated on the left; `!` where the segments differ, `~` where the windows do."""
    lines = [f"{compared.case}: {compared.case.script.title}"]
    for number, flow in enumerate(compared.flows, start=1):
        if len(compared.flows) > 1:
            lines.append(f"flow {number}")
        lines.append("  " + _line("", _SIDE, _SIDE))
        lines += [_mark(pair) + _line(str(pair.number), _cells(pair.sim), _cells(pair.linux)) for pair in flow.rounds]
        ends = [_ms(side.end_ns) for side in (flow.sim, flow.linux)]
        lines.append(f"  end: {ends[0]} ms, {compared.other} {ends[1]} ms" + ("" if flow.end_same else "  !"))
    lines += [f"  never: {text}" for text in compared.never]
    if compared.is_unsteady:
        lines.append("  Linux differed from itself when it ran again")
    return "\n".join(lines)


def _mark(pair: RoundPair) -> str:
    return "! " if not pair.sends_same else "~ " if pair.cwnd_close is False else "  "


def _line(number: str, ours: Sequence[str], theirs: Sequence[str]) -> str:
    widths = (8, 5, 6, 5, 6, 9, 9, 6)
    sides = ["".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)) for cells in (ours, theirs)]
    return f"{number:>3}{sides[0]}  |{sides[1]}"


def _cells(seen: RoundTrip | None) -> list[str]:
    if seen is None:
        return [""] * len(_SIDE)
    window = seen.window
    return [
        _ms(seen.begin_ns),
        str(seen.segments),
        str(seen.retransmissions),
        str(seen.acks),
        f"{window.cwnd:.1f}" if window else "",
        "" if window is None else "-" if window.ssthresh is None else f"{window.ssthresh:.1f}",
        window.state if window else "",
        "" if seen.alpha is None else f"{seen.alpha:.2f}",
    ]


def _ms(time_ns: int | None) -> str:
    return "never" if time_ns is None else f"{time_ns / 1e6:.1f}"


def by_kind(compared: Sequence[CaseCompared]) -> str:
    """How many scripts of each kind have the same segments in each round trip and the same end, by transport."""
    kinds = list(dict.fromkeys(each.case.kind for each in compared))
    controls = [control for control in CONTROLS if _of(compared, control)]
    rows = [
        [kind, *(_share(_of(compared, control, kind)) for control in controls), _share(_of(compared, None, kind))]
        for kind in kinds
    ]
    rows.append(["all", *(_share(_of(compared, control)) for control in controls), _share(compared)])
    return _table(["scripts", *controls, "all"], rows)


def by_quantity(compared: Sequence[CaseCompared]) -> str:
    """Which quantities are the same, by transport."""
    columns = {control: shares(_of(compared, control)) for control in CONTROLS} | {"all": shares(compared)}
    rows = [[name, *(_percent(*found[name]) for found in columns.values())] for name in columns["all"]]
    return _table(["", *columns], rows)


def of_differences(compared: Sequence[CaseCompared], differences: Sequence[Difference]) -> str:
    """Named differences, and the scripts that differ because of them."""
    rows = []
    for known in differences:
        scripts = [each for each in compared if not each.same and known.explains(each.case)]
        rows.append(
            [known.name, known.cause, known.source, f"`{known.setting}`" if known.setting else "–", str(len(scripts))]
        )
    unsteady = sum(each.is_unsteady for each in compared)
    if unsteady:
        rows.append(["Linux differs from itself", _UNSTEADY, "–", "–", str(unsteady)])
    return _table(["difference", "cause", "source", "setting", "scripts"], rows)


def _of(compared: Sequence[CaseCompared], control: str | None, kind: str | None = None) -> list[CaseCompared]:
    return [each for each in compared if control in (None, each.case.control) and kind in (None, each.case.kind)]


def _share(compared: Sequence[CaseCompared]) -> str:
    return f"{sum(each.same for each in compared)} of {len(compared)}" if compared else ""


def _percent(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / whole:.1f} %)" if whole else ""


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "".join(
        f"{line}\n" for line in markdown.table(list(columns), [list(row) for row in rows], "l" * len(columns))
    )


def record(tables: Mapping[str, str], page: Path = PAGE) -> None:
    """Write tables into the page."""
    text = page.read_text(encoding="utf-8")
    for name, table in tables.items():
        begin, end = _BEGIN.format(name), _END
        pattern = re.compile(f"({re.escape(begin)}).*?({re.escape(end)})", re.DOTALL)
        parts = pattern.split(text)
        if len(parts) != 4:
            raise BadInput(
                f"{page.name} has no single place for a table of {name}", f"lines `{begin.strip()}` and `{end.strip()}`"
            )
        text = "".join(chain(parts[:2], ["\n", table, "\n"], parts[2:]))
    page.write_text(text, encoding="utf-8")
