# SPDX-License-Identifier: MIT OR Apache-2.0
"""The runs in the folder of results, and two of them side by side."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from marklab.comparison.policy import Policy
from marklab.comparison.side_by_side import compare
from marklab.errors import BadInput, MarklabError
from marklab.report.comparison import to_json
from marklab.results.archive import open_collection
from marklab.results.folders import load_run

# The latest ones; older ones are on the disk all the same.
_MOST = 50


def history(out: Path) -> list[dict[str, Any]]:
    """The latest runs, newest first: the folder's name, when it was written, schemes, load and seeds."""
    folders = [path for path in out.iterdir() if (path / "summary.json").is_file()] if out.is_dir() else []
    latest = sorted(folders, key=lambda path: (path / "summary.json").stat().st_mtime, reverse=True)[:_MOST]
    return [found for folder in latest if (found := _entry(folder)) is not None]


def _entry(folder: Path) -> dict[str, Any] | None:
    try:
        summary = load_run(folder)
    except MarklabError:
        return None
    written = datetime.fromtimestamp((folder / "summary.json").stat().st_mtime, UTC)
    spec = summary.spec
    return {
        "folder": folder.name,
        "written": written.isoformat(timespec="seconds"),
        "schemes": list(summary.schemes),
        "load": spec.get("load"),
        "flows": spec.get("flows"),
        "seeds": len(next(iter(summary.schemes.values())).seeds),
    }


def folder_of(out: Path, name: str) -> Path:
    """A folder of results by its name. Raises BadInput for a path that leads elsewhere, or is none."""
    folder = out / name
    if Path(name).name != name or not (folder / "summary.json").is_file():
        raise BadInput(f"there is no run `{name}` in the folder of results", "choose one of the list")
    return folder


def compared(base: Path, new: Path) -> dict[str, Any]:
    """What `compare --json` prints of two runs."""
    sides = [open_collection(folder) for folder in (base, new)]
    return to_json(compare(sides[0], sides[1], Policy(), force=True, names=(base.name, new.name)))
