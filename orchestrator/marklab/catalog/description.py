# SPDX-License-Identifier: MIT OR Apache-2.0
"""The description of a scheme: the YAML file beside its P4 program."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from marklab.catalog.parameters import Parameter, Rule
from marklab.devices.hosts import Control
from marklab.model import Model, OneOrMore

Match = dict[Literal["exact", "lpm", "ternary", "range"], Any]


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, (int, float)) else value


# A formula; a number is a formula, too.
Formula = Annotated[str, BeforeValidator(_as_text, json_schema_input_type=str | float)]


def _as_rules(value: Any) -> Any:
    return {} if value is None else value


# Rules that replace those of the parameters. An empty preset replaces none.
Preset = Annotated[dict[str, Rule], BeforeValidator(_as_rules, json_schema_input_type=dict[str, Rule] | None)]

# JSON Schema of keys that are numbers.
WHOLE_NUMBERS: dict[str, Any] = {"propertyNames": {"pattern": "^[0-9]+$"}}


class EntrySpec(Model):
    """A table entry, or the default action if there is no `match`; numbers are formulas.

    `for` makes one entry per number of a range, `let` names formulas in order, entries whose `when` is false are left
    out.
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
    """The congestion signal that the scheme uses."""

    what: str
    when: str
    unit: str


class Needs(Model):
    """What the scheme needs of a port.

    `schedulers` are those that it works with; without them it works with any. A scheme that assigns packets to queues
    itself has its own `queues`, by formulas except for scheduler and quanta; the queues of the run then apply to the
    other schemes only. `transports` are those that read its marks and drops as it means them; without them all do.
    """

    schedulers: tuple[Literal["fifo", "strict", "wrr", "dwrr"], ...] = ()
    queues: dict[Literal["scheduler", "count", "strict", "quantum"], Formula] | None = None
    transports: tuple[Control, ...] = ()


class EstimateSpec(Model):
    """An estimate that the program keeps of a port: a cell of a register times `scale`.

    Formulas may also use `port`. If there are several registers, the largest value counts. `within` is the time span
    of the estimate, as a formula in us. If `when` is false, there is no estimate.
    """

    registers: Annotated[tuple[str, ...], Field(min_length=1), OneOrMore()] = Field(alias="register")
    cell: Formula = "port"
    scale: Formula = "1"
    within: Formula | None = None
    when: Formula | None = None


class Differential(Model):
    """How the scheme is compared with BMv2 under random packets, without a common clock or queue of the two switches.

    `configuration` is written as in STF tests and makes the scheme decide the same in both; `left_out` is the reason
    why there is no comparison.
    """

    configuration: str = ""
    left_out: str = ""


class Forwarding(Model):
    """Names of the tables, keys and actions for routes, which the lab fills. Defaults are from include/switch.p4."""

    table: str = "ipv4_lpm"
    key: str = "dst_addr"
    action: str = "forward"
    port: str = "port"
    mac: str = "dst_addr"
    ecmp_table: str = "ecmp"
    ecmp_action: str = "hash_to_group"
    ecmp_group: str = "group"
    ecmp_members: str | None = "members"
    # In place of the number of members: a group has 2^n buckets, and a hash under this mask selects one.
    ecmp_mask: str | None = None
    ecmp_group_key: str = "group"
    ecmp_member_key: str = "member"


class SchemeSpec(Model):
    """A scheme: its summary, its parameters with their rules, and the table entries that pass them to the program."""

    title: str
    summary: str = ""
    paper: str = ""
    signal: Signal | None = None
    parameters: dict[str, Parameter] = Field(default_factory=dict)
    presets: dict[str, Preset] = Field(default_factory=dict)
    causes: dict[int, str] = Field(default_factory=dict, json_schema_extra=WHOLE_NUMBERS)
    # The key is the column of a trace that is estimated, or another name with its unit.
    estimates: dict[str, EstimateSpec] = Field(default_factory=dict)
    needs: Needs = Needs()
    entries: tuple[EntrySpec, ...] = ()
    # Mirror sessions and their ports.
    mirrors: dict[int, int] = Field(default_factory=dict, json_schema_extra=WHOLE_NUMBERS)
    filters: tuple[FilterSpec, ...] = ()
    forwarding: Forwarding = Forwarding()
    differential: Differential = Differential()
    # Settings of the runs of promotion, in addition to those of its policy.
    promotion: dict[str, Any] = Field(default_factory=dict)
    # Why there is no twin for Tofino.
    no_twin: str = ""
