"""What Tofino cannot do of a program, and what the program needs of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator import engine
from orchestrator.errors import BadInput, unknown
from orchestrator.paths import TWINS


@dataclass(frozen=True)
class Message:
    """A limit that a program breaks, or comes near to."""

    id: str
    text: str
    remedy: str | None
    path: str
    line: int
    # With the line of the source and a mark under what is meant.
    rendering: str
    is_warning: bool


@dataclass(frozen=True)
class Examination:
    """What came of looking at a program as its chip would."""

    arch: str
    # Of the compiler, as text.
    warnings: str
    messages: tuple[Message, ...]

    @property
    def errors(self) -> tuple[Message, ...]:
        """What keeps the program from running on the chip."""
        return tuple(message for message in self.messages if not message.is_warning)


def find_program(name: str) -> Path:
    """A TNA program by its path, or the twin of a scheme by its name."""
    path = Path(name)
    if path.suffix == ".p4":
        if not path.is_file():
            raise BadInput(f"there is no P4 program {path}")
        return path.resolve()
    twins = {twin.stem: twin for twin in TWINS.glob("*.p4")}
    if name not in twins:
        raise unknown("scheme for Tofino:", name, twins)
    return twins[name]


def examine(program: Path, defines: Sequence[tuple[str, str]] = ()) -> Examination:
    """Check a TNA program, with these macros, against the limits of its chip."""
    found = engine.tofino_check(program, defines)
    return Examination(found["arch"], found["warnings"], tuple(_message(one) for one in found["messages"]))


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
