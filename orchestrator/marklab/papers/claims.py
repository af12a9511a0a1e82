# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a paper states about a measured result, in a form that a run can be held against."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from marklab.catalog.choice import parse_choice
from marklab.errors import BadInput
from marklab.model import Model
from marklab.results.metric import find_metric

Settings = dict[str, Any]

# A scheme's name as in results, whatever the order of its parameters in the file.
Label = Annotated[str, AfterValidator(lambda text: parse_choice(text).label)]

Take = Literal["only", "lowest", "highest", "farthest"]


class Weight(StrEnum):
    """What rests on a claim: the abstract or the conclusion, a main figure or table, or nothing in particular."""

    HEADLINE = "headline"
    FIGURE = "figure"
    REMARK = "remark"


class Row(Model):
    """A claim's number under another setting: a row below the claim, which is shown and never counted.

    What is not None replaces what the claim has.
    """

    says: str
    metric: str | None = None
    of: Label | None = None
    over: Label | None = None
    at: Settings | None = None
    over_at: Settings | None = None
    take: Take | None = None
    # What the paper has there, if it prints it, beside the number that is counted.
    paper: float | None = None


class Claim(Model):
    """A number, bound or direction that the paper states.

    With `over` the number is the change of the metric in percent, otherwise the metric itself. `at` selects points of
    the grid. `over_at` selects the point of `over` if it differs: `at: {transport.control: ear}, over_at:
    {transport.control: dctcp}` is a change from DCTCP to EAR. `over_metric` is the metric of `over` if it differs.
    `minus` selects the point of another change, which is subtracted from the claim's: `at: {load: 0.9}, minus: {load:
    0.5}` is how many points the change at 90 % is above that at 50 %.
    `take` says which of several points counts; `farthest` is the largest change of either sign. With `bound` the paper
    says that the number is at least or at most this, or that the change is `within` it, up or down. `higher` and
    `lower` are changes without a number.

    `where` is the section, figure or table.
    """

    says: str
    where: str
    weight: Weight
    metric: str
    of: Label
    over: Label | None = None
    at: Settings = Field(default_factory=dict)
    over_at: Settings = Field(default_factory=dict)
    over_metric: str | None = None
    minus: Settings = Field(default_factory=dict)
    take: Take = "only"
    paper: float | Literal["higher", "lower"]
    bound: Literal["within", "at least", "at most"] | None = None
    # The means behind a change, in the metric's unit (FCTs in us): of, over.
    paper_means: tuple[float, float] | None = None
    also: tuple[Row, ...] = ()

    @model_validator(mode="after")
    def _known_metric(self) -> Claim:
        find_metric(self.metric)
        if self.over_metric is not None:
            other = find_metric(self.over_metric)
            if self.over is None or other.unit != find_metric(self.metric).unit:
                raise BadInput(f"`{self.says}`: {self.over_metric} is not what {self.metric} can be compared with")
        return self

    @model_validator(mode="after")
    def _a_number_or_a_direction(self) -> Claim:
        if isinstance(self.paper, str):
            if self.over is None:
                raise BadInput(f"`{self.says}`: only a change can be {self.paper}", "state `over`")
            if self.bound is not None:
                raise BadInput(f"`{self.says}`: a bound is a number, not `{self.paper}`", "leave out `bound`")
        elif self.bound == "within" and (self.over is None or self.paper < 0):
            raise BadInput(f"`{self.says}`: only a change can be within a number, which is not below 0", "state `over`")
        return self

    @model_validator(mode="after")
    def _elsewhere(self) -> Claim:
        for name, elsewhere in (("over_at", self.over_at), ("minus", self.minus)):
            if elsewhere and self.over is None:
                raise BadInput(f"`{self.says}`: `{name}` is about `over`", "state `over`")
            loose = sorted(elsewhere.keys() - self.at.keys())
            if loose:
                raise BadInput(f"`{self.says}`: `{name}` changes `{loose[0]}`", "set it in `at` as well")
        return self

    def is_about(self, point: Settings) -> bool:
        """Whether the claim is about a point of the grid."""
        return _holds(self.at, point)

    def changes(self, point: Settings) -> list[tuple[Settings, Settings]]:
        """Where `of` and `over` of a claim about a point are measured, and then those of the subtracted change."""
        at = [point, *([point | self.minus] if self.minus else [])]
        return [(each, each | self.over_at) for each in at]

    def needs(self, point: Settings) -> list[Label]:
        """The schemes that must be run at a point."""
        of, over = zip(*self.changes(self.at), strict=True)
        needed = [self.of] if any(_holds(at, point) for at in of) else []
        if self.over is not None and any(_holds(at, point) for at in over):
            needed.append(self.over)
        return needed

    @property
    def rows(self) -> list[Claim]:
        """The rows below the claim, as claims."""
        own = self.model_dump(exclude={"also", "says"})
        return [Claim.model_validate(own | row.model_dump(exclude_none=True)) for row in self.also]

    @property
    def unit(self) -> str:
        """Unit of the claim's number."""
        if self.over is None:
            return find_metric(self.metric).unit
        return "points" if self.minus else "%"


class NotRun(Model):
    """A claim that the lab cannot hold a run against, with what it lacks for that."""

    says: str
    where: str
    weight: Weight
    paper: str | float
    lacks: str


def _holds(some: Settings, point: Settings) -> bool:
    return all(key in point and point[key] == value for key, value in some.items())
