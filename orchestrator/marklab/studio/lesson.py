# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lessons: short texts for students, with runs to make and a question that these runs answer."""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from marklab.errors import BadInput, unknown
from marklab.model import Model, Part, read_described
from marklab.results.metric import find_metric
from marklab.studio.programs import program_named
from marklab.studio.questions import Settings

LESSONS = Path(__file__).with_name("lessons")


class Is(StrEnum):
    """How a figure of one run compares with that of another."""

    AT_LEAST = "at least"
    AT_MOST = "at most"
    WITHIN = "within"
    BEYOND = "beyond"


class Claim(Model):
    """How a figure of a run compares with that of another run, the one it is `of`.

    It is at least, or at most, `times` that of the other run; or it differs by at most, or by more than, a `part` of
    it.
    """

    metric: str
    run: str
    is_: Is = Field(alias="is")
    times: float | None = Field(default=None, gt=0)
    part: Part | None = Field(default=None, gt=0, lt=1)
    of: str

    @model_validator(mode="after")
    def _has_its_number(self) -> Claim:
        needed, other = ("times", "part") if self.is_ in (Is.AT_LEAST, Is.AT_MOST) else ("part", "times")
        if getattr(self, needed) is None or getattr(self, other) is not None:
            raise BadInput(f"`{self.is_}` needs `{needed}`, and no `{other}`")
        find_metric(self.metric)
        return self

    @property
    def says(self) -> str:
        """What it says of the ratio."""
        return (
            f"{self.is_} {self.times:g}" if self.times is not None else f"{self.is_} {100 * (self.part or 0):g} % of 1"
        )

    def holds(self, value: float, other: float) -> bool:
        """Whether it holds of the run's figure and the other run's."""
        if self.times is not None:
            bound = self.times * other
            return value >= bound if self.is_ is Is.AT_LEAST else value <= bound
        near = abs(value - other) <= (self.part or 0) * abs(other)
        return near if self.is_ is Is.WITHIN else not near


class Choice(Model):
    """An answer that a student may choose, and what it says about the runs."""

    says: str
    claims: tuple[Claim, ...] = Field(min_length=1)


class Question(Model):
    """What the runs answer: `figures` are metrics with their names, `answer` is the number of a choice, from 1."""

    text: str
    figures: dict[str, str] = Field(min_length=1)
    choices: tuple[Choice, ...] = Field(min_length=2, max_length=4)
    answer: int = Field(ge=1)
    because: str

    @model_validator(mode="after")
    def _consistent(self) -> Question:
        if self.answer > len(self.choices):
            raise BadInput(f"there is no choice {self.answer}", "the number of a choice, from 1").at("answer")
        for number, choice in enumerate(self.choices):
            for claim in choice.claims:
                if claim.metric not in self.figures:
                    raise unknown("figure of the question:", claim.metric, self.figures).at("choices", number)
        return self


class PlannedRun(Settings):
    """A run of a scheme, by its name among the runs of the lesson and in words."""

    id: str = Field(pattern=r"^[a-z0-9-]{1,30}$")
    label: str
    scheme: str

    @model_validator(mode="after")
    def _can_be_asked_for(self) -> PlannedRun:
        program_named(self.scheme)
        self.words(lab=False)
        return self


class Step(Model):
    """What to read, and a run to make and look at."""

    text: str
    run: PlannedRun | None = None


class Lesson(Model):
    """A lesson. `settings` are those of all its runs."""

    title: str
    text: str
    settings: dict[str, str] = Field(default_factory=dict)
    steps: tuple[Step, ...] = Field(min_length=1)
    question: Question

    @model_validator(mode="after")
    def _runs_are_there(self) -> Lesson:
        names = [step.run.id for step in self.steps if step.run is not None]
        if len(set(names)) < len(names):
            raise BadInput(f"two runs have one id: {', '.join(names)}", "another id").at("steps")
        for number, choice in enumerate(self.question.choices):
            for name in (name for claim in choice.claims for name in (claim.run, claim.of)):
                if name not in names:
                    raise unknown("run of the lesson", name, names).at("question", "choices", number)
        return self

    @property
    def runs(self) -> dict[str, PlannedRun]:
        """Its runs by their names, with all of their settings."""
        planned = [step.run for step in self.steps if step.run is not None]
        return {run.id: run.model_copy(update={"settings": self.settings | run.settings}) for run in planned}

    def for_page(self, name: str) -> dict[str, Any]:
        """What a page shows of it before the question is answered."""
        runs = self.runs
        return {
            "id": name,
            "title": self.title,
            "text": paragraphs(self.text),
            "steps": [
                {
                    "text": paragraphs(step.text),
                    "run": runs[step.run.id].model_dump(mode="json") if step.run is not None else None,
                }
                for step in self.steps
            ],
            "question": {
                "text": paragraphs(self.question.text),
                "choices": [choice.says for choice in self.question.choices],
            },
        }


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a text of which a file has lines."""
    return [" ".join(each.split()) for each in text.strip().split("\n\n")]


@cache
def lessons() -> dict[str, Lesson]:
    """All lessons by the names of their files, in order."""
    return {path.stem: read_described(Lesson, path) for path in sorted(LESSONS.glob("*.yaml"))}


def lesson_named(name: str) -> Lesson:
    """A lesson by its name. Raises BadInput for another name."""
    if name not in lessons():
        raise unknown("lesson", name, lessons())
    return lessons()[name]
