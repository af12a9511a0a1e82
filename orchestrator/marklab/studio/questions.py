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
# Of files in the present folder.
_NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,60}$"


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

    name_: str = Field(alias="as", pattern=_NAME)


class Settings(Model):
    """What a form says: settings by the names of their options, and parameters of the scheme, as text."""

    settings: dict[str, str] = Field(default_factory=dict, max_length=_MOST_SETTINGS)
    params: dict[str, str] = Field(default_factory=dict, max_length=_MOST_SETTINGS)

    @property
    def is_real(self) -> bool:
        """Whether it asks for real hosts."""
        return self.settings.get("fabric", "sim") != "sim"

    def words(self, lab: bool) -> list[str]:
        """The words of a command line; with `lab` it may have real hosts."""
        given = [word for name, text in self.params.items() for word in ("--param", f"{name}={text}")]
        return [*words(self.settings, lab), *given]


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


class Answered(Model):
    """A choice in a lesson, by its number from 0, if there is one yet, and the folder of the last run that was made."""

    lesson: str
    choice: int | None = Field(default=None, ge=0)
    latest: str | None = None


class AskedPacket(Model):
    """A packet at a port of a switch, from a time on."""

    at: str
    from_ns: int = Field(ge=0)
    what: Wanted


class AskedTest(AskedPacket):
    """Such a packet at a switch on its way, as a packet test."""

    node: str


class AskedTwin(Model):
    """The packet that left a port of a switch at a time."""

    at: str = Field(pattern=r"^[A-Za-z0-9_.-]+:[0-9]+$")
    left_ns: int = Field(ge=0)


class Sent(Written):
    """A packet test for a program."""

    test: str = Field(max_length=_LONGEST_TEXT)


class SavedTest(Sent):
    """A packet test to be saved under a name."""

    name_: str = Field(alias="as", pattern=_NAME)


class AskedLife(Model):
    """A flow up to a time."""

    flow: int = Field(ge=0)
    until_ns: int = Field(ge=0)
