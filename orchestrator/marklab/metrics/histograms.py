# SPDX-License-Identifier: MIT OR Apache-2.0
"""Statistics of histograms: round trips of TCP, queue lengths, and flows that wait."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from marklab.results.curves import PARTS
from marklab.results.observation import Columns
from marklab.results.summary import ALL_PORTS, ActiveFlows, Distribution, QueueSample
from marklab.statistics.randomness import Floats
from marklab.statistics.samples import PERCENTILES, rank

_NUMBER = re.compile(r"[-.0-9]*$")


def of_histogram(values: Floats, counts: NDArray[np.uint64]) -> Distribution:
    """Mean and percentiles (nearest rank) of ascending values, each of which occurs `counts` times."""
    there = counts > 0
    values, below = values[there], np.cumsum(counts[there])
    if not len(values):
        return Distribution(n=0)
    n = int(below[-1])

    def at(parts: tuple[float, ...]) -> tuple[float, ...]:
        ranks = [rank(part, n) for part in parts]
        return tuple(values[np.searchsorted(below, ranks)].tolist())

    mean = math.fsum((values * counts[there].astype(np.float64)).tolist()) / n
    p50, p99, p999 = at(PERCENTILES)
    return Distribution(n=n, mean=mean, p50=p50, p99=p99, p999=p999, quantiles=at(PARTS))


def sampled_queues(samples: Columns | None) -> dict[str, QueueSample]:
    """Sampled queue lengths: by kind of switch, whose names differ only in their numbers, and for all ports."""
    if samples is None:
        return {}
    kinds = np.array([kind_of(str(name)) for name in samples["node"]])
    groups: Mapping[str, NDArray[np.bool_]] = {ALL_PORTS: np.ones(len(kinds), dtype=np.bool_)} | {
        kind: kinds == kind for kind in dict.fromkeys(kinds.tolist())
    }
    return {name: _queues(samples, chosen) for name, chosen in groups.items()}


def sampled_flows(samples: Columns | None, ports: Collection[tuple[str, int]]) -> ActiveFlows | None:
    """How many flows waited at these ports, by names of their switches and numbers; None without samples of them."""
    if samples is None:
        return None
    places = zip(samples["node"].tolist(), samples["port"].tolist(), strict=True)
    chosen = np.array([place in ports for place in places], dtype=np.bool_)
    flows, looks = samples["flows"][chosen].astype(np.int64), samples["looks"][chosen]
    if not len(flows):
        return None
    below = np.cumsum(np.bincount(flows, weights=looks).astype(np.int64))
    n = int(below[-1])
    p50, p90, p99 = (float(np.searchsorted(below, rank(part, n))) for part in (0.5, 0.9, 0.99))
    mean = int((flows * looks.astype(np.int64)).sum()) / n
    return ActiveFlows(n=n, mean=mean, p50=p50, p90=p90, p99=p99, max=int(flows.max()))


def kind_of(switch: str) -> str:
    """A switch's name without its number."""
    return _NUMBER.sub("", switch) or switch


def _queues(samples: Columns, chosen: NDArray[np.bool_]) -> QueueSample:
    packets, looks = samples["packets"][chosen], samples["looks"][chosen]
    counts = np.bincount(packets.astype(np.int64), weights=looks).astype(np.uint64)
    found = of_histogram(np.arange(len(counts), dtype=np.float64), counts)
    return QueueSample(**found.model_dump(), max=int(packets.max()))
