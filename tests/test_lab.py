# SPDX-License-Identifier: MIT OR Apache-2.0
"""Real TCP: congestion controls in the kernel, and their behaviour at a queue that marks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

import numpy as np
import pytest

from marklab.devices.hosts import Transport
from marklab.engine import binding as engine
from marklab.errors import BadInput, RunFailed, SetupError
from marklab.lab import commands
from marklab.lab.hosts import bpf, congestion
from marklab.lab.hosts.congestion import CONTROLS, control_named, loaded, registered, remove_orphans
from marklab.lab.hosts.host import host_process, joined
from marklab.lab.hosts.tcp import configure, route_options, sysctls
from marklab.lab.records import ALPHA_ONE, ObservationWindow, observation_windows, replaced_answers
from namespaces import Namespace

real = pytest.mark.needs("privileges", "namespaces", "network tools", "BPF tools", "type information", "iperf3")

RATE_MBPS = 100
THRESHOLD_PACKETS = 20
MSS_BYTES, MTU_BYTES, ETHERNET_BYTES = 1460, 1500, 14
# Payload that TCP can deliver through a shaper that counts Ethernet frames without checksum, preamble and gap.
GOODPUT_MBPS = RATE_MBPS * MSS_BYTES / (MTU_BYTES + ETHERNET_BYTES)


# Words


def test_an_unknown_control_is_refused_with_the_known_ones() -> None:
    with pytest.raises(BadInput, match="congestion control `dtcp`") as refused:
        control_named("dtcp")
    assert refused.value.remedy is not None
    assert "did you mean `dctcp`" in refused.value.remedy


def test_a_missing_tool_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SetupError, match="not on PATH: ss") as refused:
        commands.run("ss")
    assert refused.value.remedy == "apt-get install iproute2"


def test_a_command_that_fails_says_what_it_said() -> None:
    with pytest.raises(RunFailed, match=r"`sh -c echo no >&2; exit 3` failed with status 3: no"):
        commands.run("sh", "-c", "echo no >&2; exit 3")


def test_a_command_that_hangs_is_ended() -> None:
    with pytest.raises(RunFailed, match=r"did not end within 0\.1 s"):
        commands.run("sleep", "5", timeout_s=0.1)


def test_a_transport_becomes_settings() -> None:
    transport = Transport(receive_window=1000, idle_restart=True, initial_window=7, min_rto="2500us")
    values = sysctls(transport, ecn=False)
    assert values["net.ipv4.tcp_ecn"] == "0"
    assert values["net.ipv4.tcp_slow_start_after_idle"] == "1"
    assert values["net.ipv4.tcp_rmem"] == "4096 2000 2000"
    options = route_options(transport, "reno")
    assert options == ["congctl", "reno", "initcwnd", "7", "rto_min", "2ms", "advmss", "1460"]


def test_no_minimum_rto_is_rounded_to_none() -> None:
    assert "1ms" in route_options(Transport(min_rto="10us"), "reno")


# Loading


@real
def test_dctcp_is_there_as_long_as_the_context() -> None:
    with loaded(CONTROLS["dctcp"], records=1) as first, loaded(CONTROLS["dctcp"], records=1) as second:
        assert first != second
        assert {first, second} <= set(registered())
        assert not {first, second} & set(remove_orphans())
    assert not {first, second} & set(registered())


@real
def test_dctcp_goes_with_an_error() -> None:
    with pytest.raises(ZeroDivisionError), loaded(CONTROLS["dctcp"], records=1) as name:
        raise ZeroDivisionError
    assert name not in registered()


@real
def test_what_a_killed_process_left_is_removed_at_the_next_start() -> None:
    program = (
        "import time; from marklab.lab.hosts.congestion import *\n"
        "with loaded(CONTROLS['dctcp'], records=1) as name: print(name, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        name = process.stdout.readline().strip()
        assert name in registered()
        process.send_signal(signal.SIGKILL)
    assert name in registered(), "nobody can remove it when its process is killed"
    with loaded(CONTROLS["dctcp"], records=1):
        assert name not in registered()
    assert not list(Path("/run/marklab").glob(f"{name}*"))


def test_a_kernel_without_type_information_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bpf, "TYPES", tmp_path / "vmlinux")
    monkeypatch.setattr(bpf, "require", lambda _: None)
    monkeypatch.setattr(congestion, "in_kernel", lambda _: False)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(SetupError, match="no type information") as refused, loaded(CONTROLS["dctcp"]):
        pass
    assert refused.value.remedy
    assert "CONFIG_DEBUG_INFO_BTF" in refused.value.remedy


@real
def test_a_control_that_the_kernel_lacks_is_refused() -> None:
    lacking = congestion.Control("nonesuch", ecn=False)
    with pytest.raises(SetupError, match="no congestion control `nonesuch`"), loaded(lacking):
        pass


# Behaviour


def count(inside: Sequence[str], name: str) -> float:
    """A counter of a namespace."""
    return float(commands.run(*inside, "nstat", "-asz", name).split()[-2])


# How often TCP took packets for lost. It may do so, and reduce its window, without a retransmission: it does not send a
# packet again that still waits in its own host, as it does while the machine is busy.
LOSS_RESPONSES = ("TcpExtTCPTimeouts", "TcpExtTCPSackRecovery", "TcpExtTCPRenoRecovery")


@dataclass(frozen=True)
class Dumbbell:
    """Two hosts behind a router, which shapes traffic to the second."""

    sender: Sequence[str]
    receiver: Sequence[str]
    address: str = "10.78.2.2"  # of the receiver

    def transfer(self, seconds: int = 2) -> dict[str, float]:
        """Send for this long. Returns the bytes received, and the counters of both hosts."""
        commands.run(*self.receiver, "iperf3", "--server", "--one-off", "--daemon")
        deadline = time.monotonic() + 5
        while "5201" not in commands.run(*self.receiver, "ss", "-tln"):
            assert time.monotonic() < deadline, "iperf3 does not listen"
        before = self._counters()
        report = json.loads(
            commands.run(*self.sender, "iperf3", "--client", self.address, "--time", str(seconds), "--json")
        )
        counters = {name: count - before[name] for name, count in self._counters().items()}
        end = report["end"]
        mbps = end["sum_received"]["bits_per_second"] / 1e6
        return {"mbps": mbps, "retransmits": end["sum_sent"]["retransmits"], **counters}

    def _counters(self) -> dict[str, float]:
        return {
            "ce_received": count(self.receiver, "IpExtInCEPkts"),
            "ce_echoed": count(self.sender, "TcpExtTCPDeliveredCE"),
            "loss_responses": sum(count(self.sender, name) for name in LOSS_RESPONSES),
        }


@pytest.fixture(scope="module")
def dumbbell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dumbbell]:
    sender, router, receiver = namespaces = [Namespace() for _ in range(3)]
    try:
        _connect(sender, router, receiver, tmp_path_factory.mktemp("marker"))
        yield Dumbbell(sender.inside, receiver.inside)
    finally:
        for namespace in namespaces:
            namespace.remove()


def _connect(sender: Namespace, router: Namespace, receiver: Namespace, folder: Path) -> None:
    for net, (host, port) in enumerate(((sender, "ra"), (receiver, "rb")), 1):
        host.ip("link", "add", "eth0", "type", "veth", "peer", "name", port, "netns", router.pid)
        for namespace, interface, last in ((host, "eth0", 2), (router, port, 1)):
            namespace.without(interface, "tso", "gso", "gro")
            namespace.ip("address", "add", f"10.78.{net}.{last}/24", "dev", interface)
            namespace.ip("link", "set", interface, "up")
        host.ip("route", "add", "default", "via", f"10.78.{net}.1")
    router.run("sysctl", "--quiet", "--write", "net.ipv4.ip_forward=1")
    shaper = f"tbf rate {RATE_MBPS}mbit burst 3200 limit 3000000"
    router.run("tc", "qdisc", "add", "dev", "rb", "root", *shaper.split())
    router.run("tc", "qdisc", "add", "dev", "rb", "clsact")
    marking = ("bpf", "direct-action", "object-file", str(_compile_marker(folder)), "section", "tc")
    # tc mounts a BPF file system if there is none; this mount ends together with tc.
    apart = ("unshare", "--mount", "--propagation", "unchanged")
    router.run(*apart, "tc", "filter", "add", "dev", "rb", "egress", *marking)


def _compile_marker(folder: Path) -> Path:
    types = commands.run("bpftool", "btf", "dump", "file", "/sys/kernel/btf/vmlinux", "format", "c")
    (folder / "vmlinux.h").write_text(types, encoding="utf-8")
    source, marker = Path(__file__).parent / "lab/marker.bpf.c", folder / "marker.o"
    options = ["-g", "-O2", "-target", "bpf", f"-I{folder}", f"-DTHRESHOLD_PACKETS={THRESHOLD_PACKETS}"]
    commands.run("clang", *options, "-c", str(source), "-o", str(marker))
    return marker


def _use(dumbbell: Dumbbell, name: str, control: str, min_rto: str = "10ms") -> None:
    for inside in (dumbbell.sender, dumbbell.receiver):
        configure(inside, Transport(min_rto=min_rto), name, ecn=CONTROLS[control].ecn)


def longest_flow(windows: Sequence[ObservationWindow]) -> list[ObservationWindow]:
    """The values of the connection that has most of them."""
    busiest = max({window.port for window in windows}, key=[window.port for window in windows].count)
    return [window for window in windows if window.port == busiest]


def check_law(flow: Sequence[ObservationWindow], late: int = 0) -> None:
    """RFC 8257, section 3.3, with g = 1/16, in the integers of Linux' tcp_dctcp.c, of a flow that lost nothing.

    `late` is the number of reductions that may be late: TCP has been seen to pass the point of a reduction without
    running dctcp.bpf.c, which then reduces in another window of data.
    """
    assert flow[0].alpha_before == ALPHA_ONE
    assert [window.alpha for window in flow] == [_next_alpha(window) for window in flow]
    assert all(before.alpha == after.alpha_before for before, after in pairwise(flow))
    cuts = [after for before, after in pairwise(flow) if before.reductions != after.reductions]
    expected = [_reduced(window.reduced_from_segments, window.alpha_before) for window in cuts]
    assert [window.reduced_to_segments for window in cuts] == expected
    # Once per window of data. The acknowledgement that ends a window counts in it; the reduction comes after that.
    odd = [
        (before, after)
        for before, after in pairwise(flow)
        if (begun := after.reductions - before.reductions) > 1 or begun > before.marked_segments + after.marked_segments
    ]
    # A reduction lasts until all data sent before it is acknowledged, which may be in the next window.
    odd += [
        (window, later)
        for early, _, window, later in zip(flow, flow[1:], flow[2:], flow[3:], strict=False)
        if window.marked_segments and later.reductions == early.reductions
    ]
    assert len(odd) <= late, odd


def _next_alpha(window: ObservationWindow) -> int:
    kept = window.alpha_before - ((window.alpha_before // 16) or window.alpha_before)
    return min(ALPHA_ONE, kept + window.marked_segments * (ALPHA_ONE // 16) // window.delivered_segments)


def _reduced(cwnd_segments: int, alpha: int) -> int:
    return max(2, cwnd_segments - cwnd_segments * alpha // (2 * ALPHA_ONE))


def _transfer_under_dctcp(dumbbell: Dumbbell) -> tuple[dict[str, float], list[ObservationWindow]]:
    """One that the kernel ran with all answers of DCTCP in BPF, and without packets taken for lost; see dctcp.bpf.c."""
    odd = []
    for _ in range(10):
        with loaded(CONTROLS["dctcp"], records=4096) as name:
            _use(dumbbell, name, "dctcp")
            seen = dumbbell.transfer()
            odd.append((replaced_answers(name), seen["loss_responses"]))
            if not any(odd[-1]):
                return seen, observation_windows(name)
    pytest.fail(f"reductions without DCTCP in BPF, and responses to losses, in {len(odd)} transfers: {odd}")


@real
def test_dctcp_fills_the_line_and_its_law_is_that_of_the_rfc(dumbbell: Dumbbell) -> None:
    seen, windows = _transfer_under_dctcp(dumbbell)
    # The queue holds 2.4 ms of data, and runs empty if the machine is busy for longer.
    assert seen["mbps"] == pytest.approx(GOODPUT_MBPS, rel=0.1), seen
    assert seen["retransmits"] == 0
    assert seen["ce_received"] > 0
    # Every mark is echoed, and no echo is spurious (RFC 8257, section 3.2): by packets, with delayed acknowledgements.
    assert seen["ce_echoed"] == pytest.approx(seen["ce_received"], rel=0.05)
    flow = longest_flow(windows)
    assert len(flow) > 100
    check_law(flow, late=len(flow) // 100)
    assert flow[-1].reductions > 100
    settled = flow[len(flow) // 2 :]
    assert 0 < median(window.alpha for window in settled) < ALPHA_ONE // 2
    # The base RTT is far below the queueing delay at the threshold, so the window is the queue's content.
    assert median(window.cwnd_segments for window in settled) == pytest.approx(THRESHOLD_PACKETS, rel=0.3)


@real
def test_ecn_star_answers_marks_without_a_loss(dumbbell: Dumbbell) -> None:
    with loaded(CONTROLS["ecn-star"]) as name:
        assert name == "reno"
        _use(dumbbell, name, "ecn-star")
        seen = dumbbell.transfer()
    assert seen["ce_received"] > 0
    assert seen["retransmits"] == 0
    assert seen["mbps"] > 0.5 * GOODPUT_MBPS


@real
@pytest.mark.parametrize("control", ["reno", "cubic"])
def test_without_ecn_nothing_is_marked(dumbbell: Dumbbell, control: str) -> None:
    with loaded(CONTROLS[control]) as name:
        _use(dumbbell, name, control)
        seen = dumbbell.transfer(1)
    assert (seen["ce_received"], seen["ce_echoed"]) == (0, 0)
    assert seen["mbps"] > 0.5 * GOODPUT_MBPS


@real
@pytest.mark.parametrize(("control", "delay_threshold_ns"), [("dctcp", None), ("ear", 10**9)])
def test_without_ecn_the_other_end_gets_reno(dumbbell: Dumbbell, control: str, delay_threshold_ns: int | None) -> None:
    with loaded(CONTROLS[control], 64, delay_threshold_ns) as name:
        _use(dumbbell, name, control)
        configure(dumbbell.receiver, Transport(), "reno", ecn=False)
        seen = dumbbell.transfer(1)
        assert observation_windows(name) == []
    assert seen["ce_received"] == 0


@real
@pytest.mark.parametrize("per_pair", [None, 2])
def test_a_flow_list_crosses_the_line_under_dctcp(dumbbell: Dumbbell, tmp_path: Path, per_pair: int | None) -> None:
    n, size_bytes = 60, 100_000
    columns = {
        "id": np.arange(n, dtype=np.uint32),
        "start_ns": np.zeros(n, dtype=np.uint64),
        "peer": np.zeros(n, dtype=np.uint32),
        "size_bytes": np.full(n, size_bytes, dtype=np.uint64),
        "dscp": np.zeros(n, dtype=np.uint8),
        "ttl": np.zeros(n, dtype=np.uint8),
        "pull": np.zeros(n, dtype=np.bool_),
    }
    none = {name: column[:0] for name, column in columns.items()}
    peers = ["10.78.2.2:5000"]
    with loaded(CONTROLS["dctcp"]) as name, ExitStack() as stack:
        # First windows of all flows at once take 72 ms.
        _use(dumbbell, name, "dctcp", min_rto="200ms")
        ends = [("a", dumbbell.sender, "10.78.1.2:5000", columns), ("b", dumbbell.receiver, peers[0], none)]
        hosts = [
            stack.enter_context(host_process(inside, end, listen, tmp_path / end, (flows, peers, per_pair)))
            for end, inside, listen, flows in ends
        ]
        start_at_ns = time.monotonic_ns() + 100 * 10**6
        for host in hosts:
            host.begin(start_at_ns, start_at_ns + 20 * 10**9)
        for host in hosts:
            host.expect("ended")
        found = joined(n, [host.finish() for host in hosts])
    assert found.status.tolist() == [engine.flow_statuses().index("done")] * n
    # The router's marks have returned to the senders.
    assert 0 < found.marked.sum() <= n * -(-size_bytes // 1460)
    assert found.timeouts.sum() <= found.retransmissions.sum()
    # An incast: the line is never idle, so the last flow ends when all bytes have passed.
    ideal_s = n * size_bytes * 8 / (GOODPUT_MBPS * 1e6)
    last_s = (found.fct_ns + found.late_ns.astype(np.int64)).max() / 1e9
    assert ideal_s * 0.97 < last_s < ideal_s * 1.5, (ideal_s, last_s)
