# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tools and privileges that tests need, by the names of `doctor`.

`@pytest.mark.needs("Mininet")` skips a test if `doctor` does not find Mininet, and shows how to get it. A name that
`doctor` does not know is an error. There is no other way to skip a test (test_needs.py).
"""

from __future__ import annotations

import fcntl
import functools
import subprocess
from collections.abc import Iterable, Mapping

import pytest

from marklab.doctor.examination import Resource, examine
from marklab.paths import REPOSITORY


@functools.cache
def machine() -> Mapping[str, Resource]:
    """The findings of `doctor` on this machine, by name."""
    return {finding.name: finding for finding in examine()}


def lacking(names: Iterable[str]) -> list[Resource]:
    """Those of these things that this machine lacks."""
    known = machine()
    if unknown := [name for name in names if name not in known]:
        raise pytest.UsageError(f"`doctor` knows nothing of {', '.join(unknown)}; it knows {', '.join(known)}")
    return [known[name] for name in names if not known[name].found]


def reason(absent: Iterable[Resource]) -> str:
    """Why a test is skipped, and the remedy."""
    return "; ".join(f"needs {finding.name} ({finding.detail}): {finding.get}" for finding in absent)


def names_of(item: pytest.Item) -> list[str]:
    """The names that a test needs."""
    return [name for mark in item.iter_markers("needs") for name in mark.args]


def install_packages(folder: str) -> None:
    """Install npm's packages in a folder of the tree, as CI does. The test is skipped where they cannot be fetched."""
    # Processes of tests run at once.
    with (REPOSITORY / folder / "package.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            ["make", "--silent", f"{folder}/node_modules"], cwd=REPOSITORY, capture_output=True, text=True, check=False
        )
    if done.returncode:
        absent = [Resource("npm's packages", False, done.stderr.strip()[-300:], get="a network with npm's registry")]
        pytest.skip(reason(absent))
