# SPDX-License-Identifier: MIT OR Apache-2.0
"""Queues of switch ports, as users write them.

A port has one first-in first-out queue, or several: `dwrr:count=4,buffer=96KB` are four queues in turns, one full frame
each, that share 96 KB.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import yaml
from pydantic import BeforeValidator, ConfigDict, Field, model_validator
from pydantic.json_schema import JsonSchemaValue

from marklab import units
from marklab.devices.hosts import Limit
from marklab.errors import BadInput
from marklab.model import Model, Size, short_form, written

# Those of Tofino 2, and of the engine.
MAX_QUEUES = 128

_MTUS = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*mtu", re.IGNORECASE)


def _quantum(value: Any) -> str:
    text = str(value).strip()
    if not _MTUS.fullmatch(text):
        units.parse_size(text)
    return text


_WRITTEN_QUANTUM: JsonSchemaValue = {"type": ["string", "number"], "examples": ["1mtu", "3000", "18KB"]}

Quantum = Annotated[str, BeforeValidator(_quantum, json_schema_input_type=written(_WRITTEN_QUANTUM))]


def _as_tuple(value: Any) -> Any:
    return tuple(value.split("/")) if isinstance(value, str) else (value,) if isinstance(value, (int, float)) else value


class Queues(Model):
    """Queues of each port of a switch, and how they share its line and memory.

    `dwrr` carries what a turn leaves of its quantum to the next, `wrr` does not; in both the last `strict` queues come
    before the others. In `strict` each queue comes before those of smaller numbers. Quanta are bytes of frames, or
    `mtu`s, full frames of the run. Without `buffer` each queue has the run's `queue` limit; with it all of a port's
    share it, in order of arrival. `shared` is memory of the whole switch; a queue may take `alpha` times
    what is free.
    """

    model_config = ConfigDict(
        json_schema_extra=short_form(
            {"type": "string", "examples": ["fifo", "dwrr:count=4,buffer=96KB", "strict:count=8"]}
        )
    )

    scheduler: Literal["fifo", "strict", "wrr", "dwrr"] = "fifo"
    count: int = Field(default=1, ge=1, le=MAX_QUEUES)
    quantum: Annotated[
        tuple[Quantum, ...],
        BeforeValidator(_as_tuple, json_schema_input_type=tuple[Quantum, ...] | written(_WRITTEN_QUANTUM)),
    ] = ("1mtu",)
    strict: int = Field(default=0, ge=0)
    buffer: Limit | None = None
    shared_bytes: Size | None = Field(default=None, alias="shared", ge=1)
    alpha: float = Field(default=1.0, ge=1 / 128, le=1024)

    @model_validator(mode="before")
    @classmethod
    def _by_text(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        name, settings = units.ShortForm.settings_of(value)
        return {"scheduler": name, **{key: yaml.safe_load(text) for key, text in settings.items()}}

    @model_validator(mode="after")
    def _consistent(self) -> Queues:
        if self.scheduler == "fifo" and self.count > 1:
            raise BadInput(f"a fifo is one queue, not {self.count}", "choose dwrr, wrr or strict")
        if self.strict and self.scheduler not in ("dwrr", "wrr"):
            raise BadInput(
                f"`strict` queues above the others need dwrr or wrr, not {self.scheduler}",
                f"dwrr:count={max(self.count, 1 + self.strict)},strict={self.strict}",
            )
        if self.strict >= self.count:
            raise BadInput(
                f"{self.strict} strict queues of {self.count} leave none for the others",
                f"count={self.strict + 1} or more, or scheduler strict",
            )
        turns = self.count - self.strict
        if len(self.quantum) not in (1, turns):
            raise BadInput(f"{len(self.quantum)} quanta for {turns} queues", "give one for all, or one for each")
        return self

    def quanta_bytes(self, frame_bytes: int) -> tuple[int, ...]:
        """Quantum of each queue that takes turns, where a full frame has so many bytes."""
        quanta = tuple(_in_bytes(text, frame_bytes) for text in self.quantum)
        for text, quantum in zip(self.quantum, quanta, strict=True):
            if quantum < frame_bytes:
                raise BadInput(
                    f"a quantum of {text} is below a full frame, which has {frame_bytes} bytes",
                    f"write 1mtu, or {frame_bytes} and more",
                )
        turns = self.count - self.strict
        return quanta * turns if len(quanta) == 1 else quanta

    def to_engine(self, limit: Limit, frame_bytes: int) -> dict[str, Any]:
        """The ports of a switch as the engine takes them."""
        plain = limit.model_dump(exclude_none=True)
        own = plain if self.buffer is None else {"packets": 2**63 - 1}
        quanta = self.quanta_bytes(frame_bytes)
        levels = [number if self.scheduler == "strict" else 0 for number in range(len(quanta))]
        queues = [
            {"limit": own, "level": level, "quantum_bytes": quantum}
            for level, quantum in zip(levels, quanta, strict=True)
        ]
        queues += [{"limit": own, "level": 1 + above, "quantum_bytes": frame_bytes} for above in range(self.strict)]
        result: dict[str, Any] = {"queues": queues, "round": "weighted" if self.scheduler == "wrr" else "deficit"}
        if self.buffer is not None:
            result["port_limit"] = self.buffer.model_dump(exclude_none=True)
        if self.shared_bytes is not None:
            result["pool"] = {"total_bytes": self.shared_bytes, "alpha_128ths": round(128 * self.alpha)}
        return result

    def __str__(self) -> str:
        given = self.model_dump(exclude_defaults=True, exclude={"scheduler"}, mode="json")
        given |= {"buffer": str(self.buffer)} if self.buffer is not None else {}
        given |= {"quantum": "/".join(self.quantum)} if "quantum" in given else {}
        settings = ",".join(f"{name}={value}" for name, value in given.items())
        return f"{self.scheduler}:{settings}" if settings else self.scheduler


def _in_bytes(text: str, frame_bytes: int) -> int:
    mtus = _MTUS.fullmatch(text)
    return round(float(mtus[1]) * frame_bytes) if mtus else units.parse_size(text)
