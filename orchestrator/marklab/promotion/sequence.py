# SPDX-License-Identifier: MIT OR Apache-2.0
"""Packets that went through a port in a real run, to be sent through switches again.

Times are whole microseconds, as v1model counts them, so both targets see the same sojourn times. The IPv4
identification of a frame is its place in the sequence. A frame keeps the TCP ports of its connection, so both targets
distinguish the same flows.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marklab.devices.frames import ETHERNET_BYTES
from marklab.engine import binding as engine
from marklab.errors import RunFailed
from marklab.fabrics import Cell
from marklab.fabrics.sim import Sim
from marklab.prepare.experiment import ReadyScheme
from marklab.results.observation import Columns
from marklab.topology import Port

# Ports at which frames arrive and leave.
IN_PORT, OUT_PORT = 0, 1

_US = 1000
_MAC_ADDRESSES = bytes.fromhex("020000000001020000000002")
_ECT0 = 2
_TCP = 6
# Ethernet, IPv4 and ports; the rest of a frame is zeros.
_HEADER_BYTES = 38


@dataclass(frozen=True)
class Recording:
    """Packets in the order in which they arrived at the port."""

    arrived_ns: NDArray[np.uint64]
    departed_ns: NDArray[np.uint64]  # ascending departure times, not in the order of the packets
    five_tuple: NDArray[np.uint32]
    dscp: NDArray[np.uint8]
    length_bytes: NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.arrived_ns)

    def frame(self, place: int) -> bytes:
        """A packet, whose IPv4 identification is its place in the sequence."""
        return frame(int(self.five_tuple[place]), int(self.dscp[place]), int(self.length_bytes[place]), place)


def recorded(cell: Cell, at: Port, packets: int, watch: engine.Watch) -> Recording:
    """Run a cell, and record the first `packets` packets of a port."""
    seen = Sim().run(cell, watch)
    found = seen.passages.get(at)
    if found is None:
        raise RunFailed("the run recorded no packets", "a run with `trace_queue`")
    return sequence_of(found, seen.flows.dscp, packets)[0]


def sequence_of(passages: Columns, dscp_of_flow: NDArray[np.uint8], packets: int) -> tuple[Recording, NDArray[np.intp]]:
    """The first `packets` packets of a port in order of arrival, and their rows."""
    order = np.lexsort((passages["departed_ns"], passages["arrived_ns"]))[:packets]
    flow = passages["flow"][order]
    dscp = np.where(flow < len(dscp_of_flow), dscp_of_flow[np.minimum(flow, len(dscp_of_flow) - 1)], 0)
    recording = Recording(
        arrived_ns=passages["arrived_ns"][order] // _US * _US,
        departed_ns=np.sort(passages["departed_ns"][order] // _US * _US),
        five_tuple=passages["five_tuple"][order],
        dscp=dscp.astype(np.uint8),
        length_bytes=passages["bytes"][order],
    )
    return recording, order


def frame(five_tuple: int, dscp: int, length_bytes: int, place: int) -> bytes:
    """An ECN-capable TCP segment of a connection."""
    connection, reply = divmod(five_tuple, 2)
    ends = [bytes([10, 1, *connection.to_bytes(4, "big")[2:]]), bytes([10, 0, 0, 2])]
    ports = [1024 + connection % 64_000, 5001]
    source, target = (1, 0) if reply else (0, 1)
    total = max(length_bytes, _HEADER_BYTES) - ETHERNET_BYTES
    head = struct.pack(
        ">BBHHHBBH4s4s", 0x45, dscp << 2 | _ECT0, total, place & 0xFFFF, 0, 64, _TCP, 0, ends[source], ends[target]
    )
    head = head[:10] + _checksum(head).to_bytes(2, "big") + head[12:]
    data = _MAC_ADDRESSES + b"\x08\x00" + head + struct.pack(">HH", ports[source], ports[target])
    return data + bytes(max(0, length_bytes - len(data)))


def _checksum(header: bytes) -> int:
    total: int = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


# Decisions of a switch about a packet.
DECISIONS = ("passed", "marked", "dropped")


def decided(data: bytes | None) -> int:
    """The decision about a frame that left, or was dropped in egress (None), as an index of DECISIONS."""
    if data is None:
        return 2
    return 1 if data[15] & 3 == 3 else 0


def entries_to_port(scheme: ReadyScheme) -> list[dict[str, object]]:
    """The scheme's entries, and a route that sends all frames to the port."""
    names = scheme.forwarding
    forward = {
        "table": names.table,
        "match": {names.key: {"lpm": [10 << 24, 8]}},
        "action": names.action,
        "params": {names.port: OUT_PORT, names.mac: 1},
    }
    return [*scheme.settings, forward]
