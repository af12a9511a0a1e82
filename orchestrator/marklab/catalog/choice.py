# SPDX-License-Identifier: MIT OR Apache-2.0
"""How a scheme is chosen: `ecn-sharp`, `dctcp-red:avg`, `dctcp-red:k=100KB`, `my/scheme.p4:mine,t=30us`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from marklab.errors import BadInput
from marklab.units import ShortForm

# The written form of a choice, as JSON Schema. `none` as a baseline means that there is none.
WRITTEN_CHOICE = {
    "type": "string",
    "minLength": 1,
    "examples": ["ecn-sharp", "dctcp-red:avg", "dctcp-red:k=100KB", "my/scheme.p4:mine,t=30us"],
}


@dataclass(frozen=True)
class SchemeChoice:
    """A scheme by its name or the path of its P4 program, with a preset and with parameters that override its rules."""

    program: str
    preset: str | None = None
    params: tuple[tuple[str, str], ...] = ()

    @property
    def is_path(self) -> bool:
        """Whether the choice names a file and not a scheme of the catalog."""
        return self.program.endswith(".p4") or "/" in self.program

    @property
    def label(self) -> str:
        """The name in tables and columns, which is unique within a run."""
        return self._text(Path(self.program).stem if self.is_path else self.program)

    def with_params(self, params: dict[str, str]) -> SchemeChoice:
        """The same choice with these parameters added or replaced."""
        return replace(self, params=tuple(sorted({**dict(self.params), **params}.items())))

    def _text(self, name: str) -> str:
        details = [self.preset] if self.preset else []
        details += [f"{key}={value}" for key, value in self.params]
        return f"{name}:{','.join(details)}" if details else name

    def __str__(self) -> str:
        return self._text(self.program)


def parse_choice(value: Any) -> Any:
    """Read a choice; paths of programs become absolute. Raises BadInput."""
    if isinstance(value, SchemeChoice):
        return value
    if not isinstance(value, str):
        raise BadInput(f"`{value}` is not a scheme", "write NAME, NAME:PRESET or NAME:parameter=value,...")
    form = ShortForm.read(value)
    if not form.name or len(form.words) > 1 or "" in form.words:
        raise BadInput(f"`{value}` is not a scheme", "write NAME, NAME:PRESET or NAME:parameter=value,...")
    choice = SchemeChoice(form.name, form.words[0] if form.words else None)
    if choice.is_path:
        choice = replace(choice, program=str(Path(form.name).resolve()))
    return choice.with_params(form.settings)


def parse_baseline(value: Any) -> Any:
    """Read the choice of a baseline; None for `none`."""
    return None if value == "none" else parse_choice(value)
