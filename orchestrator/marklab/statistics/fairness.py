# SPDX-License-Identifier: MIT OR Apache-2.0
"""How evenly flows or services share a network: max-min shares, Jain's index, and the time until shares are reached."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from marklab.statistics.randomness import Floats

# Of a capacity or demand: what floating point may leave of it.
_EPSILON = 1e-9

# Of a share: how near a rate that has converged stays, unless a description says otherwise.
WITHIN = 0.1


def jain(values: Sequence[float]) -> float | None:
    """Jain's index: 1 if all have the same, 1 / n if one has all; None if all have nothing."""
    most = max(values, default=0)
    if most <= 0:
        return None
    # Of parts of the largest, whose squares neither vanish nor overflow.
    parts = [value / most for value in values]
    return math.fsum(parts) ** 2 / (len(parts) * math.fsum(part * part for part in parts))


def max_min_shares(
    paths: Sequence[Sequence[int]],
    capacities: Sequence[float],
    demands: Sequence[float],
    weights: Sequence[float] | None = None,
) -> list[float]:
    """Share of each flow, by water-filling: all rise in proportion to their weights until a line of theirs is full.

    `paths` lists the lines of each flow, by their places in `capacities`. A demand of infinity is that of a flow that
    takes what it gets. None can have more without taking from another one that has less, by weight (Bertsekas and
    Gallager, "Data Networks", section 6.5.2).
    """
    weight = np.ones(len(paths)) if weights is None else np.asarray(weights, dtype=np.float64)
    uses = np.zeros((len(capacities), len(paths)))
    for flow, path in enumerate(paths):
        uses[list(path), flow] = 1
    capacity = np.asarray(capacities, dtype=np.float64)
    wanted = np.asarray(demands, dtype=np.float64)
    share = np.zeros(len(paths))
    rising = wanted > 0
    while rising.any():
        rise = _rise(uses, capacity, wanted, share, weight * rising)
        share += rise * weight * rising
        full = uses @ share >= capacity * (1 - _EPSILON)
        rising &= (share < wanted * (1 - _EPSILON)) & ~(uses[full].any(axis=0))
    return [float(value) for value in share]


def _rise(uses: Floats, capacity: Floats, wanted: Floats, share: Floats, speed: Floats) -> float:
    """How far the water rises until a line is full or a flow has what it wants."""
    with np.errstate(divide="ignore", invalid="ignore"):
        by_line = np.where(uses @ speed > 0, (capacity - uses @ share) / (uses @ speed), math.inf)
        by_flow = np.where(speed > 0, (wanted - share) / speed, math.inf)
    rise = min(by_line.min(initial=math.inf), by_flow.min(initial=math.inf))
    if math.isinf(rise):
        raise ValueError("a flow without limit: its demand is infinite and its path passes no line")
    return max(0.0, float(rise))


def convergence_ns(rates_bps: Floats, interval_ns: int, share_bps: float, within: float) -> int | None:
    """Time from which on a rate, one value per interval, stays within a part of its share; None if it never does."""
    outside = np.flatnonzero(np.abs(rates_bps - share_bps) > within * share_bps)
    settled = 0 if len(outside) == 0 else int(outside[-1]) + 1
    return settled * interval_ns if settled < len(rates_bps) else None
