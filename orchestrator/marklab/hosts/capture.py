# SPDX-License-Identifier: MIT OR Apache-2.0
"""TCP packets of a flow as they passed the bottleneck, read from a capture (pcap)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from marklab.errors import RunFailed

# Captures of the lab have ns and big-endian headers.
_MAGIC = b"\xa1\xb2\x3c\x4d"
_FILE_HEADER_BYTES, _PACKET_HEADER = 24, struct.Struct(">IIII")
_ETHERNET_BYTES = 14

_FIN, _SYN, _RST, _ECE, _CWR = 1, 2, 4, 64, 128


@dataclass(frozen=True)
class Packet:
    """A packet of a flow. Bytes of the stream count from 0."""

    time_ns: int  # since the flow's first SYN
    is_data: bool  # from the host that sends the flow
    begin: int  # its payload in the stream
    end: int
    ack: int  # bytes of the stream that it acknowledges; of a packet to the sending host
    syn: bool
    fin: bool
    rst: bool
    ece: bool
    cwr: bool
    ecn: int
    sacks: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Captured:
    """A flow's packets, and the clock of the capture at its first SYN."""

    started_ns: int
    packets: tuple[Packet, ...]


def read_capture(path: Path, client: tuple[int, int]) -> Captured:
    """Packets of the flow whose sender has this address and port."""
    started, first, packets = None, 0, []
    for time_ns, frame in _frames(path):
        ip = frame[_ETHERNET_BYTES:]
        if len(ip) < 40 or ip[9] != 6:
            continue
        source, target, source_port, target_port, sequence, ack = struct.unpack_from(">IIHHII", ip, 12)
        is_data = (source, source_port) == client
        if not is_data and (target, target_port) != client:
            continue
        flags, header = ip[33], 20 + 4 * (ip[32] >> 4)
        payload = int.from_bytes(ip[2:4], "big") - header
        syn = bool(flags & _SYN)
        if started is None:
            started = time_ns
        if syn and is_data:
            first = sequence + 1
        begin = _offset(sequence, first) if is_data and not syn else 0
        packets.append(
            Packet(
                time_ns=time_ns - started,
                is_data=is_data,
                begin=begin,
                end=begin + (payload if is_data else 0),
                ack=0 if is_data or syn else _offset(ack, first),
                syn=syn,
                fin=bool(flags & _FIN),
                rst=bool(flags & _RST),
                ece=bool(flags & _ECE),
                cwr=bool(flags & _CWR),
                ecn=ip[1] & 3,
                sacks=tuple((_offset(a, first), _offset(b, first)) for a, b in _sacks(ip[40:header])),
            )
        )
    return Captured(started or 0, tuple(packets))


def _offset(sequence: int, first: int) -> int:
    """The stream is shorter than half of the sequence numbers."""
    distance = (sequence - first) & 0xFFFFFFFF
    return distance - (1 << 32) if distance >= 1 << 31 else distance


def _sacks(options: bytes) -> Iterator[tuple[int, int]]:
    at = 0
    while at < len(options) and options[at] != 0:
        if options[at] == 1:
            at += 1
            continue
        length = options[at + 1] if at + 1 < len(options) else 0
        if length < 2:
            return
        if options[at] == 5:
            for place in range(at + 2, at + length, 8):
                yield struct.unpack_from(">II", options, place)
        at += length


def _frames(path: Path) -> Iterator[tuple[int, bytes]]:
    raw = path.read_bytes()
    if raw[:4] != _MAGIC:
        raise RunFailed(f"{path} is no capture of the lab")
    at = _FILE_HEADER_BYTES
    while at + _PACKET_HEADER.size <= len(raw):
        seconds, ns, stored, _ = _PACKET_HEADER.unpack_from(raw, at)
        at += _PACKET_HEADER.size
        yield seconds * 10**9 + ns, raw[at : at + stored]
        at += stored
