# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the YAML file beside a P4 program says about its scheme."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator

from marklab.catalog.parameters import Parameter
from marklab.model import Model

Match = dict[Literal["exact", "lpm", "ternary", "range"], Any]


def as_text(value: Any) -> Any:
    """A number as the formula that it is."""
    return str(value) if isinstance(value, (int, float)) else value


class EntrySpec(Model):
    """A table entry, or the default action where there is no `match`; numbers are formulas.

    `for` makes one entry per number of a span, `let` names formulas in order, `when` leaves entries out.
    """

    table: str
    action: str
    params: dict[str, str] = Field(default_factory=dict)
    match: dict[str, Match] | None = None
    priority: str = "0"
    for_: dict[str, str] = Field(default_factory=dict, alias="for")
    let: dict[str, str] = Field(default_factory=dict)
    when: str | None = None

    @field_validator("priority", mode="before")
    @classmethod
    def _formula(cls, value: Any) -> Any:
        return as_text(value)

    @field_validator("params", "let", mode="before")
    @classmethod
    def _formulas(cls, values: Any) -> Any:
        return {name: as_text(value) for name, value in values.items()} if isinstance(values, dict) else values


class FilterSpec(Model):
    """Time constants in ns of all cells of a low-pass filter, as formulas (TNA's `Lpf`)."""

    filter: str
    gain_ns: str
    decay_ns: str

    @field_validator("gain_ns", "decay_ns", mode="before")
    @classmethod
    def _formula(cls, value: Any) -> Any:
        return as_text(value)


class Signal(Model):
    """What the scheme looks at."""

    what: str
    when: str
    unit: str


class Needs(Model):
    """What the scheme asks of a port.

    `schedulers` are those that it works with; without them it works with any. A scheme that deals out queues itself
    says what `queues` it needs, by formulas; those of the run are then for the others.
    """

    schedulers: tuple[Literal["fifo", "strict", "wrr", "dwrr"], ...] = ()
    queues: dict[Literal["scheduler", "count", "strict"], str] | None = None

    @field_validator("queues", mode="before")
    @classmethod
    def _formulas(cls, values: Any) -> Any:
        return {name: as_text(value) for name, value in values.items()} if isinstance(values, dict) else values


def _as_tuple(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


class EstimateSpec(Model):
    """What the program knows of a port: a cell of a register times `scale`; both are formulas over `port` as well.

    Of several registers the largest value counts. `within` is the time that the estimate is about, as a formula in us;
    without its `when` there is no estimate.
    """

    registers: Annotated[tuple[str, ...], BeforeValidator(_as_tuple)] = Field(alias="register", min_length=1)
    cell: str = "port"
    scale: str = "1"
    within: str | None = None
    when: str | None = None

    @field_validator("cell", "scale", "within", "when", mode="before")
    @classmethod
    def _formula(cls, value: Any) -> Any:
        return as_text(value)


class Forwarding(Model):
    """Names of what the lab fills in so that packets find their way. The defaults are those of include/switch.p4."""

    table: str = "ipv4_lpm"
    key: str = "dst_addr"
    action: str = "forward"
    port: str = "port"
    mac: str = "dst_addr"
    ecmp_table: str = "ecmp"
    ecmp_action: str = "hash_to_group"
    ecmp_group: str = "group"
    ecmp_members: str | None = "members"
    # Instead of the number of members: a group has 2^n buckets, whose numbers are those of a hash under this mask.
    ecmp_mask: str | None = None
    ecmp_group_key: str = "group"
    ecmp_member_key: str = "member"


class SchemeSpec(Model):
    """A scheme: what it does, its parameters with their rules, and the table entries that carry them."""

    title: str
    summary: str = ""
    paper: str = ""
    signal: Signal | None = None
    parameters: dict[str, Parameter] = Field(default_factory=dict)
    presets: dict[str, dict[str, str]] = Field(default_factory=dict)
    causes: dict[int, str] = Field(default_factory=dict)
    # By the column of a trace that they estimate, or a name of their own with its unit.
    estimates: dict[str, EstimateSpec] = Field(default_factory=dict)
    needs: Needs = Needs()
    entries: tuple[EntrySpec, ...] = ()
    # Ports that mirror sessions lead to.
    mirrors: dict[int, int] = Field(default_factory=dict)
    filters: tuple[FilterSpec, ...] = ()
    forwarding: Forwarding = Forwarding()

    @field_validator("presets", mode="before")
    @classmethod
    def _rules(cls, presets: Any) -> Any:
        if not isinstance(presets, dict):
            return presets
        return {
            name: {
                key: str(rule).lower() if isinstance(rule, bool) else as_text(rule)
                for key, rule in (rules or {}).items()
            }
            for name, rules in presets.items()
        }
