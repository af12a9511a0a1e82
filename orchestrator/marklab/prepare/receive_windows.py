# SPDX-License-Identifier: MIT OR Apache-2.0
"""The receive windows of connections, where receivers have different ones."""

from __future__ import annotations

import numpy as np

from marklab.spec.description import Spec
from marklab.statistics.randomness import uniform
from marklab.traffic.flows import UInt64


def receive_windows(spec: Spec, seed: int, count: int) -> UInt64:
    """The receive window of each flow's connection in bytes; 0 is that of the transport."""
    windows = spec.transport.receive_windows
    if windows is None:
        return np.zeros(count, np.uint64)
    sizes = sorted(windows)
    bounds = np.cumsum([windows[size] for size in sizes])[:-1]
    return np.array(sizes, np.uint64)[np.searchsorted(bounds, uniform(seed, "receive-windows", count), side="right")]
