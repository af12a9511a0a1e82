# SPDX-License-Identifier: MIT OR Apache-2.0
"""Schemes that Tofino cannot run as they are, and why."""

_PERIODS = "a packet makes up for all periods that ended, by a product of run-time values, and no timer sees a queue"

MISSING = {
    "droptail": "it marks nothing",
    "bfc": "it marks nothing",
    "pi": _PERIODS,
    "rem": _PERIODS,
    "per-port": "the sum over a port's queues is known to no packet in egress: a Tofino shows a packet its own queue",
    "per-pool": "the sum over a switch's queues is known to no packet: pipes share no state",
}
