# SPDX-License-Identifier: MIT OR Apache-2.0
"""Ethernet, IPv4 and TCP frames, and the changes that a router makes to them."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace

NOT_ECT, ECT1, ECT0, CE = range(4)
TCP, UDP = 6, 17

_ETHERNET = struct.Struct("!6s6sH")
_IPV4 = struct.Struct("!BBHHHBBHII")
_TCP = struct.Struct("!HHIIBBHHH")


def mac(number: int) -> bytes:
    """A locally administered address."""
    return ((0x02 << 40) + number).to_bytes(6, "big")


def ip(text: str) -> int:
    """10.0.0.1 as a number."""
    return int.from_bytes(bytes(int(part) for part in text.split(".")), "big")


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071)."""
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


@dataclass(frozen=True)
class Frame:
    """A TCP segment in IPv4 in Ethernet, with a free choice of every field."""

    dst: int = ip("10.0.0.1")
    src: int = ip("10.0.0.9")
    ecn: int = ECT0
    dscp: int = 10
    ttl: int = 64
    protocol: int = TCP
    src_port: int = 40000
    dst_port: int = 5001
    dst_mac: bytes = mac(0x100)
    src_mac: bytes = mac(9)
    ether_type: int = 0x0800
    version: int = 4
    options: bytes = b""
    fragment: int = 0x4000
    payload: bytes = b"marklab"
    # Added to the right one.
    checksum_error: int = 0

    def ipv4(self) -> bytes:
        """The IPv4 header."""
        segment = self.segment()
        words = 5 + len(self.options) // 4

        def header(check: int) -> bytes:
            return _IPV4.pack(
                self.version << 4 | words, self.dscp << 2 | self.ecn, 4 * words + len(segment), 0x1234,
                self.fragment, self.ttl, self.protocol, check, self.src, self.dst,
            ) + self.options  # fmt: skip

        return header((checksum(header(0)) + self.checksum_error) & 0xFFFF)

    def segment(self) -> bytes:
        """The payload of IPv4."""
        if self.protocol != TCP:
            return struct.pack("!HH", self.src_port, self.dst_port) + self.payload
        length = _TCP.size + len(self.payload)
        pseudo = struct.pack("!IIBBH", self.src, self.dst, 0, TCP, length)
        fields = (self.src_port, self.dst_port, 1_000_000, 2_000_000, 5 << 4, 0x10, 0xFFFF)
        check = checksum(pseudo + _TCP.pack(*fields, 0, 0) + self.payload)
        return _TCP.pack(*fields, check, 0) + self.payload

    def build(self) -> bytes:
        """Its bytes."""
        return _ETHERNET.pack(self.dst_mac, self.src_mac, self.ether_type) + self.ipv4() + self.segment()

    def routed(self, dst_mac: bytes, ecn: int | None = None) -> Frame:
        """The frame as a router forwards it: RFC 1812 section 5.3.1, and CE if the router marks it."""
        return replace(
            self,
            dst_mac=dst_mac,
            src_mac=self.dst_mac,
            ttl=self.ttl - 1,
            ecn=self.ecn if ecn is None else ecn,
        )
