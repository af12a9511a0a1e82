# SPDX-License-Identifier: MIT OR Apache-2.0
"""The real-time switch between two hosts, against the kernel's bridge and simple_switch: throughput, latency, shaping.

.venv/bin/python bench/live.py [--rounds N] [throughput | small | latency | shaping ...]

Needs root, iproute2, ethtool, iperf3 and ping. The hosts are two network namespaces, each with an interface to a third,
the switch's, and a direct cable between them; MTU 1500, all offloads off. The switch runs dctcp-red on the last
processor; the hosts receive on the others. The switches take turns, and the best of all rounds counts, because other
load on the machine can only make a figure worse.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, cast

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from marklab.engine import p4c
from marklab.engine.binding import compile_program, describe
from marklab.lab import live
from marklab.p4tools.peers import bmv2
from marklab.paths import PROGRAMS, REPOSITORY
from marklab.results.observation import Columns
from marklab.statistics.samples import nearest_rank

PROGRAM = PROGRAMS / "dctcp-red.p4"
OFFLOADS = ("rx", "tx", "sg", "tso", "gso", "gro")
SECONDS = 3
PROCESSORS = os.cpu_count() or 1
# Aims, in the units of the tables.
LEAST_BPS, LEAST_OVER_BMV2, LEAST_OF_BRIDGE = 2.4e9, 4, 1 / 3
LEAST_PACKETS_PER_S = 120_000
MOST_P50_US, MOST_P99_US = 50, 200
# Shaping: a line with Ethernet's 24 bytes of overhead per frame; droptail, so that the queue stays at its limit.
SHAPED_BPS, SHAPED_SECONDS, SHAPED_PACKETS, OVERHEAD_BYTES = 100_000_000, 10, 200, 24
RATE_WITHIN, QUEUE_WITHIN = 0.005, 0.02
PINGS = 2_000


class Testbed:
    """Two hosts: `eth0` leads to a switch's interface, `eth1` straight to the other host.

    The switch has its own namespace, too, so that the machine's firewall rules do not apply to the bridge.
    """

    def __init__(self) -> None:
        name = f"mlb{uuid.uuid4().hex[:5]}"
        self.hosts = (f"{name}a", f"{name}b")
        self.switch, self.interfaces = f"{name}s", ("s-eth0", "s-eth1")

    def __enter__(self) -> Testbed:
        a, b = self.hosts
        ip("netns", "add", self.switch)
        ip("-n", self.switch, "link", "set", "lo", "up")
        for number, (host, interface) in enumerate(zip(self.hosts, self.interfaces, strict=True)):
            ip("netns", "add", host)
            ip("-n", self.switch, "link", "add", interface, "type", "veth", "peer", "name", "eth0", "netns", host)
            ip("-n", self.switch, "link", "set", interface, "up")
            ethtool(self.switch, interface)
            self._address(number, 0)
        ip("-n", a, "link", "add", "eth1", "type", "veth", "peer", "name", "eth1", "netns", b)
        for number in range(2):
            self._address(number, 1)
        return self

    def _address(self, number: int, cable: int) -> None:
        """Set the address, and a neighbour entry for the other end, so that no ARP is needed."""
        host, device = self.hosts[number], f"eth{cable}"
        ip("-n", host, "link", "set", device, "address", mac(number, cable), "up")
        ip("-n", host, "addr", "add", f"10.0.{cable}.{number + 1}/24", "dev", device)
        ip("-n", host, "neigh", "add", f"10.0.{cable}.{2 - number}", "lladdr", mac(1 - number, cable), "dev", device)
        ethtool(host, device)
        # Otherwise the thread that hands over a frame also does the work of receiving it.
        others = (1 << min(PROCESSORS - 1, 32)) - 1
        self.run(number, "sh", "-c", f"echo {others:x} > /sys/class/net/{device}/queues/rx-0/rps_cpus")

    def __exit__(self, *_: object) -> None:
        for name in (*self.hosts, self.switch):
            ip("netns", "del", name)

    def at_switch(self, *command: str) -> list[str]:
        """A command in the switch's namespace."""
        return ["ip", "netns", "exec", self.switch, *command]

    def start(self, number: int, *command: str) -> subprocess.Popen[str]:
        """Start a process on a host."""
        full = ["ip", "netns", "exec", self.hosts[number], *command]
        return subprocess.Popen(full, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, number: int, *command: str) -> str:
        """Run a process on a host and return its output."""
        with self.start(number, *command) as process:
            said, _ = process.communicate(timeout=120)
            if process.returncode != 0:
                raise SystemExit(f"error: {' '.join(command)}: {said}")
            return said

    def entries(self) -> list[dict[str, Any]]:
        """The routes to the hosts."""
        return [
            {
                "table": "ipv4_lpm",
                "match": {"dst_addr": {"lpm": [(10 << 24) + number + 1, 32]}},
                "action": "forward",
                "params": {"port": number, "dst_addr": int(mac(number, 0).replace(":", ""), 16)},
            }
            for number in range(2)
        ]

    def nothing(self) -> AbstractContextManager[None]:
        """The cable between the hosts needs no process."""
        return contextmanager(lambda: iter([None]))()

    @contextmanager
    def bridge(self) -> Iterator[None]:
        """The kernel's bridge instead of a switch."""
        ip("-n", self.switch, "link", "add", "bridge", "type", "bridge", "forward_delay", "0")
        try:
            for interface in self.interfaces:
                ip("-n", self.switch, "link", "set", interface, "master", "bridge")
            ip("-n", self.switch, "link", "set", "bridge", "up")
            time.sleep(0.5)
            yield
        finally:
            ip("-n", self.switch, "link", "del", "bridge")

    @contextmanager
    def marklab(self, program: Path = PROGRAM, out: Path | None = None, **description: Any) -> Iterator[None]:
        """Marklab's switch."""
        interfaces = [f"{port}@{name}" for port, name in enumerate(self.interfaces)]
        with TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "entries.json").write_text(json.dumps(self.entries()), encoding="utf-8")
            described = {"interfaces": interfaces, "cpu": PROCESSORS - 1, **description}
            (folder / "switch.yaml").write_text(json.dumps(described), encoding="utf-8")
            command = self.at_switch(sys.executable, str(REPOSITORY / "orchestrator.py"), "switch", str(program))
            options = ["--description", str(folder / "switch.yaml"), "--entries", str(folder / "entries.json")]
            options += ["--out", str(out if out is not None else folder / "out")]
            with subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True) as process:
                assert process.stderr is not None
                said = process.stderr.readline()
                if "runs on ports" not in said:
                    raise SystemExit(said + process.stderr.read())
                try:
                    yield
                finally:
                    process.send_signal(signal.SIGTERM)
                    process.wait(20)
            check(live.read_report(out if out is not None else folder / "out"))

    @contextmanager
    def simple_switch(self) -> Iterator[None]:
        """BMv2's switch, without logging."""
        tables = describe(compile_program(PROGRAM))["tables"]
        ipv4_lpm = next(table for table in tables if table["name"].endswith("ipv4_lpm"))
        forward = next(action for action in ipv4_lpm["actions"] if action["name"].endswith("forward"))
        key = ipv4_lpm["keys"][0]["name"]
        with TemporaryDirectory() as name:
            compiled = p4c.compile_program(PROGRAM, Path(name))
            interfaces = [word for port, name in enumerate(self.interfaces) for word in ("-i", f"{port}@{name}")]
            notifications = ["--notifications-addr", f"ipc://{name}/notifications.ipc"]
            command = self.at_switch("simple_switch", *interfaces, *notifications, str(compiled))
            with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                try:
                    entries = [
                        entry
                        | {"table": ipv4_lpm["name"], "action": forward["name"]}
                        | {"match": {key: entry["match"]["dst_addr"]}}
                        for entry in self.entries()
                    ]
                    lines = "\n".join(bmv2.table_command(entry, tables) for entry in entries)
                    time.sleep(2)
                    cli = self.at_switch("simple_switch_CLI")
                    subprocess.run(cli, input=f"{lines}\n", text=True, check=True, capture_output=True, timeout=60)
                    yield
                finally:
                    process.kill()


def check(report: live.SwitchReport) -> None:
    """Print reasons to doubt the figures of a switch."""
    for port in report["ports"]:
        for what in ("missed", "unsent", "offloaded"):
            if port[what]:
                Console(stderr=True).print(f"[dim]port {port['port']}: {port[what]} frames {what}[/dim]")


def ip(*words: str) -> None:
    """Run `ip` with these words."""
    command = ["ip", *words]
    subprocess.run(command, check=True, timeout=20, stdout=subprocess.DEVNULL)


def ethtool(namespace: str, device: str) -> None:
    """Switch off offloads. Some cannot be changed; these are off already."""
    for offload in OFFLOADS:
        command = ["ip", "netns", "exec", namespace, "ethtool", "-K", device, offload, "off"]
        subprocess.run(command, check=False, timeout=20, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def mac(number: int, cable: int) -> str:
    """Address of a host's end of a cable."""
    return f"02:00:00:00:{cable:02x}:{number:02x}"


@contextmanager
def listening(testbed: Testbed) -> Iterator[None]:
    """An iperf3 server on the second host, for a single test."""
    with testbed.start(1, "iperf3", "-s", "-1", "--forceflush") as server:
        assert server.stdout is not None
        while "listening" not in (line := server.stdout.readline()):
            if not line:
                raise SystemExit("error: iperf3 does not start")
        try:
            yield
        finally:
            server.kill()


def iperf3(testbed: Testbed, cable: int, *options: str) -> dict[str, Any]:
    """Measure from the first host to the second, without the first second as warm-up."""
    with listening(testbed):
        warm = ("-t", str(SECONDS), "-O", "1", "-J")
        found = json.loads(testbed.run(0, "iperf3", "-c", f"10.0.{cable}.2", *warm, *options))
        return cast("dict[str, Any]", found["end"])


@dataclass(frozen=True)
class Route:
    """A path between the hosts: its cable, and the switch that has to run."""

    name: str
    cable: int
    runs: Callable[[], AbstractContextManager[None]]


def routes(testbed: Testbed) -> list[Route]:
    """All paths for which this machine has the tools."""
    found = [
        Route("cable", 1, testbed.nothing),
        Route("bridge", 0, testbed.bridge),
        Route("Marklab", 0, testbed.marklab),
    ]
    missing = bmv2.missing_tools()
    if missing:
        Console(stderr=True).print(f"simple_switch is left out: {', '.join(missing)} not on PATH")
        return found
    return [*found, Route("simple_switch", 0, testbed.simple_switch)]


def best_of(
    testbed: Testbed, rounds: int, measure: Callable[[Route], NDArray[np.float64]], better: Callable[..., Any]
) -> dict[str, NDArray[np.float64]]:
    """The best figures of each path, over rounds in which all take turns."""
    found: dict[str, list[NDArray[np.float64]]] = {}
    for _ in range(rounds):
        for route in routes(testbed):
            with route.runs():
                found.setdefault(route.name, []).append(measure(route))
    return {name: better(values, axis=0) for name, values in found.items()}


def throughput(testbed: Testbed, rounds: int) -> bool:
    """TCP, one connection of full segments."""

    def measure(route: Route) -> NDArray[np.float64]:
        end = iperf3(testbed, route.cable)
        return np.array([end["sum_received"]["bits_per_second"], end["sum_sent"]["retransmits"]])

    found = best_of(testbed, rounds, measure, np.max)
    ours = found["Marklab"][0]
    table = Table("TCP, 1,500 bytes", "Gb/s", "Marklab / it", "retransmissions, at most")
    for name, (bps, retransmits) in found.items():
        table.add_row(name, f"{bps / 1e9:.2f}", f"{ours / bps:.2f}", f"{retransmits:.0f}")
    show(table)
    good = ours >= LEAST_BPS and ours >= LEAST_OF_BRIDGE * found["bridge"][0]
    return bool(good and ("simple_switch" not in found or ours >= LEAST_OVER_BMV2 * found["simple_switch"][0]))


def small(testbed: Testbed, rounds: int) -> bool:
    """UDP at the maximum rate of one sender: datagrams of 18 bytes."""

    def measure(route: Route) -> NDArray[np.float64]:
        before = datagrams(testbed)
        end = iperf3(testbed, route.cable, "-u", "-l", "18", "-b", "0")["sum"]
        # The kernel's counts include the warm-up.
        delivered, read = (datagrams(testbed) - before) / (SECONDS + 1)
        return np.array([delivered, end["packets"] / end["seconds"], read])

    found = best_of(testbed, rounds, measure, np.max)
    table = Table("UDP, 18 bytes", "delivered/s", "sent/s, at most", "read/s, at most", "Marklab / it")
    ours = found["Marklab"][0]
    for name, (delivered, sent, read) in found.items():
        table.add_row(name, f"{delivered:,.0f}", f"{sent:,.0f}", f"{read:,.0f}", f"{ours / delivered:.2f}")
    show(table)
    return bool(ours >= LEAST_PACKETS_PER_S)


def datagrams(testbed: Testbed) -> NDArray[np.int64]:
    """Datagrams that arrived at the second host, and those for which its socket had space (RFC 4113).

    These are the kernel's counts, which only grow. iperf3's count of lost packets can exceed its count of packets: the
    difference was once -44,398 per second.
    """
    names, values = re.findall(r"^Udp: (.*)", testbed.run(1, "cat", "/proc/net/snmp"), re.MULTILINE)
    counts: dict[str, int] = dict(zip(names.split(), map(int, values.split()), strict=True))
    return np.array([counts["InDatagrams"] + counts["InErrors"], counts["InDatagrams"]])


def latency(testbed: Testbed, rounds: int) -> bool:
    """Round trips on an idle network. Those over the cable are the hosts' own latency."""

    def measure(route: Route) -> NDArray[np.float64]:
        said = testbed.run(0, "ping", "-i", "0.002", "-c", str(PINGS), f"10.0.{route.cable}.2")
        times_us = [float(match) * 1e3 for match in re.findall(r"time=([0-9.]+) ms", said)]
        if len(times_us) != PINGS:
            raise SystemExit(f"error: of {PINGS} pings {len(times_us)} came back by {route.name}")
        # A ping goes through the switch twice.
        times_us.sort()
        return np.array([nearest_rank(times_us, part) for part in (0.5, 0.99)]) / 2

    found = best_of(testbed, rounds, measure, np.min)
    cable = found["cable"]
    table = Table("one way, idle", "p50 us", "p99 us", "added p50 us", "added p99 us")
    for name, figures in found.items():
        table.add_row(name, *(f"{value:.0f}" for value in (*figures, *(figures - cable))))
    show(table)
    p50, p99 = found["Marklab"] - cable
    return bool(p50 < MOST_P50_US and p99 < MOST_P99_US)


def shaping(testbed: Testbed, rounds: int) -> bool:
    """A line that is always busy: the bits that leave in 10 s, and whether the queue in front of the line agrees."""
    table = Table("100 Mb/s, 10 s", "rate", "wait in the queue / its bytes at that rate", "late p50 us", "late p99 us")
    errors = []
    for number in range(rounds):
        with TemporaryDirectory() as name:
            out = Path(name)
            description = {"rate": SHAPED_BPS, "queue": SHAPED_PACKETS, "traces": [{"port": 1, "interval": "10us"}]}
            with testbed.marklab(PROGRAMS / "droptail.p4", out, **description):
                rate_bps = line_rate(testbed)
            [trace] = live.read_traces(out)[1]
            lateness = live.read_report(out)["lateness_ns"]
        rate, wait = rate_bps / SHAPED_BPS, wait_by_content(trace)
        errors.append((abs(rate - 1), abs(wait - 1)))
        late = [f"{(lateness[quantile] or 0) / 1e3:.0f}" for quantile in ("p50", "p99")]
        table.add_row(f"round {number + 1}", f"{rate:.5f}", f"{wait:.4f}", *late)
    show(table)
    rate_error, wait_error = np.min(errors, axis=0)
    return bool(rate_error <= RATE_WITHIN and wait_error <= QUEUE_WITHIN)


def line_rate(testbed: Testbed) -> float:
    """Bits per second on the line to the second host, while the sender overloads it."""
    ask = ["ip", "-n", testbed.switch, "-s", "-j", "link", "show", "dev", testbed.interfaces[1]]

    def sent() -> NDArray[np.float64]:
        begin_s = time.monotonic()
        answer = subprocess.run(ask, check=True, capture_output=True, timeout=20)
        at_s = (begin_s + time.monotonic()) / 2
        counts = json.loads(answer.stdout)[0]["stats64"]["tx"]
        return np.array([at_s, 8 * (counts["bytes"] + OVERHEAD_BYTES * counts["packets"])])

    overload = [
        "iperf3",
        "-c",
        "10.0.0.2",
        "-u",
        "-l",
        "1472",
        "-b",
        str(2 * SHAPED_BPS),
        "-t",
        str(SHAPED_SECONDS + 4),
    ]
    with listening(testbed), testbed.start(0, *overload) as sender:
        time.sleep(2)
        before = sent()
        time.sleep(SHAPED_SECONDS)
        elapsed_s, bits = sent() - before
        sender.communicate(timeout=60)
    return float(bits / elapsed_s)


def wait_by_content(trace: Columns) -> float:
    """Mean waiting time of packets, divided by the mean time that the line needs for the queue (Little's law)."""
    # One second in the middle of the trace, while the queue is at its limit.
    time_ns = trace["time_ns"].astype(np.int64)
    begin_ns = (int(time_ns[0]) + int(time_ns[-1])) // 2
    chosen = slice(*np.searchsorted(time_ns, [begin_ns, begin_ns + 10**9]))
    wait_ns = trace["sum_sojourn_ns"][chosen].sum() / trace["departed"][chosen].sum()
    content_bytes = trace["bytes"] + np.uint64(OVERHEAD_BYTES) * trace["packets"]
    lasts_ns = np.diff(time_ns, append=time_ns[-1])[chosen]
    mean_bytes = np.average(content_bytes[chosen], weights=lasts_ns)
    return float(wait_ns / (mean_bytes * 8e9 / SHAPED_BPS))


def show(table: Table) -> None:
    """Print a table, on a terminal of any width."""
    Console(width=max(110, Console().width)).print(table)


BENCHES: Mapping[str, Callable[[Testbed, int], bool]] = {
    "throughput": throughput, "small": small, "latency": latency, "shaping": shaping,
}  # fmt: skip


def main(
    what: Annotated[list[str] | None, typer.Argument(help=", ".join(BENCHES))] = None,
    rounds: int = 3,
) -> None:
    """Run all measurements, or the named ones; exit code 1 if an aim is missed."""
    if unknown := [name for name in what or [] if name not in BENCHES]:
        raise typer.BadParameter(f"{unknown[0]} is none of {', '.join(BENCHES)}")
    if missing := [tool for tool in ("ip", "ethtool", "iperf3", "ping") if shutil.which(tool) is None]:
        return Console().print(f"skipped: {', '.join(missing)} not on PATH")
    if os.geteuid() != 0:
        return Console().print("skipped: network namespaces need root")
    with Testbed() as testbed:
        missed = [name for name in what or BENCHES if not BENCHES[name](testbed, rounds)]
    if missed:
        raise SystemExit(f"missed: {', '.join(missed)}")
    return None


if __name__ == "__main__":
    typer.run(main)
