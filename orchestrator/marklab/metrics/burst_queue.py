# SPDX-License-Identifier: MIT OR Apache-2.0
"""The queue of a busy line without any AQM, as a formula: M^[X]/M/1 (ECN+ paper, section 5.2.2).

Flows send one window per round trip, as a burst. The bursts of many flows arrive as a Poisson process and have sizes X.
Service times are random, with the mean of the line. The result is the length of the queue, which shows how often an AQM
has anything to do at all. A real line has constant service times, so its queue is shorter.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from marklab.statistics.randomness import Floats
from marklab.traffic.workload import Workload

# Receive windows in bytes, and the fraction of hosts that have each (the paper's footnote 4).
RECEIVE_WINDOWS: Mapping[int, float] = {8_000: 0.2, 16_000: 0.35, 64_000: 0.45}

# Number of evenly spaced quantiles of the flow sizes whose bursts are counted.
_FLOWS = 1 << 16


def bursts_of(packets: int, initial_window: int, most: int) -> list[int]:
    """Bursts of a flow of `packets` packets, whose window doubles each round trip up to `most`."""
    bursts, window = [], min(initial_window, most)
    while packets > 0:
        bursts.append(min(window, packets))
        packets -= bursts[-1]
        window = min(2 * window, most)
    return bursts


def burst_sizes(workload: Workload, mss: int, initial_window: int, windows: Mapping[int, float]) -> Floats:
    """P(X = n), the probability that a burst has n packets, by n, for flows of a workload."""
    middles = (np.arange(_FLOWS) + 0.5) / _FLOWS
    packets = np.ceil(workload.sizes(middles) / mss).astype(np.int64)
    most = max(max(1, window // mss) for window in windows)
    counts = np.zeros(most + 1)
    for window, part in windows.items():
        limit = max(1, window // mss)
        for size, flows in zip(*np.unique(packets, return_counts=True), strict=True):
            for burst, number in _counted(int(size), initial_window, limit).items():
                counts[burst] += part * flows * number
    return np.asarray(counts / counts.sum())


def _counted(packets: int, initial_window: int, most: int) -> dict[int, int]:
    """Number of bursts of a flow, by size. Bursts of a whole receive window are counted at once."""
    growing = sum(bursts_of(2 * most, initial_window, most)[:-1]) if packets > 4 * most else 0
    whole = max(0, (packets - growing) // most - 2) if packets > 4 * most else 0
    counted = {most: whole} if whole else {}
    for burst in bursts_of(packets - whole * most, initial_window, most):
        counted[burst] = counted.get(burst, 0) + 1
    return counted


def mean_queue(load: float, sizes: Floats) -> float:
    """Mean packets in the system: Eq. 1, load / (1 - load) * (E[X] + E[X^2]) / (2 E[X])."""
    numbers = np.arange(len(sizes))
    first, second = float(np.sum(numbers * sizes)), float(np.sum(numbers**2 * sizes))
    return load / (1 - load) * (first + second) / (2 * first)


def queue_lengths(load: float, sizes: Floats, up_to: int) -> Floats:
    """P(Q = n) for n = 0..up_to.

    Rates up from n or fewer and down to n are equal: mu p(n + 1) = sum over k <= n of lambda p(k) P(X > n - k),
    with lambda E[X] = load mu and p(0) = 1 - load.
    """
    beyond = 1.0 - np.cumsum(sizes)
    rate = load / float(np.sum(np.arange(len(sizes)) * sizes))
    found: NDArray[np.float64] = np.zeros(up_to + 1)
    found[0] = 1.0 - load
    for n in range(up_to):
        reach = min(n + 1, len(beyond))
        found[n + 1] = rate * float(np.dot(found[n + 1 - reach : n + 1], beyond[reach - 1 :: -1] if reach else ()))
    return found


def part_beyond(load: float, sizes: Floats, packets: int) -> float:
    """P(Q > packets)."""
    return max(0.0, 1.0 - float(np.sum(queue_lengths(load, sizes, packets))))
