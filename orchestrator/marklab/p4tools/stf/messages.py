# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks whether messages are at p4c's places, or elsewhere for a stated reason (`messages.yaml`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from marklab.engine.binding import diagnose
from marklab.errors import BadInput
from marklab.model import read_yaml
from marklab.p4tools.stf.golden import Golden, Place, read_golden

REASONS = Path(__file__).with_name("messages.yaml")


class Agreement(Enum):
    """Where the nearest of our messages is, relative to a message of p4c; the best case comes first."""

    SAME = "same place"
    NESTED = "inside of p4c's place or around it, in its line"
    NAMED = "at another place that p4c's message shows"
    LABEL = "p4c's place is the second one of our message"
    ARGUED = "elsewhere, argued"
    UNARGUED = "elsewhere, not argued"


@dataclass(frozen=True)
class Compared:
    """One error of p4c; `name` is its program and line."""

    name: str
    agreement: Agreement


@dataclass(frozen=True)
class Messages:
    """All errors of p4c with a place, in programs that we refuse too."""

    compared: Sequence[Compared] = ()
    reasons: Mapping[str, Sequence[str]] | None = None

    @property
    def unargued(self) -> list[str]:
        """Messages that are elsewhere without a reason."""
        return [message.name for message in self.compared if message.agreement is Agreement.UNARGUED]

    @property
    def share(self) -> str:
        """How many messages are in the right place: p4c's, or another one for a stated reason."""
        count = len(self.compared)
        right = count - len(self.unargued)
        return f"{right} of {count}" + (f" ({100 * right / count:.4g} %)" if count else "")

    @property
    def stale(self) -> list[str]:
        """Reasons that are given for messages that agree or do not exist."""
        argued = {message.name for message in self.compared if message.agreement is Agreement.ARGUED}
        names = (name for names in (self.reasons or {}).values() for name in names)
        return [name for name in names if name not in argued]


def compare(programs: Sequence[Path], goldens: Path) -> Messages:
    """Compare our messages on programs with p4c's in a folder."""
    reasons = _reasons(REASONS)
    argued = {name for names in reasons.values() for name in names}
    compared = [message for path in programs for message in _compare_one(path, goldens, argued)]
    here = {path.name for path in programs}
    return Messages(
        compared, {reason: [name for name in names if name.split(":")[0] in here] for reason, names in reasons.items()}
    )


def _reasons(path: Path) -> Mapping[str, Sequence[str]]:
    reasons = read_yaml(path)
    names = [name for names in reasons.values() for name in names]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise BadInput(f"{path}: {', '.join(twice)} has two reasons")
    return reasons


def _compare_one(program: Path, goldens: Path, argued: set[str]) -> Iterator[Compared]:
    golden = goldens / f"{program.name}-stderr"
    ours = [message for message in diagnose(program) if message["category"] != "warning"]
    if not (golden.exists() and ours):
        return
    source = program.read_text(encoding="utf-8", errors="replace").splitlines()
    for theirs in read_golden(golden.read_text(encoding="utf-8", errors="replace"), {program.name: source}):
        file, line = theirs.places[0].file, theirs.places[0].line
        name = f"{program.name}:{line}" if file == program.name else f"{program.name}:{file}:{line}"
        best = min((_agreement(message, theirs) for message in ours), key=list(Agreement).index)
        if best is Agreement.UNARGUED and name in argued:
            best = Agreement.ARGUED
        yield Compared(name, best)


def _agreement(ours: Mapping[str, Any], theirs: Golden) -> Agreement:
    first, *others = theirs.places
    if _begins_at(ours["place"], first):
        return Agreement.SAME
    if _nested(ours["place"], first):
        return Agreement.NESTED
    if any(_nested(ours["place"], place) for place in others):
        return Agreement.NAMED
    if any(_nested(label["place"], first) for label in ours["labels"]):
        return Agreement.LABEL
    return Agreement.UNARGUED


def _begins_at(ours: Mapping[str, Any], theirs: Place) -> bool:
    in_line = Path(ours["path"]).name == theirs.file and ours["line"] == theirs.line
    return in_line and theirs.columns is not None and ours["column"] == theirs.columns[0]


def _nested(ours: Mapping[str, Any], theirs: Place) -> bool:
    """Whether one place contains the other, within the line in which they begin."""
    if Path(ours["path"]).name != theirs.file or ours["line"] != theirs.line or theirs.columns is None:
        return False
    goes_on = ours["end_line"] > ours["line"]
    (start, end), (low, high) = (ours["column"], ours["end_column"]), theirs.columns
    inside = low <= start and end <= high and not goes_on
    around = start <= low and (goes_on or high <= end)
    return inside or around
