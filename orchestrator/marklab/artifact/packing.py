# SPDX-License-Identifier: MIT OR Apache-2.0
"""Folders as archives whose bytes depend on the files alone, and checksums of files.

Of a file an archive has the name, the content, and whether it is a program: no time, no owner, no other rights.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import stat
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from marklab.errors import BadInput

SUMS = "SHA256SUMS"

_COMPRESSION_LEVEL = 6


@contextmanager
def archive(file: IO[bytes]) -> Iterator[tarfile.TarFile]:
    """A .tar.gz to add `members` to."""
    # Without a file's name and with no time the header of gzip is always the same.
    with (
        gzip.GzipFile(filename="", mode="wb", compresslevel=_COMPRESSION_LEVEL, fileobj=file, mtime=0) as packed,
        tarfile.open(mode="w", fileobj=packed, format=tarfile.PAX_FORMAT) as tar,
    ):
        yield tar


def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """A member without what differs between machines."""
    member.mtime = 0
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.pax_headers = {}
    is_program = member.isdir() or member.mode & stat.S_IXUSR
    member.mode = 0o755 if is_program else 0o644
    return member


def pack(folder: Path, name: str, file: IO[bytes]) -> None:
    """Write the archive of a folder, which unpacks to `name`."""
    with archive(file) as tar:
        for path in [folder, *_below(folder)]:
            inside = f"{name}/{path.relative_to(folder).as_posix()}".removesuffix("/.")
            tar.add(path, inside, recursive=False, filter=plain)


def member(name: str, content: bytes) -> tuple[tarfile.TarInfo, io.BytesIO]:
    """A file of an archive that lies in no folder, as `TarFile.addfile` takes it."""
    info = tarfile.TarInfo(name)
    info.size = len(content)
    return plain(info), io.BytesIO(content)


def write_sums(folder: Path) -> None:
    """Write the checksums of all other files of a folder, as `sha256sum --check` reads them."""
    files = [path for path in _below(folder) if path.is_file() and path != folder / SUMS]
    lines = [f"{sha256(path)}  {path.relative_to(folder).as_posix()}\n" for path in files]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


def changed_files(folder: Path) -> list[str]:
    """Files that are not what they were when the checksums were written, or are gone; others are not looked at."""
    try:
        lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(
            f"{folder} is no artifact: {SUMS} cannot be read: {getattr(error, 'strerror', None) or error}",
            "name the folder that an archive of `artifact` unpacks to",
        ) from error
    sums = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    return [name for name, digest in sums.items() if not (folder / name).is_file() or sha256(folder / name) != digest]


def _below(folder: Path) -> list[Path]:
    """All that is in a folder, in an order that no file system and no locale decides."""
    return sorted(folder.rglob("*"), key=lambda path: path.relative_to(folder).parts)


def sha256(path: Path) -> str:
    """Digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
