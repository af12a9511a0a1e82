# SPDX-License-Identifier: MIT OR Apache-2.0
"""The lab's own source in an artifact: the commit that ran, as one archive that `make setup` can begin from."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

from marklab.artifact.packing import archive, member, plain
from marklab.errors import RunFailed
from marklab.paths import IN_TREE, NOTED_COMMIT, REPOSITORY
from marklab.prepare.versions import commit

FILE_NAME = "marklab-source.tar.gz"

# What the archive unpacks to.
_FOLDER = "marklab"
_PATIENCE_S = 60


def missing_source() -> str | None:
    """Why there is no source of what runs here; None if there is."""
    ran = commit()
    if not IN_TREE:
        return "the lab is installed, and its source is elsewhere"
    if ran is None or not (REPOSITORY / ".git").exists():
        return "the lab's folder is no clone of its repository"
    return "files differ from the commit that is checked out" if ran.endswith("-dirty") else None


def write_source(path: Path) -> None:
    """Write the source of the commit that ran, with a note that names the commit, since an archive has no git."""
    command = ["git", "-C", str(REPOSITORY), "archive", "--format=tar", f"--prefix={_FOLDER}/", str(commit())]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_PATIENCE_S, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", b"") or str(error).encode()
        raise RunFailed(f"git cannot give the lab's source: {said.decode(errors='replace').strip()}") from error
    note = NOTED_COMMIT.relative_to(REPOSITORY)
    with path.open("wb") as file, archive(file) as packed, tarfile.open(fileobj=io.BytesIO(done.stdout)) as tree:
        for each in tree:
            packed.addfile(plain(each), tree.extractfile(each) if each.isfile() else None)
        packed.addfile(*member(f"{_FOLDER}/{note.as_posix()}", f"{commit()}\n".encode()))
