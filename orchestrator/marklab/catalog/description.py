# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the YAML file beside a P4 program says about its scheme."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from marklab.catalog.parameters import Parameter, Rule
from marklab.model import Model, OneOrMore

Match = dict[Literal["exact", "lpm", "ternary", "range"], Any]


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, (int, float)) else value


# A formula; a number is one, too.
Formula = Annotated[str, BeforeValidator(_as_text, json_schema_input_type=str | float)]


def _as_rules(value: Any) -> Any:
    return {} if value is None else value


# Rules in place of those of parameters. Where none is, all stay as they are.
Preset = Annotated[dict[str, Rule], BeforeValidator(_as_rules, json_schema_input_type=dict[str, Rule] | None)]

# What JSON Schema is to say of keys that are numbers.
WHOLE_NUMBERS: dict[str, Any] = {"propertyNames": {"pattern": "^[0-9]+$"}}


class EntrySpec(Model):
    """A table entry, or the default action where there is no `match`; numbers are formulas.

    `for` makes one entry per number of a span, `let` names formulas in order, `when` leaves entries out.
    """

    table: str
    action: str
    params: dict[str, Formula] = Field(default_factory=dict)
    match: dict[str, Match] | None = None
    priority: Formula = "0"
    for_: dict[str, str] = Field(default_factory=dict, alias="for")
    let: dict[str, Formula] = Field(default_factory=dict)
    when: str | None = None


class FilterSpec(Model):
    """Time constants in ns of all cells of a low-pass filter, as formulas (TNA's `Lpf`)."""

    filter: str
    gain_ns: Formula
    decay_ns: Formula


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
    queues: dict[Literal["scheduler", "count", "strict"], Formula] | None = None


class EstimateSpec(Model):
    """What the program knows of a port: a cell of a register times `scale`; both are formulas over `port` as well.

    Of several registers the largest value counts. `within` is the time that the estimate is about, as a formula in us;
    without its `when` there is no estimate.
    """

    registers: Annotated[tuple[str, ...], Field(min_length=1), OneOrMore()] = Field(alias="register")
    cell: Formula = "port"
    scale: Formula = "1"
    within: Formula | None = None
    when: Formula | None = None


class Differential(Model):
    """How the scheme is compared with BMv2 under random packets, where the two switches have no common clock or queue.

    `configuration` is written as in STF tests and makes the scheme decide alike in both; `left_out` says why there is
    none.
    """

    configuration: str = ""
    left_out: str = ""


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
    presets: dict[str, Preset] = Field(default_factory=dict)
    causes: dict[int, str] = Field(default_factory=dict, json_schema_extra=WHOLE_NUMBERS)
    # By the column of a trace that they estimate, or a name of their own with its unit.
    estimates: dict[str, EstimateSpec] = Field(default_factory=dict)
    needs: Needs = Needs()
    entries: tuple[EntrySpec, ...] = ()
    # Ports that mirror sessions lead to.
    mirrors: dict[int, int] = Field(default_factory=dict, json_schema_extra=WHOLE_NUMBERS)
    filters: tuple[FilterSpec, ...] = ()
    forwarding: Forwarding = Forwarding()
    differential: Differential = Differential()
    # Settings of the runs that promotion asks about, beside those of its policy.
    promotion: dict[str, Any] = Field(default_factory=dict)
    # Why Tofino has no program of it.
    no_twin: str = ""
