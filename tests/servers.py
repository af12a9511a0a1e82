# SPDX-License-Identifier: MIT OR Apache-2.0
"""Ports for servers that a test starts.

A port that the kernel gave and that was closed again can be taken by any connection that another test opens meanwhile,
because those have a port of the same range. These ports lie below it, and each process of tests has some of its own.
"""

from __future__ import annotations

import itertools
import os
import socket

# Linux gives connections ports from 32,768 on (`ip_local_port_range`).
_FIRST, _OF_A_PROCESS = 20_000, 500
_PROCESS = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 24
_next = itertools.cycle(range(_FIRST + _PROCESS * _OF_A_PROCESS, _FIRST + (_PROCESS + 1) * _OF_A_PROCESS))


def free_port() -> int:
    """A port of this machine on which nothing listens, another at each call."""
    for port in itertools.islice(_next, _OF_A_PROCESS):
        with socket.socket() as tried:
            # As servers do: connections of an earlier server that wait for their end are no hindrance.
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise OSError(f"something listens on each port from {_FIRST + _PROCESS * _OF_A_PROCESS} on")
