# SPDX-License-Identifier: MIT OR Apache-2.0
"""What lossless lines need of a network: memory for what comes before a pause begins, and paths without cycles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from marklab.devices.frames import Framing
from marklab.devices.pfc import Pfc
from marklab.errors import BadInput
from marklab.topology import Graph, Line
from marklab.units import format_size

# A pause frame without its checksum.
_PAUSE_FRAME_BYTES = 60


def headroom_bytes(line: Line, framing: Framing, frame_bytes: int) -> int:
    """What a line may bring after more than XOFF has come, where a full frame has so many bytes.

    The pause frame waits for the frame on the line, takes its own time and the line's delay; the sender ends the frame
    that it has begun; and all that is still on the line then comes, which is one delay more.
    """
    on_the_way = -(-2 * line.delay_ns * line.rate_bps // (8 * 10**9))
    return on_the_way + 2 * framing.line_bytes(frame_bytes) + framing.line_bytes(_PAUSE_FRAME_BYTES)


def thresholds(pfc: Pfc, graph: Graph, framing: Framing, frame_bytes: int) -> tuple[int, int]:
    """XOFF and XON. Per flow XOFF is what a line brings in a round trip, the longest one, and XON the same."""
    lines = [line for line in graph.lines if line.target.node >= len(graph.hosts)]
    xoff_bytes = pfc.xoff_bytes
    if xoff_bytes is None:
        xoff_bytes = max(headroom_bytes(line, framing, frame_bytes) for line in lines)
    return xoff_bytes, xoff_bytes if pfc.xon_bytes is None else pfc.xon_bytes


def check_parts(pfc: Pfc, graph: Graph) -> None:
    """Refuse pauses of a part of what a line brings where the line begins at a switch, whose queues do not pause."""
    switches = len(graph.hosts)
    between = [line for line in graph.lines if min(line.source.node, line.target.node) >= switches]
    if pfc.per is not None and between:
        one, other = graph.names[between[0].source.node], graph.names[between[0].target.node]
        raise BadInput(
            f"pfc per {pfc.per} holds packets back in NICs, and not in switches: `{one}` and `{other}` are linked",
            "a topology of one switch, such as incast, or pfc per port",
        )


def check_memory(pfc: Pfc, graph: Graph, framing: Framing, frame_bytes: int) -> None:
    """Refuse a switch whose ports, all of them paused at the worst time, would hold more than its memory.

    Per flow, or destination, that is one of them on each line.
    """
    xoff_bytes, _ = thresholds(pfc, graph, framing, frame_bytes)
    for node in range(len(graph.hosts), len(graph.names)):
        lines = [line for line in graph.lines if line.target.node == node]
        # What comes to more than XOFF is a frame that still fits.
        needed = sum(xoff_bytes + frame_bytes + headroom_bytes(line, framing, frame_bytes) for line in lines)
        if needed > pfc.buffer_bytes:
            most = max(headroom_bytes(line, framing, frame_bytes) for line in lines)
            raise BadInput(
                f"under pfc `{graph.names[node]}` has {len(lines)} ports that each hold xoff, "
                f"{format_size(xoff_bytes)}, a frame of {frame_bytes} bytes, and a headroom of up to {most} bytes "
                f"for what comes before a pause begins: {needed} bytes, and its memory has {pfc.buffer_bytes}",
                f"a pfc.buffer of {needed} and more, a lower pfc.xoff, or shorter links",
            )


def check_cycles(graph: Graph) -> None:
    """Refuse paths on which lines could wait for each other for ever, each until the next one goes on."""
    cycle = find_cycle(graph.lines_after())
    if cycle is not None:
        waits = ", ".join(_wait(graph, line, after) for line, after in zip(cycle, [*cycle[1:], cycle[0]], strict=True))
        raise BadInput(
            f"under pfc lines of this network can wait for each other in a cycle, and stop forever: {waits}",
            "leave out pfc, or a topology whose paths have no cycle, such as leaf-spine or fat-tree",
        )


def find_cycle(after: Mapping[Line, Sequence[Line]]) -> list[Line] | None:
    """Lines each of which is followed by the next, and the last by the first."""
    try:
        TopologicalSorter(after).prepare()
    except CycleError as error:
        # Each of these is among the followers of the next; the first stands at the end again.
        return list(reversed(error.args[1][1:]))
    return None


def _wait(graph: Graph, line: Line, after: Line) -> str:
    """Switches on both lines, and a host whose packets take that path."""
    nodes = (line.source.node, line.target.node, after.target.node)
    there = next(
        name
        for host, name in enumerate(graph.hosts)
        if line in graph.next_lines(line.source.node, host) and after in graph.next_lines(after.source.node, host)
    )
    return f"{' -> '.join(graph.names[node] for node in nodes)} (to {there})"
