# SPDX-License-Identifier: MIT OR Apache-2.0
"""What BMv2 consists of, what its ports cannot do, and what of a run they could not carry."""

from __future__ import annotations

from collections.abc import Sequence

from marklab.catalog.description import Needs
from marklab.devices.frames import HEADER_BYTES, Framing
from marklab.devices.queueing import Queues
from marklab.errors import BadInput
from marklab.spec.description import Spec
from marklab.units import format_rate

TOOLS = ("p4c-bm2-ss", "simple_switch_grpc")

# How to get them.
REMEDY = (
    "`docker compose --profile bmv2 run bmv2`, of the images p4lang/p4c and p4lang/behavioral-model; or "
    "p4lang's packages p4lang-p4c and p4lang-bmv2 for Debian and Ubuntu"
)

LIMITS = (
    "one queue per port: its strict priorities go by a field that the lab's programs do not set, each at the full rate",
    "shaping in packets per second: a small frame takes as long as a full one",
    "queue limits in packets of each queue: no bytes, no memory that queues share",
    "a clock of microseconds",
    "no traces of queues, no lateness, no count of what its queues drop; registers cannot be read by P4Runtime",
    "no lines: delays are somebody else's",
)

# What stands before and behind a queue of a port, in packets. When the second is full, the first fills; what finds that
# one full is lost unseen. It is libpcap's ring of 2 MiB, in slots of a full frame if offloads are off, else of 256 KiB.
BUFFERS = {"ring of each interface": 1310, "input of all ports": 1024, "output of all ports": 128}

# Queue rates are whole packets per second, which is off by half of one at most.
_WORST_RATE_ERROR = 0.005


def obstacle(needs: Needs) -> str | None:
    """Why a scheme with these needs cannot run on BMv2, or None."""
    if needs.queues is not None:
        return f"it deals out queues of its own ({needs.queues.get('scheduler', 'fifo')}), and BMv2 has one per port"
    if needs.schedulers and "fifo" not in needs.schedulers:
        return f"it needs {' or '.join(needs.schedulers)}, and BMv2 has one queue per port"
    return None


def check(spec: Spec, queues: Queues, rates_bps: Sequence[int]) -> None:
    """Refuse ports that BMv2 does not have; rates are those of all lines that its ports are on."""
    own = "--switch marklab"
    if queues.scheduler != "fifo":
        raise BadInput(
            f"BMv2 has no ports with a {queues.scheduler} scheduler: {LIMITS[0]}", f"--queues fifo, or {own}"
        )
    if queues.buffer is not None or queues.shared_bytes is not None:
        raise BadInput("BMv2 has no memory that queues share: each has room of its own", f"leave it out, or {own}")
    if spec.queue.packets is None:
        raise BadInput(f"BMv2 limits queues in packets, not by {spec.queue}", f"--queue 600, or {own}")
    recorded = {"trace_queue": spec.trace_queue_ns, "trace_flows": spec.trace_flows_ns, "probes": spec.probes}
    for name, wanted in recorded.items():
        if wanted is not None:
            raise BadInput(f"BMv2 records nothing, and the run wants `{name}`", f"leave it out, or {own}")
    for rate_bps in rates_bps:
        packets_per_s(rate_bps, frame_bytes(spec), spec.framing)


def frame_bytes(spec: Spec) -> int:
    """A full frame of a run."""
    return spec.transport.mss_bytes + HEADER_BYTES


def packets_per_s(rate_bps: int, frame_bytes: int, framing: Framing) -> int:
    """The rate of a queue whose full frames fill a line."""
    line_bits = 8 * framing.line_bytes(frame_bytes)
    rate = round(rate_bps / line_bits)
    if abs(rate * line_bits - rate_bps) > _WORST_RATE_ERROR * rate_bps:
        raise BadInput(
            f"BMv2 counts whole packets per second, and {format_rate(rate_bps)}b/s are {rate_bps / line_bits:.1f}",
            "a smaller --dilation, a higher --rate, or --switch marklab",
        )
    return rate
