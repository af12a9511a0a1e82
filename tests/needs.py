# SPDX-License-Identifier: MIT OR Apache-2.0
"""What tests need of a machine, by the names that `doctor` has for it.

`@pytest.mark.needs("Mininet")` skips a test where `doctor` does not find Mininet, with what it says of getting it; a
name that `doctor` does not know is an error. There is no other way to skip a test (test_needs.py).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping

import pytest

from marklab.doctor.examination import Resource, examine


@functools.cache
def machine() -> Mapping[str, Resource]:
    """What `doctor` finds here, by name."""
    return {finding.name: finding for finding in examine()}


def lacking(names: Iterable[str]) -> list[Resource]:
    """Which of these things are not here."""
    known = machine()
    if unknown := [name for name in names if name not in known]:
        raise pytest.UsageError(f"`doctor` knows nothing of {', '.join(unknown)}; it knows {', '.join(known)}")
    return [known[name] for name in names if not known[name].found]


def reason(absent: Iterable[Resource]) -> str:
    """Why a test is skipped, and what to do about it."""
    return "; ".join(f"needs {finding.name} ({finding.detail}): {finding.get}" for finding in absent)


def names_of(item: pytest.Item) -> list[str]:
    """What a test needs."""
    return [name for mark in item.iter_markers("needs") for name in mark.args]
