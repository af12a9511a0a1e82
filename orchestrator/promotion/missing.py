"""Schemes that Tofino cannot run as they are, and why."""

MISSING = {
    "droptail": "it marks nothing",
    "per-port": "the sum over a port's queues is known to no packet in egress: a Tofino shows a packet its own queue",
    "per-pool": "the sum over a switch's queues is known to no packet: pipes share no state",
}
