# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes a comparison as a table, Markdown, JUnit XML or JSON. It computes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal
from xml.etree import ElementTree as Xml

from rich.console import Console
from rich.table import Table
from rich.text import Text

from marklab.comparison.differences import Difference, Verdict
from marklab.comparison.side_by_side import Comparison, RuleResult
from marklab.tables import markdown

_STYLES = {Verdict.BETTER: "green", Verdict.WORSE: "red", Verdict.CHANGED: "yellow", Verdict.UNCLEAR: "yellow"}
_COLUMNS = ("metric", "BASE", "NEW", "difference", "verdict")
_BRIEF_COLUMNS = ("metric", "difference", "verdict")
# The first lines of a table in Markdown: its columns, and a rule.
_HEADS = frozenset({0, 1})

# Most lines about single points, in a terminal and in a pull request, as a grid may have thousands.
_MOST_IN_TERMINAL = 20
_MOST_IN_MARKDOWN = 200

# GitHub refuses a comment with more characters, and says so only when it is posted.
MOST_CHARACTERS = 65_536
# The file beside the Markdown that has everything.
_WHOLE = "comparison.json"


def print_comparison(comparison: Comparison, console: Console, *, every_point: bool = False) -> None:
    """Print the comparison: over all points, then at the single points that differ, or at every point."""
    console.print(Text(f"BASE: {comparison.names[0]}\nNEW:  {comparison.names[1]}"), soft_wrap=True)
    for scheme in _schemes(comparison):
        title = scheme if len(comparison.points) == 1 else f"{scheme}, over {len(comparison.points)} points"
        chosen = [each for each in comparison.differences if each.scheme == scheme]
        console.print(_table(title, _COLUMNS, [(_cells(each), each.verdict) for each in chosen]))
    shown = [each for each in comparison.at_points if every_point or each.verdict.is_difference]
    rows = shown if every_point else shown[:_MOST_IN_TERMINAL]
    if rows:
        cells = [((each.point or "", each.scheme, *_briefly(each)), each.verdict) for each in rows]
        console.print(_table("at single points", ("point", "scheme", *_BRIEF_COLUMNS), cells))
    if len(rows) < len(shown):
        console.print(Text(f"and {len(shown) - len(rows)} more: --all", style="dim"))
    for note in comparison.notes:
        console.print(Text(f"Note: {note}.", style="dim"))
    for line in _passed(comparison, one_by_one=every_point):
        console.print(Text(line, style="green"))
    for result in comparison.broken:
        console.print(Text(_sentence(result), style="bold red"))
    for text in comparison.damaged:
        console.print(Text(f"DAMAGED, skipped: {text}", style="bold red"))


def _table(title: str, columns: Sequence[str], rows: Sequence[tuple[Sequence[str], Verdict]]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for name in columns:
        justify: Literal["left", "right"] = "right" if name in ("BASE", "NEW", "difference") else "left"
        table.add_column(name, justify=justify, overflow="fold", header_style="dim")
    for cells, verdict in rows:
        table.add_row(*cells[:-1], Text(cells[-1], style=_STYLES.get(verdict, "dim")))
    return table


def _passed(comparison: Comparison, *, one_by_one: bool) -> Iterator[str]:
    """The rules that hold, each on one line, for any number of schemes."""
    by_rule: dict[str, list[RuleResult]] = {}
    for result in comparison.rules:
        if not result.broken:
            by_rule.setdefault(result.rule, []).append(result)
    for rule, results in by_rule.items():
        if one_by_one or len(results) == 1:
            yield from map(_sentence, results)
        else:
            yield f"passed: {rule}, {len(results)} times"


def _schemes(comparison: Comparison) -> list[str]:
    return list(dict.fromkeys(each.scheme for each in comparison.differences))


def _cells(difference: Difference) -> tuple[str, ...]:
    name, *rest = _briefly(difference)
    return (name, _number(difference.base), _number(difference.new), *rest)


def _briefly(difference: Difference) -> tuple[str, ...]:
    return (difference.metric.name, _change(difference), difference.verdict.value)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"


def _change(difference: Difference) -> str:
    interval = difference.interval
    if difference.relative is None:
        ends = f" [{interval[0]:+.3g}, {interval[1]:+.3g}]" if interval and interval[0] < interval[1] else ""
        return f"{difference.absolute:+.4g}{ends}"
    ends = ""
    if interval and interval[0] < interval[1]:
        ends = f" [{100 * interval[0]:+.1f}, {100 * interval[1]:+.1f}]"
    return f"{100 * difference.relative:+.1f} %{ends}"


def _sentence(result: RuleResult) -> str:
    state = "FAILED" if result.broken else "passed"
    return f"{state}: {result.rule}, {_where(result)}: {result.reason}"


def _where(result: RuleResult) -> str:
    return f"{result.scheme} at {result.point}" if result.point else result.scheme


@dataclass(frozen=True)
class _List:
    """A list in a text, of which the last items may be left out. `heads` are the places of lines that are no items."""

    before: tuple[str, ...]
    lines: tuple[str, ...]
    heads: frozenset[int] = frozenset()
    after: tuple[str, ...] = ()
    left_out: int = 0

    def text(self, kept: int | None = None) -> list[str]:
        """Its lines, or the first `kept` of them and how many items are left out."""
        shown = len(self.lines) if kept is None else kept
        # A table without rows would say that there are none.
        while 0 < shown < len(self.lines) and shown - 1 in self.heads:
            shown -= 1
        left_out = self.left_out + len(set(range(shown, len(self.lines))) - self.heads)
        more = [f"... and {left_out} more in {_WHOLE}"] if left_out else []
        if shown and more:
            more.insert(0, "")
        return [*self.before, *self.lines[:shown], *more, *self.after]


def to_markdown(comparison: Comparison, most_characters: int = MOST_CHARACTERS) -> str:
    """Write the comparison as Markdown for a pull request: the outcome on top, the rest folded.

    If it would have more than `most_characters`, the last items of its lists are left out, and the text says how many.
    """
    lists = list(_lists(comparison))
    whole = _joined(each.text() for each in lists)
    if len(whole) <= most_characters:
        return whole
    room = most_characters - len(_joined(each.text(0) for each in lists))
    shown = []
    for each in lists:
        kept = 0
        while kept < len(each.lines) and len(each.lines[kept]) < room:
            room -= len(each.lines[kept]) + 1
            kept += 1
        shown.append(each.text(kept))
    return _joined(shown)


def _joined(parts: Iterable[list[str]]) -> str:
    return "\n".join(line for part in parts for line in part) + "\n"


def _lists(comparison: Comparison) -> Iterator[_List]:
    """All parts of the text, the most important ones first."""
    names = f"`{comparison.names[1]}` (NEW) against `{comparison.names[0]}` (BASE)"
    yield _List((f"### Marklab: {_headline(comparison)}", "", names), ())
    if comparison.broken:
        rows = [(f"`{each.rule}`", _where(each), each.reason) for each in comparison.broken]
        lines = markdown.table(("broken rule", "scheme", "what happened"), rows)
        yield _List(("",), tuple(lines), _HEADS)
    if comparison.damaged:
        yield _List(("", "Damaged files, which were skipped:", ""), _bullets(comparison.damaged))
    yield _List(("",), tuple(_overview(comparison)), _HEADS)
    if comparison.notes:
        yield _List(("",), _bullets([f"{note[0].upper()}{note[1:]}." for note in comparison.notes]))
    yield from _folded(comparison)


def _headline(comparison: Comparison) -> str:
    broken = len(comparison.broken)
    count = f"{broken} of {len(comparison.rules)} checks failed" if broken else ""
    damaged = f"{len(comparison.damaged)} files are damaged" if comparison.damaged else ""
    if count or damaged:
        return f"❌ {'; '.join(text for text in (count, damaged) if text)}"
    if not comparison.rules:
        return "two results compared, without rules"
    return f"✅ all {len(comparison.rules)} checks passed"


def _overview(comparison: Comparison) -> list[str]:
    """One line per scheme, one column per metric that a rule about changes names."""
    kinds = {rule.metric.name: rule.kind for rule in comparison.policy.rules if rule.kind != "value"}
    if not kinds:
        return []
    by_place = {(each.scheme, each.metric.name): each for each in comparison.differences}
    rows = []
    for scheme in _schemes(comparison):
        found = [(by_place.get((scheme, name)), kind) for name, kind in kinds.items()]
        rows.append((scheme, *("–" if each is None else _summed_up(each, kind) for each, kind in found)))
    columns = ("scheme", *kinds)
    return markdown.table(columns, rows, _aligned(columns, 1))


def _summed_up(difference: Difference, kind: str) -> str:
    absolute = f"{_number(difference.base)} → {_number(difference.new)}"
    text = absolute if kind == "change" else _change(difference)
    return f"**{text}**" if difference.verdict is Verdict.WORSE else text


def _folded(comparison: Comparison) -> Iterator[_List]:
    if comparison.rules:
        checks = _bullets([_sentence(result) for result in comparison.rules])
        yield _fold(f"All {len(comparison.rules)} checks", checks)
    lines: list[str] = []
    heads: set[int] = set()
    for scheme in _schemes(comparison):
        chosen = [each for each in comparison.differences if each.scheme == scheme]
        title = [*([""] if lines else []), f"#### {scheme}", ""]
        heads.update(range(len(lines), len(lines) + len(title) + len(_HEADS)))
        lines += [*title, *markdown.table(_COLUMNS, map(_cells, chosen), _aligned(_COLUMNS, 1))]
    where = f", over {len(comparison.points)} points" if len(comparison.points) > 1 else ""
    yield _fold(f"All metrics{where}", lines, frozenset(heads))
    differ = [each for each in comparison.at_points if each.verdict.is_difference]
    if differ:
        rows = [(each.point or "", each.scheme, *_cells(each)) for each in differ[:_MOST_IN_MARKDOWN]]
        columns = ("point", "scheme", *_COLUMNS)
        table = markdown.table(columns, rows, _aligned(columns, 3))
        yield _fold(f"{len(differ)} differences at single points", table, _HEADS, len(differ) - len(rows))


def _fold(title: str, lines: Sequence[str], heads: frozenset[int] = frozenset(), left_out: int = 0) -> _List:
    before = ("", f"<details><summary>{title}</summary>", "")
    return _List(before, tuple(lines), heads, ("", "</details>"), left_out)


def _aligned(columns: Sequence[str], texts: int) -> str:
    """Alignment of columns: the first `texts` and the last to the left, and all if the table has no numbers."""
    return "".join("r" if place >= texts > 0 and name != "verdict" else "l" for place, name in enumerate(columns))


def _bullets(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"- {text}" for text in texts)


def to_junit(comparison: Comparison) -> str:
    """Write each application of a rule to a scheme as a test case, and damaged files as errors."""
    tests, failures = len(comparison.rules) + len(comparison.damaged), len(comparison.broken)
    counts = {"tests": str(tests), "failures": str(failures), "errors": str(len(comparison.damaged))}
    root = Xml.Element("testsuites", counts)
    suite = Xml.SubElement(root, "testsuite", {"name": f"marklab: {comparison.names[1]}", **counts})
    for result in comparison.rules:
        case = Xml.SubElement(suite, "testcase", {"classname": _where(result), "name": result.rule})
        if result.broken:
            Xml.SubElement(case, "failure", {"message": result.reason})
        else:
            Xml.SubElement(case, "system-out").text = result.reason
    for text in comparison.damaged:
        case = Xml.SubElement(suite, "testcase", {"classname": "files", "name": text.partition(": ")[2]})
        Xml.SubElement(case, "error", {"message": text})
    Xml.indent(root)
    return Xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def to_json(comparison: Comparison) -> dict[str, Any]:
    """Plain data."""
    return {
        "base": comparison.names[0],
        "new": comparison.names[1],
        "exit_code": comparison.exit_code,
        "points": comparison.points,
        "differences": [_plain(each) for each in (*comparison.differences, *comparison.at_points)],
        "rules": [asdict(each) for each in comparison.rules],
        "policy": comparison.policy.model_dump(mode="json"),
        "notes": comparison.notes,
        "damaged": comparison.damaged,
    }


def _plain(each: Difference) -> dict[str, Any]:
    return {
        "scheme": each.scheme,
        "metric": each.metric.name,
        "point": each.point,
        "base": each.base,
        "new": each.new,
        "relative": each.relative,
        "ci95": each.interval,
        "seeds": [len(each.seeds.base), len(each.seeds.new)],
        "paired": each.seeds.paired,
        "verdict": each.verdict.value,
    }
