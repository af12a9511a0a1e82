# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pauses of a cell."""

from __future__ import annotations

from collections.abc import Sequence

from marklab.results.observation import Observation
from marklab.results.summary import Pauses, PortPauses

# Bits of a pause frame, including its checksum.
_PAUSE_FRAME_BITS = 8 * 64


def pauses(seen: Observation) -> Pauses | None:
    """Pauses of all lines that lead to switches; None if lines are not lossless."""
    switches = {port["node"] for port in seen.report["ports"]}
    lines = [line for line in seen.report["lines"] if "pauses" in line and line["to"][0] in switches]
    if not lines:
        return None
    found = {_name(line["from"], switches): line["pauses"] for line in lines}
    duration_ns = seen.report["end_ns"]
    paused_ns = sum(each["paused_ns"] for each in found.values())
    frames = sum(each["frames"] for each in found.values())
    return Pauses(
        pauses=sum(each["pauses"] for each in found.values()),
        paused_us=paused_ns / 1e3,
        share=paused_ns / (len(lines) * duration_ns) if duration_ns else 0.0,
        rate_bps=frames * _PAUSE_FRAME_BITS * 1e9 / duration_ns if duration_ns else 0.0,
        max_held_bytes=max(each["max_held_bytes"] for each in found.values()),
        by_port={
            name: PortPauses(pauses=each["pauses"], paused_us=each["paused_ns"] / 1e3)
            for name, each in found.items()
            if each["pauses"]
        },
    )


def _name(end: Sequence[object], switches: set[str]) -> str:
    node, port = end
    return f"{node}:{port}" if node in switches else str(node)
