# SPDX-License-Identifier: MIT OR Apache-2.0
"""Experiments of papers: a setup as in a spec file, a grid of settings, and the claims that are about them.

An experiment is a YAML file in `experiments/`. Its setup is what the paper prints, and nothing else except sizes and
recordings.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import Field, WithJsonSchema, model_validator

from marklab.catalog.choice import parse_choice
from marklab.errors import BadInput, unknown
from marklab.model import Model, Place, as_list, read_described
from marklab.papers.claims import Claim, NotRun, Settings
from marklab.paths import EXPERIMENTS
from marklab.results.metric import find_metric
from marklab.spec.description import Spec, SpecSettings, grid_of, make_spec, placed, setting_names
from marklab.spec.settings import put_value
from marklab.spec.windows import TimeWindow

# The list of papers, in the folder of their experiments.
PAPERS = EXPERIMENTS / "papers.yaml"

# Values by settings of a run.
Grid = Annotated[dict[str, tuple[Any, ...]], WithJsonSchema(grid_of(setting_names(), {"type": "array"}))]


class Column(StrEnum):
    """How an experiment is run: by what the paper prints and nothing else, or with the one reading of the paper."""

    PRINTED = "printed"
    READING = "reading"

    @property
    def head(self) -> str:
        """Head of its column in tables."""
        return {Column.PRINTED: "as printed", Column.READING: "one reading"}[self]

    def prefix(self, name: str) -> str:
        """Name of an experiment's runs, with which their folders begin."""
        return name if self is Column.PRINTED else f"{name}-{self}"


class Effort(Model):
    """How much of the experiment is run: `flows` at each point, or a part of each point's flows."""

    flows: int | None = None
    part: float | None = Field(default=None, gt=0, le=1)
    seeds: int | None = None
    topology: str | None = None
    grid: Grid = Field(default_factory=dict)


class Size(Model):
    """Another size at some points of the grid: as many flows and seeds as the claims about them need."""

    at: Settings
    flows: int | None = None
    seeds: int | None = None

    def with_effort(self, effort: Effort) -> Size:
        """The same where more or less effort was asked for: flows and seeds are then those of all points."""
        flows = self.flows if effort.flows is None else None
        if flows is not None and effort.part is not None:
            flows = ceil(effort.part * flows)
        return Size(at=self.at, flows=flows, seeds=self.seeds if effort.seeds is None else None)


class PaperExperiment(Model):
    """An experiment of a paper."""

    title: str
    paper: str
    # With the reading of its paper it is another experiment. A file of `experiments/` is as printed.
    column: Column = Column.PRINTED
    setup: SpecSettings = Field(default_factory=dict)
    schemes: tuple[str, ...] = Field(min_length=1)
    grid: Grid = Field(default_factory=dict)
    sizes: tuple[Size, ...] = ()
    quick: Effort = Effort()
    claims: tuple[Claim, ...]
    not_run: tuple[NotRun, ...] = ()
    remarks: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _known_by_what_they_say(self) -> PaperExperiment:
        texts = [*(claim.says for claim in self.claims), *(claim.says for claim in self.not_run)]
        for number, text in enumerate(texts):
            if text in texts[:number]:
                place = ("claims", number) if number < len(self.claims) else ("not_run", number - len(self.claims))
                remedy = "claims are known by what they say: add what differs"
                raise BadInput(f"two claims say `{text}`", remedy).at(*place)
        return self

    @model_validator(mode="after")
    def _consistent(self) -> PaperExperiment:
        for number, claim in enumerate(self.claims):
            for each in (claim, *claim.rows):
                self._check(each, ("claims", number))
        for number, size in enumerate(self.sizes):
            for key in size.at:
                if key not in self.grid:
                    raise unknown("setting of a size:", key, self.grid).at("sizes", number)
        return self

    def _check(self, claim: Claim, place: Place) -> None:
        """Refuse a claim that the experiment cannot evaluate."""
        labels = [parse_choice(scheme).label for scheme in self.schemes]
        for scheme in filter(None, (claim.of, claim.over)):
            if scheme not in labels:
                raise unknown("scheme of a claim:", scheme, labels).at(*place)
        metric, windows = find_metric(claim.metric), as_list(self.setup.get("windows", []))
        if metric.window is not None and metric.window not in map(TimeWindow.parse, windows):
            raise unknown("window of a claim:", str(metric.window), windows).at(*place)
        for need in metric.needs:
            if need not in {**self.setup, **self.grid}:
                remedy = "add it to `setup`"
                raise BadInput(f"`{claim.says}`: runs without `{need}` have no {claim.metric}", remedy).at(*place)
        for key in claim.at:
            if key not in self.grid:
                raise unknown("setting of a claim:", key, self.grid).at(*place)

    @cached_property
    def evaluated(self) -> tuple[Claim, ...]:
        """The claims, and the rows below them."""
        return tuple(each for claim in self.claims for each in (claim, *claim.rows))

    def with_effort(self, effort: Effort) -> PaperExperiment:
        """The same with more or less effort. An experiment with `flows: 0` keeps only its long flows."""
        setup = self.setup | effort.model_dump(exclude={"grid", "part"}, exclude_none=True)
        if self.setup.get("flows") == 0:
            setup["flows"] = 0
        elif effort.part is not None:
            setup["flows"] = ceil(effort.part * setup.get("flows", Spec.model_fields["flows"].default))
        sizes = tuple(size.with_effort(effort) for size in self.sizes)
        return self.model_copy(update={"setup": setup, "grid": self.grid | effort.grid, "sizes": sizes})

    def with_seeds(self, sizes: Sequence[Size]) -> PaperExperiment:
        """The same with these sizes in addition."""
        return self.model_copy(update={"sizes": (*self.sizes, *sizes)})

    def narrowed(self, at: Mapping[str, Collection[str]]) -> PaperExperiment:
        """The same with only these values of its grid. Settings that are not named keep all their values.

        Raises BadInput for a setting or a value that the grid does not have, and if no claim is left.
        """
        grid = dict(self.grid)
        for key, wanted in at.items():
            if key not in grid:
                raise unknown("setting of the grid", key, grid)
            values = {_written(value): value for value in grid[key]}
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
            if any(claim.needs(point) for claim in self.evaluated):
                yield point

    def schemes_at(self, point: Settings) -> list[str]:
        """The schemes that claims about a point compare. Other schemes need not even work there."""
        compared = {label for claim in self.evaluated for label in claim.needs(point)}
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
    return read_described(
        PaperExperiment, path, lambda plain: {**plain, "setup": placed(plain.get("setup", {}), path.parent)}
    )


def runs_of(paper: PaperExperiment) -> Iterator[tuple[Settings, Spec, tuple[str, ...]]]:
    """Each point of the grid: its settings, its run, and the names of its schemes."""
    common = {"baseline": "none", **paper.setup}
    for point in paper.points():
        settings: dict[str, Any] = {**common, "schemes": paper.schemes_at(point)}
        for key, value in point.items():
            put_value(settings, key, value)
        for size in paper.sizes:
            if all(point[key] == value for key, value in size.at.items()):
                settings |= size.model_dump(exclude={"at"}, exclude_none=True)
        spec = make_spec(settings)
        yield point, spec, tuple(choice.label for choice in spec.choices)


def _written(value: object) -> str:
    """A value of the grid as its file has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
