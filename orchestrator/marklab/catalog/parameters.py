# SPDX-License-Identifier: MIT OR Apache-2.0
"""Parameters of schemes: their kinds, units and rules.

A threshold can be given as packets, bytes or time, whichever of them the scheme compares: at a line's rate a queue of n
packets takes n packet times to drain. In formulas and table entries lengths are packets and times microseconds, BMv2's
units.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from marklab import units
from marklab.catalog.expressions import Expression, Names, Value
from marklab.devices.frames import FULL_FRAME_BYTES, MTU_BYTES
from marklab.devices.queueing import Queues
from marklab.errors import BadInput, unknown
from marklab.model import Model
from marklab.traffic.rtt import Rtt

Kind = Literal["queue_length", "time", "number", "choice", "flag"]


def _as_rule(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, (int, float)) else value


# A formula, or the name of a choice; numbers and flags are rules, too.
Rule = Annotated[str, BeforeValidator(_as_rule, json_schema_input_type=str | float | bool)]

_FLAGS = {"on": 1, "true": 1, "yes": 1, "1": 1, "off": 0, "false": 0, "no": 0, "0": 0}

_PACKETS = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(packets|pkts|)")

# By the widths of v1model's fields for them.
_RANGES: dict[str, tuple[float, float]] = {"queue_length": (0, 2**19 - 1), "time": (0, 2**32 - 1)}


@dataclass(frozen=True)
class Setup:
    """The values of a run that rules depend on."""

    rate_bps: int
    rtt: Rtt
    lambda_: float
    queue_packets: float
    queues: Queues = field(default_factory=Queues)
    frame_bytes: int = FULL_FRAME_BYTES
    # What a packet counts where bytes or time become packets.
    packet_bytes: int = MTU_BYTES

    @property
    def packets_per_us(self) -> float:
        """Packets of `packet_bytes` that the line carries in a microsecond."""
        return self.rate_bps / (8e6 * self.packet_bytes)

    def names(self) -> dict[str, Value | tuple[int, ...]]:
        """Names that rules may use."""
        return {
            "rate_bps": self.rate_bps,
            "mtu_bytes": self.packet_bytes,
            "packets_per_us": self.packets_per_us,
            "rtt_min_us": self.rtt.min_ns / 1e3,
            "rtt_mean_us": self.rtt.mean_ns / 1e3,
            "rtt_p90_us": self.rtt.p90_ns / 1e3,
            "rtt_max_us": self.rtt.max_ns / 1e3,
            "lambda_": self.lambda_,
            "queue_packets": self.queue_packets,
            "queues": self.queues.count,
            "strict_queues": self.queues.strict,
            "carries": int(self.queues.scheduler == "dwrr"),
            "quanta_bytes": self.queues.quanta_bytes(self.frame_bytes),
        }


class Parameter(Model):
    """A parameter of a scheme. `rule` is its formula, or the name of its default choice."""

    kind: Kind
    doc: str
    rule: Rule
    choices: tuple[str, ...] = ()
    # Its limits: numbers, or formulas over the parameters above it.
    range: tuple[float | str, float | str] | None = None
    # Whether it is a marking threshold, which has no effect if the queue limit is smaller.
    threshold: bool = False
    # Whether it belongs to a variant that is off unless one of its parameters is set.
    variant: bool = False
    # Whether a `number` is a time in us. Times that are finer than the switch's clock are such numbers.
    in_us: bool = False

    def limits(self, names: Names) -> tuple[float, float]:
        """The smallest and the largest value."""
        low, high = self.range or _RANGES.get(self.kind, (float("-inf"), float("inf")))
        return _limit(low, names), _limit(high, names)


def _limit(bound: float | str, names: Names) -> float:
    return float(Expression(bound)(names)) if isinstance(bound, str) else bound


@dataclass(frozen=True)
class Setting:
    """The value of a parameter, and its origin."""

    name: str
    parameter: Parameter
    exact: Value
    origin: str

    @property
    def value(self) -> Value:
        """The value as passed to the switch: lengths in whole packets, times in whole microseconds."""
        if self.parameter.kind in ("queue_length", "time"):
            return int(float(self.exact) + 0.5)
        return self.exact

    def text(self, setup: Setup) -> str:
        """The value with its unit; a threshold in packets, KB and us."""
        if self.parameter.kind not in ("queue_length", "time"):
            return _plain(self.parameter, self.value)
        amount = float(self.value)
        if not self.parameter.threshold:
            return f"{amount:g} us" if self.parameter.kind == "time" else f"{amount:g} packets"
        is_time = self.parameter.kind == "time"
        packets = amount * setup.packets_per_us if is_time else amount
        forms = [
            f"{packets:.4g} packets",
            f"{packets * setup.packet_bytes / 1e3:.4g} KB",
            f"{packets / setup.packets_per_us:.4g} us",
        ]
        return " = ".join(reversed(forms) if is_time else forms)


def _plain(parameter: Parameter, value: Value) -> str:
    if parameter.kind == "flag":
        return "on" if value else "off"
    return value if isinstance(value, str) else f"{value:g}"


def from_text(name: str, parameter: Parameter, text: str, setup: Setup, names: Names) -> Setting:
    """Make a setting from a value that the user wrote. Raises BadInput."""
    return _checked(Setting(name, parameter, _read(name, parameter, text, setup), f"given as {text}"), names)


def from_rule(name: str, parameter: Parameter, rule: str, names: Names, origin: str) -> Setting:
    """Make a setting from a rule. Raises BadInput if its value is beyond the parameter's limits."""
    if parameter.kind == "choice":
        return _checked(Setting(name, parameter, rule, origin), names)
    if parameter.kind == "flag" and rule in _FLAGS:
        return Setting(name, parameter, _FLAGS[rule], origin)
    return _checked(Setting(name, parameter, Expression(rule)(names), origin), names)


def _read(name: str, parameter: Parameter, text: str, setup: Setup) -> Value:
    match parameter.kind:
        case "choice":
            return text
        case "flag":
            if text.lower() not in _FLAGS:
                raise BadInput(f"parameter `{name}` must be on or off, not `{text}`")
            return _FLAGS[text.lower()]
        case "number":
            try:
                return float(text)
            except ValueError as error:
                raise BadInput(f"parameter `{name}` must be a number, not `{text}`") from error
        case "queue_length" | "time":
            return _amount(name, parameter.kind, text, setup)


def _amount(name: str, kind: str, text: str, setup: Setup) -> float:
    """Read packets, bytes or time; return packets for a queue length, microseconds for a time."""
    packets = _PACKETS.fullmatch(text)
    try:
        if packets is None and text.endswith("s"):
            length = units.parse_time(text) / 1e3 * setup.packets_per_us
        elif packets is None:
            length = units.parse_size(text) / setup.packet_bytes
        elif packets[2] or kind == "queue_length":
            length = float(packets[1])
        else:
            raise BadInput(f"`{text}` has no unit")
    except BadInput as error:
        remedy = "write 167, 250KB or 200us" if kind == "queue_length" else "write 85us, 100KB or 70packets"
        raise BadInput(f"parameter `{name}`: {error}", remedy) from error
    return length if kind == "queue_length" else length / setup.packets_per_us


def _checked(setting: Setting, names: Names) -> Setting:
    parameter, value = setting.parameter, setting.value
    if parameter.kind == "choice":
        if value not in parameter.choices:
            raise unknown(f"value of `{setting.name}`:", str(value), parameter.choices)
        return setting
    low, high = parameter.limits(names)
    if isinstance(value, str) or not low <= value <= high:
        raise BadInput(
            f"parameter `{setting.name}` is {value}, it must be {low:g} to {high:g} ({setting.origin})",
            f"--param {setting.name}=VALUE in this range, or leave it to its rule, `{parameter.rule}`",
        )
    return setting
