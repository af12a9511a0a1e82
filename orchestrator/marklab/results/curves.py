# SPDX-License-Identifier: MIT OR Apache-2.0
"""Details beyond a summary: the distribution of FCTs, and slowdown by size. Small, whatever the number of flows.

Every number belongs to one cell, that is one scheme and seed. A curve over seeds is the mean of their curves, as in a
summary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from marklab.model import Model
from marklab.results.summary import CLASSES
from marklab.statistics.randomness import Floats
from marklab.statistics.samples import nearest_rank

if TYPE_CHECKING:  # Polars loads slowly, and a caller that has a table has loaded it.
    import polars as pl

# Fractions of the flows at which FCTs are given: in steps of 0.01, and finer in the tail.
PARTS = (*(number / 100 for number in range(1, 100)), 0.992, 0.995, 0.998, 0.999, 1.0)

# Size bins: two per octave, from one segment to 1 GB.
_STEPS_PER_OCTAVE = 2
_SMALLEST, _OCTAVES = 1000, 20


class SizeBin(Model):
    """Slowdown of the finished flows whose size is above `above_bytes` and at most `up_to_bytes`."""

    above_bytes: int
    up_to_bytes: int
    n: int
    mean: float
    p50: float
    p99: float


class Curves(Model):
    """FCTs of one cell in us at each of `PARTS`, by size class, and slowdown by size. Empty classes are left out.

    `ideal_us` are the ideal FCTs of all flows of the cell that have an end, whether they finished or not.
    """

    fct_us: dict[str, tuple[float, ...]]
    ideal_us: dict[str, tuple[float, ...]] = Field(default_factory=dict)
    slowdown_by_size: tuple[SizeBin, ...]


def size_bounds() -> tuple[int, ...]:
    """Bounds of the size bins, in bytes."""
    return tuple(round(_SMALLEST * 2 ** (step / _STEPS_PER_OCTAVE)) for step in range(_OCTAVES * _STEPS_PER_OCTAVE + 1))


def curves_of(flows: pl.DataFrame) -> Curves:
    """Curves of one cell, from its rows of the flow table."""
    finished = flows.drop_nulls("fct_ns")
    sizes = finished["size_bytes"].to_numpy().astype(np.int64)
    fct_us = finished["fct_ns"].to_numpy().astype(np.float64) / 1e3
    slowdown = fct_us * 1e3 / finished["ideal_ns"].to_numpy().astype(np.float64)
    # Endless flows have no ideal FCT.
    ending = flows.drop_nulls("ideal_ns")
    ideal_us = ending["ideal_ns"].to_numpy().astype(np.float64) / 1e3
    return Curves(
        fct_us=_by_class(sizes, fct_us),
        ideal_us=_by_class(ending["size_bytes"].to_numpy().astype(np.int64), ideal_us),
        slowdown_by_size=_by_size(sizes, slowdown),
    )


def _by_class(sizes: np.typing.NDArray[np.int64], times_us: Floats) -> dict[str, tuple[float, ...]]:
    result = {}
    for name, (above, up_to) in CLASSES.items():
        ordered = np.sort(times_us[(sizes > above) & (sizes <= (up_to or np.iinfo(np.int64).max))])
        if len(ordered):
            result[name] = tuple(nearest_rank(ordered, part) for part in PARTS)
    return result


def _by_size(sizes: np.typing.NDArray[np.int64], slowdown: Floats) -> tuple[SizeBin, ...]:
    bounds = (0, *size_bounds(), int(max(sizes, default=0)) + 1)
    place = np.searchsorted(bounds, sizes, side="left")
    bins = []
    for number in np.unique(place):
        ordered = np.sort(slowdown[place == number])
        bins.append(
            SizeBin(
                above_bytes=bounds[number - 1],
                up_to_bytes=bounds[number],
                n=len(ordered),
                mean=float(ordered.mean()),
                p50=nearest_rank(ordered, 0.5),
                p99=nearest_rank(ordered, 0.99),
            )
        )
    return tuple(bins)
