# SPDX-License-Identifier: MIT OR Apache-2.0
"""TCP of a network namespace: what `orchestrator.hosts.Transport` describes, by sysctls and routes.

Who knows the namespace says how a command is run in it: `ip netns exec NAME`, `mnexec -a PID`, `nsenter -t PID -n`.

Routes carry what Linux lets them: the congestion control, since some may not be a namespace's default; initial
window and minimum RTO. Linux leaves no choice of others: the first RTO is 1 s (RFC 6298), a delayed acknowledgement
waits 40 to 200 ms, and timers tick with the kernel's HZ.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from marklab.devices.hosts import Transport
from marklab.lab.commands import run

# An incast opens hundreds of connections at once.
_BACKLOG = 4096


def configure(inside: Sequence[str], transport: Transport, kernel_control: str, *, ecn: bool) -> None:
    """Set up the TCP of a namespace whose addresses and routes are there. Connections that exist keep theirs."""
    values = [f"{name}={value}" for name, value in sysctls(transport, ecn=ecn).items()]
    run(*inside, "sysctl", "--quiet", "--write", *values)
    for route in json.loads(run(*inside, "ip", "-json", "-4", "route", "show", "table", "main")):
        run(*inside, "ip", "-4", "route", "replace", *_selector(route), *route_options(transport, kernel_control))


def sysctls(transport: Transport, *, ecn: bool) -> dict[str, str]:
    """Settings of a namespace."""
    # Linux counts the memory that packets take, and lends half of it to the window.
    memory_bytes = 2 * transport.receive_window_bytes
    return {
        "net.core.somaxconn": str(_BACKLOG),
        "net.ipv4.tcp_max_syn_backlog": str(_BACKLOG),
        "net.ipv4.tcp_ecn": str(int(ecn)),
        # A connection that lost its SYN shall not be one without ECN.
        "net.ipv4.tcp_ecn_fallback": "0",
        # A SYN's acknowledgement is of the class of the SYN.
        "net.ipv4.tcp_reflect_tos": "1",
        # Nor shall it begin with what another one has learned.
        "net.ipv4.tcp_no_metrics_save": "1",
        "net.ipv4.tcp_slow_start_after_idle": str(int(transport.idle_restart)),
        # Frames as in `sim`, whose segments have no options.
        "net.ipv4.tcp_timestamps": "0",
        "net.ipv4.tcp_rmem": f"4096 {memory_bytes} {memory_bytes}",
        "net.ipv4.tcp_wmem": f"4096 {memory_bytes} {memory_bytes}",
    }


def route_options(transport: Transport, kernel_control: str) -> list[str]:
    """Settings of a route, as `ip route` takes them."""
    return [
        *("congctl", kernel_control),
        *("initcwnd", str(transport.initial_window)),
        # Whole ms, as the kernel has them.
        *("rto_min", f"{max(1, round(transport.min_rto_ns / 1e6))}ms"),
        *("advmss", str(transport.mss_bytes)),
        # Each segment is acknowledged at once; otherwise Linux delays acknowledgements as it likes.
        *(("quickack", "1") if transport.ack_every == 1 else ()),
    ]


def _selector(route: dict[str, Any]) -> list[str]:
    """Name a route as `ip route` shows it."""
    words = [("via", "gateway"), ("dev", "dev"), ("proto", "protocol"), ("scope", "scope"), ("src", "prefsrc")]
    return [route["dst"], *(text for word, key in words if key in route for text in (word, str(route[key])))]
