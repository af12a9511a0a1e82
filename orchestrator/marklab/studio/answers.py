# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the runs of a lesson have measured, and whether a student's answer agrees with it.

A run counts for a lesson by its folder, whose name has the digest of all that decides the result. So it may be of the
page, of an earlier one, or of the command line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from marklab.catalog.choice import parse_choice
from marklab.errors import unknown
from marklab.prepare.experiment import prepare
from marklab.results.folders import load_run
from marklab.results.metric import find_metric
from marklab.results.summary import SeedResult, Summary
from marklab.studio.form import described
from marklab.studio.history import folder_of
from marklab.studio.lesson import Claim, Lesson, PlannedRun

_NONE = "–"

Seeds = tuple[SeedResult, ...]


@dataclass(frozen=True)
class Judged:
    """A claim with the figures that it is about."""

    holds: bool
    text: str


@dataclass(frozen=True)
class Verdict:
    """Whether the runs agree with a choice, claim by claim; `because` explains the lesson's answer."""

    agrees: bool
    claims: list[Judged]
    because: str | None


@dataclass(frozen=True)
class Answer:
    """Which runs were made, their figures as a table, and the verdict about a choice, once all runs were made."""

    made: list[str]
    missing: list[str]
    heads: list[str]
    rows: list[list[str]]
    verdict: Verdict | None


def folder_name(run: PlannedRun) -> str:
    """The name of the folder that the run has among results."""
    return prepare(described([run.scheme], run.params, run.settings)).folder_name


def answer_of(lesson: Lesson, out: Path, choice: int | None, latest: str | None) -> Answer:
    """What the runs in the folder of results say about a choice, which counts from 0.

    `latest` is the folder of a run that a person has made; its figures are shown as well. Raises BadInput for a choice
    or a folder that there is not.
    """
    question = lesson.question
    if choice is not None and choice >= len(question.choices):
        raise unknown("choice", str(choice), [str(number) for number in range(len(question.choices))])
    folders = {name: out / folder_name(run) for name, run in lesson.runs.items()}
    found = {name: _measured(folder) for name, folder in folders.items() if (folder / "summary.json").is_file()}
    columns = {lesson.runs[name].label: seeds for name, seeds in found.items()}
    if latest is not None and folder_of(out, latest) not in folders.values():
        columns["your last run"] = _measured(out / latest)
    missing = [run.label for name, run in lesson.runs.items() if name not in found]
    return Answer(
        list(found),
        missing,
        list(columns),
        [[label, *(_text(metric, each) for each in columns.values())] for metric, label in question.figures.items()],
        _verdict(lesson, choice, found) if choice is not None and not missing else None,
    )


def _measured(folder: Path) -> Seeds:
    """The seeds of the scheme that the run is about: the last one that was asked for, which a person has changed."""
    summary: Summary = load_run(folder)
    return tuple(summary.schemes[parse_choice(summary.spec["schemes"][-1]).label].seeds)


def _verdict(lesson: Lesson, choice: int, found: Mapping[str, Seeds]) -> Verdict:
    question = lesson.question
    claims = [_judged(lesson, claim, found) for claim in question.choices[choice].claims]
    agrees = all(each.holds for each in claims)
    explained = agrees and choice + 1 == question.answer
    return Verdict(agrees, claims, " ".join(question.because.split()) if explained else None)


def _judged(lesson: Lesson, claim: Claim, found: Mapping[str, Seeds]) -> Judged:
    texts = [f"{_text(claim.metric, found[name])} ({lesson.runs[name].label})" for name in (claim.run, claim.of)]
    text = f"{lesson.question.figures[claim.metric]}: {' / '.join(texts)}"
    value, other = (_value(claim.metric, found[name]) for name in (claim.run, claim.of))
    if value is None or other is None:
        return Judged(False, text)
    ratio = f" = {value / other:.3g}" if other else ""
    return Judged(claim.holds(value, other), f"{text}{ratio} ({claim.says})")


def _value(name: str, seeds: Seeds) -> float | None:
    metric = find_metric(name)
    per_seed = metric.per_seed(seeds)
    if per_seed is None:
        return None
    return per_seed[0] * len(seeds) if metric.counted else per_seed[0]


def _text(name: str, seeds: Seeds) -> str:
    metric = find_metric(name)
    text = metric.text(seeds, bounds=False)
    return f"{text} {metric.unit}".strip() if text else _NONE
