# SPDX-License-Identifier: MIT OR Apache-2.0
"""Errors that users can fix. Any other exception is a bug, and may show a traceback."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class MarklabError(Exception):
    """What went wrong, and what to do about it."""

    exit_code = 2

    def __init__(self, message: str, remedy: str | None = None) -> None:
        super().__init__(message)
        self.remedy = remedy


class BadInput(MarklabError, ValueError):  # noqa: N818 - reads as what it is
    """Something that the user wrote cannot be run. `place` leads to it, by keys and numbers of items, if known."""

    place: tuple[str | int, ...] = ()

    def at(self, *place: str | int) -> BadInput:
        """The same error, about the part of the description at this place."""
        self.place = place
        return self


class SetupError(MarklabError):
    """The environment lacks something."""


class RunFailed(MarklabError):  # noqa: N818
    """A run began and could not be completed."""


class TooSlow(RunFailed):
    """The machine did not keep up with a run on real hosts; with this `dilation` it may."""

    def __init__(self, message: str, dilation: int) -> None:
        remedy = f"--dilation {dilation} or auto, a smaller network, or fewer other programs on this machine"
        super().__init__(message, remedy)
        self.dilation = dilation


class Interrupted(MarklabError):  # noqa: N818
    """The user ended the run."""

    def __init__(self, signal_number: int) -> None:
        super().__init__("interrupted: nothing was kept of this run")
        self.exit_code = 128 + signal_number

    def saying(self, message: str) -> Interrupted:
        """The same error with another message, for runs whose results are kept."""
        self.args = (message,)
        return self


def unknown(kind: str, name: str, known: Iterable[str]) -> BadInput:
    """Make an error about an unknown name; its remedy suggests the nearest name and lists all."""
    names = sorted(known)
    if not names:
        return BadInput(f"unknown {kind} `{name}`", f"there is no {kind.removesuffix(':')} to choose from")
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    guess = f"did you mean `{near[0]}`? " if near else ""
    return BadInput(f"unknown {kind} `{name}`", f"{guess}known: {', '.join(names)}")
