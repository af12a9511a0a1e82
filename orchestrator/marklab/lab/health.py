# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the machine did while a run was on: whether it kept up."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Health:
    """Of the whole machine, in the time of the context."""

    duration_s: float = 0.0
    cpu_busy: float = 0.0  # part of all cores
    softirq_drops: int = 0  # packets that the kernel dropped as its backlog was full


@contextmanager
def watched() -> Iterator[Health]:
    """Watch the machine; the figures are there when the context ends."""
    health = Health()
    began, idle_s, drops = time.monotonic(), _idle_s(), _softirq_drops()
    yield health
    health.duration_s = time.monotonic() - began
    cores = os.cpu_count() or 1
    idle = (_idle_s() - idle_s) / (cores * health.duration_s) if health.duration_s else 0.0
    health.cpu_busy = min(1.0, max(0.0, 1.0 - idle))
    health.softirq_drops = _softirq_drops() - drops


def _idle_s() -> float:
    fields = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()
    # Idle, and idle with a disk request under way.
    return (int(fields[4]) + int(fields[5])) / os.sysconf("SC_CLK_TCK")


def _softirq_drops() -> int:
    """Of all cores: the second column (net/core/net-procfs.c)."""
    rows = Path("/proc/net/softnet_stat").read_text(encoding="ascii").splitlines()
    return sum(int(row.split()[1], 16) for row in rows)


def process_cpu_s(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
