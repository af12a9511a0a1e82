# SPDX-License-Identifier: MIT OR Apache-2.0
"""What machine results are made on, in words that name neither it nor who uses it."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")


def machine() -> dict[str, str]:
    """Processor, memory and system, as a reader compares them with his own."""
    memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": f"{_processor()}, {len(os.sched_getaffinity(0))} cores",
        "memory": f"{memory_bytes / 2**30:.0f} GiB",
        "system": f"{_system()}, {' '.join(platform.libc_ver())}",
    }


def _processor() -> str:
    """Its model where Linux tells it, else its architecture."""
    text = _CPUINFO.read_text(encoding="utf-8", errors="replace") if _CPUINFO.exists() else ""
    model = re.search(r"^model name\s*: (.+)$", text, re.MULTILINE)
    return f"{model[1].strip()} ({platform.machine()})" if model else platform.machine()


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return platform.system()
