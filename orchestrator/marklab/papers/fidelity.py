# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes docs/fidelity.md: the papers' claims beside the lab's findings, why they differ, and what is missing.

Numbers come from `experiments/found/ID.json`. In the same folder, `ID.md` is the text under a table, `PAPER.md` the
text after a paper's experiments, and `preface.md` the head of the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from marklab.errors import BadInput
from marklab.papers.claims import NEAR_POINTS, NEAR_RATIO, Agreement, Finding, PaperExperiment, load_experiment
from marklab.papers.found import FOUND, Record, RecordedRun, read_record, recorded_findings
from marklab.papers.papers import Paper, papers
from marklab.papers.table import claims_table, tally
from marklab.paths import REPOSITORY
from marklab.tables import markdown

PAGE = REPOSITORY / "docs" / "fidelity.md"

_NOTE = "<!-- Written by `python orchestrator.py fidelity` from experiments/; what is changed here is lost. -->"

_LEGEND = f"""\
Number of claims that agree: a change (or a fraction, in percent) within {NEAR_POINTS:g} points of the paper's, any
other number within {100 * NEAR_RATIO:g} % of it, a bound exceeded by at most {NEAR_POINTS:g} points, or the same
direction if the paper has no number. *Same sign* counts changes that are further away, but in the paper's direction."""


@dataclass(frozen=True)
class _Experiment:
    name: str
    paper: PaperExperiment
    record: Record
    findings: Sequence[Finding]


def fidelity_page() -> str:
    """Write the page.

    Raises BadInput for an experiment without findings, or with findings of claims that it does not make.
    """
    known = papers()
    experiments = {name: [_read(each) for each in paper.runnable] for name, paper in known.items()}
    parts = [
        _NOTE,
        _text("preface"),
        "## Overview",
        _LEGEND,
        "\n".join(_overview(known, experiments)),
        "\n".join(_contents(known)),
        *(part for name in known for part in _chapter(name, experiments[name])),
        "## Missing",
        "\n".join(_missing(known, experiments)),
    ]
    return "\n\n".join(parts) + "\n"


def _read(name: str) -> _Experiment:
    paper, record = load_experiment(name), read_record(name)
    return _Experiment(name, paper, record, recorded_findings(name, paper, record))


def _text(name: str) -> str:
    """The text about something that was written by hand; empty if there is none."""
    path = FOUND / f"{name}.md"
    try:
        return path.read_text(encoding="utf-8").strip() if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read {path}: {error}") from error


def _overview(known: dict[str, Paper], experiments: dict[str, list[_Experiment]]) -> Iterator[str]:
    rows: dict[str, list[Finding]] = {}
    for name, each in experiments.items():
        rows |= {f"`{one.name}`": list(one.findings) for one in each}
        if each:
            rows[f"**{known[name].title}**"] = [finding for one in each for finding in one.findings]
    rows["**all**"] = [finding for each in experiments.values() for one in each for finding in one.findings]
    columns = ["", "claims", *Agreement]
    yield from markdown.table(
        columns, [(what, *tally(found)) for what, found in rows.items()], "l" + "r" * (len(columns) - 1)
    )


def _contents(known: dict[str, Paper]) -> Iterator[str]:
    for name, paper in known.items():
        sections = [*paper.runnable, *re.findall(r"^## (.*)$", _text(name), re.MULTILINE)]
        if sections:
            yield f"- {paper.title}: {', '.join(map(_link, sections))}"
    yield f"- {_link('Missing')}"


def _link(heading: str) -> str:
    """A link to a heading, whose anchor is made as GitHub makes it."""
    anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
    return f"[{heading}](#{anchor})"


def _chapter(name: str, experiments: Sequence[_Experiment]) -> Iterator[str]:
    """Sections of a paper's experiments, and the text about the paper as a whole."""
    for one in experiments:
        yield f"## {one.name}"
        yield f"{one.paper.title}. {one.paper.paper}."
        efforts = [_effort(run) for run in one.record.runs]
        if len(efforts) > 1:
            yield "\n".join(f"{number}. {effort}" for number, effort in enumerate(efforts, 1))
        else:
            yield from efforts
        yield "\n".join(_table(one))
        yield from filter(None, [_text(one.name)])
    yield from filter(None, [_text(name)])


def _effort(run: RecordedRun) -> str:
    if run.commit is None:
        return f"{run.effort}."
    commit, _, dirty = run.commit.partition("-")
    return f"{run.effort}, at commit {commit[:10]}{' with changes' if dirty else ''}."


def _table(one: _Experiment) -> list[str]:
    """Claims, each with the number of its run if there are several."""
    runs = {claim.says: number for number, run in enumerate(one.record.runs, 1) for claim in run.claims}
    several = len(one.record.runs) > 1
    return claims_table(one.findings, runs if several else {})


def _missing(known: dict[str, Paper], experiments: dict[str, list[_Experiment]]) -> Iterator[str]:
    rows: list[tuple[str, str, str]] = []
    for name, paper in known.items():
        lacking = {f"`{name}`": lacks for name, lacks in paper.experiments.items() if lacks is not None}
        left = [f"`{one.name}`: {says}" for one in experiments[name] for says in _not_run(one)]
        rows += [(paper.title, what, why) for what, why in [*lacking.items(), *((what, "not run") for what in left)]]
    yield from markdown.table(("paper", "experiment", "what the lab lacks"), rows)


def _not_run(one: _Experiment) -> list[str]:
    return [finding.claim.says for finding in one.findings if finding.agreement is Agreement.NOT_RUN]
