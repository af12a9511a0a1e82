# SPDX-License-Identifier: MIT OR Apache-2.0
"""How hosts and ports behave, as far as a run can choose it."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import ConfigDict, Field, WithJsonSchema, model_validator
from pydantic.json_schema import JsonSchemaValue

from marklab import units
from marklab.devices.frames import MTU_BYTES
from marklab.devices.stacks import Stack
from marklab.errors import BadInput
from marklab.model import PART, SIZE, Model, Part, Rate, Size, Time, short_form

# An option in each segment of a transport that measures delays; a full segment has so much less payload.
_TIMING_BYTES = 8
# EAR paper, section 4.2: 144 us, which 120 packets of 1,500 bytes take at 10 Gb/s.
_DELAY_THRESHOLD_PACKETS = 120

# 16 bits, scaled by 2^8.
_ADVERTISED_BYTES = 65_535 << 8

# As JSON Schema: one for all connections, or several with the parts of the connections that have them.
_WRITTEN_WINDOW: JsonSchemaValue = {"anyOf": [SIZE, {"type": "object", "additionalProperties": PART}]}

# The engine's own upper bound of a timeout; RFC 6298 (2.5) allows one of 60 s or more.
_LONGEST_RTO_NS = 60 * 10**9


class Dcqcn(Model):
    """Rates of queue pairs, as in the DCQCN paper (SIGCOMM 2015, section 5); R_HI is ten times R_AI, as in QCN."""

    cnp_interval_ns: Time = Field(default=50_000, alias="cnp_interval", description="N: between notifications")
    gain_shift: int = Field(default=8, ge=0, lt=32, description="g = 2^-shift")
    alpha_timer_ns: Time = Field(default=55_000, alias="alpha_timer", gt=0, description="K")
    rate_timer_ns: Time = Field(default=55_000, alias="rate_timer", gt=0, description="T")
    byte_counter_bytes: Size = Field(default=10_000_000, alias="byte_counter", ge=1, description="B")
    fast_recovery_rounds: int = Field(default=5, ge=0, le=1000, description="F")
    additive_bps: Rate = Field(default=40_000_000, alias="additive", description="R_AI")
    hyper_bps: Rate = Field(default=400_000_000, alias="hyper", description="R_HI")
    min_rate_bps: Rate = Field(default=10_000_000, alias="min_rate", gt=0)
    window_bytes: Size | None = Field(default=None, alias="window", description="sent and not acknowledged, at most")


class Prague(Model):
    """How far flows of Prague depend on their round trips."""

    reference_rtt_ns: Time = Field(
        default=25_000_000,
        alias="reference_rtt",
        le=10**9,
        description="flows with shorter round trips behave as if they had this one; 0s: no flow does",
    )
    transition_rounds: int = Field(default=500, ge=0, le=10**6, description="after slow start, until they do")


Control = Literal["dctcp", "ecn-star", "reno", "cubic", "delay-dctcp", "ear", "dcqcn", "prague"]
CONTROLS: tuple[str, ...] = get_args(Control)


class Transport(Model):
    """TCP of all hosts. Timeouts are those of data centres: RFC 6298's 1 s would hide everything else.

    `dcqcn` is RDMA's: of what is TCP's it has `mss`, `ack_every`, and `min_rto`, which is its timeout.
    """

    model_config = ConfigDict(json_schema_extra=short_form({"enum": [*CONTROLS]}))

    control: Control = "dctcp"
    stack: Stack = Field(
        default_factory=lambda: Stack.model_validate({}), description="what TCP stacks do differently: docs/stacks.md"
    )
    mss_bytes: Size = Field(default=1460, alias="mss", ge=1, le=65_000)
    initial_window: int = Field(default=10, ge=1, le=10**6, description="segments")
    min_rto_ns: Time = Field(default=10_000_000, alias="min_rto", gt=0, le=_LONGEST_RTO_NS)
    initial_rto_ns: Time = Field(default=10_000_000, alias="initial_rto", gt=0, le=_LONGEST_RTO_NS)
    ack_every: int = Field(default=2, ge=1, le=10**6, description="segments")
    ack_delay_ns: Time = Field(default=1_000_000, alias="ack_delay", le=_LONGEST_RTO_NS)
    receive_window_bytes: Annotated[Size, WithJsonSchema(_WRITTEN_WINDOW)] = Field(
        default=3 * 2**20, alias="receive_window", le=2**40, description="or windows, with the parts of the connections"
    )
    cwnd_validation: bool = True
    idle_restart: bool = False
    dctcp_gain_shift: int = Field(default=4, ge=0, lt=20, description="g = 2^-shift")
    dctcp_loss_after_marks: bool = Field(default=True, description="a loss cuts a window that marks have just cut")

    @model_validator(mode="before")
    @classmethod
    def _by_name(cls, value: Any) -> Any:
        named = {"control": value} if isinstance(value, str) else value
        if isinstance(named, dict) and isinstance(named.get("receive_window"), dict):
            # One window stands for them where there can be one only: that of the largest.
            windows = named["receive_window"]
            largest = max(windows, key=units.parse_size, default=None)
            named = {**named, "receive_window": largest, "receive_windows": windows}
        # What a run had of these is part of what describes it.
        control = named.get("control") if isinstance(named, dict) else None
        return {control: {}} | named if control in ("dcqcn", "prague") else named

    dcqcn: Dcqcn | None = None
    prague: Prague | None = None
    delay_threshold_ns: Time | None = Field(
        default=None, alias="delay_threshold", gt=0, le=10**9, description="EAR's T; 120 packets of 1,500 bytes"
    )
    receive_windows: dict[Size, Part] | None = Field(
        default=None, description="parts of the connections by their windows; so written as the receive_window"
    )
    ecn_plus: bool = Field(default=False, description="answers to SYNs are ECN capable")
    # None is no timer: what is not asked for is no part of a description, nor of its digest.
    syn_ack_timer: bool | None = Field(
        default=None, description="answers to SYNs are sent again by a timer of their own"
    )

    @model_validator(mode="after")
    def _windows_are_of_all_connections(self) -> Transport:
        if self.receive_windows is None:
            return self
        whole = sum(self.receive_windows.values())
        if abs(whole - 1) > 1e-9:
            raise BadInput(
                f"the parts of the connections with each receive_window add up to {whole:.4g}, and not to 1",
                "{8KB: 20%, 16KB: 35%, 64KB: 45%}",
            )
        smallest = min(self.receive_windows)
        if smallest < self.mss_bytes:
            raise BadInput(
                f"a receive_window of {units.format_size(smallest)} is below a segment",
                f"{units.format_size(self.mss_bytes)} or more",
            )
        return self

    @model_validator(mode="after")
    def _window_is_advertised(self) -> Transport:
        # A fixed window needs no header to say it.
        if self.stack.window_autotuning and self.receive_window_bytes > _ADVERTISED_BYTES:
            window = units.format_size(self.receive_window_bytes)
            raise BadInput(
                f"a tuned receive_window of {window} is more than a header can advertise",
                f"{_ADVERTISED_BYTES} bytes or less",
            )
        return self

    @model_validator(mode="after")
    def _marks_what_can_be_marked(self) -> Transport:
        if not self.ecn_plus or self.control == "ecn-star":
            return self
        if self.is_paced:
            why = f"`{self.control}` has no SYNs that ECN+ could answer"
        elif self.uses_ecn:
            why = f"with `{self.control}` all packets are ECN capable, answers to SYNs as well: ECN+ changes nothing"
        else:
            why = f"`{self.control}` has no ECN, which ECN+ extends to answers to SYNs"
        raise BadInput(why, "--transport ecn-star")

    @model_validator(mode="after")
    def _hears_what_it_is_told(self) -> Transport:
        if self.delay_threshold_ns is not None and not self.hears_delay:
            raise BadInput(f"`{self.control}` does not hear delays: it has no delay_threshold", "control: ear")
        if self.hears_delay and self.mss_bytes <= _TIMING_BYTES:
            raise BadInput(
                f"a segment of {self.mss_bytes} bytes has no room for the option by which {self.control} measures its "
                "base delay",
                f"an mss above {_TIMING_BYTES}",
            )
        return self

    @model_validator(mode="after")
    def _paced_if_it_is_told_how(self) -> Transport:
        if self.dcqcn is not None and not self.is_paced:
            raise BadInput(f"`{self.control}` sends by windows: it has no rates of dcqcn", "control: dcqcn")
        if self.dcqcn is not None and self.dcqcn.window_bytes is not None:
            least = self.ack_every * self.mss_bytes
            if self.dcqcn.window_bytes < least:
                raise BadInput(
                    f"a window of {units.format_size(self.dcqcn.window_bytes)} would be full before the first "
                    f"acknowledgement, which comes after {least} bytes",
                    "a larger transport.dcqcn.window, or a lower transport.ack_every",
                )
        if self.dcqcn is not None:
            # Of the packets that an acknowledgement covers, and one before them.
            slowest_ns = (self.ack_every + 1) * (self.mss_bytes + 100) * 8 * 10**9 // self.dcqcn.min_rate_bps
            if slowest_ns >= self.min_rto_ns:
                raise BadInput(
                    f"at the smallest rate, {units.format_rate(self.dcqcn.min_rate_bps)}b/s, acknowledgements are "
                    f"{slowest_ns / 1e6:.3g} ms apart, which is longer than the timeout, "
                    f"{units.format_time(self.min_rto_ns)}",
                    "a higher transport.dcqcn.min_rate, or a longer transport.min_rto",
                )
        return self

    @property
    def is_paced(self) -> bool:
        """Whether it is RDMA, which has rates and no windows, and no handshake."""
        return self.control == "dcqcn"

    @property
    def uses_ecn(self) -> bool:
        """Whether its packets can be marked."""
        return self.control in ("dctcp", "ecn-star", "ear", "dcqcn", "prague")

    @property
    def hears_delay(self) -> bool:
        """Whether it takes long one-way delays for congestion, and measures them."""
        return self.control in ("delay-dctcp", "ear")

    @property
    def option_bytes(self) -> int:
        """Options in a segment with data."""
        return _TIMING_BYTES if self.hears_delay else 0

    @property
    def payload_bytes(self) -> int:
        """What a full segment carries."""
        return self.mss_bytes - self.option_bytes

    def threshold_ns(self, rate_bps: int) -> int | None:
        """How far beyond the shortest one-way delay is congestion, on lines of this rate."""
        if not self.hears_delay:
            return None
        return self.delay_threshold_ns or round(_DELAY_THRESHOLD_PACKETS * MTU_BYTES * 8e9 / rate_bps)


class Nic(Model):
    """What is between TCP and the line: connections in turn, like Linux's fq, and little of each, like its TSQ."""

    discipline: Literal["fair", "fifo"] = "fair"
    limit_packets: int = Field(default=100_000, ge=1, le=10**9)
    budget_bytes: Size = Field(default=256 * 2**10, alias="budget", le=2**40)


Mode = Literal["new", "persistent", "asked"]


class Connections(Model):
    """New for each flow, or persistent ones, with so many open between two hosts when the run begins.

    `asked` are new ones, too, which the receiver opens to ask for the flow, as a browser does. A flow that finds all
    persistent connections to its receiver `busy` opens one more. With `busy: wait` it draws one of the `per_pair`, busy
    or not, and comes after the flows that this carries, as where a generator writes its requests to fixed sockets.
    """

    model_config = ConfigDict(json_schema_extra=short_form({"enum": [*get_args(Mode)]}))

    mode: Mode = "persistent"
    per_pair: int = Field(default=5, ge=0, le=10**4)
    request_bytes: Size = Field(default=300, alias="request", ge=1, le=65_000)
    # None is no knowledge: what is not asked for is no part of a description, nor of its digest.
    warm: bool | None = Field(
        default=None, description="those that are open when the run begins know the base delay of the empty network"
    )
    # None is `open`.
    busy: Literal["open", "wait"] | None = None

    @model_validator(mode="before")
    @classmethod
    def _by_name(cls, value: Any) -> Any:
        return {"mode": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _open_if_they_are_warm(self) -> Connections:
        if self.warm and (self.mode != "persistent" or not self.per_pair):
            raise BadInput(
                "only connections that are open before the run can be warm",
                "connections.mode: persistent, and a per_pair of 1 or more",
            )
        return self

    @model_validator(mode="after")
    def _can_wait(self) -> Connections:
        if self.busy is not None and self.mode != "persistent":
            raise BadInput("only persistent connections are `busy`", "connections: {mode: persistent, busy: wait}")
        if self.waits and self.per_pair == 0:
            raise BadInput("flows cannot wait for others on none of 0 connections", "per_pair: 1 or more")
        return self

    @property
    def waits(self) -> bool:
        """Whether a flow waits for the flows before it on its connection."""
        return self.busy == "wait"


_WRITTEN_LIMIT: JsonSchemaValue = {
    "type": ["integer", "string"],
    "minimum": 1,
    "pattern": rf"{units.SIZE_PATTERN}|^[0-9]+\s*packets$",
    "examples": [600, "900KB", "600 packets"],
}


class Limit(Model):
    """What a queue holds at most: `600` packets, or `900KB`."""

    model_config = ConfigDict(json_schema_extra=short_form(_WRITTEN_LIMIT))

    packets: int | None = Field(default=None, ge=1, le=10**9)
    bytes: int | None = Field(default=None, ge=1, le=10**13)

    @model_validator(mode="before")
    @classmethod
    def _by_text(cls, value: Any) -> Any:
        if not isinstance(value, (int, str)):
            return value
        text = str(value).removesuffix("packets").strip()
        return {"packets": int(text)} if text.isdecimal() else {"bytes": units.parse_size(text)}

    @model_validator(mode="after")
    def _one_of_them(self) -> Limit:
        if (self.packets is None) == (self.bytes is None):
            raise BadInput("a queue is limited either in packets or in bytes", "write it like 600 or 900KB")
        return self

    def in_packets(self, packet_bytes: int) -> float:
        """How many packets of a size it holds."""
        return self.packets if self.packets is not None else (self.bytes or 0) / packet_bytes

    def __str__(self) -> str:
        return f"{self.packets} packets" if self.packets is not None else units.format_size(self.bytes or 0)
