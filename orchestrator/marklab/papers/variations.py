# SPDX-License-Identifier: MIT OR Apache-2.0
"""Why the lab's numbers differ from a paper's: what was varied, one change at a time, and what that did.

A paper lists its variations in `experiments/papers.yaml`. They start from the paper's one reading, and are about the
claims that disagree with it. A change that makes such a claim agree is its cause; all others say what it is not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from marklab.errors import BadInput
from marklab.papers.claims import Claim
from marklab.papers.experiment import Column, PaperExperiment, runs_of
from marklab.papers.findings import Finding
from marklab.papers.papers import columns_of, paper_of
from marklab.papers.reading import Change, with_change
from marklab.papers.verdicts import Verdict


class Effect(StrEnum):
    """What a change did to a claim's number."""

    EXPLAINS = "explains it"
    MOVES = "moves it"
    NOTHING = "no difference"
    UNCLEAR = "too few runs to tell"
    UNKNOWN = "no number"  # as of a flow that never gets to its share


@dataclass(frozen=True)
class Tried:
    """A claim under a change, beside the same claim of the same size without it."""

    says: str
    finding: Finding
    as_it_is: Finding

    @property
    def effect(self) -> Effect:
        """A number that lies within the noise of the other has not moved, if the noise leaves both their verdicts."""
        if self.finding.value is None:
            return Effect.UNKNOWN
        if self.finding.verdict() is Verdict.AGREES and self.as_it_is.verdict() is not Verdict.AGREES:
            return Effect.EXPLAINS
        one, other = self.finding.interval, self.as_it_is.interval
        if one is not None and other is not None and (one[0] > other[1] or other[0] > one[1]):
            return Effect.MOVES
        if Verdict.UNDETERMINED in (self.finding.verdict(), self.as_it_is.verdict()):
            return Effect.UNCLEAR
        return Effect.NOTHING


def varied_experiment(name: str) -> PaperExperiment:
    """The experiment from which variations start: with its paper's reading, if that changes it."""
    columns = columns_of(name)
    return columns.get(Column.READING, columns[Column.PRINTED])


def variations_of(name: str) -> list[Change]:
    """The variations of an experiment."""
    return [change for change in paper_of(name).variations if change.is_about(name)]


def about(paper: PaperExperiment, claims: Sequence[Claim]) -> PaperExperiment:
    """The experiment with only these claims, without rows below them, and so with fewer points."""
    says = {claim.says for claim in claims}
    kept = tuple(claim.model_copy(update={"also": ()}) for claim in paper.claims if claim.says in says)
    return paper.model_copy(update={"claims": kept})


def settings_digest(paper: PaperExperiment) -> str:
    """Digest of all that an experiment runs, whatever its size."""
    runs = []
    for point, spec, labels in runs_of(paper):
        plain = {key: value for key, value in spec.to_plain().items() if key not in ("flows", "seeds")}
        runs.append([point, plain, labels])
    return hashlib.sha256(json.dumps(runs, sort_keys=True).encode()).hexdigest()[:16]


def digests_of_variations(name: str) -> dict[str, str]:
    """The digests of an experiment's variations by what they say, and its own by an empty text."""
    paper = varied_experiment(name)
    digests = {"": settings_digest(paper)}
    for change in variations_of(name):
        try:
            digests[change.says] = settings_digest(with_change(paper, change))
        except BadInput as error:
            raise BadInput(f"the variation `{change.says}` of {name}: {error}", error.remedy) from error
        if digests[change.says] == digests[""]:
            raise BadInput(f"the variation `{change.says}` of {name} changes nothing", "leave it out of papers.yaml")
    return digests
