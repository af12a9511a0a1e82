# SPDX-License-Identifier: MIT OR Apache-2.0
"""The rules by which a scheme is promoted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from marklab.catalog.choice import SchemeChoice
from marklab.errors import BadInput
from marklab.model import Model, OneOrMore, Part, read_yaml, validate
from marklab.results.metric import find_metric
from marklab.spec.description import Baseline, SpecSettings

DEFAULT = Path(__file__).with_name("policy.yaml")


class FctRules(Model):
    """Requirements on the flow completion times of a scheme, compared with the baseline on the same flows.

    For each metric the change over loads and workloads counts, as `compare` computes it: its whole 95 % interval must
    keep the rule. More seeds make the interval narrower.
    """

    baseline: Baseline = SchemeChoice("dctcp-red", "tail")
    loads: Annotated[tuple[float, ...], OneOrMore()] = (0.5, 0.8)
    workloads: Annotated[tuple[str, ...], OneOrMore()] = ("web_search",)
    flows: int = Field(default=2000, ge=1)
    seeds: int = Field(default=10, ge=1)
    settings: SpecSettings = Field(default_factory=dict)
    # Settings for single schemes, which override `promotion` in the scheme's own description.
    settings_of: dict[str, SpecSettings] = Field(default_factory=dict)
    better: Annotated[tuple[str, ...], OneOrMore()] = ("short.p99",)
    not_worse: dict[str, Part] = Field(default_factory=lambda: {"overall.mean": 0.05, "large.mean": 0.05})


class EquivalenceRules(Model):
    """Fraction of a real run on which both twins must decide alike, and how near their flow completion times must be.

    `agreement` replaces the bound that the twin states, if it is larger.
    """

    packets: int = Field(default=1_000_000, ge=1000)
    agreement: Part | None = Field(default=None, ge=0, le=1)
    fct_within: dict[str, Part] = Field(default_factory=lambda: {"overall.mean": 0.02, "short.mean": 0.02})


class TofinoRules(Model):
    """Limits on the program's estimated use of the chip."""

    stages: int | None = Field(default=None, ge=1)  # None: all stages of the chip


GateName = Literal["FCT", "equivalence", "Tofino", "p4c"]


class Policy(Model):
    """Rules of all gates, and the gates that are required. A gate that fails prevents promotion, required or not."""

    # Without p4c, whose Tofino back end is not installed everywhere.
    required: Annotated[tuple[GateName, ...], OneOrMore()] = ("FCT", "equivalence", "Tofino")
    fct: FctRules = FctRules()
    equivalence: EquivalenceRules = EquivalenceRules()
    tofino: TofinoRules = TofinoRules()


def read_policy(path: Path | None) -> Policy:
    """Read a policy, or the lab's own without a path."""
    at = path or DEFAULT
    policy = validate(Policy, read_yaml(at), str(at))
    for name in (*policy.fct.better, *policy.fct.not_worse, *policy.equivalence.fct_within):
        find_metric(name, f"metric in {at}:")
    aimless = next((name for name in (*policy.fct.better, *policy.fct.not_worse) if not find_metric(name).worse), None)
    if aimless is not None:
        raise BadInput(
            f"{at}: neither more nor less of `{aimless}` is better", "a metric that has a direction, such as short.p99"
        )
    return policy
