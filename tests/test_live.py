"""A switch in real time between interfaces of this machine."""

import json
import os
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from marklab_engine import EngineError, LiveSwitch, Program
from test_cli import Cli

from orchestrator.paths import REPOSITORY

SCHEMES = REPOSITORY / "p4src" / "v1model"
needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or None in (shutil.which("ip"), shutil.which("ethtool")),
    reason="network namespaces need root, iproute2 and ethtool",
)


def program(name: str = "dctcp-red") -> Program:
    return Program(SCHEMES / f"{name}.p4", [SCHEMES / "include"])


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"interfaces": [{"port": 0, "name": "marklab-none"}]}, "there is no interface `marklab-none`"),
        ({"interfaces": [{"port": 512, "name": "lo"}]}, "there is no port 512: ports are 0 to 511"),
        ({"interfaces": [], "ports": 3}, "unknown field `ports`"),
        ({"interfaces": [], "queueing": {"queues": []}}, "a port without queues"),
    ],
)
def test_a_switch_that_cannot_be_is_refused(config: dict[str, object], why: str) -> None:
    with pytest.raises(EngineError, match=why):
        LiveSwitch(program(), json.dumps(config))


def test_a_switch_without_interfaces_still_has_a_control_plane() -> None:
    switch = LiveSwitch(program(), json.dumps({"interfaces": [], "cpu_port": 3}))
    assert switch.packets_in(0.0) == []
    handle = switch.add_entry(json.dumps(route(1, 3)))
    switch.inject(0, ipv4(host(1)))
    assert [frame[30:34] for frame in switch.packets_in(5.0)] == [host(1)]
    switch.delete_entry("ipv4_lpm", handle)
    switch.inject(0, ipv4(host(1)))
    with pytest.raises(EngineError, match="there is no port 4"):
        switch.inject(4, b"")
    with pytest.raises(EngineError, match="has no table `nothing`"):
        switch.clear_table("nothing")
    report = json.loads(switch.stop())
    assert report["losses"] == [{"port": None, "reason": "dropped by ingress", "packets": 1}]
    with pytest.raises(EngineError, match="the switch has stopped"):
        switch.add_entry(json.dumps(route(1, 3)))
    with pytest.raises(EngineError, match="the switch has stopped"):
        switch.stop()


class Hosts:
    """Two hosts, each in a namespace of its own, and the switch's ends of their cables."""

    def __init__(self) -> None:
        name = f"ml{uuid.uuid4().hex[:6]}"
        self.names = [f"{name}{side}" for side in "ab"]
        self.interfaces = [f"s{name}{side}" for side in "ab"]
        for number, (host_name, interface) in enumerate(zip(self.names, self.interfaces, strict=True)):
            ip("netns", "add", host_name)
            ip("link", "add", interface, "type", "veth", "peer", "name", "eth0", "netns", host_name)
            ip("link", "set", interface, "up")
            ip("-n", host_name, "link", "set", "eth0", "address", mac(number), "up")
            ip("-n", host_name, "addr", "add", f"10.0.0.{number + 1}/24", "dev", "eth0")
            ip("-n", host_name, "neigh", "add", f"10.0.0.{2 - number}", "lladdr", mac(1 - number), "dev", "eth0")
            # Checksums are the hosts' own work: nobody completes them behind a switch.
            ip("netns", "exec", host_name, "ethtool", "-K", "eth0", "tx", "off")

    def python(self, number: int, code: str) -> "subprocess.Popen[str]":
        command = ["ip", "netns", "exec", self.names[number], sys.executable, "-c", code]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def send(self, count: int) -> tuple[float, list[int]]:
        """Datagrams from the first host to the second: seconds from first to last, and their numbers as they came."""
        with self.python(1, RECEIVER.format(count=count)) as receiver:
            assert receiver.stdout is not None
            assert receiver.stdout.readline() == "ready\n"
            with self.python(0, SENDER.format(count=count)) as sender:
                assert sender.wait(30) == 0
            elapsed_s, numbers = json.loads(receiver.communicate(timeout=30)[0])
        return elapsed_s, numbers

    def remove(self) -> None:
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False)  # noqa: S607 - found above


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    made = Hosts()
    yield made
    made.remove()


@needs_root
def test_datagrams_pass_at_the_rate_of_the_line(hosts: Hosts) -> None:
    """200 frames of 1,042 bytes, and 24 on the line, take 171 ms at 10 Mb/s."""
    rate_bps, count = 10_000_000, 200
    interfaces = [
        {"port": number, "name": name, "rate_bps": rate_bps, "overhead_bytes": 24}
        for number, name in enumerate(hosts.interfaces)
    ]
    switch = LiveSwitch(program(), json.dumps({"interfaces": interfaces}), json.dumps([route(1, 0), route(2, 1)]))
    # The first and the last frame may be late where the machine is busy, which three times in a row it is not.
    bursts = [hosts.send(count) for _ in range(3)]
    report = json.loads(switch.stop())
    assert [numbers for _, numbers in bursts] == [list(range(count))] * 3
    expected_s = (count - 1) * 8 * (1_042 + 24) / rate_bps
    closest_s = min((elapsed_s for elapsed_s, _ in bursts), key=lambda elapsed_s: abs(elapsed_s - expected_s))
    assert closest_s == pytest.approx(expected_s, rel=0.25)
    assert [port["missed"] + port["unsent"] for port in report["ports"]] == [0, 0]
    assert report["ports"][1]["sent"] >= 3 * count
    assert report["lateness_ns"]["count"] >= 3 * count
    assert [port["offloaded"] for port in report["ports"]] == [0, 0]


SENDER = """
import socket
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range({count}):
    udp.sendto(number.to_bytes(2, "big") + bytes(998), ("10.0.0.2", 7))
"""

RECEIVER = """
import json, socket, struct
SO_TIMESTAMPNS = 35
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
udp.bind(("10.0.0.2", 7))
udp.settimeout(20)
print("ready", flush=True)
udp.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
numbers, times = [], []
for _ in range({count}):
    payload, [(_, _, stamp)], _, _ = udp.recvmsg(2000, 64)
    numbers.append(int.from_bytes(payload[:2], "big"))
    seconds, nanoseconds = struct.unpack("qq", stamp)
    times.append(seconds + nanoseconds / 1e9)
print(json.dumps([times[-1] - times[0], numbers]))
"""


def ip(*words: str) -> None:
    command = ["ip", *words]
    subprocess.run(command, check=True, timeout=20, stdout=subprocess.DEVNULL)


def mac(number: int) -> str:
    return f"02:00:00:00:00:{number:02x}"


def host(number: int) -> bytes:
    return bytes([10, 0, 0, number])


def route(number: int, port: int) -> dict[str, object]:
    """The way to a host, whose numbers count from 1."""
    params = {"port": port, "dst_addr": int(mac(number - 1).replace(":", ""), 16)}
    match = {"dst_addr": {"lpm": [int.from_bytes(host(number), "big"), 32]}}
    return {"table": "ipv4_lpm", "match": match, "action": "forward", "params": params}


def ipv4(destination: bytes) -> bytes:
    """An IPv4 packet without anything in it."""
    start, end = bytes([0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17]), host(9) + destination
    total = sum(int.from_bytes((start + end)[at : at + 2], "big") for at in range(0, 18, 2))
    checksum = 0xFFFF - (total % 0xFFFF)
    return bytes(12) + b"\x08\x00" + start + checksum.to_bytes(2, "big") + end


@pytest.mark.parametrize(
    ("options", "message", "remedy"),
    [
        (["-i", "s1-eth1"], "`s1-eth1` is no interface on a port", "write PORT@NAME"),
        (["-i", "0@marklab-none"], "there is no interface `marklab-none`", ""),
        (["-i", "511@lo"], "interfaces.0.port: `511`", "less than or equal to 510"),
        (["-i", "0@lo", "-i", "0@lo"], "two interfaces have the port 0", "an interface of its own"),
        (["-i", "0@lo", "-i", "1@lo"], "two interfaces have the name lo", "an interface of its own"),
        (["-i", "0@lo", "--rate", "fast"], "`fast` is not a rate", "write it like 10G or 100M"),
        (["-i", "0@lo", "--queues", "dwrr:count=0"], "queues.count", "at least 1"),
        (["-i", "0@lo", "--entries", "/no/entries.json"], "/no/entries.json", "a list of entries in JSON"),
        ([], "a switch needs a port", "-i 0@s1-eth1"),
        (["-i", "3@lo", "--cpu-port", "3"], "port 3 has an interface and the controller", "another --cpu-port"),
        (["--cpu-port", "3", "--entries", "e", "--grpc-server-addr", "a:1"], "--entries beside", "by P4Runtime"),
        (["--cpu-port", "3", "--grpc-server-addr", "256.0.0.1:1"], "cannot serve P4Runtime at 256.0.0.1:1", ""),
    ],
)
def test_a_switch_that_is_badly_described_is_refused(cli: Cli, options: list[str], message: str, remedy: str) -> None:
    done = cli("switch", str(SCHEMES / "dctcp-red.p4"), *options)
    assert done.code == 2
    assert message in done.err
    assert remedy in done.err


@needs_root
def test_a_switch_process_ends_with_a_report(hosts: Hosts, tmp_path: Path) -> None:
    entries = tmp_path / "entries.json"
    entries.write_text(json.dumps([route(1, 0), route(2, 1)]), encoding="utf-8")
    interfaces = [f"-i{port}@{name}" for port, name in enumerate(hosts.interfaces)]
    command = [sys.executable, str(REPOSITORY / "orchestrator.py"), "switch", str(SCHEMES / "dctcp-red.p4")]
    options = [*interfaces, "--entries", str(entries)]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "runs on ports 0" in process.stderr.readline()
        _, numbers = hosts.send(3)
        # A sender that leaves checksums to its interface sends packets that no line carries.
        ip("netns", "exec", hosts.names[0], "ethtool", "-K", "eth0", "tx", "on")
        with hosts.python(0, SENDER.format(count=2)) as sender:
            assert sender.wait(30) == 0
        process.send_signal(signal.SIGTERM)
        out, errors = process.communicate(timeout=20)
    assert numbers == [0, 1, 2]
    assert process.returncode == 0
    report = json.loads(out)
    assert report["ports"][1]["sent"] >= 5
    assert report["ports"][0]["offloaded"] == 2
    assert f"2 frames from {hosts.interfaces[0]} were not what a line carries" in errors
