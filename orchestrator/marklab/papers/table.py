# SPDX-License-Identifier: MIT OR Apache-2.0
"""Findings as a table. It reads findings and computes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from marklab.papers.claims import Agreement, Claim, Finding, PaperExperiment
from marklab.results.metric import find_metric
from marklab.results.summary import Summary
from marklab.tables import markdown

_COLUMNS = ("claim", "paper", "lab", "difference", "ratio")


def print_claims(
    paper: PaperExperiment, findings: Sequence[Finding], summaries: Sequence[Summary | None], console: Console
) -> None:
    """Print the paper's claims beside the lab's findings."""
    table = Table(
        title=paper.title, title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 1, 0)
    )
    for name in _COLUMNS:
        table.add_column(name, header_style="dim", justify="left" if name == "claim" else "right", overflow="fold")
    for finding in findings:
        table.add_row(*cells(finding))
    console.print(table)
    console.print(
        Text("Under a change in % are the means that it comes from; ± is half a 95 % confidence interval.", style="dim")
    )
    for remark in paper.remarks:
        console.print(Text(f"Note: {remark}", style="dim"))
    for warning in dict.fromkeys(warning for summary in summaries if summary for warning in summary.warnings):
        console.print(Text(f"! {warning}", style="bold yellow"))


def cells(finding: Finding) -> tuple[str, str, str, str, str]:
    """Claim, paper, lab, difference and ratio as text."""
    claim = finding.claim
    unit = find_metric(claim.metric).unit
    paper = _stated(claim) + _means(claim.paper_means or (), unit)
    if finding.value is None:
        return claim.says, paper, "not run", "", ""
    digits = max(1, _digits(claim)) if claim.over is None else 1
    half = f" ±{(finding.interval[1] - finding.interval[0]) / 2:,.{digits}f}" if finding.interval else ""
    where = ", ".join(f"{key} {value}" for key, value in (finding.point or {}).items())
    at = f"\nat {where}" if claim.take != "only" else ""
    lab = _number(claim, finding.value, half) + (_means(finding.means, unit) if claim.over else "") + at
    if finding.difference is None:
        direction = "same sign" if finding.same_sign else "other sign" if finding.value else "no change"
        return claim.says, paper, lab, direction, ""
    if claim.within and not finding.difference:
        return claim.says, paper, lab, "within", ""
    points = " points" if claim.unit == "%" else _unit(claim.unit)
    ratio = f"{finding.ratio:,.2f}" if finding.ratio is not None else ""
    return claim.says, paper, lab, f"{finding.difference:+,.{digits}f}{points}", ratio


def effort(paper: PaperExperiment) -> str:
    """The effort of an experiment, as text."""
    flows, seeds = paper.setup.get("flows"), paper.setup.get("seeds")
    said = [
        *(["Long flows only"] if flows == 0 else [f"{flows:,} flows"] if flows is not None else []),
        *([f"{seeds} seed{'s' if seeds > 1 else ''}"] if seeds is not None else []),
    ]
    topology = paper.setup.get("topology")
    if isinstance(topology, str):
        # Only the file's name, as its folder differs from machine to machine.
        said.append(f"`{Path(topology).name}`")
    elif topology is not None:
        said.append(f"topology {topology.get('builder', 'of its own')}")
    loads = paper.grid.get("load", ())
    return ", ".join([*said, f"loads {', '.join(str(load) for load in loads)}"] if loads else said)


def tally(findings: Sequence[Finding]) -> tuple[int, ...]:
    """How many claims there are, and how many of each agreement."""
    counts = Counter(finding.agreement for finding in findings)
    return len(findings), *(counts[agreement] for agreement in Agreement)


def render_overview(rows: Mapping[str, tuple[Sequence[Finding], float]], console: Console) -> None:
    """Print how many claims of each experiment agree, and how many seconds the experiment took."""
    table = Table(box=None, pad_edge=False)
    for column in ("experiment", "claims", *Agreement, "seconds"):
        table.add_column(column, header_style="dim", justify="left" if column == "experiment" else "right")
    for name, (findings, seconds) in rows.items():
        table.add_row(name, *map(str, tally(findings)), f"{seconds:,.1f}")
    if len(rows) > 1:
        findings = [finding for found, _ in rows.values() for finding in found]
        table.add_row("all", *map(str, tally(findings)), f"{sum(seconds for _, seconds in rows.values()):,.1f}")
    console.print(table)


def verdicts_table(findings: Sequence[Finding]) -> list[str]:
    """Lines of a Markdown table: what the paper states, what the lab finds with its interval, and how they agree."""
    rows = [
        (*cells(replace(finding, interval=None))[:3], _interval(finding), finding.agreement) for finding in findings
    ]
    return markdown.table(("claim", "paper", "lab", "95 % interval", "verdict"), rows, "lrrr")


def _interval(finding: Finding) -> str:
    if finding.interval is None:
        return "–"
    low, high = (_number(finding.claim, end) for end in finding.interval)
    return f"{low} to {high}"


def _stated(claim: Claim) -> str:
    if isinstance(claim.paper, str):
        return claim.paper
    return f"within {claim.paper:g} %" if claim.within else _number(claim, claim.paper)


def _number(claim: Claim, value: float, half: str = "") -> str:
    if claim.over is not None:
        return f"{value:+,.1f}{half} %"
    return f"{value:,.{_digits(claim)}f}{half}{_unit(claim.unit)}"


def _digits(claim: Claim) -> int:
    """Decimals of a number that is not a change: none if the paper's is whole, else more for smaller numbers."""
    if claim.unit == "%":
        return 1
    if isinstance(claim.paper, str) or claim.paper.is_integer():
        return 0
    return 3 if abs(claim.paper) < 1 else 1


def _means(means: Sequence[float], unit: str) -> str:
    return f"\n{' : '.join(f'{value:,.0f}' for value in means)}{_unit(unit)}" if means else ""


def _unit(unit: str) -> str:
    return f" {unit}" if unit else ""


def to_markdown(paper: PaperExperiment, findings: Sequence[Finding]) -> str:
    """Write the table as Markdown."""
    remarks = [f"- {remark}" for remark in paper.remarks]
    lines = [f"### {paper.title}", "", paper.paper, "", effort(paper), "", *claims_table(findings), "", *remarks]
    return "\n".join(lines) + "\n"


def claims_table(findings: Sequence[Finding], runs: Mapping[str, int] | None = None) -> list[str]:
    """Lines of a Markdown table with a row for each claim. `runs` has the number of a claim's run, by its text."""
    rows = []
    for finding in findings:
        says, *rest = cells(finding)
        number = (runs or {}).get(finding.claim.says)
        rows.append([f"{says} [{number}]" if number else says, *rest])
    return markdown.table(_COLUMNS, rows, "lrrrr")
