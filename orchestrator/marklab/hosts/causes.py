# SPDX-License-Identifier: MIT OR Apache-2.0
"""Differences that have a name: their cause in Linux's source or an RFC, and the scripts that show them."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

from pydantic import Field

from marklab.hosts.comparison import CaseCompared
from marklab.hosts.script import SCRIPTS, Case
from marklab.model import Model, read_yaml, validate

DIFFERENCES = SCRIPTS.parent / "script-differences.yaml"


class Difference(Model):
    """A cause, and scripts that differ because of it: `kind/name` or `kind/name, transport`, with `*`."""

    name: str
    cause: str
    source: str = Field(description="a function of Linux, or a section of an RFC")
    setting: str | None = Field(default=None, description="what switches simulated hosts over")
    scripts: tuple[str, ...] = ()

    def explains(self, case: Case) -> bool:
        """Whether it is a reason why a case differs."""
        return any(fnmatch(case.name, pattern) or fnmatch(str(case), pattern) for pattern in self.scripts)


class Differences(Model):
    """All differences that have a name."""

    differences: tuple[Difference, ...] = ()


def known_differences(path: Path = DIFFERENCES) -> tuple[Difference, ...]:
    """Read them."""
    return validate(Differences, read_yaml(path), str(path)).differences


def unexplained(compared: Sequence[CaseCompared], differences: Sequence[Difference]) -> list[CaseCompared]:
    """Cases that differ, none of the differences says why, and Linux does not differ from itself."""
    return [each for each in compared if not each.same and not _is_explained(each, differences)]


def _is_explained(compared: CaseCompared, differences: Sequence[Difference]) -> bool:
    # An event that did not happen is never explained: the script has failed.
    if compared.never:
        return False
    return compared.is_unsteady or any(known.explains(compared.case) for known in differences)
