# SPDX-License-Identifier: MIT OR Apache-2.0
"""Folders of results. A folder appears only when it is complete."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from marklab.errors import BadInput, RunFailed
from marklab.results.summary import Summary, read_summary


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder beside the target, which replaces the target if the block ends without an error.

    A failure of the file system becomes a single error, and the temporary folder is removed.
    """
    with _beside(target) as staging:
        try:
            staging.mkdir()
            yield staging
            _publish(staging, target)
        finally:
            shutil.rmtree(staging, ignore_errors=True)


@contextmanager
def new_file(target: Path) -> Iterator[Path]:
    """Yield the path of a temporary file beside the target, which replaces it if the block ends without an error."""
    with _beside(target) as staging:
        try:
            yield staging
            staging.replace(target)
        finally:
            staging.unlink(missing_ok=True)


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """Yield a path that only this process uses. A failure of the file system becomes a single error."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target.parent)
        yield target.with_name(f".{target.name}.{os.getpid()}.tmp")
    except OSError as error:
        raise RunFailed(
            f"cannot write the result: {error.strerror or error} ({error.filename or target})",
            "nothing was kept; free some space or choose another folder with --out",
        ) from error


def _publish(staging: Path, target: Path) -> None:
    """Replace an older result of the same name. The older one is kept until the new one is in place."""
    if not target.exists():
        staging.rename(target)
        return
    old = target.with_name(f".{target.name}.{os.getpid()}.old")
    target.rename(old)
    try:
        staging.rename(target)
    except BaseException:
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _sweep(parent: Path) -> None:
    """Remove what killed processes left behind."""
    for leftover in [*parent.glob(".*.tmp"), *parent.glob(".*.old")]:
        owner = leftover.suffixes[-2].removeprefix(".") if len(leftover.suffixes) > 1 else ""
        if owner.isdecimal() and not Path(f"/proc/{owner}").exists():
            if leftover.is_dir():
                shutil.rmtree(leftover, ignore_errors=True)
            else:
                leftover.unlink(missing_ok=True)


def write_json(path: Path, plain: Any) -> None:
    """Write a JSON file that is easy to read and diff."""
    path.write_text(to_text(plain), encoding="utf-8")


def to_text(plain: Any) -> str:
    """JSON that is easy to read and diff."""
    return json.dumps(plain, indent=2, ensure_ascii=False) + "\n"


def load_run(folder: Path) -> Summary:
    """Read the summary of a run."""
    path = folder / "summary.json" if folder.is_dir() else folder
    try:
        return read_summary(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise BadInput(f"{folder} is not a result: {error.strerror} ({path})") from error
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{path} is not the summary of a run, or another version of the lab wrote it") from error
