# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the single packets of a port show of its flows: how many were active, and which caused congestion."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marklab.results.observation import Columns
from marklab.statistics.fairness import max_min_shares

# Flow number of packets that belong to no flow.
_NO_FLOW = 2**32 - 1
# Relative error of a share that floating point may cause.
_EPSILON = 1e-6


def active_flows(passages: Columns, at_ns: NDArray[np.uint64], within_ns: int) -> NDArray[np.int64]:
    """Number of 5-tuples of which a packet left within `within_ns` before each of the given times, in their order.

    A packet counts from its departure until just before `within_ns` later, or until the next one of its 5-tuple.
    """
    departed = passages["departed_ns"].astype(np.int64)
    five_tuple = passages["five_tuple"]
    order = np.lexsort((departed, five_tuple))
    begins = departed[order]
    same = five_tuple[order][1:] == five_tuple[order][:-1]
    ends = begins + within_ns
    ends[:-1] = np.where(same, np.minimum(ends[:-1], begins[1:]), ends[:-1])
    times = at_ns.astype(np.int64)
    begun = np.searchsorted(np.sort(begins), times, side="right")
    ended = np.searchsorted(np.sort(ends), times, side="right")
    return (begun - ended).astype(np.int64)


def senders_beyond_share(passages: Columns, every_ns: int, capacity_bps: float) -> NDArray[np.uint32]:
    """Flows that sent to a port faster than their max-min share of its line in at least one interval.

    Speeds are of frames as they arrive at the queue. Shares are computed by water-filling the speeds of the interval.
    """
    data = _of_data(passages)
    flow = passages["flow"][data]
    interval = (passages["arrived_ns"][data] // every_ns).astype(np.int64)
    cells, cell = np.unique(np.stack([interval, flow.astype(np.int64)]), axis=1, return_inverse=True)
    speeds = np.bincount(cell.ravel(), weights=passages["bytes"][data].astype(np.float64)) * 8e9 / every_ns
    beyond: set[int] = set()
    begins = np.flatnonzero(np.diff(cells[0], prepend=-1))
    for begin, end in zip(begins, [*begins[1:], cells.shape[1]], strict=True):
        there = speeds[begin:end]
        if there.sum() > capacity_bps:
            shares = np.array(max_min_shares([[0]] * len(there), [capacity_bps], there.tolist()))
            beyond.update(cells[1, begin:end][there > shares * (1 + _EPSILON)].tolist())
    return np.array(sorted(beyond), dtype=np.uint32)


def marked_flows(passages: Columns) -> NDArray[np.uint32]:
    """Flows with a packet that the port marked."""
    return np.unique(passages["flow"][_of_data(passages) & passages["marked"]])


def flows_of(passages: Columns) -> NDArray[np.uint32]:
    """Flows whose data went through the port."""
    return np.unique(passages["flow"][_of_data(passages)])


def _of_data(passages: Columns) -> NDArray[np.bool_]:
    """Select the packets that come from the senders of flows."""
    return np.asarray((passages["five_tuple"] % 2 == 0) & (passages["flow"] != _NO_FLOW))
