"""What packets say, one by one, of the flows of a port: how many there were."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from orchestrator.observation import Columns


def active_flows(passages: Columns, at_ns: NDArray[np.uint64], within_ns: int) -> NDArray[np.int64]:
    """Number of 5-tuples of which a packet left in the time `within_ns` before each of some times, in order.

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
