"""Comparisons as table, Markdown and JUnit XML. They read a comparison and compute nothing."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as Xml

from rich.console import Console
from rich.table import Table
from rich.text import Text

from orchestrator.comparison import Comparison, Difference, RuleResult, Verdict
from orchestrator.statistics import mean

_STYLES = {Verdict.BETTER: "green", Verdict.WORSE: "red", Verdict.CHANGED: "yellow", Verdict.UNCLEAR: "yellow"}
_COLUMNS = ("metric", "A", "B", "difference", "verdict")


def render(comparison: Comparison, console: Console) -> None:
    """Print the comparison."""
    console.print(Text(f"A: {comparison.names[0]}\nB: {comparison.names[1]}"), soft_wrap=True)
    for scheme in _schemes(comparison):
        table = Table(title=scheme, title_justify="left", title_style="bold", box=None, pad_edge=False)
        for name in _COLUMNS:
            table.add_column(name, justify="left" if name in ("metric", "verdict") else "right", header_style="dim")
        for each in comparison.differences:
            if each.scheme == scheme:
                *cells, verdict = _cells(each)
                table.add_row(*cells, Text(verdict, style=_STYLES.get(each.verdict, "dim")))
        console.print(table)
    for note in comparison.notes:
        console.print(Text(f"Note: {note}.", style="dim"))
    for result in comparison.rules:
        style = "bold red" if result.broken else "green"
        console.print(Text(_sentence(result), style=style))


def _schemes(comparison: Comparison) -> list[str]:
    return list(dict.fromkeys(each.scheme for each in comparison.differences))


def _cells(difference: Difference) -> tuple[str, str, str, str, str]:
    verdict = difference.verdict
    return (
        difference.metric.name,
        _number(mean(difference.a)),
        _number(mean(difference.b)),
        _change(difference),
        verdict.value,
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"


def _change(difference: Difference) -> str:
    interval = difference.interval
    if difference.relative is None:
        return f"{difference.absolute:+.4g}"
    half = f" ±{50 * (interval[1] - interval[0]):.1f}" if interval else ""
    return f"{100 * difference.relative:+.1f}{half} %"


def _sentence(result: RuleResult) -> str:
    state = "FAILED" if result.broken else "passed"
    return f"{state}: {result.rule.text}, {result.scheme}: {result.reason}"


def to_markdown(comparison: Comparison) -> str:
    """Write the comparison for a pull request."""
    lines = [f"`{comparison.names[0]}` against `{comparison.names[1]}`"]
    for scheme in _schemes(comparison):
        lines += ["", f"### {scheme}", "", f"| {' | '.join(_COLUMNS)} |", "|---|---:|---:|---:|---|"]
        chosen = [each for each in comparison.differences if each.scheme == scheme]
        lines += [f"| {' | '.join(_cells(each))} |" for each in chosen]
    if comparison.rules:
        lines += ["", "### Rules", "", *_bullets([_sentence(result) for result in comparison.rules])]
    if comparison.notes:
        lines += ["", *_bullets(comparison.notes)]
    return "\n".join(lines) + "\n"


def _bullets(texts: Sequence[str]) -> list[str]:
    return [f"- {text}" for text in texts]


def to_junit(comparison: Comparison) -> str:
    """Write the rules as test cases, one for each scheme that they are applied to."""
    failures = sum(result.broken for result in comparison.rules)
    counts = {"tests": str(len(comparison.rules)), "failures": str(failures)}
    root = Xml.Element("testsuites", counts)
    suite = Xml.SubElement(root, "testsuite", {"name": f"marklab: {comparison.names[1]}", **counts})
    for result in comparison.rules:
        case = Xml.SubElement(suite, "testcase", {"classname": result.scheme, "name": result.rule.text})
        if result.broken:
            Xml.SubElement(case, "failure", {"message": result.reason})
        else:
            Xml.SubElement(case, "system-out").text = result.reason
    Xml.indent(root)
    return Xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
