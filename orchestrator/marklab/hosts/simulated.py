# SPDX-License-Identifier: MIT OR Apache-2.0
"""Scripts through simulated hosts."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marklab.devices.frames import Framing
from marklab.devices.hosts import Limit, Nic, Transport
from marklab.devices.queueing import Queues
from marklab.engine import binding as engine
from marklab.errors import BadInput
from marklab.fabrics.sim import transport_numbers
from marklab.hosts.bottleneck import COUNTER, PROGRAM, Bottleneck, alone
from marklab.hosts.capture import read_capture
from marklab.hosts.rounds import STATES, AlphaRow, FlowSeen, WindowRow, flow_seen
from marklab.hosts.script import Case, ScriptFlow
from marklab.prepare.control import host_ip, mac
from marklab.traffic.flows import NO_JOINS

_FRAME_BYTES = 1514
# No segment yet reduced the threshold.
_INFINITE = 2**64 - 1


@dataclass(frozen=True)
class CaseSeen:
    """What became of a case: its flows, and packets that its events are about and that did not come."""

    case: Case
    flows: tuple[FlowSeen, ...]
    never: tuple[str, ...]


def simulate(case: Case, transport: Transport, program: engine.CompiledProgram) -> CaseSeen:
    """Run a case."""
    network = alone(case, transport.mss_bytes)
    with tempfile.TemporaryDirectory(prefix="marklab-script-") as folder:
        paths = [Path(folder) / f"{placed.pair}.pcap" for placed in network.placed]
        configuration = _configuration(network, transport, paths)
        inputs = engine.Inputs(configuration, program, network.entries(), ["[]"], _columns(network), 1)
        result = engine.simulate(inputs, engine.new_watch())
        trace = result["sender_trace"]
        flows = []
        for placed, path in zip(network.placed, paths, strict=True):
            captured = read_capture(path, (host_ip(2 * placed.pair), placed.client_port))
            of_flow = np.isin(trace["flow"], _rows_of(network, placed.flow))
            rows, alphas = _windows(trace, of_flow, transport.mss_bytes)
            size = size_bytes(placed.described, transport.mss_bytes)
            flows.append(flow_seen(captured, size, case.script.rtt_ns, rows, alphas))
    met = {row["index"]: row["packets"] for row in result["report"]["counters"] if row["counter"].endswith(COUNTER)}
    return CaseSeen(case, tuple(flows), tuple(network.never(met).get(case, ())))


def size_bytes(flow: ScriptFlow, mss_bytes: int) -> int:
    """Of a flow's stream."""
    return flow.stream_segments * mss_bytes - flow.close


def compiled() -> engine.CompiledProgram:
    """The bottleneck's program."""
    return engine.compile_program(PROGRAM)


def _configuration(network: Bottleneck, transport: Transport, paths: Sequence[Path]) -> dict[str, Any]:
    (case,) = network.cases
    graph, switch = network.graph, 2 * network.pairs
    hosts = [
        {"kind": "host", "name": name, "mac": list(mac(graph, host).to_bytes(6, "big")), "ip": host_ip(host)}
        for host, name in enumerate(graph.hosts)
    ]
    queueing = Queues().to_engine(Limit(packets=10**6), _FRAME_BYTES)
    closes = {flow.close for flow in case.script.all_flows}
    if len(closes) > 1:
        raise BadInput(f"{case.name}: some of its flows close and others do not", "two scripts")
    return {
        "nodes": [*hosts, {"kind": "switch", "name": "s0", "ports": graph.ports(0), "queueing": queueing}],
        "links": [
            {"a": link.a, "b": link.b, "rate_bps": link.rate_bps, "delay_ns": link.delay_ns} for link in graph.links
        ],
        "framing": dict(Framing()),
        "transport": transport_numbers(transport, graph.links[0].rate_bps),
        "nic": dict(Nic()),
        "connections": "new" if closes == {True} else {"persistent": {"per_pair": 0}},
        "stop_ns": case.script.until_ns,
        "trace_senders_ns": 0,
        "captures": [{"node": switch, "port": 2 * pair, "path": str(path)} for pair, path in enumerate(paths)],
    }


def _rows_of(network: Bottleneck, flow: int) -> list[int]:
    """Rows of a script's flow in the engine's list, which has one for each write."""
    return [row for row, (_, number, _) in enumerate(_writes(network)) if number == flow]


def _writes(network: Bottleneck) -> list[tuple[int, int, int]]:
    """Time, flow and bytes of each write, in order of time."""
    return sorted(
        (
            placed.described.start_ns + write.at_ns,
            placed.flow,
            write.segments * network.mss_bytes - placed.described.close,
        )
        for placed in network.placed
        for write in placed.described.written
    )


def _columns(network: Bottleneck) -> Mapping[str, Any]:
    """The flow list. Its last flow begins behind the end, so that the run lasts until then."""
    (case,) = network.cases
    writes = [*_writes(network), (case.script.until_ns + 1, 0, 1)]
    flows = [case.script.all_flows[flow] for _, flow, _ in writes]
    none = np.zeros(len(writes), np.uint64)
    windows = [(flow.receive_window or 0) * network.mss_bytes for flow in flows]
    return {
        "start_ns": np.array([start for start, _, _ in writes], np.uint64),
        "src": np.array([2 * flow for _, flow, _ in writes], np.uint32),
        "dst": np.array([2 * flow + 1 for _, flow, _ in writes], np.uint32),
        "size_bytes": np.array([size for _, _, size in writes], np.uint64),
        "dscp": none.astype(np.uint8),
        "extra_delay_ns": none,
        "rate_bps": np.array([flow.rate_bps or 0 for flow in flows], np.uint64),
        "ecn": np.ones(len(writes), np.bool_),
        "receive_window_bytes": np.array(windows, np.uint64),
        "base_delay_ns": none,
        "after": np.full(len(writes), -1, np.int64),
        "same_connection": np.zeros(len(writes), np.bool_),
        "joins": NO_JOINS.for_engine(0),
        "control": none.astype(np.uint8),
    }


def _windows(
    trace: Mapping[str, NDArray[Any]], of_flow: NDArray[np.bool_], mss_bytes: int
) -> tuple[list[WindowRow], list[AlphaRow]]:
    columns = (trace[name][of_flow].tolist() for name in ("time_ns", "cwnd_bytes", "ssthresh_bytes", "state", "alpha"))
    rows, alphas = [], []
    for time_ns, cwnd, ssthresh, state, alpha in zip(*columns, strict=True):
        threshold = None if ssthresh == _INFINITE else ssthresh / mss_bytes
        rows.append(WindowRow(time_ns, cwnd / mss_bytes, threshold, STATES[state]))
        alphas.append(AlphaRow(time_ns, alpha))
    return rows, alphas
