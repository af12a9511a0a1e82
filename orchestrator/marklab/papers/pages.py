# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes docs/fidelity.md, the overview, and docs/fidelity/PAPER.md, the claims of each paper beside the findings.

Numbers come from `experiments/found/ID.json`. In the same folder, `preface.md` is the head of the overview, `PAPER.md`
a text on a paper's page after its reading, and `ID.md` a text under the table of an experiment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from marklab.errors import BadInput
from marklab.papers.chart import ChartRow, chart_rows
from marklab.papers.claims import Claim, Weight
from marklab.papers.experiment import Column, PaperExperiment
from marklab.papers.findings import Finding
from marklab.papers.papers import Paper, columns_of, papers
from marklab.papers.reading import Assumption
from marklab.papers.records import (
    FOUND,
    RecordedRun,
    RecordedVariations,
    read_record,
    recorded_findings,
    recorded_variations,
)
from marklab.papers.table import brief_text, claims_table, effort, tally
from marklab.papers.variations import Effect, Tried
from marklab.papers.verdicts import Verdict
from marklab.paths import REPOSITORY
from marklab.tables import markdown

OVERVIEW = REPOSITORY / "docs" / "fidelity.md"
PAGES = OVERVIEW.with_suffix("")

_NOTE = "<!-- Written by `python orchestrator.py fidelity` from experiments/; what is changed here is lost. -->"


@dataclass(frozen=True)
class _Experiment:
    """An experiment with its recorded findings by columns. Where the reading changes nothing, both are the same."""

    name: str
    papers: Mapping[Column, PaperExperiment]
    runs: Mapping[Column, RecordedRun]
    findings: Mapping[Column, Sequence[Finding]]

    @property
    def paper(self) -> PaperExperiment:
        """The experiment as printed."""
        return self.papers[Column.PRINTED]

    def in_column(self, column: Column) -> Sequence[Finding]:
        """The findings that count for a column."""
        return self.findings.get(column, self.findings[Column.PRINTED])


def pages() -> dict[Path, str]:
    """All pages, by their paths. Raises BadInput for a record that cannot be read, or that is of another experiment."""
    experiments = {name: [_read(each) for each in paper.runnable] for name, paper in papers().items()}
    written = {OVERVIEW: _overview_page(experiments)}
    for name, paper in papers().items():
        written[PAGES / f"{name}.md"] = _paper_page(name, paper, experiments[name])
    return written


def charts() -> dict[Path, list[ChartRow]]:
    """What the charts of the pages show, by their paths."""
    shown = {}
    for name, paper in papers().items():
        rows = []
        for each in paper.runnable:
            found = {column: findings_of(each, column) for column in Column}
            rows += [replace(row, says=f"{each.partition('-')[2]}: {row.says}") for row in chart_rows(found)]
        shown[PAGES / f"{name}.png"] = rows
    return shown


def _read(name: str) -> _Experiment:
    columns, runs = columns_of(name), read_record(name).runs
    findings = {column: recorded_findings(name, paper, runs.get(column)) for column, paper in columns.items()}
    return _Experiment(name, columns, runs, findings)


def _text(name: str) -> Iterator[str]:
    """The text about something that was written by hand, if there is one."""
    path = FOUND / f"{name}.md"
    if not path.exists():
        return
    try:
        yield path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read {path}: {error}") from error


def _page(parts: Iterable[str]) -> str:
    return "\n\n".join([_NOTE, *parts]) + "\n"


def _overview_page(experiments: Mapping[str, Sequence[_Experiment]]) -> str:
    return _page(
        [
            *_text("preface"),
            "## Overview",
            "\n".join(_overview(experiments)),
            "\n".join(_pages_list(experiments)),
            "## With half the tolerance",
            "Claims that agree with half of each tolerance, to show how much rests on its size.",
            "\n".join(_sensitivity(experiments)),
            "## What it would take to decide the rest",
            "Seeds and CPU hours, if the lab's number stays where it is. Hours are those of the claim's own cells.",
            "\n".join(_costs(experiments)),
            "## Not run",
            "\n".join(_not_run(experiments)),
        ]
    )


def _overview(experiments: Mapping[str, Sequence[_Experiment]]) -> Iterator[str]:
    rows: list[tuple[object, ...]] = []
    for name, each in experiments.items():
        for column in Column:
            for weight in Weight:
                found = _of_weight(each, column, weight)
                rows.append((papers()[name].title, column.head, weight, *_counts(found, _lacking(each, weight))))
    for column in Column:
        everything = [one for each in experiments.values() for one in each]
        found = [finding for weight in Weight for finding in _of_weight(everything, column, weight)]
        lacking = sum(_lacking(everything, weight) for weight in Weight)
        rows.append(("**all**", column.head, "", *_counts(found, lacking)))
    heads = ("paper", "run", "weight", "claims", *Verdict, "agree, of those decided")
    yield from markdown.table(heads, rows, "lll" + "r" * 6)


def _counts(findings: Sequence[Finding], lacking: int) -> tuple[object, ...]:
    """Claims, verdicts, and the part of the decided ones that agree; `lacking` claims cannot be run."""
    claims, agree, disagree, undetermined, not_run = tally(findings)
    decided = agree + disagree
    part = f"{agree / decided:.0%}" if decided else "–"
    return claims + lacking, agree, disagree, undetermined, not_run + lacking, part


def _of_weight(experiments: Sequence[_Experiment], column: Column, weight: Weight) -> list[Finding]:
    return [found for one in experiments for found in one.in_column(column) if found.claim.weight is weight]


def _lacking(experiments: Sequence[_Experiment], weight: Weight) -> int:
    return sum(each.weight is weight for one in experiments for each in one.paper.not_run)


def _pages_list(experiments: Mapping[str, Sequence[_Experiment]]) -> Iterator[str]:
    for name, each in experiments.items():
        parts = ", ".join(f"[{one.name}](fidelity/{name}.md#{one.name})" for one in each)
        yield f"- [{papers()[name].title}](fidelity/{name}.md): {parts}"


def _sensitivity(experiments: Mapping[str, Sequence[_Experiment]]) -> Iterator[str]:
    rows = []
    for name, each in experiments.items():
        for column in Column:
            found = [finding for one in each for finding in one.in_column(column)]
            (_, whole, *_), (_, half, *_) = tally(found), tally(found, 0.5)
            rows.append((papers()[name].title, column.head, whole, half))
    yield from markdown.table(("paper", "run", "agree", "agree, half the tolerance"), rows, "llrr")


def _costs(experiments: Mapping[str, Sequence[_Experiment]]) -> Iterator[str]:
    rows = []
    for each in experiments.values():
        for one in each:
            for column, run in one.runs.items():
                open_claims = [each for each in one.findings[column] if each.verdict() is Verdict.UNDETERMINED]
                at, paper = (f"`{one.name}`", column.head), one.papers[column]
                rows += [(*at, *_cost(paper, run, finding)) for finding in open_claims]
    heads = ("experiment", "run", "claim", "weight", "seeds", "needs", "CPU h")
    yield from markdown.table(heads, rows, "llllrrr")


def _cost(paper: PaperExperiment, run: RecordedRun, finding: Finding) -> tuple[object, ...]:
    needed, claim = finding.seeds_needed, finding.claim
    hours = run.cpu_s / 3600 * _share(paper, claim) * (needed or 0) / max(1, finding.seeds)
    known = (f"{needed:,}", f"{hours:,.2f}") if needed is not None else ("more than 1,000", "")
    return claim.says, claim.weight, finding.seeds, *known


def _share(paper: PaperExperiment, claim: Claim) -> float:
    """The part of an experiment's cells that a claim needs."""
    own = all_cells = 0
    for point in paper.points():
        own += len(set(claim.needs(point)))
        all_cells += len(paper.schemes_at(point))
    return own / all_cells


def _not_run(experiments: Mapping[str, Sequence[_Experiment]]) -> Iterator[str]:
    rows = []
    for name, each in experiments.items():
        title = papers()[name].title
        for what, lacks in papers()[name].experiments.items():
            if lacks is not None:
                rows.append((title, f"`{what}`", "", lacks))
        for one in each:
            rows += [(title, f"`{one.name}`: {lack.says}", lack.weight, lack.lacks) for lack in one.paper.not_run]
            for column, findings in one.findings.items():
                left = [found.claim for found in findings if found.verdict() is Verdict.NOT_RUN]
                rows += [
                    (title, f"`{one.name}`: {claim.says}", claim.weight, f"{column.head}: not run") for claim in left
                ]
    yield from markdown.table(("paper", "claim", "weight", "what the lab lacks"), rows)


def _paper_page(name: str, paper: Paper, experiments: Sequence[_Experiment]) -> str:
    return _page(
        [
            f"# {paper.title}: the paper and the lab",
            f"{paper.source}. How claims are scored: [scoring](../scoring.md). All papers: [fidelity](../fidelity.md).",
            "\n".join(_paper_overview(experiments)),
            f"![Numbers of the lab as multiples of the paper's, with intervals]({name}.png)",
            "Claims with numbers, in the order of the tables. A change is drawn as the ratio of what remains.",
            "## The reading",
            *_reading(paper.reading),
            *_text(name),
            *(part for one in experiments for part in _chapter(one)),
        ]
    )


def _paper_overview(experiments: Sequence[_Experiment]) -> Iterator[str]:
    rows = [
        (f"[{one.name}](#{one.name})", column.head, *_counts(one.in_column(column), len(one.paper.not_run)))
        for one in experiments
        for column in Column
    ]
    yield from markdown.table(
        ("experiment", "run", "claims", *Verdict, "agree, of those decided"), rows, "ll" + "r" * 6
    )


def _reading(reading: Sequence[Assumption]) -> Iterator[str]:
    if not reading:
        yield "The lab's defaults stand for all that the text does not print: both columns are the same."
        return
    yield (
        "What the text does not print, and what *one reading* assumes for it, the same for all claims. *As printed* "
        "takes the lab's defaults instead."
    )
    rows = [
        (each.says, "<br>".join(_settings(each)), each.evidence, ", ".join(each.experiments or ("all",)))
        for each in reading
    ]
    yield "\n".join(markdown.table(("assumption", "settings", "evidence", "experiments"), rows))


def _settings(assumption: Assumption) -> Iterator[str]:
    for key, value in assumption.settings.items():
        yield f"`{key}: {value}`"
    for scheme, params in assumption.schemes.items():
        yield from (f"`{scheme}:{key}={value}`" for key, value in params.items())


def _chapter(one: _Experiment) -> Iterator[str]:
    """An experiment: what was run, its table, and why lab and paper differ."""
    yield f"## {one.name}"
    yield f"{one.paper.title}. {one.paper.paper}."
    yield "\n".join(f"- {said}" for said in _runs(one))
    yield "\n".join(claims_table(one.findings))
    yield from filter(None, ["\n".join(_differences(one))])
    yield from _text(one.name)
    yield from filter(None, ["\n".join(f"- {remark}" for remark in one.paper.remarks)])


def _runs(one: _Experiment) -> Iterator[str]:
    for column, paper in one.papers.items():
        run = one.runs.get(column)
        if run is None:
            yield f"{column.head}: not run"
            continue
        hours = f"{run.cpu_s / 3600:.2f} CPU hours"
        yield f"{column.head}: {effort(run.sized(paper))}; {run.date}{_at(run.commit)}, {hours}"
        yield from (f"{column.head}, a warning: {warning}" for warning in run.warnings)


def _differences(one: _Experiment) -> Iterator[str]:
    """Of claims that disagree with the reading, what explains them, or what was varied without explaining them."""
    tried, left = recorded_variations(one.name), []
    for found in one.in_column(Column.READING):
        says = found.claim.says
        if found.verdict() is not Verdict.DISAGREES:
            continue
        if says in tried:
            yield f"- **{says}**: {_why(tried[says])}"
        else:
            left.append(says)
    kept = read_record(one.name).variations
    if tried and kept is not None:
        yield f"- {_size_of_variations(one, kept)}"
    if left:
        yield f"- Unexplained, nothing was varied yet: {'; '.join(left)}."


def _why(tried: Sequence[Tried]) -> str:
    """What was varied for a claim, by what it did."""
    by_effect = {effect: [each for each in tried if each.effect is effect] for effect in Effect}
    explains, moves = by_effect[Effect.EXPLAINS], by_effect[Effect.MOVES]
    said = [f"explained by {_numbers(explains)}" if explains else "unexplained"]
    said[0] += f"; as it is {brief_text(tried[0].as_it_is)}"
    if moves:
        said.append(f"{'Also moved' if explains else 'Moved, without agreeing,'} by {_numbers(moves)}")
    for effect, words in ((Effect.NOTHING, "Not moved by"), (Effect.UNKNOWN, "No number with")):
        if by_effect[effect]:
            said.append(f"{words} {', '.join(f'*{each.says}*' for each in by_effect[effect])}")
    return ". ".join(said) + "."


def _numbers(tried: Sequence[Tried]) -> str:
    return ", ".join(f"*{each.says}* ({brief_text(each.finding)})" for each in tried)


def _size_of_variations(one: _Experiment, kept: RecordedVariations) -> str:
    paper = one.papers.get(Column.READING, one.paper).with_effort(kept.effort)
    hours = f"{kept.cpu_s / 3600:.2f} CPU hours"
    return f"Varied one at a time, from the reading: {effort(paper)}; {kept.date}{_at(kept.commit)}, {hours}."


def _at(commit: str | None) -> str:
    if commit is None:
        return ""
    changed = ", with changes" if commit.endswith("-dirty") else ""
    return f" at commit {commit[:10]}{changed}"


def findings_of(name: str, column: Column) -> Sequence[Finding]:
    """The recorded findings that count for a column of an experiment."""
    return _read(name).in_column(column)
