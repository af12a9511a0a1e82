# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks a program against the limits of Tofino, and estimates the resources that it needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from marklab.catalog.twin import known_twins
from marklab.engine import binding as engine
from marklab.errors import BadInput, unknown
from marklab.paths import TWINS


@dataclass(frozen=True)
class Message:
    """A limit that a program breaks, or comes close to."""

    id: str
    text: str
    remedy: str | None
    path: str
    line: int
    # The message with its source line, and a mark under the place.
    rendering: str
    is_warning: bool


@dataclass(frozen=True)
class StageUse:
    """Resources that are used of a stage. SRAM blocks have 16 KB, TCAM blocks 512 entries of 44 bits."""

    stage: int
    # Names, and FILE:LINE of statements and conditions that become tables.
    tables: list[str]
    logical_tables: int
    gateways: int
    stateful_alus: int
    counter_alus: int
    sram: int
    tcam: int
    map_ram: int
    exact_bytes: int
    ternary_bytes: int
    hash_bits: int


@dataclass(frozen=True)
class Total:
    """Resources that are used of all stages; `tables` counts the program's tables."""

    tables: int
    logical_tables: int
    gateways: int
    stateful_alus: int
    sram: int
    tcam: int
    map_ram: int
    hash_bits: int


@dataclass(frozen=True)
class RegisterArrays:
    """Arrays of registers with elements of one width."""

    bits: int
    arrays: int
    elements: int


@dataclass(frozen=True)
class VectorBits:
    """Bits of the packet header vector, which ingress and egress share."""

    headers: int
    metadata: int
    intrinsic: int
    available: int


@dataclass(frozen=True)
class ChipEstimate:
    """Resources of the chip that a program needs."""

    stages_used: int
    stages: int
    stages_by_dependencies: int
    # Tables and conditions, each of which depends on the previous one.
    longest_chain: list[str]
    by_stage: list[StageUse]
    total: Total
    registers: list[RegisterArrays]
    vector: VectorBits


@dataclass(frozen=True)
class Examination:
    """The result of checking a program against its chip."""

    arch: str
    # Warnings of the compiler, as text.
    warnings: str
    messages: list[Message]
    estimate: ChipEstimate

    @property
    def errors(self) -> list[Message]:
        """Messages about limits that prevent the program from running on the chip."""
        return [message for message in self.messages if not message.is_warning]


_ESTIMATES = TypeAdapter(ChipEstimate)


def find_program(name: str) -> Path:
    """A TNA program by its path, or the twin of a scheme by its name."""
    path = Path(name)
    if path.suffix == ".p4":
        if not path.is_file():
            raise BadInput(f"there is no P4 program {path}")
        return path.resolve()
    if name not in known_twins():
        raise unknown("scheme for Tofino:", name, known_twins())
    return TWINS / f"{name}.p4"


def examine(program: Path, defines: Sequence[tuple[str, str]] = ()) -> Examination:
    """Check a TNA program, with these macros, against the limits of its chip, and estimate what it needs."""
    found = engine.tofino_check(program, defines)
    messages = [_message(one) for one in found["messages"]]
    return Examination(found["arch"], found["warnings"], messages, _ESTIMATES.validate_python(found["estimate"]))


def _message(found: dict[str, Any]) -> Message:
    place = found["place"]
    return Message(
        found["id"],
        found["text"],
        found["help"],
        place["path"],
        place["line"],
        found["rendering"],
        found["category"] == "warning",
    )
