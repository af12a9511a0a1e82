# SPDX-License-Identifier: MIT OR Apache-2.0
"""Frames: what headers take, and what a frame takes on a line (IEEE 802.3, IPv4, TCP and UDP without options)."""

from __future__ import annotations

from pydantic import Field

from marklab.model import Model

# Of an IP packet, at most.
MTU_BYTES = 1500
ETHERNET_BYTES = 14
_IPV4_BYTES, _TCP_BYTES, _UDP_BYTES = 20, 20, 8

# In front of a segment's payload.
HEADER_BYTES = ETHERNET_BYTES + _IPV4_BYTES + _TCP_BYTES
# In front of a datagram's payload; ICMP's header of an echo is as long as UDP's.
DATAGRAM_HEADER_BYTES = ETHERNET_BYTES + _IPV4_BYTES + _UDP_BYTES

FULL_FRAME_BYTES = ETHERNET_BYTES + MTU_BYTES


class Framing(Model):
    """Bytes on the line for a frame: Ethernet pads to 60, then adds checksum, preamble and gap."""

    min_bytes: int = Field(default=60, ge=0, le=10**6)
    overhead_bytes: int = Field(default=24, gt=-40, le=10**6)

    def line_bytes(self, frame_bytes: int) -> int:
        """What a frame takes on the line, from its preamble to the end of the gap behind it."""
        return max(frame_bytes, self.min_bytes) + self.overhead_bytes


# A full frame on a line of Ethernet.
FULL_LINE_BYTES = Framing().line_bytes(FULL_FRAME_BYTES)
