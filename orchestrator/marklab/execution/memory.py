# SPDX-License-Identifier: MIT OR Apache-2.0
"""How much memory there is, and how many cells fit into it at a time."""

from __future__ import annotations

import logging
import re
from pathlib import Path

from marklab.errors import BadInput
from marklab.prepare.experiment import Experiment

_GB = 1e9
_MEMINFO = Path("/proc/meminfo")
# Limit and use of the container or slice that this process is in (cgroup v2).
_LIMIT, _USE = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")


def available_bytes() -> int:
    """Memory that processes may still take."""
    found = re.search(r"MemAvailable:\s*(\d+)", _MEMINFO.read_text(encoding="ascii"))
    free = int(found[1]) * 1024 if found else 0
    if _LIMIT.exists() and (limit := _LIMIT.read_text(encoding="ascii").strip()).isdigit():
        free = min(free, int(limit) - int(_USE.read_text(encoding="ascii")))
    return max(free, 0)


def fitting(experiment: Experiment, cell_bytes: int, workers: int) -> int:
    """How many of `workers` cells fit at a time; raises BadInput if none does."""
    free = available_bytes()
    fit = free // max(cell_bytes, 1)
    if fit == 0:
        hosts = len(experiment.network.graph.hosts)
        flows = max(len(flows) for flows in experiment.flow_lists.values())
        raise BadInput(
            f"a cell with {hosts:,} hosts and {flows:,} flows needs about {cell_bytes / _GB:.1f} GB of memory, and "
            f"{free / _GB:.1f} GB are free",
            f"a network of at most about {hosts * free // cell_bytes:,} hosts with as many flows for each, or a larger "
            "machine",
        )
    if fit < workers:
        logging.getLogger(__name__).warning(
            "%d cells at a time instead of %d: each needs about %.1f GB of memory, and %.1f GB are free",
            *(fit, workers, cell_bytes / _GB, free / _GB),
        )
    return min(fit, workers)
