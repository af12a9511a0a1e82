# SPDX-License-Identifier: MIT OR Apache-2.0
"""Plans the cells of a grid. Every point is prepared first, so errors are reported before anything runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from marklab.engine import binding as engine
from marklab.errors import BadInput
from marklab.fabrics import fabric_of
from marklab.prepare.experiment import Experiment, ReadyScheme, prepare, require_dilation
from marklab.spec.description import Spec
from marklab.sweeps.description import Sweep

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class PlannedPoint:
    """A prepared point of a grid.

    `labels` are the names of its schemes at all points; `numbers` are the settings that are numbers at all points.
    """

    number: int
    settings: Settings
    experiment: Experiment
    labels: tuple[str, ...]
    numbers: frozenset[str] = frozenset()

    @cached_property
    def spec(self) -> dict[str, Any]:
        """The run at this point, as plain data."""
        return self.experiment.spec.to_plain()

    @property
    def baseline(self) -> str | None:
        """Name of its baseline."""
        spec = self.experiment.spec
        return None if spec.baseline is None else self.labels[spec.choices.index(spec.baseline)]

    def cells(self) -> Iterator[PlannedCell]:
        """Cells of all schemes on the flows of a seed, then on the flows of the next seed."""
        identities = [identity_of(self.experiment, scheme) for scheme in self.experiment.schemes]
        for seed in self.experiment.spec.seed_numbers:
            for scheme, label, identity in zip(self.experiment.schemes, self.labels, identities, strict=True):
                yield PlannedCell(self, scheme, label, seed, identity)


@dataclass(frozen=True)
class PlannedCell:
    """One scheme on the flows of one seed at one point.

    `identity` is the digest of everything that determines its result, except the seed.
    """

    point: PlannedPoint
    scheme: ReadyScheme
    label: str
    seed: int
    identity: str

    @property
    def key(self) -> str:
        """Digest of all that determines its result, and of its place: several points may have the same baseline run."""
        place = json.dumps([dict(self.point.settings), self.label, self.seed], sort_keys=True)
        return hashlib.sha256(f"{self.identity} {place}".encode()).hexdigest()[:16]

    def columns(self) -> dict[str, Any]:
        """Its place in the grid, as columns of a table: numbers as numbers, anything else as text."""
        return {
            "point": self.point.number,
            **{
                key: float(value) if key in self.point.numbers else str(value)
                for key, value in self.point.settings.items()
            },
            "scheme": self.label,
            "seed": self.seed,
        }

    def task(self, *, keep_flows: bool) -> dict[str, Any]:
        """The data that a worker needs, as plain data."""
        spec = alone(self.point.experiment.spec, self.scheme, self.seed)
        return {
            "spec": spec.to_plain(),
            "seed": self.seed,
            "identity": self.identity,
            "columns": self.columns(),
            "keep_flows": keep_flows,
        }

    def __str__(self) -> str:
        at = ", ".join(f"{key} {value}" for key, value in self.point.settings.items())
        return f"{at + ', ' if at else ''}{self.label}, seed {self.seed}"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def alone(spec: Spec, scheme: ReadyScheme, seed: int) -> Spec:
    """The run that consists of one cell."""
    return spec.model_copy(
        update={"name": None, "schemes": (scheme.fitted.choice,), "baseline": None, "seeds": 1, "first_seed": seed}
    )


def identity_of(experiment: Experiment, scheme: ReadyScheme) -> str:
    """Digest of everything that determines the results of a scheme, except the seed."""
    return alone(experiment.spec, scheme, 0).digest({scheme.label: scheme.identity()})


@dataclass(frozen=True)
class Plan:
    """All points of a sweep, and the keys of the cells to run if these are not all."""

    points: tuple[PlannedPoint, ...]
    only: frozenset[str] | None = None

    @cached_property
    def cells(self) -> tuple[PlannedCell, ...]:
        """The cells seed by seed, so a sweep that ends early has results at each point."""
        cells = [cell for point in self.points for cell in point.cells()]
        if self.only is not None:
            cells = [cell for cell in cells if cell.key in self.only]
        # Sorting is stable: within a seed, points and schemes stay in their order.
        return tuple(sorted(cells, key=lambda cell: cell.seed))

    def digest(self) -> str:
        """Digest of everything that determines the results."""
        return hashlib.sha256(" ".join(cell.key for cell in self.cells).encode()).hexdigest()

    @property
    def max_workers(self) -> int | None:
        """Number of cells that may run at the same time; None without a limit."""
        limits = [fabric_of(point.experiment.spec).max_workers for point in self.points]
        return min((limit for limit in limits if limit is not None), default=None)


def plan_of(points: Iterable[tuple[Settings, Spec, tuple[str, ...]]]) -> Plan:
    """Prepare every point. Raises BadInput that names the point."""
    planned = []
    programs: engine.Programs = {}
    for number, (settings, spec, labels) in enumerate(points):
        try:
            with engine.keeping(programs):
                experiment = prepare(spec)
            fabric_of(spec).check(experiment)
            require_dilation(experiment)
            if spec.pcap is not None:
                raise BadInput("a sweep captures no packets", "leave out `pcap`, or run the point by itself")
        except BadInput as error:
            at = ", ".join(f"{key} {value}" for key, value in settings.items())
            raise BadInput(f"at {at}: {error}" if at else str(error), error.remedy) from error
        planned.append(PlannedPoint(number, settings, experiment, labels))
    return Plan(tuple(replace(point, numbers=_numbers(planned)) for point in planned))


def _numbers(points: Sequence[PlannedPoint]) -> frozenset[str]:
    first = points[0].settings if points else {}
    return frozenset(key for key in first if all(_is_number(point.settings.get(key)) for point in points))


def plan_sweep(sweep: Sweep) -> Plan:
    """Plan all points of a grid."""
    return plan_of((point, *sweep.spec_at(point)) for point in sweep.points())
