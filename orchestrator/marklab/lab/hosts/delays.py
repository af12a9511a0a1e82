# SPDX-License-Identifier: MIT OR Apache-2.0
"""Extra delays of flows, by the TTL of their packets.

A testbed gives each sender a delay of its own by netem. Here each flow of a list has one, and flows of different
delays share hosts and even connections. So a sender says by the TTL of its packets which delay they are to meet, and
the switch at the other end of the sender's line holds them for so long.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# The kernel's default: acknowledgements and everything else, which nothing holds.
FIRST_TTL = 64

# Below the largest TTL there is.
LEVELS = 190


@dataclass(frozen=True)
class DelayLevels:
    """TTL of each flow, and the delay of each TTL from FIRST_TTL on, in ns; the first is 0."""

    ttl: NDArray[np.uint8]
    delays_ns: tuple[int, ...]


def delay_levels(extra_delay_ns: NDArray[np.uint64]) -> DelayLevels:
    """Give flows levels, to each equally many if there are more delays than levels; a level is the mean of its own."""
    distinct = np.unique(extra_delay_ns[extra_delay_ns > 0])
    if len(distinct) <= LEVELS:
        delays = distinct.astype(np.int64)
        level = np.searchsorted(distinct, extra_delay_ns) + 1
    else:
        held = np.sort(extra_delay_ns[extra_delay_ns > 0]).astype(np.int64)
        parts = np.array_split(held, LEVELS)
        delays = np.array([round(float(part.mean())) for part in parts])
        level = np.searchsorted([part[-1] for part in parts[:-1]], extra_delay_ns.astype(np.int64)) + 1
    level = np.where(extra_delay_ns == 0, 0, level)
    return DelayLevels((FIRST_TTL + level).astype(np.uint8), (0, *delays.tolist()))
