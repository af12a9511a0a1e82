# SPDX-License-Identifier: MIT OR Apache-2.0
"""The page of one paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from marklab.papers.claims import Weight
from marklab.papers.experiment import Column
from marklab.papers.pages.recorded import RecordedExperiment, verdict_counts
from marklab.papers.pages.why import at_commit, differences, in_brief
from marklab.papers.papers import Paper
from marklab.papers.reading import Assumption
from marklab.papers.records import recorded_variations, texts_about
from marklab.papers.table import brief_text, claims_table, effort, paper_text
from marklab.papers.verdicts import Verdict
from marklab.tables import markdown


def paper_parts(name: str, paper: Paper, experiments: Sequence[RecordedExperiment]) -> list[str]:
    """The parts of the page of a paper that is called `name`."""
    return [
        f"# {paper.title}: the paper and the lab",
        f"{paper.source}. How claims are scored: [scoring](../scoring.md). All papers: [fidelity](../fidelity.md).",
        "## In short",
        "What abstract, introduction and conclusion rest on, with *one reading*. The tables below have all claims.",
        "\n".join(_headlines(experiments)),
        "\n".join(_paper_overview(experiments)),
        f"![Numbers of the lab as multiples of the paper's, with intervals]({name}.png)",
        "Claims with numbers, in the order of the tables. A change is drawn as the ratio of what remains.",
        "## The reading",
        *_reading(paper.reading),
        *texts_about(name),
        *(part for one in experiments for part in _chapter(one)),
    ]


def _headlines(experiments: Sequence[RecordedExperiment]) -> Iterator[str]:
    rows: list[tuple[str, ...]] = []
    for one in experiments:
        tried = recorded_variations(one.name)
        for printed, found in zip(one.in_column(Column.PRINTED), one.in_column(Column.READING), strict=True):
            claim = found.claim
            if claim.weight is not Weight.HEADLINE:
                continue
            what = f"[{one.name}](#{one.name}): {claim.says}"
            why = in_brief(found, tried.get(claim.says, ()))
            verdicts = (f"**{found.verdict()}**", str(printed.verdict()))
            rows.append((what, paper_text(claim).splitlines()[0], brief_text(found), *verdicts, why))
        rows += [
            (f"[{one.name}](#{one.name}): {each.says}", "", "", "**not run**", "not run", f"the lab lacks {each.lacks}")
            for each in one.paper.not_run
            if each.weight is Weight.HEADLINE
        ]
    heads = ("claim", "paper", "lab", "verdict", "as printed", "why not, or what would decide it")
    yield from markdown.table(heads, rows, "lrrlll")


def _paper_overview(experiments: Sequence[RecordedExperiment]) -> Iterator[str]:
    rows = [
        (f"[{one.name}](#{one.name})", column.head, *verdict_counts(one.in_column(column), len(one.paper.not_run)))
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


def _chapter(one: RecordedExperiment) -> Iterator[str]:
    """An experiment: what was run, its table, and why lab and paper differ."""
    yield f"## {one.name}"
    yield f"{one.paper.title}. {one.paper.paper}."
    yield "\n".join(f"- {said}" for said in _runs(one))
    yield "\n".join(claims_table(one.findings))
    yield from filter(None, ["\n".join(differences(one))])
    yield from texts_about(one.name)
    yield from filter(None, ["\n".join(f"- {remark}" for remark in one.paper.remarks)])


def _runs(one: RecordedExperiment) -> Iterator[str]:
    for column, paper in one.papers.items():
        run = one.runs.get(column)
        if run is None:
            yield f"{column.head}: not run"
            continue
        hours = f"{run.cpu_s / 3600:.2f} CPU hours"
        yield f"{column.head}: {effort(run.sized(paper))}; {run.date}{at_commit(run.commit)}, {hours}"
        yield from (f"{column.head}, a warning: {warning}" for warning in run.warnings)
