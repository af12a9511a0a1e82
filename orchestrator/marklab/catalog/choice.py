# SPDX-License-Identifier: MIT OR Apache-2.0
"""How a scheme is chosen: `ecn-sharp`, `dctcp-red:avg`, `dctcp-red:k=100KB`, `my/scheme.p4:mine,t=30us`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from marklab.errors import BadInput
from marklab.units import parse_setting

# As JSON Schema; `none` is no baseline.
WRITTEN_CHOICE = {
    "type": "string",
    "minLength": 1,
    "examples": ["ecn-sharp", "dctcp-red:avg", "dctcp-red:k=100KB", "my/scheme.p4:mine,t=30us"],
}


@dataclass(frozen=True)
class SchemeChoice:
    """A scheme by its name or the path of its P4 program, with a preset and parameters that differ from its rules."""

    program: str
    preset: str | None = None
    params: tuple[tuple[str, str], ...] = ()

    @property
    def is_path(self) -> bool:
        """Whether it names a file and not a scheme of the catalog."""
        return self.program.endswith(".p4") or "/" in self.program

    @property
    def label(self) -> str:
        """What it is called in tables and columns; two choices of one run differ in it."""
        return self._text(Path(self.program).stem if self.is_path else self.program)

    def with_params(self, params: dict[str, str]) -> SchemeChoice:
        """The same with these parameters set as well."""
        return replace(self, params=tuple(sorted({**dict(self.params), **params}.items())))

    def _text(self, name: str) -> str:
        details = [self.preset] if self.preset else []
        details += [f"{key}={value}" for key, value in self.params]
        return f"{name}:{','.join(details)}" if details else name

    def __str__(self) -> str:
        return self._text(self.program)


def parse_choice(value: Any) -> Any:
    """Read a choice."""
    if isinstance(value, SchemeChoice):
        return value
    if not isinstance(value, str):
        raise BadInput(f"`{value}` is not a scheme", "write NAME, NAME:PRESET or NAME:parameter=value,...")
    program, _, rest = value.partition(":")
    details = [detail.strip() for detail in rest.split(",")] if rest else []
    presets = [detail for detail in details if "=" not in detail]
    if not program or len(presets) > 1 or "" in details:
        raise BadInput(f"`{value}` is not a scheme", "write NAME, NAME:PRESET or NAME:parameter=value,...")
    choice = SchemeChoice(program, presets[0] if presets else None)
    if choice.is_path:
        choice = replace(choice, program=str(Path(program).resolve()))
    return choice.with_params(dict(parse_setting(detail) for detail in details if "=" in detail))


def parse_baseline(value: Any) -> Any:
    """Read the choice of a baseline, of which there may be `none`."""
    return None if value == "none" else parse_choice(value)
