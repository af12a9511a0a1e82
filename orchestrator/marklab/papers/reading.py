# SPDX-License-Identifier: MIT OR Apache-2.0
"""One reading of a paper: settings for what its text does not print, each with the evidence for it.

An experiment's setup is what the paper prints. With the reading it is another experiment, whose claims are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import yaml
from pydantic import Field

from marklab.catalog.choice import parse_choice
from marklab.errors import BadInput
from marklab.model import Model, Place
from marklab.papers.experiment import Column, PaperExperiment
from marklab.spec.settings import put_value
from marklab.units import ShortForm


class Assumption(Model):
    """A setting that the paper does not print, for all of its experiments or for those named.

    `set` has settings of a run by keys such as `transport.min_rto`; `topology.x` is an option of the topology's
    builder. `schemes` has parameters by schemes. `evidence` says where they come from.
    """

    says: str
    evidence: str
    settings: dict[str, Any] = Field(default_factory=dict, alias="set")
    schemes: dict[str, dict[str, Any]] = Field(default_factory=dict)
    experiments: tuple[str, ...] | None = None

    def is_about(self, experiment: str) -> bool:
        """Whether it holds for an experiment."""
        return self.experiments is None or experiment in self.experiments


def with_reading(
    name: str, paper: PaperExperiment, reading: Sequence[Assumption], where: Callable[[Place], str]
) -> PaperExperiment:
    """The experiment with the assumptions that hold for it.

    `where` names the file and line of a place in the reading. Raises BadInput for a setting that the paper prints.
    """
    plain = paper.model_dump(exclude_defaults=True)
    setup = dict(paper.setup)
    choices = {choice.label: choice for choice in map(parse_choice, paper.schemes)}
    labels = {label: label for label in choices}
    for number, assumption in enumerate(reading):
        if not assumption.is_about(name):
            continue
        for key, value in assumption.settings.items():
            if _prints({**setup, **paper.grid}, key):
                raise _printed(name, key, where((number, "set", key)))
            _put(setup, key, value)
        for old, label in labels.items():
            more = {key: str(value) for key, value in assumption.schemes.get(choices[old].program, {}).items()}
            for key in more:
                if key in dict(choices[old].params):
                    raise _printed(name, f"{key} of {label}", where((number, "schemes", choices[old].program, key)))
            choices[old] = choices[old].with_params(more)
            labels[old] = choices[old].label
    plain |= {"column": Column.READING, "setup": setup, "schemes": [str(choice) for choice in choices.values()]}
    plain["claims"] = [_relabelled(claim, labels) for claim in plain["claims"]]
    return PaperExperiment.model_validate(plain)


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
