# SPDX-License-Identifier: MIT OR Apache-2.0
"""Ideal flow completion times: the flow alone in an empty network, its sender never waiting for anything.

All segments but the last are full. On hop j of rate R_j and delay d_j segment i leaves when both it has arrived and
segment i - 1 has left:

    left(i, j) = max(left(i - 1, j), left(i, j - 1) + d_(j-1)) + wire_i / R_j

For n - 1 full segments of W wire bytes this is

    left(n - 1, j) = sum over k <= j of W / R_k  +  (n - 2) max over k <= j of W / R_k  +  delays before j

and the last segment of w bytes follows by the rule itself. With equal rates R over H hops, and n >= 2,

    FCT = extra + (n - 2 + H) W / R + w / R + sum of d_j

because w <= W never catches up. `extra` is the flow's delay at its sender. A new connection adds a SYN on the path
there, extra delay included, a SYN-ACK on the path back, and on the sender's line the ACK that goes before the data.
A connection that the receiver opens adds a SYN on the path back, a SYN-ACK on the path there, extra delay included, and
a request on the path back. A further flow on it adds the request alone. Windows do not count: that a sender has to open
its window is part of what slowdown measures. Queue pairs of RDMA have headers as long as TCP's, and no handshake.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from marklab.devices.frames import HEADER_BYTES, Framing
from marklab.devices.hosts import Transport
from marklab.spec.description import Spec
from marklab.statistics.randomness import Floats
from marklab.topology import Line, Network
from marklab.traffic.flows import FlowList

Path = tuple[Line, ...]

# Maximum segment size, SACK permitted, window scale.
SYN_OPTIONS = 12


def ideal_ns(spec: Spec, network: Network, flows: FlowList) -> Floats:
    """Ideal completion time of each flow."""
    result = np.zeros(len(flows))
    for there, back, chosen in paths(network, flows):
        extra = flows.extra_delay_ns[chosen].astype(np.float64)
        time = extra + stream_ns(there, flows.size_bytes[chosen], spec.framing, spec.transport)
        if spec.connections.mode == "new" and not spec.transport.is_paced:
            time += extra + _handshake_ns(there, back, spec.framing)
        elif spec.connections.mode == "asked":
            open_ns = extra + _opening_ns(there, back, spec.framing)
            time += np.where(flows.same_connection[chosen], 0.0, open_ns) + _request_ns(back, spec)
        result[chosen] = time
    return result


def full_frame_ns(spec: Spec, network: Network, flows: FlowList) -> Floats:
    """Time on the path of each flow, from its sender's NIC to its receiver, of one full frame in an empty network."""
    result = np.zeros(len(flows))
    full = np.array([spec.transport.payload_bytes], dtype=np.uint64)
    for there, _, chosen in paths(network, flows):
        result[chosen] = stream_ns(there, full, spec.framing, spec.transport)[0]
    return result


def paths(network: Network, flows: FlowList) -> Iterator[tuple[Path, Path, NDArray[np.intp]]]:
    """The path there and back, and the flows that take it or one that is alike: thousands of pairs have a few kinds."""
    graph, hosts = network.graph, len(network.graph.hosts)
    pairs, pair_of = np.unique(flows.src.astype(np.int64) * hosts + flows.dst, return_inverse=True)
    paths: dict[tuple[tuple[int, int], ...], tuple[int, Path, Path]] = {}
    path_of_pair = np.zeros(len(pairs), dtype=np.intp)
    for number, pair in enumerate(pairs.tolist()):
        source, target = divmod(pair, hosts)
        there, back = graph.path(source, target), graph.path(target, source)
        alike = tuple((line.rate_bps, line.delay_ns) for line in there + back)
        path_of_pair[number] = paths.setdefault(alike, (len(paths), there, back))[0]
    path_of_flow = path_of_pair[pair_of]
    for number, there, back in paths.values():
        yield there, back, np.flatnonzero(path_of_flow == number)


def stream_ns(path: Path, sizes: NDArray[np.uint64], framing: Framing, transport: Transport) -> Floats:
    """Time from the first bit at the sender to the last at the receiver."""
    payload, options = transport.payload_bytes, transport.option_bytes
    segments = np.ceil(sizes / payload)
    full = _wire(np.array([payload + options]), framing)[0]
    last = _wire(sizes - (segments - 1) * payload + options, framing)
    slowest = arrived = 0.0
    done = np.zeros(len(sizes))
    for line in path:
        bit = 8e9 / line.rate_bps
        slowest = max(slowest, full * bit)
        arrived += full * bit
        before = np.where(segments > 1, arrived + (segments - 2) * slowest, 0.0)
        done = np.maximum(done, before) + last * bit + line.delay_ns
        arrived += line.delay_ns
    return done


def _handshake_ns(there: Path, back: Path, framing: Framing) -> float:
    ack = _wire(np.zeros(1), framing)[0] * 8e9
    return float(_opening_ns(there, back, framing) + ack / there[0].rate_bps)


def _opening_ns(there: Path, back: Path, framing: Framing) -> float:
    """A SYN, and its answer."""
    syn = _wire(np.array([SYN_OPTIONS]), framing)[0] * 8e9
    return float(sum(syn / line.rate_bps + line.delay_ns for line in there + back))


def _request_ns(back: Path, spec: Spec) -> float:
    request = _wire(np.array([spec.connections.request_bytes]), spec.framing)[0] * 8e9
    return float(sum(request / line.rate_bps + line.delay_ns for line in back))


def _wire(payload: NDArray[np.generic], framing: Framing) -> Floats:
    return np.maximum(HEADER_BYTES + np.asarray(payload, dtype=np.float64), framing.min_bytes) + framing.overhead_bytes
