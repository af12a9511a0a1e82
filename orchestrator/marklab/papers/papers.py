# SPDX-License-Identifier: MIT OR Apache-2.0
"""The papers: which experiments each has, and what of them the lab cannot run. Read from `experiments/papers.yaml`."""

from __future__ import annotations

from functools import cache

from marklab.errors import BadInput, unknown
from marklab.model import Model, read_yaml, validate
from marklab.papers.claims import PAPERS, known_experiments

ALL = "all"


class Paper(Model):
    """A paper. `experiments` are all that it has, each with what of it the lab lacks, or None."""

    title: str
    source: str
    experiments: dict[str, str | None]

    @property
    def runnable(self) -> list[str]:
        """Its experiments that have a file, and so can be run."""
        return [name for name in self.experiments if name in known_experiments()]


@cache
def papers() -> dict[str, Paper]:
    """The papers by their short names.

    Raises BadInput for an experiment without a file and without what is missing, and for a file that no paper has.
    """
    found = {name: validate(Paper, plain, f"{PAPERS}: {name}") for name, plain in read_yaml(PAPERS).items()}
    listed = {name: lacks for paper in found.values() for name, lacks in paper.experiments.items()}
    for name, path in known_experiments().items():
        if name not in listed:
            raise BadInput(f"{path} is an experiment of no paper", f"add `{name}` to one in {PAPERS}")
    for name, lacks in listed.items():
        if lacks is None and name not in known_experiments():
            raise BadInput(f"{PAPERS}: there is no file of `{name}`", "write it, or say what is missing")
    return found


def experiments_called(name: str) -> list[str]:
    """Experiments by the name of one, of a paper, or `all`; of a paper those that can be run.

    Raises BadInput for a name that is unknown, or of what cannot be run.
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
