# SPDX-License-Identifier: MIT OR Apache-2.0
"""One reading of a paper: settings for what its text does not print, each with the evidence for it.

An experiment's setup is what the paper prints. With the reading it is another experiment, whose claims are the same.
So it is with any other change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import yaml
from pydantic import Field

from marklab.catalog.choice import SchemeChoice, parse_choice
from marklab.errors import BadInput
from marklab.model import Model, Place
from marklab.papers.experiment import Column, PaperExperiment
from marklab.spec.settings import put_value
from marklab.units import ShortForm


class Change(Model):
    """Other settings of a paper's experiments, of all or of those named.

    `set` has settings of a run by keys such as `transport.min_rto`; `topology.x` is an option of the topology's
    builder. `schemes` has parameters by schemes.
    """

    says: str
    settings: dict[str, Any] = Field(default_factory=dict, alias="set")
    schemes: dict[str, dict[str, Any]] = Field(default_factory=dict)
    experiments: tuple[str, ...] | None = None

    def is_about(self, experiment: str) -> bool:
        """Whether it holds for an experiment."""
        return self.experiments is None or experiment in self.experiments


class Assumption(Change):
    """A change of what the paper does not print. `evidence` says where it comes from."""

    evidence: str


class _Changing:
    """An experiment while changes are made to it."""

    def __init__(self, paper: PaperExperiment) -> None:
        self.paper = paper
        self.setup = dict(paper.setup)
        self._choices = {choice.label: choice for choice in map(parse_choice, paper.schemes)}
        # Labels before and after: claims name schemes by them.
        self._labels = {label: label for label in self._choices}

    def choices(self) -> list[SchemeChoice]:
        return list(self._choices.values())

    def set(self, key: str, value: Any) -> None:
        _put(self.setup, key, value)

    def set_schemes(self, params: dict[str, dict[str, Any]]) -> None:
        for old, choice in self._choices.items():
            more = {key: str(value) for key, value in params.get(choice.program, {}).items()}
            self._choices[old] = choice.with_params(more)
            self._labels[old] = self._choices[old].label

    def done(self, column: Column) -> PaperExperiment:
        plain = self.paper.model_dump(exclude_defaults=True)
        plain |= {"column": column, "setup": self.setup, "schemes": [str(choice) for choice in self._choices.values()]}
        plain["claims"] = [_relabelled(claim, self._labels) for claim in plain["claims"]]
        return PaperExperiment.model_validate(plain)


def with_reading(
    name: str, paper: PaperExperiment, reading: Sequence[Assumption], where: Callable[[Place], str]
) -> PaperExperiment:
    """The experiment with the assumptions that hold for it.

    `where` names the file and line of a place in the reading. Raises BadInput for a setting that the paper prints.
    """
    changing = _Changing(paper)
    for number, assumption in enumerate(reading):
        if not assumption.is_about(name):
            continue
        for key, value in assumption.settings.items():
            if _prints({**changing.setup, **paper.grid}, key):
                raise _printed(name, key, where((number, "set", key)))
            changing.set(key, value)
        for choice in changing.choices():
            for key in assumption.schemes.get(choice.program, {}):
                if key in dict(choice.params):
                    place = (number, "schemes", choice.program, key)
                    raise _printed(name, f"{key} of {choice.label}", where(place))
        changing.set_schemes(assumption.schemes)
    return changing.done(Column.READING)


def with_change(paper: PaperExperiment, change: Change) -> PaperExperiment:
    """The experiment with a change, also of what the paper prints, in the same column.

    Raises BadInput if it changes a setting of the grid, whose points would replace it.
    """
    changing = _Changing(paper)
    for key, value in change.settings.items():
        if key in paper.grid:
            raise BadInput(f"`{change.says}` sets {key}, a setting of the grid", "set something else")
        changing.set(key, value)
    changing.set_schemes(change.schemes)
    return changing.done(paper.column)


def varied(paper: PaperExperiment, key: str, text: str) -> PaperExperiment:
    """The experiment with another value of a setting, written in YAML.

    Raises BadInput if the setting is one of the grid, whose points would replace it.
    """
    if key in paper.grid:
        raise BadInput(f"{key} is a setting of the grid", f"--at {key}=... takes some of its values")
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BadInput(f"--set {key}: `{text}` is not YAML") from error
    setup = dict(paper.setup)
    _put(setup, key, value)
    return paper.model_copy(update={"setup": setup})


def _relabelled(claim: dict[str, Any], labels: dict[str, str]) -> dict[str, Any]:
    named = {key: labels[claim[key]] for key in ("of", "over") if key in claim}
    rows = [_relabelled(row, labels) for row in claim.get("also", ())]
    return claim | named | ({"also": rows} if rows else {})


def _printed(name: str, what: str, where: str) -> BadInput:
    return BadInput(
        f"{where}: the reading sets {what}, which the paper prints in `{name}`",
        "a reading holds what the paper does not print: leave it out, or name the other experiments in `experiments`",
    )


def _prints(setup: dict[str, Any], key: str) -> bool:
    """Whether a setup has a setting, or a part of it."""
    if key in setup:
        return True
    outer, _, rest = key.partition(".")
    value = setup.get(outer)
    # Values of a grid, which would replace what is set of each.
    if rest and isinstance(value, (list, tuple)):
        return True
    inner = _mapping(outer, value)
    return bool(rest) and inner is not None and _prints(inner, rest)


def _put(setup: dict[str, Any], key: str, value: Any) -> None:
    outer, _, rest = key.partition(".")
    if outer == "topology" and rest:
        topology = _mapping(outer, setup.get(outer))
        setup[outer] = {**(topology or {"builder": "incast"}), rest: value}
    else:
        put_value(setup, key, value)


def _mapping(key: str, value: Any) -> dict[str, Any] | None:
    """A setting with parts; short forms become the mapping that they stand for."""
    if key == "topology" and isinstance(value, str) and "/" not in value:
        builder, options = ShortForm.settings_of(value)
        return {"builder": builder, **options}
    if key == "rtt" and isinstance(value, str):
        return {"range": value, **ShortForm.read(f"range:{value}").settings}
    return value if isinstance(value, dict) else None
