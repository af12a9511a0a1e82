# SPDX-License-Identifier: MIT OR Apache-2.0
"""Experiments of papers: the paper's claims beside the lab's findings.

An experiment is a YAML file in `experiments/`: a setup as in a spec file, a grid of settings, and claims. A claim
compares two schemes by a metric, at one point of the grid or at the point where the change is largest or smallest. The
result is held against a number that the paper prints, or a bound that it gives.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from marklab.catalog.choice import parse_choice
from marklab.errors import BadInput, unknown
from marklab.model import Model, as_list, read_yaml, validate
from marklab.paths import EXPERIMENTS
from marklab.results.metric import find_metric
from marklab.results.summary import Summary
from marklab.spec.description import Spec, SpecSettings, grid_of, make_spec, placed, setting_names
from marklab.spec.settings import put_value
from marklab.spec.windows import TimeWindow
from marklab.statistics.samples import Interval, mean, mean_interval, ratio, ratio_interval

# The list of papers, in the folder of their experiments.
PAPERS = EXPERIMENTS / "papers.yaml"

Settings = dict[str, Any]

# Values by settings of a run.
Grid = Annotated[dict[str, tuple[Any, ...]], WithJsonSchema(grid_of(setting_names(), {"type": "array"}))]

# A scheme's name as in results, whatever the order of its parameters in the file.
Label = Annotated[str, AfterValidator(lambda text: parse_choice(text).label)]


class Claim(Model):
    """A number, bound or direction that the paper states.

    With `over` the number is the change of the metric in percent, otherwise the metric itself. `at` selects points of
    the grid. `over_at` selects the point of `over` if it differs: `at: {transport.control: ear}, over_at:
    {transport.control: dctcp}` is a change from DCTCP to EAR. `over_metric` is the metric of `over` if it differs.
    `take` says which of several points counts; `farthest` is the largest change of either sign. With `within` the paper
    says that the change is at most that number, up or down. `higher` and `lower` are changes without a number.
    """

    says: str
    metric: str
    of: Label
    over: Label | None = None
    at: Settings = Field(default_factory=dict)
    over_at: Settings = Field(default_factory=dict)
    over_metric: str | None = None
    take: Literal["only", "lowest", "highest", "farthest"] = "only"
    paper: float | Literal["higher", "lower"]
    within: bool = False
    # The means behind a change, in the metric's unit (FCTs in us): of, over.
    paper_means: tuple[float, float] | None = None

    @model_validator(mode="after")
    def _known_metric(self) -> Claim:
        find_metric(self.metric)
        if self.over_metric is not None:
            other = find_metric(self.over_metric)
            if self.over is None or other.unit != find_metric(self.metric).unit:
                raise BadInput(f"`{self.says}`: {self.over_metric} is not what {self.metric} can be compared with")
        if self.within and (self.over is None or isinstance(self.paper, str) or self.paper < 0):
            raise BadInput(f"`{self.says}`: only a change can be within a number, which is not below 0", "state `over`")
        if isinstance(self.paper, str) and self.over is None:
            raise BadInput(f"`{self.says}`: only a change can be {self.paper}", "state `over`")
        return self

    @model_validator(mode="after")
    def _over_elsewhere(self) -> Claim:
        if self.over_at and self.over is None:
            raise BadInput(f"`{self.says}`: `over_at` is about `over`", "state `over`")
        loose = sorted(self.over_at.keys() - self.at.keys())
        if loose:
            raise BadInput(f"`{self.says}`: `over_at` changes `{loose[0]}`", "set it in `at` as well")
        return self

    def is_about(self, point: Settings) -> bool:
        """Whether the claim is about a point of the grid."""
        return _holds(self.at, point)

    def is_over(self, point: Settings) -> bool:
        """Whether `over` is measured at a point of the grid."""
        return self.over is not None and _holds(self.at | self.over_at, point)

    def needs(self, point: Settings) -> list[Label]:
        """The schemes that must be run at a point."""
        of, over = (self.of if self.is_about(point) else None), (self.over if self.is_over(point) else None)
        return [label for label in (of, over) if label is not None]

    @property
    def unit(self) -> str:
        """Unit of the claim's number."""
        return "%" if self.over is not None else find_metric(self.metric).unit


def _holds(some: Settings, point: Settings) -> bool:
    return all(key in point and point[key] == value for key, value in some.items())


class Effort(Model):
    """How much of the experiment is run."""

    flows: int | None = None
    seeds: int | None = None
    topology: str | None = None
    grid: Grid = Field(default_factory=dict)


class PaperExperiment(Model):
    """An experiment of a paper."""

    title: str
    paper: str
    setup: SpecSettings = Field(default_factory=dict)
    schemes: tuple[str, ...] = Field(min_length=1)
    grid: Grid = Field(default_factory=dict)
    quick: Effort = Effort()
    claims: tuple[Claim, ...]
    remarks: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> PaperExperiment:
        labels = [parse_choice(scheme).label for scheme in self.schemes]
        texts = [claim.says for claim in self.claims]
        for claim in self.claims:
            if texts.count(claim.says) > 1:
                raise BadInput(f"two claims say `{claim.says}`", "claims are known by what they say: add what differs")
            for scheme in filter(None, (claim.of, claim.over)):
                if scheme not in labels:
                    raise unknown("scheme of a claim:", scheme, labels)
            metric, windows = find_metric(claim.metric), as_list(self.setup.get("windows", []))
            if metric.window is not None and metric.window not in map(TimeWindow.parse, windows):
                raise unknown("window of a claim:", str(metric.window), windows)
            for need in metric.needs:
                if need not in {**self.setup, **self.grid}:
                    raise BadInput(f"`{claim.says}`: runs without `{need}` have no {claim.metric}", "add it to `setup`")
            for key in claim.at:
                if key not in self.grid:
                    raise unknown("setting of a claim:", key, self.grid)
        return self

    def with_effort(self, effort: Effort) -> PaperExperiment:
        """The same with more or less effort. An experiment with `flows: 0` keeps only its long flows."""
        alone = {"flows"} if self.setup.get("flows") == 0 else set()
        setup = effort.model_dump(exclude={"grid"} | alone, exclude_none=True)
        return self.model_copy(update={"setup": self.setup | setup, "grid": self.grid | effort.grid})

    def narrowed(self, at: Mapping[str, Collection[str]]) -> PaperExperiment:
        """The same with only these values of its grid. Settings that are not named keep all their values.

        Raises BadInput for a setting or a value that the grid does not have, and if no claim is left.
        """
        grid = dict(self.grid)
        for key, wanted in at.items():
            if key not in grid:
                raise unknown("setting of the grid", key, grid)
            values = {str(value): value for value in grid[key]}
            for text in wanted:
                if text not in values:
                    raise unknown(f"{key} of the grid", text, values)
            grid[key] = tuple(value for text, value in values.items() if text in wanted)
        paper = self.model_copy(update={"grid": grid})
        if next(paper.points(), None) is None:
            raise BadInput("no claim of the experiment is about these points", "see `at` of the claims in its file")
        return paper

    def to_yaml(self) -> str:
        """The experiment as a file."""
        plain = self.model_dump(mode="json", exclude_defaults=True)
        return yaml.safe_dump(plain, sort_keys=False, allow_unicode=True)

    def points(self) -> Iterator[Settings]:
        """Settings of each point of the grid that a claim is about."""
        for values in itertools.product(*self.grid.values()):
            point = dict(zip(self.grid, values, strict=True))
            if any(claim.needs(point) for claim in self.claims):
                yield point

    def schemes_at(self, point: Settings) -> list[str]:
        """The schemes that claims about a point compare. Other schemes need not even work there."""
        compared = {label for claim in self.claims for label in claim.needs(point)}
        return [scheme for scheme in self.schemes if parse_choice(scheme).label in compared]


def known_experiments() -> dict[str, Path]:
    """Experiments by their names."""
    return {path.stem: path for path in sorted(EXPERIMENTS.glob("*.yaml")) if path != PAPERS}


def load_experiment(name: str) -> PaperExperiment:
    """Read an experiment of the lab."""
    known = known_experiments()
    if name not in known:
        raise unknown("experiment", name, known)
    return read_experiment(known[name])


def read_experiment(path: Path) -> PaperExperiment:
    """Read the file of an experiment; paths in its setup are relative to the file."""
    plain = dict(read_yaml(path))
    plain["setup"] = placed(plain.get("setup", {}), path.parent)
    return validate(PaperExperiment, plain, str(path))


def runs_of(paper: PaperExperiment) -> Iterator[tuple[Settings, Spec, tuple[str, ...]]]:
    """Each point of the grid: its settings, its run, and the names of its schemes."""
    common = {"baseline": "none", **paper.setup}
    for point in paper.points():
        settings: dict[str, Any] = {**common, "schemes": paper.schemes_at(point)}
        for key, value in point.items():
            put_value(settings, key, value)
        spec = make_spec(settings)
        yield point, spec, tuple(choice.label for choice in spec.choices)


class Agreement(StrEnum):
    """How a finding of the lab agrees with the paper's claim."""

    AGREES = "agree"
    SAME_SIGN = "same sign"
    DISAGREES = "disagree"
    NOT_RUN = "not run"


# Largest distances that still agree: percentage points for a change, a relative difference for any other number.
NEAR_POINTS = 10.0
NEAR_RATIO = 0.1


@dataclass(frozen=True)
class Finding:
    """A claim and the lab's result; `value` is None if the claim's points were not run."""

    claim: Claim
    value: float | None = None
    interval: Interval | None = None
    point: Settings | None = None
    # Means behind the value, in the metric's unit: of, over.
    means: tuple[float, ...] = ()

    @property
    def difference(self) -> float | None:
        """Lab minus paper; for a bound, how far the lab is beyond it; None unless both have a number."""
        if self.value is None or isinstance(self.claim.paper, str):
            return None
        if self.claim.within:
            return max(0.0, abs(self.value) - self.claim.paper)
        return self.value - self.claim.paper

    @property
    def ratio(self) -> float | None:
        """Lab / paper; for changes, the ratio of their factors; None for bounds, and unless both have a number."""
        if self.value is None or isinstance(self.claim.paper, str) or self.claim.within:
            return None
        base = 100.0 if self.claim.over is not None else 0.0
        return (base + self.value) / (base + self.claim.paper) if base + self.claim.paper else None

    @property
    def same_sign(self) -> bool | None:
        """Whether a change has the paper's direction; None if the paper gives none."""
        if self.value is None or self.claim.over is None or self.claim.within or not self.claim.paper:
            return None
        higher = self.claim.paper == "higher" if isinstance(self.claim.paper, str) else self.claim.paper > 0
        return self.value > 0 if higher else self.value < 0

    @property
    def agreement(self) -> Agreement:
        """Whether the number is near the paper's, the bound is kept or nearly kept, or the direction is the paper's.

        Changes and fractions, both in percent, are near within 10 points, other numbers within 10 %. A change that is
        further away can still have the paper's sign.
        """
        if self.value is None:
            return Agreement.NOT_RUN
        if self.difference is None:
            return Agreement.AGREES if self.same_sign else Agreement.DISAGREES
        if self.claim.unit == "%":
            near = abs(self.difference) <= NEAR_POINTS
        else:
            near = abs(self.difference) <= NEAR_RATIO * abs(self.value - self.difference)
        if near:
            return Agreement.AGREES
        return Agreement.SAME_SIGN if self.same_sign else Agreement.DISAGREES

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            **self.claim.model_dump(mode="json", exclude_none=True),
            "unit": self.claim.unit,
            "lab": self.value,
            "ci95": self.interval,
            "difference": self.difference,
            "ratio": self.ratio,
            "same_sign": self.same_sign,
            "point": self.point,
            "lab_means": self.means,
        }


def examine(paper: PaperExperiment, summaries: Sequence[Summary | None]) -> list[Finding]:
    """Evaluate each claim. The summary of a point is None if nothing finished there."""
    pairs = zip(paper.points(), summaries, strict=True)
    points = [(point, summary) for point, summary in pairs if summary is not None]
    return [_examine(claim, points) for claim in paper.claims]


# The point that counts has the largest value of this function.
_TAKE: Mapping[str, Callable[[float], float]] = {
    "lowest": lambda value: -value,
    "highest": lambda value: value,
    "farthest": abs,
}


def _examine(claim: Claim, points: Sequence[tuple[Settings, Summary]]) -> Finding:
    chosen = [(point, summary) for point, summary in points if claim.is_about(point)]
    under = [_over(claim, point, points) for point, _ in chosen]
    pairs = zip(chosen, under, strict=True)
    found = [finding for (point, of), over in pairs if (finding := _at(claim, point, of, over)) is not None]
    if not found:
        return Finding(claim)
    if claim.take == "only":
        if len(found) > 1:
            raise BadInput(
                f"the claim `{claim.says}` fits {len(found)} points of the grid", "narrow `at`, or say `take`"
            )
        return found[0]
    return max(found, key=lambda finding: _TAKE[claim.take](finding.value or 0.0))


def _over(claim: Claim, point: Settings, points: Sequence[tuple[Settings, Summary]]) -> Summary | None:
    """The run that a point is compared with, usually its own."""
    wanted = point | claim.over_at
    return next((summary for at, summary in points if at == wanted), None)


def _at(claim: Claim, point: Settings, summary: Summary, under: Summary | None) -> Finding | None:
    of = _by_seed(claim.metric, claim.of, summary)
    if claim.over is None:
        over = dict.fromkeys(of, 1.0)
    else:
        over = _by_seed(claim.over_metric or claim.metric, claim.over, under) if under is not None else {}
    pairs = [(value, over[seed]) for seed, value in of.items() if seed in over]
    if not pairs:
        return None
    above, below = [a for a, _ in pairs], [b for _, b in pairs]
    if claim.over is None:
        return Finding(claim, mean(above), mean_interval(above), point, (mean(above),))
    found, interval = ratio(above, below), ratio_interval(above, below)
    if found is None:
        return None
    percent = (100 * (interval[0] - 1), 100 * (interval[1] - 1)) if interval else None
    return Finding(claim, 100 * (found - 1), percent, point, (mean(above), mean(below)))


def _by_seed(name: str, scheme: str, summary: Summary) -> dict[int, float]:
    """The metric of a scheme by seed, for the seeds that finished and have it."""
    metric = find_metric(name)
    seeds = summary.schemes[scheme].seeds if scheme in summary.schemes else ()
    values = {seed.seed: metric.of(seed) for seed in seeds}
    return {seed: value for seed, value in values.items() if value is not None}


def to_json(
    name: str, paper: PaperExperiment, findings: Sequence[Finding], summaries: Sequence[Summary | None]
) -> Mapping[str, Any]:
    """Everything found, as plain data."""
    points = zip(paper.points(), summaries, strict=True)
    return {
        "experiment": name,
        "title": paper.title,
        "paper": paper.paper,
        "claims": [finding.to_json() for finding in findings],
        "remarks": list(paper.remarks),
        "points": [{"point": point, **summary.to_json()} for point, summary in points if summary],
    }
