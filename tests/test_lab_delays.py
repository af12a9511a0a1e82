# SPDX-License-Identifier: MIT OR Apache-2.0
"""Congestion controls that react to delays, over a line of our switch, which records the waiting times."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import numpy as np
import pytest

from marklab.devices.hosts import Transport
from marklab.engine import binding as engine
from marklab.errors import BadInput, SetupError
from marklab.lab import commands, live
from marklab.lab.hosts import bpf, congestion
from marklab.lab.hosts.congestion import CONTROLS, loaded
from marklab.lab.hosts.host import host_process, joined
from marklab.lab.hosts.tcp import configure
from marklab.lab.records import ObservationWindow, observation_windows, replaced_answers
from marklab.model import validate
from test_lab import Dumbbell, check_law, count, longest_flow, real
from test_live import Hosts, program, route

MS = 10**6
RATE_MBPS = 100
MSS_BYTES, FRAME_BYTES = 1460, 1538  # on the line
GOODPUT_MBPS = RATE_MBPS * MSS_BYTES / FRAME_BYTES
FRAME_MS = 8 * FRAME_BYTES / (RATE_MBPS * 1e3)
BASE_MS = 4
NEVER_MS = 1000


# Words


def test_a_control_that_reacts_to_delays_has_to_know_which() -> None:
    with pytest.raises(BadInput, match="has to know which"), loaded(CONTROLS["ear"]):
        pass
    with (
        pytest.raises(BadInput, match="dctcp does not react to delays"),
        loaded(CONTROLS["dctcp"], delay_threshold_ns=5 * MS),
    ):
        pass


@pytest.mark.parametrize("control", ["delay-dctcp", "ear"])
def test_the_kernels_own_dctcp_is_no_remedy(control: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bpf, "TYPES", tmp_path / "vmlinux")
    monkeypatch.setattr(congestion, "_LOCKS", tmp_path)
    monkeypatch.setattr(bpf, "require", lambda _: None)
    monkeypatch.setattr(congestion, "in_kernel", lambda _: True)
    monkeypatch.setattr(bpf, "run", lambda *_: "the types of an old kernel")
    monkeypatch.setattr(congestion, "run", lambda *_: "[]")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    with (
        pytest.raises(SetupError, match="no type information") as refused,
        loaded(CONTROLS[control], delay_threshold_ns=5 * MS),
    ):
        pass
    assert refused.value.remedy == "a kernel with CONFIG_DEBUG_INFO_BTF"
    bpf.TYPES.touch()
    with (
        pytest.raises(SetupError, match=r"needs Linux 6\.10") as refused,
        loaded(CONTROLS[control], delay_threshold_ns=5 * MS),
    ):
        pass
    assert refused.value.remedy == "a newer kernel"


# Behaviour


@dataclass
class Seen:
    """Observations of a switch and its hosts."""

    port: live.PortReport = field(init=False)
    # Mean wait of packets in the second half of the time with packets.
    queue_ms: float = field(init=False)
    windows: Sequence[ObservationWindow] = ()
    replaced: int = 0  # answers that the kernel took without running DCTCP in BPF


@dataclass(frozen=True)
class Line:
    """A line of RATE_MBPS between two hosts, BASE_MS there and back, with a queue in front of it."""

    hosts: Hosts

    def inside(self, number: int) -> tuple[str, ...]:
        """The words that run a command at a host."""
        return self.hosts.namespaces[number].inside

    @contextmanager
    def under(
        self, control: str, threshold_ms: float | None = None, k: int | None = None, limit: int = 300
    ) -> Iterator[Seen]:
        """Start a switch that marks above `k` packets, if given, and hosts with this delay threshold."""
        near, far = self.hosts.interfaces
        delay = f"{BASE_MS / 2}ms"
        described = {
            "interfaces": [
                # The last TTL has a delay of 20 ms.
                {"port": 0, "name": near, "rate": "1G", "delay": delay, "ttl_delays": ["0", "20ms"]},
                {"port": 1, "name": far, "rate": f"{RATE_MBPS}M", "delay": delay},
            ],
            "queue": limit,
            "traces": [{"port": 1, "interval": "1ms"}],
        }
        marking = {"table": "marking.params", "action": "set_params", "params": {"k_pkts": k}}
        entries = [route(1, 0), route(2, 1), *([marking] if k is not None else [])]
        description = validate(live.SwitchDescription, described, "")
        threshold_ns = None if threshold_ms is None else round(threshold_ms * MS)
        compiled = program("droptail" if k is None else "dctcp-red")
        seen = Seen()
        with ExitStack() as stack:
            switch = stack.enter_context(live.running(description, compiled, entries))
            is_ours = CONTROLS[control].kernel == "dctcp"
            name = stack.enter_context(loaded(CONTROLS[control], 8192 if is_ours else 0, threshold_ns))
            for number in range(2):
                # Only the queue may indicate congestion.
                configure(self.inside(number), Transport(min_rto="200ms"), name, ecn=CONTROLS[control].ecn)
            yield seen
            if is_ours:
                seen.windows, seen.replaced = observation_windows(name), replaced_answers(name)
            observed = live.stop(switch)
        seen.port = observed.report["ports"][1]
        queue = observed.traces[1][0]
        rows = np.flatnonzero(queue["departed"])[np.count_nonzero(queue["departed"]) // 2 :]
        seen.queue_ms = queue["sum_sojourn_ns"][rows].sum() / queue["departed"][rows].sum() / MS

    def transfer(self) -> dict[str, float]:
        """Send for two seconds."""
        return Dumbbell(self.inside(0), self.inside(1), "10.0.0.2").transfer()


@pytest.fixture(scope="module")
def line() -> Iterator[Line]:
    hosts = Hosts()
    try:
        for namespace in hosts.namespaces:
            namespace.without("eth0", "tso", "gso", "gro")
        yield Line(hosts)
    finally:
        hosts.remove()


@real
@pytest.mark.parametrize(
    ("control", "threshold_ms", "k", "expected_ms"),
    [
        ("delay-dctcp", 5, None, 5),
        ("delay-dctcp", 5, 25, 5),  # its packets cannot be marked
        ("ear", 5, None, 5),
        ("ear", 5, 150, 5),
        ("ear", 5, 25, 25 * FRAME_MS),
        ("ear", NEVER_MS, 25, 25 * FRAME_MS),
        ("dctcp", None, 25, 25 * FRAME_MS),
    ],
)
def test_the_queue_stands_at_the_threshold_that_comes_first(
    line: Line, control: str, threshold_ms: float | None, k: int | None, expected_ms: float
) -> None:
    marks_come_first = k is not None and k * FRAME_MS == expected_ms
    window_segments = (BASE_MS + expected_ms) / FRAME_MS
    # A busy machine delays packets itself, and leaves the line idle, but not three times in a row.
    for _ in range(3):
        with line.under(control, threshold_ms, k) as seen:
            got = line.transfer()
        assert seen.port["dropped"] == 0
        assert (seen.port["marked"] > 0) == marks_come_first
        measured = {"loss responses": got["loss_responses"], "answers replaced": seen.replaced}
        if any(measured.values()):
            continue
        assert got["retransmits"] == 0
        flow = longest_flow(seen.windows)
        check_law(flow, late=len(flow) // 100 if control == "dctcp" else 0)
        assert flow[-1].reductions > 10
        measured |= {
            "queue": seen.queue_ms / expected_ms,
            "window": median(window.cwnd_segments for window in flow[len(flow) // 2 :]) / window_segments,
            "goodput": got["mbps"] / GOODPUT_MBPS,
        }
        # The queue oscillates below the threshold, by alpha / 2 of the window.
        if 0.6 < measured["queue"] < 1.1 and measured["window"] == pytest.approx(1, rel=0.1) == measured["goodput"]:
            return
    pytest.fail(f"of what they should be, or 0: {measured}")


@real
def test_reno_fills_the_buffer(line: Line) -> None:
    with line.under("reno") as seen:
        line.transfer()
    assert seen.port["max_packets"] == 300
    assert seen.port["dropped"] > 0
    assert seen.queue_ms > 2 * 5


@real
def test_a_loss_halves_the_window(line: Line) -> None:
    with line.under("delay-dctcp", NEVER_MS, limit=60) as seen:
        got = line.transfer()
    assert seen.port["dropped"] > 0
    assert got["mbps"] > 0.5 * GOODPUT_MBPS
    flow = longest_flow(seen.windows)
    assert sum(window.marked_segments for window in flow) == 0
    cuts = {(window.reduced_from_segments, window.reduced_to_segments) for window in flow if window.reductions}
    assert cuts
    assert all(after == max(2, before // 2) for before, after in cuts)


TALKER = """
import socket, time
with socket.create_connection(("10.0.0.2", 7)) as talking:
    for _ in range(40):
        talking.send(bytes(100))
        time.sleep(0.06)
"""

# With a receiver that reads, data is acknowledged once it has been read.
LISTENER = """
import socket, time
with socket.create_server(("10.0.0.2", 7)) as server:
    print("ready", flush=True)
    talking, _ = server.accept()
    time.sleep(3)
"""


@real
def test_the_timer_of_a_receiver_is_no_congestion(line: Line) -> None:
    """Linux delays the acknowledgement of a single segment by 40 ms, after the first few of a connection."""
    with line.under("delay-dctcp", 5) as seen, line.hosts.namespaces[1].python(LISTENER) as listener:
        assert listener.stdout is not None
        assert listener.stdout.readline() == "ready\n"
        before = count(line.inside(1), "TcpExtDelayedACKs")
        commands.run(*line.inside(0), sys.executable, "-c", TALKER)
        assert count(line.inside(1), "TcpExtDelayedACKs") > before + 10
        assert listener.wait(10) == 0
    assert seen.queue_ms < 5
    assert sum(window.delivered_segments for window in seen.windows) > 20
    assert sum(window.marked_segments for window in seen.windows) == 0


@real
def test_a_longer_path_is_no_congestion(line: Line, tmp_path: Path) -> None:
    """Two flows of one connection, of which the second's packets are delayed by more than the threshold."""
    n, size_bytes = 2, 2_000_000
    columns = {
        "id": np.arange(n, dtype=np.uint32),
        "start_ns": np.array([0, 1000 * MS], dtype=np.uint64),
        "peer": np.zeros(n, dtype=np.uint32),
        "size_bytes": np.array([100_000, size_bytes], dtype=np.uint64),
        "dscp": np.zeros(n, dtype=np.uint8),
        "ttl": np.array([64, 65], dtype=np.uint8),
        "pull": np.zeros(n, dtype=np.bool_),
    }
    none = {name: column[:0] for name, column in columns.items()}
    peers = ["10.0.0.2:5000"]
    with line.under("delay-dctcp", 5) as seen, ExitStack() as stack:
        ends = [("10.0.0.1:5000", columns), (peers[0], none)]
        hosts = [
            stack.enter_context(
                host_process(line.inside(number), f"h{number}", listen, tmp_path / listen, (flows, peers, 1))
            )
            for number, (listen, flows) in enumerate(ends)
        ]
        start_at_ns = time.monotonic_ns() + 100 * MS
        for host in hosts:
            host.begin(start_at_ns, start_at_ns + 10_000 * MS)
        for host in hosts:
            host.expect("ended")
        found = joined(n, [host.finish() for host in hosts])
    assert found.status.tolist() == [engine.flow_statuses().index("done")] * n
    assert len({window.port for window in seen.windows if window.delivered_segments > 1}) == 1
    # If each acknowledgement signalled congestion, two segments would be sent per round trip of 24 ms: 16 s in total.
    ideal_ms = size_bytes * 8 / (GOODPUT_MBPS * 1e3)
    assert ideal_ms < found.fct_ns[1] / MS < 5 * ideal_ms
