# SPDX-License-Identifier: MIT OR Apache-2.0
"""The page of all papers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from marklab.papers.claims import Claim, Weight
from marklab.papers.experiment import Column, PaperExperiment
from marklab.papers.findings import Finding
from marklab.papers.pages.hours import hours_table
from marklab.papers.pages.recorded import RecordedExperiment, lacking_in, of_weight, verdict_counts
from marklab.papers.papers import papers
from marklab.papers.records import RecordedRun, recorded_variations, texts_about
from marklab.papers.table import tally
from marklab.papers.variations import Effect, Tried
from marklab.papers.verdicts import Verdict
from marklab.tables import markdown

_FULL_SIZE = """\
CPU hours of all experiments in the size of their files. What was recorded smaller, or in the other column only, is
scaled by the bytes of its flows. The aim is at most 24 for both runs of a paper, which are 12 hours on 2 cores."""


_OTHER_SETTINGS = """\
Claims that disagree with the reading, and what its variations make of them. The last column gives each claim the
variation that suits it best. That would be a reading per claim, which this page does not count: it is the most that
these variations could reach."""


def overview_parts(experiments: Mapping[str, Sequence[RecordedExperiment]]) -> list[str]:
    """The parts of the page, by the experiments of each paper."""
    return [
        *texts_about("preface"),
        "## Overview",
        "\n".join(_overview(experiments)),
        "\n".join(_pages_list(experiments)),
        "## With half the tolerance",
        "Claims that agree with half of each tolerance, to show how much rests on its size.",
        "\n".join(_sensitivity(experiments)),
        "## How far other settings would go",
        _OTHER_SETTINGS,
        "\n".join(_other_settings(experiments)),
        "## What it would take to decide the rest",
        "Seeds and CPU hours, if the lab's number stays where it is. Hours are those of the claim's own cells.",
        "\n".join(_costs(experiments)),
        "## What the full size takes",
        _FULL_SIZE,
        "\n".join(hours_table(experiments)),
        "## Not run",
        "\n".join(_not_run(experiments)),
    ]


def _overview(experiments: Mapping[str, Sequence[RecordedExperiment]]) -> Iterator[str]:
    rows: list[tuple[object, ...]] = []
    for name, each in experiments.items():
        for column in Column:
            at = (papers()[name].title, column.head)
            for weight in Weight:
                found = of_weight(each, column, weight)
                rows.append((*at, weight, *verdict_counts(found, lacking_in(each, weight))))
            rows.append((*at, "all", *_counts_of_all(each, column)))
    everything = [one for each in experiments.values() for one in each]
    rows += [("**all**", column.head, "all", *_counts_of_all(everything, column)) for column in Column]
    heads = ("paper", "run", "weight", "claims", *Verdict, "agree, of those decided")
    yield from markdown.table(heads, rows, "lll" + "r" * 6)


def _counts_of_all(experiments: Sequence[RecordedExperiment], column: Column) -> tuple[object, ...]:
    found = [finding for one in experiments for finding in one.in_column(column)]
    return verdict_counts(found, sum(lacking_in(experiments, weight) for weight in Weight))


def _pages_list(experiments: Mapping[str, Sequence[RecordedExperiment]]) -> Iterator[str]:
    for name, each in experiments.items():
        parts = ", ".join(f"[{one.name}](fidelity/{name}.md#{one.name})" for one in each)
        yield f"- [{papers()[name].title}](fidelity/{name}.md): {parts}"


def _sensitivity(experiments: Mapping[str, Sequence[RecordedExperiment]]) -> Iterator[str]:
    rows = []
    for name, each in experiments.items():
        for column in Column:
            found = [finding for one in each for finding in one.in_column(column)]
            (_, whole, *_), (_, half, *_) = tally(found), tally(found, 0.5)
            rows.append((papers()[name].title, column.head, whole, half))
    yield from markdown.table(("paper", "run", "agree", "agree, half the tolerance"), rows, "llrr")


def _other_settings(experiments: Mapping[str, Sequence[RecordedExperiment]]) -> Iterator[str]:
    rows: list[tuple[object, ...]] = []
    for name, each in experiments.items():
        _, agree, disagree, *_ = tally([found for one in each for found in one.in_column(Column.READING)])
        tried = [tried for one in each for tried in _tried_on_disagreeing(one)]
        effects = [{one.effect for one in of_claim} for of_claim in tried]
        explained = sum(Effect.EXPLAINS in each for each in effects)
        moved = sum(Effect.MOVES in each and Effect.EXPLAINS not in each for each in effects)
        decided = max(1, agree + disagree)
        shares = (
            f"{agree / decided:.0%}",
            disagree,
            len(tried),
            explained,
            moved,
            f"{(agree + explained) / decided:.0%}",
        )
        rows.append((papers()[name].title, *shares))
    heads = ("paper", "agree", "disagree", "varied", "explained", "moved", "agree, the best for each claim")
    yield from markdown.table(heads, rows, "lrrrrrr")


def _tried_on_disagreeing(one: RecordedExperiment) -> Iterator[list[Tried]]:
    """What was tried on each claim that disagrees with the reading and was varied."""
    tried = recorded_variations(one.name)
    for found in one.in_column(Column.READING):
        if found.verdict() is Verdict.DISAGREES and found.claim.says in tried:
            yield tried[found.claim.says]


def _costs(experiments: Mapping[str, Sequence[RecordedExperiment]]) -> Iterator[str]:
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


def _not_run(experiments: Mapping[str, Sequence[RecordedExperiment]]) -> Iterator[str]:
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
