# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a page asks, as JSON."""

from __future__ import annotations

from pydantic import Field

from marklab.language.source import Source
from marklab.model import Model
from marklab.paths import PROGRAMS
from marklab.playback.questions import Wanted
from marklab.studio.programs import Program, program_named

# More than any program that a person writes.
_LONGEST_TEXT = 1 << 20


class Written(Model):
    """A program as the page has it: the scheme from which it was opened, and its text."""

    name: str
    text: str = Field(max_length=_LONGEST_TEXT)

    @property
    def program(self) -> Program:
        """The scheme."""
        return program_named(self.name)

    @property
    def source(self) -> Source:
        """The text in the place of the scheme."""
        return Source(self.program.path, self.text, within=(PROGRAMS.parent,))


class AtPlace(Written):
    """A program and a place in it; both from 1, the column in characters."""

    line: int = Field(ge=1)
    column: int = Field(ge=1)


class AtOffset(Written):
    """A program and a character in it, from 0."""

    offset: int = Field(ge=0)


class Asked(Written):
    """A run of a program beside the scheme from which it was opened."""

    flows: int = Field(ge=1, le=1_000_000)
    load: float = Field(gt=0, le=2)
    seeds: int = Field(ge=1, le=100)


class Looked(Model):
    """A cell of a run to look at."""

    scheme: str
    seed: int


class AskedPacket(Model):
    """A packet at a port of a switch, from a time on."""

    at: str
    from_ns: int = Field(ge=0)
    what: Wanted


class AskedLife(Model):
    """A flow up to a time."""

    flow: int = Field(ge=0)
    until_ns: int = Field(ge=0)
