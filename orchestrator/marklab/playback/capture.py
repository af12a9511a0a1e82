# SPDX-License-Identifier: MIT OR Apache-2.0
"""Explained packets as a capture (pcapng): each as it came to a switch and as it left, with the reasons as comments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from marklab.engine import binding as engine
from marklab.playback.explain import Explained, Lines, reasons


class Captured(NamedTuple):
    """A packet at a port of a switch: its stored bytes, its length on the line, and a comment."""

    time_ns: int
    port: str
    data: bytes
    length_bytes: int
    comment: str


def write_capture(path: Path, packets: Sequence[Explained]) -> None:
    """Write packets in order of time, with a port as the interface. Raises BadInput if the file cannot be written."""
    code = Lines()
    rows = sorted((row for each in packets for row in _rows(each.way, code)), key=lambda row: (row.time_ns, row.port))
    ports = sorted({row.port for row in rows})
    plain = [(row.time_ns, ports.index(row.port), row.data, row.length_bytes, row.comment) for row in rows]
    engine.write_comments(path, ports, plain)


def _rows(way: Mapping[str, Any], code: Lines) -> Iterator[Captured]:
    flow = "a probe" if way["flow"] is None else f"flow {way['flow']}"
    for number, hop in enumerate(way["hops"]):
        here, packet, queue = hop["node"], hop["packet"], hop["queue"]
        why = list(reasons(hop["events"], code))
        lost = way["end"] if number == len(way["hops"]) - 1 and way["end"]["kind"] == "lost" else None
        came = [flow] + (["lost: " + lost["reason"], *why] if lost else [])
        yield _captured(hop["arrived_ns"], f"{here}:{hop['ingress_port']}", packet, came)
        if hop["left"] is not None and queue is not None:
            left_ns = hop["left"]["time_ns"]
            waited = f"found {queue['found']['packets']} packets, waited {(left_ns - hop['arrived_ns']) / 1e3:,.3f} us"
            yield _captured(left_ns, f"{here}:{queue['port']}", hop["left"]["packet"], [flow, waited, *why])


def _captured(time_ns: int, port: str, packet: Mapping[str, Any], comment: Sequence[str]) -> Captured:
    return Captured(time_ns, port, bytes.fromhex(packet["stored"]), packet["bytes"], "\n".join(comment))
