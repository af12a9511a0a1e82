# SPDX-License-Identifier: MIT OR Apache-2.0
"""Where a lab keeps what it needs while it is up: a folder of its own, locked as long as its process lives."""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from marklab.errors import RunFailed

# Sockets have short paths, so it is not in a result's folder.
_ROOT = Path("/run/marklab")
_LOCK = "lock"
# What the switches of a large network observe, and their logs.
_LEAST_BYTES = 64 << 20


@contextmanager
def workspace(name: str) -> Iterator[Path]:
    """A folder that carries the run's name, until the end of the context."""
    try:
        _ROOT.mkdir(mode=0o700, exist_ok=True)
        if shutil.disk_usage(_ROOT).free < _LEAST_BYTES:
            raise RunFailed(f"{_ROOT} has less than {_LEAST_BYTES >> 20} MiB left", "free some space there")
        folder = Path(tempfile.mkdtemp(prefix=f"{name[:40]}.", dir=_ROOT))
    except OSError as error:
        raise RunFailed(f"cannot make a folder in {_ROOT}: {error.strerror}") from error
    try:
        with (folder / _LOCK).open("x", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_orphans() -> list[str]:
    """Remove folders of labs whose process has not lived to do it. Gives their names."""
    orphans = []
    for lock in sorted(_ROOT.glob(f"*/{_LOCK}")):
        with suppress(OSError), lock.open("r", encoding="ascii") as file:
            # One that another process holds is of a lab that is up.
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.parent)
            orphans.append(lock.parent.name)
    return orphans
