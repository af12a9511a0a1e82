# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a page asks, as JSON."""

from __future__ import annotations

from pydantic import Field

from marklab.language.source import Source
from marklab.model import Model
from marklab.paths import PROGRAMS
from marklab.playback.questions import Wanted
from marklab.studio.form import words
from marklab.studio.programs import Program, program_named

# More than any program that a person writes.
_LONGEST_TEXT = 1 << 20
_MOST_SETTINGS = 100


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


class Saved(Written):
    """A program to be saved under a name."""

    name_: str = Field(alias="as", pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,60}$")


class Settings(Model):
    """What a form says: settings by the names of their options, and parameters of the scheme, as text."""

    settings: dict[str, str] = Field(default_factory=dict, max_length=_MOST_SETTINGS)
    params: dict[str, str] = Field(default_factory=dict, max_length=_MOST_SETTINGS)

    @property
    def words(self) -> list[str]:
        """The words of a command line."""
        given = [word for name, text in self.params.items() for word in ("--param", f"{name}={text}")]
        return [*words(self.settings), *given]


class Asked(Settings, Written):
    """A run of a program beside the scheme from which it was opened."""


class Checked(Settings):
    """A form that a person fills in, for a scheme."""

    name: str


class Looked(Model):
    """A cell to look at, of a run by the name of its folder."""

    folder: str
    scheme: str
    seed: int


class Compared(Model):
    """Two runs by the names of their folders."""

    base: str
    new: str


class AskedPacket(Model):
    """A packet at a port of a switch, from a time on."""

    at: str
    from_ns: int = Field(ge=0)
    what: Wanted


class AskedLife(Model):
    """A flow up to a time."""

    flow: int = Field(ge=0)
    until_ns: int = Field(ge=0)
