# SPDX-License-Identifier: MIT OR Apache-2.0
"""Details beyond a summary: the distribution of FCTs, and slowdown by size. Small, whatever the number of flows.

Every number of `Curves` belongs to one cell, that is one scheme and seed. A curve over seeds is the mean of their
curves, as in a summary, and a ratio to a baseline takes only seeds that both have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from marklab.model import Model
from marklab.results.metric import Value
from marklab.results.summary import CLASSES
from marklab.statistics.randomness import Floats
from marklab.statistics.samples import mean, mean_interval, nearest_rank, ratio, ratio_interval

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


def fct_quantiles(seeds: Mapping[int, Curves], name: str) -> tuple[float, ...]:
    """FCTs of a size class in us at each of `PARTS`, as means over the seeds; empty if no seed has the class."""
    return mean_curve(curves.fct_us[name] for curves in seeds.values() if name in curves.fct_us)


def ideal_quantiles(seeds: Mapping[int, Curves], name: str) -> tuple[float, ...]:
    """The same of ideal FCTs."""
    return mean_curve(curves.ideal_us[name] for curves in seeds.values() if name in curves.ideal_us)


def fct_ratios(seeds: Mapping[int, Curves], baseline: Mapping[int, Curves], name: str) -> tuple[float, ...]:
    """`fct_quantiles` divided by those of a baseline; empty if no seed has the class on both sides."""
    both = [seed for seed in seeds if name in seeds[seed].fct_us and seed in baseline and name in baseline[seed].fct_us]
    if not both:
        return ()
    own, under = (np.mean([of[seed].fct_us[name] for seed in both], axis=0) for of in (seeds, baseline))
    return tuple((own / under).tolist())


def mean_curve(curves: Iterable[tuple[float, ...]]) -> tuple[float, ...]:
    """The mean of curves, point by point; empty if there are none."""
    rows = list(curves)
    return tuple(np.mean(rows, axis=0).tolist()) if rows else ()


def slowdown_by_size(seeds: Mapping[int, Curves], statistic: str) -> dict[float, Value]:
    """Slowdown by the upper bound of the size bin, as means over the seeds."""
    return {
        size: (mean(list(values.values())), mean_interval(list(values.values())))
        for size, values in _slowdowns(seeds, statistic).items()
    }


def slowdown_ratios(seeds: Mapping[int, Curves], baseline: Mapping[int, Curves], statistic: str) -> dict[float, Value]:
    """`slowdown_by_size` divided by that of a baseline. Bins that no seed has on both sides are left out."""
    own, ratios = _slowdowns(seeds, statistic), {}
    for size, under in _slowdowns(baseline, statistic).items():
        both = [seed for seed in own.get(size, {}) if seed in under]
        over_values, under_values = [own[size][seed] for seed in both], [under[seed] for seed in both]
        value = ratio(over_values, under_values) if both else None
        if value is not None:
            ratios[size] = (value, ratio_interval(over_values, under_values))
    return ratios


def _slowdowns(seeds: Mapping[int, Curves], statistic: str) -> dict[float, dict[int, float]]:
    """Slowdown by size bin, then by seed."""
    found: dict[float, dict[int, float]] = {}
    for seed, curves in seeds.items():
        for each in curves.slowdown_by_size:
            found.setdefault(each.up_to_bytes, {})[seed] = getattr(each, statistic)
    return dict(sorted(found.items()))
