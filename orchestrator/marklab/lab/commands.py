# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs of the system, as the lab calls them: without a shell, with a deadline, and a failure is an error."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Sequence

from marklab.errors import RunFailed, SetupError

_TIMEOUT_S = 60.0

# Where Debian has them.
_PACKAGES = {
    "bpftool": "bpftool",
    "chrt": "util-linux",
    "clang": "clang",
    "cpp": "cpp",
    "ethtool": "ethtool",
    "ip": "iproute2",
    "iperf3": "iperf3",
    "mnexec": "mininet",
    "nsenter": "util-linux",
    "nstat": "iproute2",
    "nvim": "neovim",
    "ping": "iputils-ping",
    "script": "bsdutils",
    "setpriv": "util-linux",
    "ss": "iproute2",
    "sysctl": "procps",
    "tc": "iproute2",
}


def missing(tools: Sequence[str]) -> list[str]:
    """Which of them are not on PATH."""
    return [tool for tool in tools if shutil.which(tool) is None]


def require(tools: Sequence[str]) -> None:
    """Refuse to begin without them."""
    absent = missing(tools)
    if absent:
        raise SetupError(f"not on PATH: {', '.join(absent)}", f"apt-get install {' '.join(packages_of(absent))}")


def packages_of(tools: Sequence[str]) -> list[str]:
    """Debian's packages that have them."""
    return sorted({_PACKAGES.get(tool, tool) for tool in tools})


def run(*command: str, text: str | None = None, timeout_s: float = _TIMEOUT_S) -> str:
    """What it printed, given `text` to read."""
    require(command[:1])
    line = " ".join(command)
    try:
        found = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=timeout_s)  # noqa: S603
    except subprocess.TimeoutExpired as error:
        raise RunFailed(f"`{line}` did not end within {timeout_s:g} s") from error
    if found.returncode != 0:
        said = (found.stderr.strip() or found.stdout.strip() or "it said nothing").splitlines()
        errors = [text for text in said if "error" in text.lower()] or said
        raise RunFailed(f"`{line}` failed with status {found.returncode}: {'; '.join(errors[-5:])}")
    return found.stdout


def free_port() -> int:
    """A TCP port that is free here; in another namespace no other process runs."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
