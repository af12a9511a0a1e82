# SPDX-License-Identifier: MIT OR Apache-2.0
"""JSON Schemas of the YAML files that users write, for editors and for other programs.

Pydantic makes them from the models that read the files. They describe values as written: `10G` for a rate,
`incast:senders=4` for a topology. Conditions on more than one setting are not in them; the models check these.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BeforeValidator, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from marklab.catalog.description import SchemeSpec
from marklab.catalog.twin import TwinSpec
from marklab.comparison import policy as comparison_policy
from marklab.errors import unknown
from marklab.hosts.causes import Differences
from marklab.hosts.script import Script
from marklab.lab.live import SwitchDescription
from marklab.ns3.scenario import Scenario
from marklab.papers.experiment import PaperExperiment
from marklab.papers.papers import Paper
from marklab.promotion import policy as promotion_policy
from marklab.spec.description import Spec
from marklab.studio.lesson import Lesson
from marklab.sweeps.description import GRID, written_grid
from marklab.topology import Topology

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True)
class Kind:
    """A kind of file: its title, and the type that validates its content."""

    title: str
    content: Any
    # Keys in addition to those of the content.
    more: Mapping[str, JsonSchemaValue] = field(default_factory=dict)


KINDS: Mapping[str, Kind] = {
    "spec": Kind("A run: `--spec FILE.yaml`, and spec.yaml of its results", Spec),
    "sweep": Kind("A sweep: a run with a grid", Spec, {GRID: written_grid()}),
    "topology": Kind("A topology: `--topology FILE.yaml`", Topology),
    "scheme": Kind("A scheme: the file beside its P4 program", SchemeSpec),
    "twin": Kind("A scheme's twin for Tofino: the file beside its P4 program", TwinSpec),
    "policy": Kind("Rules of a comparison: `compare --policy FILE.yaml`", comparison_policy.Policy),
    "promotion": Kind("Rules of promotion: `promote --policy FILE.yaml`", promotion_policy.Policy),
    "experiment": Kind("An experiment of a paper: experiments/ID.yaml", PaperExperiment),
    "papers": Kind("The papers and their experiments: experiments/papers.yaml", dict[str, Paper]),
    "switch": Kind("A real-time switch: `switch --description FILE.yaml`", SwitchDescription),
    "script": Kind("Marks, losses and delays for hosts: traffic/scripts/KIND/NAME.yaml", Script),
    "script-differences": Kind("Known differences between hosts: traffic/script-differences.yaml", Differences),
    "lesson": Kind("A lesson of the studio: orchestrator/marklab/studio/lessons/NAME.yaml", Lesson),
    "scenario": Kind("A run here and in ns-3: `bench/peers/ns3/scenarios/NAME.yaml`", Scenario),
}


# Limits, which apply to numbers without a unit: JSON Schema's `minimum` is pydantic's `ge`.
_LIMITS = {"gt": "exclusiveMinimum", "ge": "minimum", "lt": "exclusiveMaximum", "le": "maximum"}


class _AsWritten(GenerateJsonSchema):
    """Defaults and limits in the form that users write, without titles made from the names of fields."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - of any schema
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        described = super().model_schema(schema)
        model = schema["cls"]
        defaults = model.model_construct().model_dump(mode="json", by_alias=True)
        properties = (described if "properties" in described else described["anyOf"][-1])["properties"]
        for name, info in model.model_fields.items():
            value = properties[info.alias or name]
            default = defaults.get(info.alias or name)
            value.pop("default", None)
            # The defaults of a mapping are in the mapping's own schema.
            if default is not None and not isinstance(default, dict):
                value["default"] = default
            if any(isinstance(each, BeforeValidator) for each in info.metadata):
                value.update(_limits(info.metadata))
        return described

    def generate_inner(self, schema: Any) -> JsonSchemaValue:
        described = super().generate_inner(schema)
        return {_LIMITS.get(key, key): value for key, value in described.items()}


def _limits(metadata: Iterable[object]) -> JsonSchemaValue:
    """Limits of a field whose written form differs from its value."""
    return {
        keyword: getattr(each, name)
        for each in metadata
        for name, keyword in _LIMITS.items()
        if getattr(each, name, None) is not None
    }


def schema_of(name: str) -> JsonSchemaValue:
    """The JSON Schema of a kind of file. Raises BadInput if the kind is unknown."""
    if name not in KINDS:
        raise unknown("kind of file", name, KINDS)
    kind = KINDS[name]
    described = TypeAdapter(kind.content).json_schema(schema_generator=_AsWritten, by_alias=True)
    described.get("properties", {}).update(kind.more)
    return {"$schema": _DIALECT, "title": kind.title} | {key: described[key] for key in described if key != "title"}


def to_json(name: str) -> str:
    """The JSON Schema of a kind of file, as text."""
    return json.dumps(schema_of(name), indent=2, ensure_ascii=False) + "\n"
