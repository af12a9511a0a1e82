# SPDX-License-Identifier: MIT OR Apache-2.0
"""The papers: their experiments, and what the lab cannot run of them. Read from `experiments/papers.yaml`."""

from __future__ import annotations

from functools import cache

from pydantic import model_validator

from marklab.errors import BadInput, unknown
from marklab.model import Model, Place, line_of, read_yaml, validate
from marklab.papers.experiment import PAPERS, Column, PaperExperiment, known_experiments, load_experiment
from marklab.papers.reading import Assumption, Change, with_reading

ALL = "all"


class Paper(Model):
    """A paper. `experiments` lists all of its experiments, each with what the lab lacks for it, or None.

    `reading` has what the lab assumes where the paper's text is silent: one setting for all of its claims.
    `variations` are changes of it that may explain why lab and paper differ.
    """

    title: str
    source: str
    experiments: dict[str, str | None]
    reading: tuple[Assumption, ...] = ()
    variations: tuple[Change, ...] = ()

    @model_validator(mode="after")
    def _changes_of_its_experiments(self) -> Paper:
        for field, changes in (("reading", self.reading), ("variations", self.variations)):
            for number, change in enumerate(changes):
                for name in change.experiments or ():
                    if name not in self.experiments:
                        raise unknown("experiment of the paper", name, self.experiments).at(field, number)
        return self

    @model_validator(mode="after")
    def _variations_by_what_they_say(self) -> Paper:
        for number, change in enumerate(self.variations):
            for other in self.variations[:number]:
                if change.says == other.says and any(
                    change.is_about(name) and other.is_about(name) for name in self.experiments
                ):
                    remedy = "variations are known by what they say: add what differs"
                    raise BadInput(f"two variations say `{change.says}`", remedy).at("variations", number)
        return self

    @property
    def runnable(self) -> list[str]:
        """Its experiments that can be run, because they have a file."""
        return [name for name in self.experiments if name in known_experiments()]


@cache
def papers() -> dict[str, Paper]:
    """The papers by their short names.

    Raises BadInput for an experiment that has neither a file nor a reason, and for a file that belongs to no paper.
    """
    found = {
        name: validate(Paper, plain, str(PAPERS), lambda place, name=name: line_of(PAPERS, (name, *place)))  # type: ignore[misc]
        for name, plain in read_yaml(PAPERS).items()
    }
    listed = {name: lacks for paper in found.values() for name, lacks in paper.experiments.items()}
    for name, path in known_experiments().items():
        if name not in listed:
            raise BadInput(f"{path} belongs to no paper", f"add `{name}` to one in {PAPERS}")
    for name, lacks in listed.items():
        if lacks is None and name not in known_experiments():
            raise BadInput(f"{PAPERS}: there is no file of `{name}`", "write it, or say what is missing")
    return found


def experiments_called(name: str) -> list[str]:
    """Experiments by the name of an experiment or a paper, or `all`. Only experiments that can be run are included.

    Raises BadInput for an unknown name, and if nothing of that name can be run.
    """
    if name in known_experiments():
        return [name]
    if name == ALL:
        return [each for paper in papers().values() for each in paper.runnable]
    if name in papers():
        if not papers()[name].runnable:
            raise BadInput(f"no experiment of `{name}` can be run yet", "`reproduce list` says what is missing")
        return papers()[name].runnable
    for paper in papers().values():
        if name in paper.experiments:
            raise BadInput(f"`{name}` cannot be run yet", f"it needs {paper.experiments[name]}")
    raise unknown("experiment or paper", name, [*known_experiments(), *papers(), ALL])


def paper_of(name: str) -> Paper:
    """The paper of an experiment."""
    return next(paper for paper in papers().values() if name in paper.experiments)


def columns_of(name: str) -> dict[Column, PaperExperiment]:
    """An experiment as printed and with its paper's reading, if that changes it.

    Raises BadInput, with the line, for a reading that sets what the paper prints.
    """
    printed = load_experiment(name)
    of, paper = next((key, paper) for key, paper in papers().items() if name in paper.experiments)
    if not any(assumption.is_about(name) for assumption in paper.reading):
        return {Column.PRINTED: printed}

    def where(place: Place) -> str:
        return f"{PAPERS}, line {line_of(PAPERS, (of, 'reading', *place))}"

    read = with_reading(name, printed, paper.reading, where)
    same = (read.setup, read.schemes) == (printed.setup, printed.schemes)
    return {Column.PRINTED: printed} if same else {Column.PRINTED: printed, Column.READING: read}
