# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pauses of a cell, and of several."""

from __future__ import annotations

from collections.abc import Sequence

from marklab.observation import Observation
from marklab.statistics import mean
from marklab.summary import Pauses, PortPauses

# With its checksum.
_PAUSE_FRAME_BITS = 8 * 64


def pauses(seen: Observation) -> Pauses | None:
    """Those of all lines that lead to switches; None where lines are not lossless."""
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


def all_pauses(seeds: Sequence[Pauses]) -> Pauses | None:
    """Sums over the seeds; means of shares and rates."""
    if not seeds:
        return None
    names = sorted({name for seed in seeds for name in seed.by_port})
    ports = {name: [seed.by_port[name] for seed in seeds if name in seed.by_port] for name in names}
    return Pauses(
        pauses=sum(seed.pauses for seed in seeds),
        paused_us=sum(seed.paused_us for seed in seeds),
        share=mean([seed.share for seed in seeds]),
        rate_bps=mean([seed.rate_bps for seed in seeds]),
        max_held_bytes=max(seed.max_held_bytes for seed in seeds),
        by_port={
            name: PortPauses(pauses=sum(each.pauses for each in of), paused_us=sum(each.paused_us for each in of))
            for name, of in ports.items()
        },
    )
