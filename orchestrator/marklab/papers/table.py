# SPDX-License-Identifier: MIT OR Apache-2.0
"""Findings as a table. It reads findings and computes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from marklab.papers.claims import Claim, Weight
from marklab.papers.experiment import Column, PaperExperiment
from marklab.papers.findings import Finding
from marklab.papers.verdicts import MOST_SEEDS, Verdict
from marklab.results.metric import find_metric
from marklab.results.summary import Summary
from marklab.tables import markdown

# Findings of the same claims by columns.
Columns = Mapping[Column, Sequence[Finding]]

_COLORS = {Verdict.AGREES: "green", Verdict.DISAGREES: "red", Verdict.UNDETERMINED: "yellow", Verdict.NOT_RUN: "dim"}


def print_claims(
    paper: PaperExperiment, columns: Columns, summaries: Sequence[Summary | None], console: Console
) -> None:
    """Print the paper's claims beside the lab's findings."""
    table = Table(
        title=paper.title, title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 1, 0)
    )
    for name in ("claim", "paper", *(text for column in columns for text in (column.head, "verdict"))):
        table.add_column(name, header_style="dim", justify="left" if name == "claim" else "right", overflow="fold")
    for line in _lines(columns):
        verdicts = [finding.verdict() for finding in line.findings]
        styled = (
            text
            for (lab, verdict), found in zip(line.results, verdicts, strict=True)
            for text in (lab, Text(verdict, style="dim" if line.below else _COLORS[found]))
        )
        table.add_row(line.says, line.paper, *styled)
    console.print(table)
    legend = "Under a change in % are the means that it comes from; ± is half a 95 % confidence interval."
    console.print(Text(legend, style="dim"))
    for each in paper.not_run:
        console.print(Text(f"Not run: {each.says}: {each.lacks}", style="dim"))
    for remark in paper.remarks:
        console.print(Text(f"Note: {remark}", style="dim"))
    for warning in dict.fromkeys(warning for summary in summaries if summary for warning in summary.warnings):
        console.print(Text(f"! {warning}", style="bold yellow"))


class _Line:
    """A claim, or a row below one, with its results in all columns: text of the lab's number, and of the verdict."""

    def __init__(self, findings: Sequence[Finding], *, below: bool = False, printed: bool = False) -> None:
        self.below = below
        self.findings = findings
        claim = findings[0].claim
        self.says, self.paper = claim.says, paper_text(claim)
        if below:
            # A row has the claim's number, unless the paper prints another one for it.
            self.says, self.paper = f"– {claim.says}", self.paper if printed else ""
        self.results = [(lab_text(each), "" if below else verdict_text(each)) for each in findings]


def _lines(columns: Columns) -> Iterator[_Line]:
    for findings in zip(*columns.values(), strict=True):
        yield _Line(findings)
        below = zip(findings[0].claim.also, *(finding.rows for finding in findings), strict=False)
        for row, *found in below:
            yield _Line(found, below=True, printed=row.paper is not None)


def cells(finding: Finding) -> tuple[str, str, str, str, str]:
    """Claim, paper, lab, difference and verdict as text."""
    lab = lab_text(finding)
    return finding.claim.says, paper_text(finding.claim), lab, difference_text(finding), verdict_text(finding)


def paper_text(claim: Claim) -> str:
    """What the paper states, and under a change the means that it gives."""
    return _stated(claim) + _means(claim, claim.paper_means or ())


def lab_text(finding: Finding) -> str:
    """The lab's number with half its interval, the means behind a change, and the point if one was chosen."""
    claim = finding.claim
    if finding.value is None:
        return "not run"
    where = ", ".join(f"{key} {value}" for key, value in (finding.point or {}).items())
    at = f"\nat {where}" if claim.take != "only" and where else ""
    means = _changes(finding) if claim.minus else _means(claim, finding.means) if claim.over else ""
    return brief_text(finding) + means + at


def brief_text(finding: Finding) -> str:
    """The lab's number with half its interval."""
    claim = finding.claim
    if finding.value is None:
        return "not run"
    digits = max(1, _digits(claim)) if claim.over is None else 1
    width = finding.interval[1] - finding.interval[0] if finding.interval else 0.0
    # Without width it is the same for every seed.
    half = f" ±{_shown(claim) * width / 2:,.{digits}f}" if width else ""
    return _number(claim, finding.value, half)


def difference_text(finding: Finding) -> str:
    """Lab minus paper; for a bound, how far it is exceeded; empty without numbers."""
    claim, difference = finding.claim, finding.difference
    if difference is None:
        return ""
    if claim.bound is not None and not difference:
        return "within"
    points = " points" if claim.over is not None or _is_fraction(claim) else _unit(claim.unit)
    digits = max(1, _digits(claim)) if claim.over is None else 1
    return f"{_shown(claim) * difference:+,.{digits}f}{points}"


def verdict_text(finding: Finding) -> str:
    """The verdict; for an undetermined claim, with the seeds that would decide it."""
    verdict = finding.verdict()
    if verdict is not Verdict.UNDETERMINED:
        return str(verdict)
    if finding.interval is None:
        return f"{verdict}: one seed"
    needed = finding.seeds_needed
    return f"{verdict}: {f'over {MOST_SEEDS:,}' if needed is None else f'{needed:,}'} seeds"


def effort(paper: PaperExperiment) -> str:
    """The effort of an experiment, as text."""
    flows, seeds = paper.setup.get("flows"), paper.setup.get("seeds")
    counts = [count for count in (flows, *(size.flows for size in paper.sizes)) if count is not None]
    fewest, most = min(counts, default=0), max(counts, default=0)
    said = [
        *(["Long flows only"] if flows == 0 else [_range(fewest, most) + " flows"] if counts else []),
        *([_seeds(seeds, max((size.seeds or 0 for size in paper.sizes), default=0))] if seeds is not None else []),
    ]
    topology = paper.setup.get("topology")
    if isinstance(topology, str):
        # Only the file's name, as its folder differs from machine to machine.
        said.append(f"`{Path(topology).name}`")
    elif topology is not None:
        said.append(f"topology {topology.get('builder', 'of its own')}")
    loads = paper.grid.get("load", ())
    return ", ".join([*said, f"loads {', '.join(str(load) for load in loads)}"] if loads else said)


def _range(fewest: int, most: int) -> str:
    return f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"


def _seeds(seeds: int, most: int) -> str:
    """Seeds of all points; `most` is the largest number of a point with a size of its own."""
    said = f"{seeds} seed{'s' if seeds > 1 else ''}"
    return f"{said}, up to {most} where a claim needs them" if most > seeds else said


def tally(findings: Sequence[Finding], scale: float = 1.0) -> tuple[int, ...]:
    """How many claims there are, and how many of each verdict; `scale` multiplies the tolerances."""
    counts = Counter(finding.verdict(scale) for finding in findings)
    return len(findings), *(counts[verdict] for verdict in Verdict)


def render_overview(rows: Mapping[tuple[str, Column], tuple[Sequence[Finding], float]], console: Console) -> None:
    """Print how many claims of each experiment and column agree, and how many seconds it took."""
    table = Table(box=None, pad_edge=False)
    for title in ("experiment", "run", "claims", *Verdict, "seconds"):
        table.add_column(title, header_style="dim", justify="left" if title in ("experiment", "run") else "right")
    for (name, column), (findings, seconds) in rows.items():
        table.add_row(name, column.head, *map(str, tally(findings)), f"{seconds:,.1f}")
    for column in Column:
        of_column = [row for (_, each), row in rows.items() if each is column]
        if len(of_column) > 1:
            findings = [finding for found, _ in of_column for finding in found]
            table.add_row("all", column.head, *map(str, tally(findings)), f"{sum(s for _, s in of_column):,.1f}")
    console.print(table)


def verdicts_table(findings: Sequence[Finding]) -> list[str]:
    """Lines of a Markdown table: what the paper states, what the lab finds with its interval, and the verdict."""
    rows = [
        (*cells(replace(finding, interval=None))[:3], _interval(finding), finding.verdict()) for finding in findings
    ]
    return markdown.table(("claim", "paper", "lab", "95 % interval", "verdict"), rows, "lrrrl")


def _interval(finding: Finding) -> str:
    if finding.interval is None:
        return "–"
    low, high = (_number(finding.claim, end) for end in finding.interval)
    return f"{low} to {high}"


def _stated(claim: Claim) -> str:
    if isinstance(claim.paper, str):
        return claim.paper
    if claim.bound == "within":
        return f"within {claim.paper:g} %"
    number = _number(claim, claim.paper)
    return f"{claim.bound} {number}" if claim.bound else number


def _number(claim: Claim, value: float, half: str = "") -> str:
    if claim.over is not None:
        return f"{value:+,.1f}{half} {claim.unit}"
    if _is_fraction(claim):
        return f"{_shown(claim) * value:,.{_digits(claim)}f}{half} %"
    return f"{value:,.{_digits(claim)}f}{half}{_unit(claim.unit)}"


def _is_fraction(claim: Claim) -> bool:
    """Whether the claim's number is a fraction of 1, which is shown in percent."""
    return claim.over is None and find_metric(claim.metric).in_percent


def _shown(claim: Claim) -> float:
    """What a number is multiplied by before it is shown."""
    return 100.0 if _is_fraction(claim) else 1.0


def _digits(claim: Claim) -> int:
    """Decimals of a number that is not a change: none if the paper's is whole, else more for smaller numbers."""
    if claim.unit == "%" or _is_fraction(claim):
        return 1
    if isinstance(claim.paper, str) or claim.paper.is_integer():
        return 0
    return 3 if abs(claim.paper) < 1 else 1


def _changes(finding: Finding) -> str:
    """The two changes behind a difference, on a line of their own."""
    return f"\n{' and '.join(f'{change:+,.1f} %' for change in finding.means)}" if finding.means else ""


def _means(claim: Claim, means: Sequence[float]) -> str:
    """The means behind a change, on a line of their own."""
    metric = find_metric(claim.metric)
    if not means:
        return ""
    if metric.in_percent:
        return f"\n{' : '.join(f'{100 * value:,.1f}' for value in means)} %"
    return f"\n{' : '.join(f'{value:,.0f}' for value in means)}{_unit(metric.unit)}"


def _unit(unit: str) -> str:
    return f" {unit}" if unit else ""


def to_markdown(paper: PaperExperiment, findings: Sequence[Finding]) -> str:
    """Write the table as Markdown."""
    remarks = [f"- {remark}" for remark in paper.remarks]
    table = claims_table({paper.column: findings})
    lines = [
        f"### {paper.title}",
        "",
        paper.paper,
        "",
        f"{effort(paper)}, {paper.column.head}",
        "",
        *table,
        "",
        *remarks,
    ]
    return "\n".join(lines) + "\n"


def claims_table(columns: Columns) -> list[str]:
    """Lines of a Markdown table with a row for each claim, headlines in bold, and for each row below it."""
    rows = [
        (*_named(line), line.paper, *(text for result in line.results for text in result)) for line in _lines(columns)
    ]
    heads = ("claim", "where", "paper", *(text for column in columns for text in (column.head, "verdict")))
    return markdown.table(heads, rows, "llr" + "rl" * len(columns))


def _named(line: _Line) -> tuple[str, str]:
    claim = line.findings[0].claim
    if line.below:
        return line.says, ""
    return f"**{line.says}**" if claim.weight is Weight.HEADLINE else line.says, claim.where
