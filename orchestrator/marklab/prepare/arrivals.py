# SPDX-License-Identifier: MIT OR Apache-2.0
"""Flows for a stated load.

Each property of a flow has a random stream of its own, and a flow's properties come from its place in the list. So
loads share sizes, pairs and round-trip times, schemes share everything, and a shorter list is the start of a longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from marklab.devices.frames import HEADER_BYTES, Framing
from marklab.errors import BadInput
from marklab.prepare.delivered import calibrated
from marklab.prepare.web import web_flows
from marklab.spec.description import Spec
from marklab.statistics.randomness import Floats, exponential, integers, uniform
from marklab.topology import Network
from marklab.traffic.description import AddedFlow, Queries
from marklab.traffic.flows import OWN_TRANSPORTS, FlowList, UInt64, find_host, make_flows, merged
from marklab.traffic.services import Services
from marklab.traffic.workload import Workload


def wire_bytes(size_bytes: float, segments: float, framing: Framing, mss: int) -> float:
    """Bytes that a flow takes on a line: size + segments * (54 header bytes + overhead).

    Segments are ceil(size / mss). The padding of a last segment below 6 bytes is left out: 6 bytes, once in a few
    hundred flows. With an MSS so small that full segments are padded it counts. ACKs run the other way and are no
    part of the load.
    """
    padding = max(0, framing.min_bytes - HEADER_BYTES - mss)
    return size_bytes + segments * (HEADER_BYTES + framing.overhead_bytes + padding)


def mean_gap_ns(load: float, mean_wire_bytes: float, network: Network, *, of_hosts: bool = False) -> float:
    """Mean time between flows.

    load = flows/s * mean wire bytes * 8 * (bottleneck lines that a flow passes) / (rates of the bottleneck's lines),
    or, `of_hosts`, with the lines of the hosts that receive, of which a flow passes one
    """
    share, rates_bps = (1, network.hosts_bps) if of_hosts else (network.bottleneck_share, network.bottleneck_bps)
    return mean_wire_bytes * 8 * share / (load * rates_bps) * 1e9


def generate(spec: Spec, network: Network, seed: int) -> FlowList:
    """Make the flow list of a seed."""
    flows = _background(spec, network, seed)
    if spec.queries is not None:
        end_ns = int(flows.start_ns[-1]) if len(flows) else 0
        flows = merged([flows, _queries(spec, spec.queries, network, seed, end_ns)])
    if spec.ecn_share is None or spec.sessions is not None:
        return flows
    return replace(flows, ecn=uniform(seed, "ecn", len(flows)) < spec.ecn_share)


def added(flows: Sequence[AddedFlow], hosts: Sequence[str]) -> FlowList:
    """The flows that a description adds, in order of their start."""
    each = [flow for flow in flows for _ in range(flow.count)]
    pairs = [(find_host(flow.src, hosts), find_host(flow.dst, hosts)) for flow in each]
    for flow, (src, dst) in zip(each, pairs, strict=True):
        if src == dst:
            raise BadInput(f"an added flow runs from {flow.src} to itself", "give it another host as `to`")
    columns = ("start_ns", "size_bytes", "extra_delay_ns")
    start, size, delay = (np.array([getattr(flow, name) for flow in each], dtype=np.uint64) for name in columns)
    listed = replace(
        make_flows(start, np.array(pairs, dtype=np.uint32), size, delay),
        dscp=np.array([flow.dscp for flow in each], dtype=np.uint8),
        rate_bps=np.array([flow.rate_bps or 0 for flow in each], dtype=np.uint64),
        control=np.array([_own_transport(flow) for flow in each], dtype=np.uint8),
    )
    return merged([listed])


def _own_transport(flow: AddedFlow) -> int:
    return OWN_TRANSPORTS.index(flow.transport) + 1 if flow.transport is not None else 0


def _background(spec: Spec, network: Network, seed: int) -> FlowList:
    mean_bytes = sum(share * _mean_counted_bytes(workload, spec) for workload, share in _workloads(spec))
    wire = partial(_all_counted_bytes, spec)
    if spec.sessions is not None:
        return web_flows(spec, spec.sessions, network, seed, wire)
    gap = mean_gap_ns(spec.load, mean_bytes, network, of_hosts=spec.load_of == "hosts")
    chosen, services = _pairs_and_services(spec, network, seed)
    flows = make_flows(
        start_ns=_poisson(seed, "arrivals", gap, spec.flows),
        pairs=network.pairs.take(chosen),
        size_bytes=_sizes(spec, services, uniform(seed, "sizes", spec.flows)),
        extra_delay_ns=spec.rtt.extra_delays(uniform(seed, "rtt", spec.flows)),
    )
    flows = replace(flows, dscp=services)
    if not spec.flows:
        return flows

    def arriving(times: float) -> FlowList:
        return replace(flows, start_ns=_poisson(seed, "arrivals", gap / times, spec.flows)) if times != 1 else flows

    return calibrated(spec, network, seed, wire, arriving)


def _workloads(spec: Spec) -> list[tuple[Workload, float]]:
    """The workload of each service, and its share of the flows."""
    if spec.services is None:
        return [(spec.workload, 1.0)]
    weights = spec.services.shares
    workloads = [spec.services.workload(service) or spec.workload for service in range(len(weights))]
    if spec.services.share == "load":
        # So many flows that each service has its part of the bytes on the wire.
        flows = [weight / _mean_counted_bytes(each, spec) for weight, each in zip(weights, workloads, strict=True)]
        weights = tuple(count / sum(flows) for count in flows)
    return list(zip(workloads, weights, strict=True))


def _mean_counted_bytes(workload: Workload, spec: Spec) -> float:
    mss = spec.transport.mss_bytes
    return _counted_bytes(spec, workload.mean_bytes(), workload.mean_segments(mss))


def _counted_bytes(spec: Spec, size_bytes: float, segments: float) -> float:
    """The bytes of a flow that a load counts."""
    if spec.load_by == "payload":
        return size_bytes
    return wire_bytes(size_bytes, segments, spec.framing, spec.transport.mss_bytes)


def _all_counted_bytes(spec: Spec, sizes: UInt64) -> Floats:
    if spec.load_by == "payload":
        return sizes.astype(np.float64)
    mss = spec.transport.mss_bytes
    return sizes + np.ceil(sizes / mss) * wire_bytes(0, 1, spec.framing, mss)


def _pairs_and_services(spec: Spec, network: Network, seed: int) -> tuple[NDArray[np.intp], NDArray[np.uint8]]:
    """The pair of hosts of each flow, by its place among the network's pairs, and the flow's service."""
    draws, count = uniform(seed, "pairs", spec.flows), len(network.pairs)
    if spec.services is None:
        return integers(draws, count), np.zeros(spec.flows, dtype=np.uint8)
    if spec.services.by == "flow":
        return integers(draws, count), _drawn_services(spec, seed)
    dealt = _services_of_pairs(spec.services, count, seed)
    if spec.services.share is None:
        chosen = integers(draws, count)
        return chosen, dealt[chosen]
    services, chosen = _drawn_services(spec, seed), np.zeros(spec.flows, dtype=np.intp)
    for service in range(spec.services.count):
        own, pairs = services == service, np.flatnonzero(dealt == service)
        if len(pairs) == 0:
            raise BadInput(f"{count} pairs of hosts are too few for {spec.services.count} services", "fewer services")
        chosen[own] = pairs[integers(draws[own], len(pairs))]
    return chosen, services


def _services_of_pairs(services: Services, count: int, seed: int) -> NDArray[np.uint8]:
    """The service of each pair: evenly, and at random, one after the other in random order."""
    order = np.argsort(uniform(seed, "services of pairs", count), kind="stable")
    dealt = np.empty(count, dtype=np.uint8)
    dealt[order] = np.arange(count) % services.count
    return dealt


def _services_of_queries(spec: Spec, network: Network, seed: int, asked: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """The service of each flow of queries, whose rows of `asked` have source and target.

    Queries have the same sizes in all services, so parts of the flows are parts of the load.
    """
    if spec.services is None:
        return np.zeros(len(asked), dtype=np.uint8)
    if spec.services.by == "flow":
        ends = np.cumsum(spec.services.shares)[:-1]
        return np.searchsorted(ends, uniform(seed, "query services", len(asked)), side="right").astype(np.uint8)
    count = len(network.pairs)
    pairs = network.pairs.take(np.arange(count))
    keys, wanted = (rows[:, 0].astype(np.uint64) << np.uint64(32) | rows[:, 1] for rows in (pairs, asked))
    order = np.argsort(keys)
    places = order[np.searchsorted(keys, wanted, sorter=order)]
    return _services_of_pairs(spec.services, count, seed)[places]


def _drawn_services(spec: Spec, seed: int) -> NDArray[np.uint8]:
    """Services by their parts of the flows."""
    ends = np.cumsum([share for _, share in _workloads(spec)])[:-1]
    return np.searchsorted(ends, uniform(seed, "services", spec.flows), side="right").astype(np.uint8)


def _sizes(spec: Spec, services: NDArray[np.uint8], draws: NDArray[np.float64]) -> UInt64:
    sizes = np.zeros(len(draws), dtype=np.uint64)
    for service, (workload, _) in enumerate(_workloads(spec)):
        own = services == service
        sizes[own] = workload.sizes(draws[own])
    return sizes


def _poisson(seed: int, stream: str, mean_gap: float, count: int) -> UInt64:
    # Gaps are rounded before they are summed: whole numbers add up to the same on every machine.
    gaps = np.floor(exponential(uniform(seed, stream, count)) * mean_gap + 0.5)
    return np.cumsum(gaps.astype(np.uint64), dtype=np.uint64)


def _queries(spec: Spec, queries: Queries, network: Network, seed: int, end_ns: int) -> FlowList:
    mss = spec.transport.mss_bytes
    starts = queries.at_ns
    if queries.load is not None:
        mean_size = (queries.smallest_bytes + queries.largest_bytes) / 2
        one = _counted_bytes(spec, mean_size, mean_size / mss + 0.5)
        gap = mean_gap_ns(queries.load, one * queries.senders, network)
        # Twice the number expected is enough in all but absurd cases; the rest is cut off.
        drawn = _poisson(seed, "query arrivals", gap, 16 + int(2 * end_ns / gap))
        starts = tuple(int(start) for start in drawn if start <= end_ns)
    pairs = [_askers(network, queries.senders, seed, number) for number in range(len(starts or ()))]
    count = queries.senders * len(pairs)
    if count == 0:
        raise BadInput("the run is over before the first query comes", "take more flows or a higher query load")
    span = queries.largest_bytes - queries.smallest_bytes + 1
    sizes = queries.smallest_bytes + integers(uniform(seed, "query sizes", count), span)
    asked = np.concatenate(pairs)
    flows = make_flows(
        start_ns=np.repeat(np.array(starts, dtype=np.uint64), queries.senders),
        pairs=asked,
        size_bytes=sizes.astype(np.uint64),
        extra_delay_ns=spec.rtt.extra_delays(uniform(seed, "query rtt", count)),
    )
    services = _services_of_queries(spec, network, seed, asked)
    return replace(flows, dscp=services, query=np.ones(count, dtype=np.bool_))


def _askers(network: Network, senders: int, seed: int, number: int) -> np.ndarray[tuple[int, int], np.dtype[np.uint32]]:
    """Pairs of one query: a receiver, and its possible senders in random order, again and again if they are few."""
    stream = f"query {number}"
    receivers = network.pairs.receivers
    target = receivers[int(integers(uniform(seed, f"{stream} receiver", 1), len(receivers))[0])]
    possible = np.array(network.pairs.senders_to(target), dtype=np.uint32)
    order = np.argsort(uniform(seed, f"{stream} senders", len(possible)), kind="stable")
    sources = np.resize(possible[order], senders)
    return np.stack([sources, np.full(senders, target, dtype=np.uint32)], axis=1)
