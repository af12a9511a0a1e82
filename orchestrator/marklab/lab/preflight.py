# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a network has to show before a run counts.

Its lines have their rates, the one queue which stands is the switch's, delays are those asked for, and marks are made,
seen and answered.

The tests run on switches of their own, so that those of the run begin with nothing in their registers.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from marklab.devices.frames import DATAGRAM_HEADER_BYTES, Framing
from marklab.devices.hosts import Limit
from marklab.errors import RunFailed
from marklab.lab import burst
from marklab.lab.commands import run
from marklab.lab.hosts.host import Columns, host_process
from marklab.lab.network import Net, address
from marklab.paths import PACKAGE
from marklab.topology import Line

_PORT = 5001
_MS = 10**6


@dataclass(frozen=True)
class Drain:
    """Datagrams from two hosts to one, more than the queue on their way holds."""

    sent: int
    received: int
    # Of bytes on the line while the queue was never empty, against the rate that the line is to have.
    rate_ratio: float


def drain(
    net: Net, senders: Sequence[int], receiver: int, limit: Limit, framing: Framing, payloads_bytes: Sequence[int]
) -> Drain:
    """Fill the queue in front of the receiver's line, and see how it drains."""
    line, count = _last_line(net, receiver), burst_size(limit, payloads_bytes)
    with ExitStack() as stack:
        catching = stack.enter_context(_burst(net, receiver, "receive", address(receiver), _PORT))
        ends = [
            stack.enter_context(_burst(net, sender, "send", address(receiver), _PORT, sender, count, *payloads_bytes))
            for sender in senders
        ]
        for end in ends:
            assert end.stdin is not None  # noqa: S101
            end.stdin.write("go\n")
            end.stdin.flush()
        codes = [end.wait(60) for end in ends]
        if any(codes):
            raise RunFailed("the drain test cannot send: a sender failed")
        # All that was sent is through when both the hosts' lines and the queue had the time for it.
        sent_bytes = (
            len(senders)
            * sum(framing.line_bytes(_frame(each)) for each in payloads_bytes)
            * count
            // len(payloads_bytes)
        )
        time.sleep(0.2 + sent_bytes * 8 / line.rate_bps)
        out, _ = catching.communicate(timeout=60)
    rows = np.array([row.split() for row in out.split("\n") if row], dtype=np.int64).reshape(-1, 4)
    return Drain(len(senders) * count, len(rows), rate_ratio(rows, line, framing))


def rate_ratio(rows: NDArray[np.int64], line: Line, framing: Framing) -> float:
    """Slope of bytes over time, by least squares, as single datagrams may be told late.

    Of the middle of the burst: at its begin and end the queue may be empty.
    """
    middle = rows[len(rows) // 4 : 3 * len(rows) // 4]
    if len(middle) < 10:
        return 0.0
    time_ns = (middle[:, 0] - middle[0, 0]).astype(np.float64)
    wire_bytes = np.cumsum([framing.line_bytes(int(frame)) for frame in middle[:, 1]])
    slope, _ = np.polyfit(time_ns, wire_bytes, 1)
    return float(slope) * 8e9 / line.rate_bps


def _frame(payload_bytes: int) -> int:
    return DATAGRAM_HEADER_BYTES + payload_bytes


def burst_size(limit: Limit, payloads_bytes: Sequence[int]) -> int:
    """Datagrams of each of two senders: a queue is full when each has sent as many as it holds."""
    mean_bytes = sum(map(_frame, payloads_bytes)) / len(payloads_bytes)
    return min(20_000, 100 + round(4 * limit.in_packets(round(mean_bytes))))


def _last_line(net: Net, host: int) -> Line:
    to_host = net.graph.lines_from[host][0].target
    return next(line for line in net.graph.lines_from[to_host.node] if line.target.node == host)


@contextmanager
def _burst(net: Net, host: int, *words: object) -> Iterator[subprocess.Popen[str]]:
    """An end of a burst, when it is ready."""
    command = [*net.keeping(host), sys.executable, "-m", burst.__name__, *map(str, words)]
    with subprocess.Popen(  # noqa: S603 - no shell
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=PACKAGE.parent
    ) as process:
        try:
            assert process.stdout is not None  # noqa: S101
            if process.stdout.readline() != "ready\n":
                raise RunFailed(f"the drain test cannot {words[0]} on host {net.graph.names[host]}")
            yield process
        finally:
            process.kill()


@dataclass(frozen=True)
class RoundTrip:
    """The best of some pings between two hosts, through an empty network."""

    source: str
    target: str
    expected_ns: int
    measured_ns: int


# Ethernet, IPv4 and ICMP headers, and ping's 56 bytes.
_PING_BYTES = 14 + 20 + 8 + 56
_TIME = re.compile(r"time=([0-9.]+) ms")


def round_trip(net: Net, pair: tuple[int, int], ttl: int, extra_ns: int, framing: Framing) -> RoundTrip:
    """Ping with the TTL of a delay, and what the round trip should take."""
    source, target = pair
    wire_bits = 8 * framing.line_bytes(_PING_BYTES)
    lines = [*net.graph.path(source, target), *net.graph.path(target, source)]
    expected_ns = extra_ns + sum(line.delay_ns + wire_bits * 10**9 // line.rate_bps for line in lines)
    shown = run(
        *net.inside(source), "ping", "-n", "-c", "5", "-i", "0.02", "-W", "3", "-t", str(ttl), address(target)
    )  # fmt: skip
    times = [round(float(text) * _MS) for text in _TIME.findall(shown)]
    if not times:
        raise RunFailed(f"no ping from {net.graph.names[source]} to {net.graph.names[target]} came back")
    return RoundTrip(net.graph.names[source], net.graph.names[target], expected_ns, min(times))


@dataclass(frozen=True)
class LongFlows:
    """Flows without end from some hosts to one, for a while."""

    marks_echoed: int  # of segments, as senders saw them
    ce_received: int  # packets that came marked, as the receiver saw them


def long_flows(net: Net, senders: Sequence[int], receiver: int, duration_ms: int, folder: Path) -> LongFlows:
    """Send as fast as TCP lets it."""
    folder.mkdir()
    before = ce_received(net, receiver)
    with ExitStack() as stack:
        hosts = [
            stack.enter_context(
                host_process(
                    net.keeping(host),
                    net.graph.names[host],
                    f"{address(host)}:{_PORT}",
                    folder / str(host),
                    (_endless(1 if host in senders else 0), [f"{address(receiver)}:{_PORT}"], None),
                )
            )
            for host in [*senders, receiver]
        ]
        start_at_ns = time.monotonic_ns() + 50 * _MS
        for host in hosts:
            host.begin(start_at_ns, start_at_ns + duration_ms * _MS)
        for host in hosts:
            host.expect("ended")
        sent = [host.finish() for host in hosts][:-1]
    return LongFlows(
        marks_echoed=sum(int(seen.records["marked"].sum()) for seen in sent),
        ce_received=ce_received(net, receiver) - before,
    )


def _endless(count: int) -> Columns:
    types = {"id": np.uint32, "start_ns": np.uint64, "peer": np.uint32, "dscp": np.uint8, "ttl": np.uint8}
    columns: Columns = {name: np.zeros(count, kind) for name, kind in types.items()}
    return columns | {"size_bytes": np.full(count, 2**50, np.uint64), "pull": np.zeros(count, np.bool_)}


def ce_received(net: Net, host: int) -> int:
    """IPv4 packets that came to a host with CE so far."""
    shown = run(*net.inside(host), "nstat", "--zeros", "--json", "--ignore", "--noupdate", "IpExtInCEPkts")
    return int(json.loads(shown)["kernel"]["IpExtInCEPkts"])
