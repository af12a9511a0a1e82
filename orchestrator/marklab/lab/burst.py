# SPDX-License-Identifier: MIT OR Apache-2.0
"""Datagrams of mixed sizes, as fast as they go, and when each of them comes: what a drain test is made of.

`python -m marklab.lab.burst receive ADDRESS PORT` says `ready`, and at the end of its input prints a line for each
datagram: the kernel's time stamp (ns of the wall clock), bytes on an Ethernet line without framing, sender, number.
`... send ADDRESS PORT SENDER COUNT SIZE...` says `ready`, and
sends so many, with these sizes of payload in turn, for each line that it reads.
"""

from __future__ import annotations

import select
import socket
import struct
import sys

from marklab.devices.frames import DATAGRAM_HEADER_BYTES

# Frames of 60 (padded), 342 and 1514 bytes.
MIXED_BYTES = (18, 300, 1472)
FULL_BYTES = (1472,)

_NUMBER = struct.Struct("!II")
_TIMESTAMP = struct.Struct("@qq")
# SO_TIMESTAMPNS of Linux, which Python's module does not name.
_SO_TIMESTAMPNS = 35
_RECEIVE_BYTES = 64 << 20
_SO_RCVBUFFORCE = 33


def send(address: str, port: int, sender: int, count: int, *payloads_bytes: int) -> None:
    """Send so many, and wait for the line where the socket says so."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        end.connect((address, port))
        print("ready", flush=True)  # noqa: T201 - to the parent
        sys.stdin.readline()
        for number in range(count):
            payload = payloads_bytes[number % len(payloads_bytes)]
            end.send(_NUMBER.pack(sender, number).ljust(payload, b"\0"))


def receive(address: str, port: int) -> None:
    """Take what comes until the input ends."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        end.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        end.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BYTES)
        end.bind((address, port))
        print("ready", flush=True)  # noqa: T201 - to the parent
        lines = []
        while True:
            readable, _, _ = select.select([end, sys.stdin], [], [])
            if end not in readable:
                break
            data, control, _, _ = end.recvmsg(2048, 64)
            seconds, ns = _TIMESTAMP.unpack(control[0][2])
            sender, number = _NUMBER.unpack_from(data)
            lines.append(f"{seconds * 10**9 + ns} {DATAGRAM_HEADER_BYTES + len(data)} {sender} {number}")
        print("\n".join(lines), flush=True)  # noqa: T201


if __name__ == "__main__":
    role, where, *numbers = sys.argv[1:]
    if role == "send":
        send(where, *map(int, numbers))
    else:
        receive(where, *map(int, numbers))
