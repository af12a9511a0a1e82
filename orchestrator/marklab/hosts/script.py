# SPDX-License-Identifier: MIT OR Apache-2.0
"""Scripts: a flow or a few, and what happens to single packets of them at the bottleneck."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, field_validator, model_validator
from pydantic.json_schema import JsonSchemaValue

from marklab.devices.hosts import Transport
from marklab.errors import BadInput
from marklab.model import Model, OneOrMore, Rate, Time, read_yaml, validate, written
from marklab.paths import TRAFFIC

SCRIPTS = TRAFFIC / "scripts"

Direction = Literal["data", "acks"]
Control = Literal["reno", "ecn-star", "dctcp"]
CONTROLS: tuple[Control, ...] = get_args(Control)

# Of scripts: shorter ones would show the delays of the machine.
_SHORTEST_RTT_NS = 20 * 10**6
_RANGE = re.compile(r"\s*([0-9]+)\s*-\s*([0-9]+)\s*")
# Numbers that a single event may name.
_MOST_NUMBERS = 1000
# As many as scripted.p4 counts one by one.
_MOST_SEGMENTS = 4000

# What names a packet, by direction. The first of these that an event has decides.
_NAMES: dict[Direction, tuple[str, ...]] = {
    "data": ("packet", "segment", "syn", "fin", "cwr", "round"),
    "acks": ("packet", "covering", "syn", "fin", "ece", "round"),
}
# What may stand beside it, and its value if it is left out.
_BESIDE = {"segment": ("transmission", 1), "covering": ("copy_number", 1), "round": ("place", None)}
_WRITTEN = {"copy_number": "copy"}


def _numbers(value: Any) -> Any:
    """Read `7`, `3-9` or a list of these."""
    if isinstance(value, (list, tuple)):
        return tuple(number for each in value for number in _numbers(each))
    match = _RANGE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return (value,)
    first, last = int(match[1]), int(match[2])
    if not first <= last < first + _MOST_NUMBERS:
        raise BadInput(f"`{value}` is no range", f"write FIRST-LAST, of {_MOST_NUMBERS} numbers at most")
    return tuple(range(first, last + 1))


_NUMBER: JsonSchemaValue = {
    "anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": rf"^{_RANGE.pattern}$"}]
}
_WRITTEN_NUMBERS: JsonSchemaValue = {
    "anyOf": [*_NUMBER["anyOf"], {"type": "array", "items": _NUMBER}],
    "examples": [7, "3-9", [3, 5]],
}
Numbers = Annotated[
    tuple[Annotated[int, Field(ge=1, lt=2**31)], ...],
    BeforeValidator(_numbers, json_schema_input_type=written(_WRITTEN_NUMBERS)),
]


@dataclass(frozen=True)
class Match:
    """One packet that an event is about, or all packets of a round trip: numbers by the names that scripts have."""

    numbers: tuple[tuple[str, int], ...]

    @property
    def keys(self) -> dict[str, int]:
        """Keys of the table `script`."""
        return {_KEYS.get(name, name): value for name, value in self.numbers}

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.numbers)


class Happening(Model):
    """What happens to packets of a flow. Numbers begin with 1, and name several packets as `3-9` or `[3, 5]`.

    `drop`, `mark` or `delay` says which direction's packets: `data` or `acks`. One of the following names them:
    `packet` (n-th of the flow and direction), `syn` (n-th SYN, or SYN-ACK), `fin`, `cwr` (of data) and `ece` (of
    acknowledgements) likewise; `segment` (n-th of the stream, in the given `transmission`, the first if left out, or
    `any`), `covering` (acknowledgements of the first n segments, in the given `copy`), `round` (a round trip, all of it
    or the packets in the given `place`).
    """

    drop: Direction | None = None
    mark: Direction | None = None
    delay: Direction | None = None
    by_ns: Time | None = Field(default=None, alias="by", gt=0, le=10 * 10**9)
    flow: int = Field(default=1, ge=1)
    packet: Numbers | None = None
    segment: Numbers | None = None
    transmission: Numbers | Literal["any"] | None = None
    covering: Numbers | None = None
    copy_number: Numbers | Literal["any"] | None = Field(default=None, alias="copy")
    syn: Numbers | None = None
    fin: Numbers | None = None
    cwr: Numbers | None = None
    ece: Numbers | None = None
    round: Numbers | None = None
    place: Numbers | None = None

    @model_validator(mode="after")
    def _one_thing_to_one_packet(self) -> Happening:
        done = [name for name in ("drop", "mark", "delay") if getattr(self, name) is not None]
        if len(done) != 1:
            raise BadInput("an event is one of `drop`, `mark` and `delay`", "drop: data, segment: 7")
        if (self.delay is not None) != (self.by_ns is not None):
            raise BadInput("`delay` and `by` belong together", "delay: data, segment: 7, by: 15ms")
        if self.mark == "acks":
            raise BadInput("acknowledgements are not ECN capable, and cannot be marked", "mark: data")
        given = [name for name in {*_NAMES["data"], *_NAMES["acks"]} if getattr(self, name) is not None]
        known = _NAMES[self.direction]
        if len(given) != 1 or given[0] not in known:
            said = ", ".join(sorted(given)) or "nothing"
            raise BadInput(f"`{done[0]}: {self.direction}` with {said}", f"one of {', '.join(known)}")
        beside = _BESIDE.get(given[0], ("", None))[0]
        for name in ("transmission", "copy_number", "place"):
            if getattr(self, name) is not None and name != beside:
                raise BadInput(f"`{_WRITTEN.get(name, name)}` means nothing beside `{given[0]}`", "leave it out")
        return self

    @property
    def action(self) -> Literal["drop", "mark", "delay"]:
        """What happens."""
        return "drop" if self.drop else "mark" if self.mark else "delay"

    @property
    def direction(self) -> Direction:
        """Of the packets."""
        found = self.drop or self.mark or self.delay
        assert found is not None  # noqa: S101 - checked above
        return found

    def matches(self) -> Iterator[Match]:
        """Each packet by itself, since each has to come."""
        name = next(name for name in _NAMES[self.direction] if getattr(self, name) is not None)
        beside, first = _BESIDE.get(name, ("", None))
        others = getattr(self, beside) if beside else None
        if others is None and first is not None:
            others = (first,)
        for number in getattr(self, name):
            if others is None or others == "any":
                yield Match(((name, number),))
            else:
                also = _WRITTEN.get(beside, beside)
                yield from (Match(((name, number), (also, other))) for other in others)


# Names of the table's keys, where they differ.
_KEYS = {
    "syn": "opening",
    "fin": "closing",
    "cwr": "signal",
    "ece": "signal",
    "covering": "segment",
    "transmission": "copy",
}


class Write(Model):
    """What the application writes at a time after the start of its flow."""

    at_ns: Time = Field(default=0, alias="at", ge=0)
    segments: int = Field(ge=1, le=_MOST_SEGMENTS)


class ScriptFlow(Model):
    """A flow, between two hosts of its own: `segments` that are written at once, or several `writes`."""

    start_ns: Time = Field(default=0, alias="start", ge=0)
    segments: int | None = Field(default=None, ge=1, le=_MOST_SEGMENTS)
    writes: tuple[Write, ...] = ()
    rate_bps: Rate | None = Field(default=None, alias="rate", ge=1000, description="of the application")
    receive_window: int | None = Field(default=None, ge=1, le=1000, description="segments")
    close: bool = Field(default=False, description="the last segment, one byte shorter, has a FIN")

    @field_validator("writes")
    @classmethod
    def _in_order(cls, writes: tuple[Write, ...]) -> tuple[Write, ...]:
        times = [write.at_ns for write in writes]
        if times != sorted(set(times)):
            raise BadInput("`writes` is a list in the order of `at`", "[{segments: 10}, {at: 500ms, segments: 10}]")
        return writes

    @model_validator(mode="after")
    def _writes_something(self) -> ScriptFlow:
        if self.is_flow and (self.segments is None) == (not self.writes):
            raise BadInput("a flow has either `segments` or `writes`", "segments: 40")
        if len(self.writes) > 1 and (self.close or self.rate_bps):
            raise BadInput("a flow with several `writes` has neither `close` nor `rate`", "leave it out")
        return self

    @property
    def is_flow(self) -> bool:
        """Whether these keys are a flow's."""
        return True

    @property
    def written(self) -> tuple[Write, ...]:
        """All writes."""
        return self.writes or (Write(segments=self.segments or 1),)

    @property
    def stream_segments(self) -> int:
        """Of the whole stream."""
        return sum(write.segments for write in self.written)


class Script(ScriptFlow):
    """What hosts send, and what happens to it. The keys of its flow are its own, or there is a list of `flows`."""

    title: str
    transports: Annotated[tuple[Control, ...], OneOrMore()] = CONTROLS
    rtt_ns: Time = Field(default=100 * 10**6, alias="rtt", le=10**9)
    flows: tuple[ScriptFlow, ...] = Field(default=(), max_length=4)
    events: tuple[Happening, ...] = ()
    delayed_acks: bool = Field(default=False, description="of the receiver; else it acknowledges each segment at once")
    until_ns: Time = Field(default=30 * 10**9, alias="until", gt=0, description="an unfinished flow ends then")

    @field_validator("rtt_ns")
    @classmethod
    def _longer_than_delays_of_the_machine(cls, rtt_ns: int) -> int:
        if rtt_ns < _SHORTEST_RTT_NS:
            raise BadInput("a script has an `rtt` of 20 ms or more", "so that delays of the machine do not count")
        return rtt_ns

    @model_validator(mode="after")
    def _has_flows_once(self) -> Script:
        if self.flows and (self.segments is not None or self.writes):
            raise BadInput("`flows` stands for the keys of a single flow", "leave out `segments` and `writes`")
        return self

    @model_validator(mode="after")
    def _names_its_own_flows(self) -> Script:
        for event in self.events:
            if event.flow > len(self.all_flows):
                raise BadInput(
                    f"an event is about flow {event.flow}, and the script has {len(self.all_flows)}",
                    "number flows from 1, in the order of `flows`",
                )
            count = self.all_flows[event.flow - 1].stream_segments
            if event.segment is not None and max(event.segment) > count:
                raise BadInput(
                    f"an event is about segment {max(event.segment)} of flow {event.flow}, which has {count}",
                    f"segments 1 to {count}, or a longer flow",
                )
        return self

    @field_validator("flows")
    @classmethod
    def _flows_in_order(cls, flows: tuple[ScriptFlow, ...]) -> tuple[ScriptFlow, ...]:
        if list(flows) != sorted(flows, key=lambda flow: flow.start_ns):
            raise BadInput("`flows` is a list in the order of `start`", "their first SYNs number them")
        return flows

    @property
    def is_flow(self) -> bool:
        """Whether the flow's keys are here."""
        return not self.flows

    @property
    def all_flows(self) -> tuple[ScriptFlow, ...]:
        """In the order of their numbers."""
        return self.flows or (self,)


@dataclass(frozen=True)
class Case:
    """A script with one of its transports. Its name is `kind/name`."""

    name: str
    script: Script
    control: Control

    @property
    def kind(self) -> str:
        """The group that it belongs to."""
        return self.name.partition("/")[0]

    def __str__(self) -> str:
        return f"{self.name}, {self.control}"


def transport_of(case: Case, settings: Mapping[str, Any] | None = None) -> Transport:
    """Hosts with the settings that Linux has by default, as far as both have them; and others."""
    given = dict(settings or {})
    stack = {name.removeprefix("stack."): given.pop(name) for name in list(given) if name.startswith("stack.")}
    return Transport.model_validate(
        {
            "control": case.control,
            # Linux acknowledges each segment while its receive window grows, which ends early where nothing is read.
            # On lines without a rate nothing waits in a NIC.
            "stack": {"profile": "linux", "quick_acks": 158, "small_queues": False, **stack},
            "ack_every": 2 if case.script.delayed_acks else 1,
            # A receive window of whole segments is one of whole units of 2^8 bytes.
            "mss": 1280,
            "min_rto": "200ms",
            "initial_rto": "1s",
            "ack_delay": "40ms",
            "idle_restart": True,
            # With this memory Linux's window scale is that of simulated hosts, 2^8.
            "receive_window": "5MiB",
            "syn_ack_timer": True,
            **given,
        }
    )


def read_script(path: Path) -> Script:
    """Read a script from a file."""
    return validate(Script, read_yaml(path), str(path))


def written_scripts(folder: Path = SCRIPTS) -> dict[str, Script]:
    """All scripts of a folder, by `kind/name`."""
    return {
        path.relative_to(folder).with_suffix("").as_posix(): read_script(path)
        for path in sorted(folder.rglob("*.yaml"))
    }


def cases(scripts: Iterable[tuple[str, Script]], controls: Iterable[str] = CONTROLS) -> list[Case]:
    """Each script with each of its transports."""
    wanted = set(controls)
    return [
        Case(name, script, control) for name, script in scripts for control in script.transports if control in wanted
    ]
