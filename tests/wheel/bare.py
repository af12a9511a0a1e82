# SPDX-License-Identifier: MIT OR Apache-2.0
"""A bare Debian in a chroot, as debootstrap makes it, with Python and nothing else: a wheel has to work there.

It is made once for each release and kept as an archive below `target/`. From the machine outside it has the network,
the certificates and pip's settings.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from marklab.paths import REPOSITORY

RELEASES = ("bookworm", "trixie")

_KEPT = REPOSITORY / "target" / "bare"
_PACKAGES = "ca-certificates,python3,python3-venv"
_MADE_S, _COMMAND_S = 600, 300

# A user without privileges.
USER_ID = 1000

_BORROWED = ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt")
_ENVIRONMENT = {
    "HOME": "/home/user",
    "LANG": "C.UTF-8",
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "PIP_CERT": "/etc/ssl/certs/ca-certificates.crt",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}


@dataclass(frozen=True)
class Bare:
    """A bare machine."""

    root: Path

    @property
    def home(self) -> Path:
        """The user's folder, as seen from outside."""
        return self.root / "home" / "user"

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        """Run a script in the user's shell and folder; it ends at the first error."""
        return subprocess.run(
            [
                "chroot", f"--userspec={USER_ID}:{USER_ID}", str(self.root), "/usr/bin/env", "-i",
                *(f"{name}={value}" for name, value in _ENVIRONMENT.items()), "/bin/sh", "-euc", f"cd\n{script}",
            ],
            capture_output=True, text=True, timeout=_COMMAND_S,
        )  # fmt: skip


@contextmanager
def bare_machine(release: str, folder: Path) -> Iterator[Bare]:
    """Make a bare machine in a folder, and remove it at the end."""
    archive = _archive(release)
    root = folder / "root"
    root.mkdir()
    subprocess.run(["tar", "-C", str(root), "-xf", str(archive)], check=True)
    for path in filter(Path.exists, map(Path, _BORROWED)):
        shutil.copyfile(path, root / path.relative_to("/"))
    mounts = [("proc", "-t", "proc", "proc"), ("dev", "--bind", "/dev")]
    try:
        for target, *how in mounts:
            subprocess.run(["mount", *how, str(root / target)], check=True)
        home = root / "home" / "user"
        home.mkdir()
        shutil.chown(home, USER_ID, USER_ID)
        yield Bare(root)
    finally:
        for target, *_ in reversed(mounts):
            subprocess.run(["umount", "--lazy", str(root / target)], check=False, capture_output=True)


def _archive(release: str) -> Path:
    archive = _KEPT / f"{release}.tar"
    if archive.exists():
        return archive
    made = _KEPT / f"{release}.new"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    command = ["debootstrap", "--variant=minbase", f"--include={_PACKAGES}", release, str(made), *_mirror()]
    subprocess.run(command, check=True, capture_output=True, timeout=_MADE_S)
    part = archive.with_suffix(".part")
    subprocess.run(["tar", "-C", str(made), "-cf", str(part), "."], check=True)
    part.rename(archive)
    shutil.rmtree(made)
    return archive


def _mirror() -> list[str]:
    """apt's mirror, if this is Debian; otherwise debootstrap uses its default."""
    if shutil.which("apt-get") is None:
        return []
    command = [
        "apt-get",
        "indextargets",
        "--format",
        "$(REPO_URI) $(COMPONENT)",
        "Created-By: Packages",
        "ORIGIN: Debian",
    ]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    mirrors = [line.split()[0] for line in said.splitlines() if line.endswith(" main") and "security" not in line]
    return mirrors[:1]
