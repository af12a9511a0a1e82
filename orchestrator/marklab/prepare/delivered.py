# SPDX-License-Identifier: MIT OR Apache-2.0
"""What an empty line delivers of the flows until the last one begins, and flows whose load that is.

A long flow that is bound by its receiver's window is under way for minutes, and much of it comes after the run. The
ECN+ paper therefore measures its loads on a line that nothing fills (section 4.2). Here a flow is alone with the line:
it sends a window per round trip, as a burst. The window doubles from the initial one up to the receiver's, or up to
what its sender's line carries in a round trip. That is the model of the paper's section 5.2.2 (`metrics.burst_queue`).
The rate of the bottleneck plays no part, so a load has the same flows whatever the line that it is put on.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from marklab.devices.frames import HEADER_BYTES
from marklab.prepare.ideal import SYN_OPTIONS, paths
from marklab.prepare.receive_windows import receive_windows
from marklab.spec.description import Spec
from marklab.statistics.randomness import Floats, log
from marklab.topology import Network
from marklab.traffic.flows import FlowList, UInt64

Wire = Callable[[UInt64], Floats]

# How near a load is to the one asked for. Which flows have the long round trips changes with the number of sessions,
# so a load is no smooth function of it, and comes nearer only by chance.
_NEAR = 0.004
_TRIES = 40
# In a run that is too short for its load the search ends here; such a run is reported as idle.
_FARTHEST = 4.0
# A century.
_NEVER_NS = 3 * 10**18


def calibrated(spec: Spec, network: Network, seed: int, wire: Wire, flows_of: Callable[[float], FlowList]) -> FlowList:
    """The flows of the load: of what is drawn, or of what an empty line delivers (`load_by`).

    `flows_of` draws the flows of so many times the load. `wire` gives the bytes on a line of flows, by their sizes.
    """
    flows = nearest = flows_of(1.0)
    if spec.load_by != "delivered":
        return flows
    times, farthest = 1.0, math.inf
    for _ in range(_TRIES):
        part = delivered_part(spec, network, flows, seed, wire)
        if abs(part - 1) < farthest:
            nearest, farthest = flows, abs(part - 1)
        before, times = times, min(max(times / max(part, 1 / _FARTHEST), 1 / _FARTHEST), _FARTHEST)
        if farthest <= _NEAR or times == before:
            break
        flows = flows_of(times)
    return nearest


def delivered_part(spec: Spec, network: Network, flows: FlowList, seed: int, wire: Wire) -> float:
    """What is delivered in time, as a part of the load."""
    end_ns = min(int(flows.start_ns[-1]), spec.until_ns or _NEVER_NS)
    of_hosts = spec.load_of == "hosts"
    share, rates_bps = (1.0, network.hosts_bps) if of_hosts else (network.bottleneck_share, network.bottleneck_bps)
    # In whole bits, because 9 % of 1 Gb/s are to have the same flows as 90 % of 100 Mb/s.
    load_bps = round(spec.load * rates_bps)
    passed = float(_wire_bytes_until(spec, network, flows, seed, wire, end_ns).sum())
    return passed * 8e9 * share / (max(end_ns, 1) * load_bps)


def _wire_bytes_until(spec: Spec, network: Network, flows: FlowList, seed: int, wire: Wire, end_ns: int) -> Floats:
    """Bytes on the line of each flow that have passed by then."""
    rtt_ns, first_ns, sender_bps = _times(spec, network, flows)
    payload = spec.transport.payload_bytes
    full = wire(np.array([payload], dtype=np.uint64))[0]
    windows = receive_windows(spec, seed, len(flows)).astype(np.float64)
    windows = np.where(windows > 0, windows, spec.transport.receive_window_bytes)
    most = np.maximum(1.0, np.minimum(np.floor(windows / payload), np.ceil(sender_bps * rtt_ns / (full * 8e9))))
    initial = np.minimum(spec.transport.initial_window, most)
    # Round trips until the window is as large as it may be.
    growing = np.ceil(log(most / initial) / log(np.array([2.0])))
    rounds = np.floor((end_ns - first_ns) / rtt_ns) + 1
    doublings = np.clip(rounds, 0, growing).astype(np.int64)
    segments = np.ldexp(initial, doublings) - initial + most * np.maximum(rounds - growing, 0)
    opening, closing = _connection_bytes(spec)
    done = wire(flows.size_bytes) + closing
    return (np.where(segments * payload < flows.size_bytes, segments * full, done) + opening) * (rounds > 0)


def _connection_bytes(spec: Spec) -> tuple[int, int]:
    """Bytes on the line of the packets without data that open and close a connection: 2 % of the web's load."""
    syn, bare = (spec.framing.line_bytes(HEADER_BYTES + options) for options in (SYN_OPTIONS, 0))
    return (syn if spec.connections.mode == "asked" else syn + bare), bare


def _times(spec: Spec, network: Network, flows: FlowList) -> tuple[Floats, Floats, Floats]:
    """Round trip of each flow without queues, the time at which its first burst has passed, and its sender's rate.

    The extra delay of a flow comes after the lines (docs/concepts.md).
    """
    there_ns, back_ns, sender_bps = (np.zeros(len(flows)) for _ in range(3))
    for there, back, chosen in paths(network, flows):
        there_ns[chosen], back_ns[chosen] = (sum(line.delay_ns for line in path) for path in (there, back))
        sender_bps[chosen] = there[0].rate_bps
    rtt_ns = np.maximum(there_ns + back_ns + flows.extra_delay_ns, 1.0)
    # After a handshake; and a receiver that asks for the flow answers with a request.
    request_ns = back_ns if spec.connections.mode == "asked" else 0.0
    return rtt_ns, flows.start_ns + rtt_ns + request_ns + there_ns, sender_bps
