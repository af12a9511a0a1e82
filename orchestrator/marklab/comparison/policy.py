# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a comparison must not find: rules as text, and the certainty that is needed to call one broken."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, InstanceOf, PlainSerializer

from marklab.errors import BadInput
from marklab.model import Model, Part, as_list, read_yaml, validate, written
from marklab.results.metric import Metric, find_metric

_RULE = re.compile(
    r"\s*(?:(?P<scheme>[^\s/]+)\s*/)?\s*(?P<metric>[a-z0-9_.@]+)\s*(?P<op>[<>]=?)\s*"
    r"(?P<number>[+-]?[0-9]+(?:\.[0-9]+)?)\s*(?P<percent>%?)\s*"
)
# As JSON Schema: one rule, or several.
_WRITTEN = {"type": "string", "pattern": "[<>]", "examples": ["short.p99 > +5%", "timeouts > +10", "unfinished > 0"]}
WRITTEN_RULES = {"anyOf": [_WRITTEN, {"type": "array", "items": _WRITTEN}]}
_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    ">": lambda a, b: a > b,
    "<": lambda a, b: a < b,
    ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b,
}


@dataclass(frozen=True)
class Rule:
    """A forbidden result: `short.p99 > +5%` (change), `timeouts > +10` (change), `unfinished > 0` (value of NEW)."""

    text: str
    scheme: str | None
    metric: Metric
    op: str
    number: float
    kind: Literal["percent", "change", "value"]

    def forbids(self, value: float) -> bool:
        """Whether the rule forbids a value, a change or a percentage."""
        # Rounded, so a change of exactly 5 % is not more than 5 %.
        return _COMPARISONS[self.op](round(value, 9), self.number)

    def __str__(self) -> str:
        return self.text


def parse_rule(text: Any) -> Rule:
    """Read a rule."""
    if isinstance(text, Rule):
        return text
    match = _RULE.fullmatch(str(text))
    if match is None:
        raise BadInput(
            f"`{text}` is not a rule", "write it like 'short.p99 > +5%', 'timeouts > +10' or 'unfinished > 0'"
        )
    metric = find_metric(match["metric"], f"metric in `{text}`:")
    signed = match["number"][0] in "+-"
    if match["percent"] and not signed:
        raise BadInput(f"`{text}`: a percentage is a change and needs a sign", f"write +{match['number']}%")
    kind: Literal["percent", "change", "value"] = "percent" if match["percent"] else "change" if signed else "value"
    return Rule(str(text).strip(), match["scheme"], metric, match["op"], float(match["number"]), kind)


def _rules(value: Any) -> Any:
    return tuple(parse_rule(each) for each in as_list(value))


class Policy(Model):
    """When a comparison fails.

    `false_alarms` is the probability that a comparison of equal results fails, shared among all applications of rules.
    """

    rules: Annotated[
        tuple[InstanceOf[Rule], ...],
        BeforeValidator(_rules, json_schema_input_type=written(WRITTEN_RULES)),
        PlainSerializer(lambda rules: [*map(str, rules)]),
    ] = ()
    # What rules are applied to: the mean change over all points that both sides have, or the change at each point.
    at: Literal["all points", "each point"] = "all points"
    false_alarms: Part = Field(default=0.01, gt=0, lt=1)
    # A smaller change counts as none, whatever its interval.
    smallest_effect: Part = Field(default=0.0, ge=0, lt=1)
    # Cells that BASE has and NEW lost.
    missing: Literal["fail", "note"] = "fail"
    # Whether the same version of the lab must have made both sides.
    versions: Literal["same", "any"] = "same"

    def with_rules(self, texts: list[str]) -> Policy:
        """The same with more rules."""
        return self.model_copy(update={"rules": (*self.rules, *map(parse_rule, texts))})


def read_policy(path: Path) -> Policy:
    """Read a file."""
    return validate(Policy, read_yaml(path), str(path))
