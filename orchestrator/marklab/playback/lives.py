# SPDX-License-Identifier: MIT OR Apache-2.0
"""The ports that a flow's data passed: the queues that its packets found there, its marks and its losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

# Packets of a port that a curve shows; of more, every second, third, ... one.
_MOST_POINTS = 2_000
_SENT = np.iinfo(np.uint8).max
_NO_PORT = np.iinfo(np.uint16).max


def passed(names: Sequence[str], packets: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The ports in the order in which the data came to them first, by a flow's packets as a session records them.

    Each has its name `at`, its counts `packets`, `marked` and `lost`, the mean `sojourn_ns`, and lists of times
    `marks_ns` and `losses_ns`; `found` has `time_ns` of packets and the packets that each found in its queue.
    """
    data = packets["by_client"]
    places = np.stack([packets["node"][data], packets["port"][data].astype(np.uint32)], axis=1)
    if not len(places):
        return []
    kinds, first = np.unique(places, axis=0, return_index=True)
    columns = {name: values[data] for name, values in packets.items() if isinstance(values, np.ndarray)}
    return [_port(names, kinds[at], columns, (places == kinds[at]).all(axis=1)) for at in np.argsort(first)]


def _port(names: Sequence[str], place: Any, columns: Mapping[str, Any], here: Any) -> dict[str, Any]:
    node, port = (int(number) for number in place)
    own = {name: values[here] for name, values in columns.items()}
    sent = own["lost"] == _SENT
    every = max(1, -(-int(sent.sum()) // _MOST_POINTS))
    found = {name: own[name][sent][::every].tolist() for name in ("time_ns", "enq_qdepth")}
    return {
        "at": names[node] if port == _NO_PORT else f"{names[node]}:{port}",
        "packets": int(sent.sum()),
        "marked": int(own["marked"].sum()),
        "lost": int((~sent).sum()),
        "sojourn_ns": float(own["sojourn_ns"][sent].mean()) if sent.any() else None,
        "marks_ns": own["time_ns"][own["marked"]].tolist(),
        "losses_ns": own["time_ns"][~sent].tolist(),
        "found": found,
    }
