# SPDX-License-Identifier: MIT OR Apache-2.0
"""A switch in real time between interfaces of this machine."""

import json
import signal
import socket
import struct
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from marklab._engine import EngineError, LiveSwitch, Program

from marklab.errors import RunFailed
from marklab.lab import live
from marklab.model import validate
from marklab.paths import REPOSITORY
from namespaces import Namespace
from test_cli import Cli

SCHEMES = REPOSITORY / "p4src" / "v1model"
needs_root = pytest.mark.needs("privileges", "namespaces", "network tools")


NO_REGISTER = {"register": "none", "index": 0}


def program(name: str = "dctcp-red") -> Program:
    return Program(SCHEMES / f"{name}.p4", [SCHEMES / "include"])


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"interfaces": [{"port": 0, "name": "marklab-none"}]}, "there is no interface `marklab-none`"),
        ({"interfaces": [{"port": 512, "name": "lo"}]}, "there is no port 512: ports are 0 to 511"),
        ({"interfaces": [], "ports": 3}, "unknown field `ports`"),
        ({"interfaces": [], "queueing": {"queues": []}}, "a port must have at least one queue"),
        ({"interfaces": [], "traces": [{"port": 0, "interval_ns": 1}]}, "port 0 has no interface"),
        (
            {"interfaces": [], "cpu_port": 0, "traces": [{"port": 0, "interval_ns": 1, "registers": [NO_REGISTER]}]},
            "no register `none`",
        ),
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
    report = json.loads(switch.stop()["report"])
    assert report["drops"] == [{"place": "switch", "port": None, "reason": "dropped by ingress", "packets": 1}]
    with pytest.raises(EngineError, match="the switch has stopped"):
        switch.add_entry(json.dumps(route(1, 3)))
    with pytest.raises(EngineError, match="the switch has stopped"):
        switch.stop()


class Hosts:
    """Two hosts, each in its own namespace, and the switch's ends of their cables."""

    def __init__(self) -> None:
        name = f"ml{uuid.uuid4().hex[:6]}"
        self.interfaces = [f"s{name}{side}" for side in "ab"]
        self.namespaces: list[Namespace] = []
        for number, interface in enumerate(self.interfaces):
            host_side = Namespace()
            self.namespaces.append(host_side)
            ip("link", "add", interface, "type", "veth", "peer", "name", "eth0", "netns", host_side.pid)
            ip("link", "set", interface, "up")
            host_side.ip("link", "set", "eth0", "address", mac(number), "up")
            host_side.ip("addr", "add", f"10.0.0.{number + 1}/24", "dev", "eth0")
            host_side.ip("neigh", "add", f"10.0.0.{2 - number}", "lladdr", mac(1 - number), "dev", "eth0")
            # Hosts compute checksums themselves: no offload completes them behind a switch.
            host_side.without("eth0", "tx")

    def send(self, count: int, ttls: tuple[int, ...] = (64,)) -> "Received":
        """Send ECN-capable datagrams from the first host to the second, with these TTLs in turn."""
        with self.namespaces[1].python(RECEIVER.format(count=count)) as receiver:
            assert receiver.stdout is not None
            assert receiver.stdout.readline() == "ready\n"
            with self.namespaces[0].python(SENDER.format(count=count, ttls=ttls)) as sender:
                assert sender.wait(30) == 0
            return Received(*json.loads(receiver.communicate(timeout=30)[0]))

    def remove(self) -> None:
        for namespace in self.namespaces:
            namespace.remove()


class Received(NamedTuple):
    """Datagrams as received: seconds from first to last, numbers, how many are marked, one-way delays in seconds."""

    elapsed_s: float
    numbers: list[int]
    marked: int
    ages_s: list[float]


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
    # On a busy machine the first and the last frame may be late, but not three times in a row.
    bursts = [hosts.send(count) for _ in range(3)]
    report = json.loads(switch.stop()["report"])
    assert [burst.numbers for burst in bursts] == [list(range(count))] * 3
    expected_s = (count - 1) * 8 * (1_042 + 24) / rate_bps
    closest_s = min((burst.elapsed_s for burst in bursts), key=lambda elapsed_s: abs(elapsed_s - expected_s))
    assert closest_s == pytest.approx(expected_s, rel=0.25)
    assert [port["missed"] + port["unsent"] for port in report["ports"]] == [0, 0]
    assert report["ports"][1]["sent"] >= 3 * count
    assert report["lateness_ns"]["count"] >= 3 * count
    assert [port["offloaded"] for port in report["ports"]] == [0, 0]


SENDER = """
import socket, time
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 2)
ttls = {ttls}
for number in range({count}):
    udp.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, ttls[number % len(ttls)])
    udp.sendto(number.to_bytes(2, "big") + time.time_ns().to_bytes(8, "big") + bytes(990), ("10.0.0.2", 7))
"""

RECEIVER = """
import json, socket, struct
SO_TIMESTAMPNS = 35
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
udp.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
udp.bind(("10.0.0.2", 7))
udp.settimeout(20)
print("ready", flush=True)
udp.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
numbers, times, marked, ages = [], [], 0, []
for _ in range({count}):
    payload, ancillary, _, _ = udp.recvmsg(2000, 128)
    said = {{kind: data for _, kind, data in ancillary}}
    numbers.append(int.from_bytes(payload[:2], "big"))
    seconds, nanoseconds = struct.unpack("qq", said[SO_TIMESTAMPNS])
    times.append(seconds + nanoseconds / 1e9)
    ages.append((seconds * 10**9 + nanoseconds - int.from_bytes(payload[2:10], "big")) / 1e9)
    marked += said[socket.IP_TOS][0] & 3 == 3
print(json.dumps([times[-1] - times[0], numbers, marked, ages]))
"""


def ip(*words: str) -> None:
    command = ["ip", *words]
    subprocess.run(command, check=True, timeout=20, stdout=subprocess.DEVNULL)


def mac(number: int) -> str:
    return f"02:00:00:00:00:{number:02x}"


def host(number: int) -> bytes:
    return bytes([10, 0, 0, number])


def route(number: int, port: int) -> dict[str, object]:
    """The route to a host; hosts are numbered from 1."""
    params = {"port": port, "dst_addr": int(mac(number - 1).replace(":", ""), 16)}
    match = {"dst_addr": {"lpm": [int.from_bytes(host(number), "big"), 32]}}
    return {"table": "ipv4_lpm", "match": match, "action": "forward", "params": params}


def ipv4(destination: bytes) -> bytes:
    """An IPv4 packet without payload."""
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
        (["--cpu-port", "3", "--entries", "e", "--grpc-server-addr", "a:1"], "--entries with --grpc", "by P4Runtime"),
        (["--cpu-port", "3", "--grpc-server-addr", "256.0.0.1:1"], "cannot serve P4Runtime at 256.0.0.1:1", ""),
        (["--description", "/no/file.yaml"], "cannot read /no/file.yaml", ""),
        (["--cpu-port", "3", "--out", "/proc/none"], "/proc/none: No such file", "another folder with --out"),
        (["-i", "0@lo", "--pcap", "/proc/none"], "/proc/none: No such file", "another folder with --pcap"),
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
        numbers = hosts.send(3).numbers
        # A sender with checksum offload sends packets that cannot be on a line.
        hosts.namespaces[0].run("ethtool", "-K", "eth0", "tx", "on")
        with hosts.namespaces[0].python(SENDER.format(count=2, ttls=(64,))) as sender:
            assert sender.wait(30) == 0
        process.send_signal(signal.SIGTERM)
        out, errors = process.communicate(timeout=20)
    assert numbers == [0, 1, 2]
    assert process.returncode == 0
    report = json.loads(out)
    assert report["ports"][1]["sent"] >= 5
    assert report["ports"][0]["offloaded"] == 2
    assert f"offloads left 2 frames from {hosts.interfaces[0]} unfinished" in errors


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("interfaces: [{port: 0, name: lo, rate: 5}]", [], "interfaces.0.rate: `5` should be greater"),
        ("interfaces: [0@lo]", ["-i", "1@lo"], "--interface contradicts the interfaces in"),
        ("{interfaces: [0@lo], traces: [{port: 1, interval: 1us}]}", [], "traces: there is nothing on port 1"),
        (
            "{cpu_port: 1, traces: [{port: 1, interval: 1us}, {port: 1, interval: 1ms}]}",
            [],
            "two traces of port 1",
        ),
        (
            "{interfaces: [0@lo], captures: [{port: 0, path: /no/x}]}",
            [],
            "cannot create the capture /no/x: No such file",
        ),
        ("{interfaces: [0@lo], captures: [{port: 0, path: x}]}", ["--pcap", "f"], "--pcap contradicts the captures"),
        ("interfaces: [{port: 0, name: lo, ttl_delays: [1ms, -1ms]}]", [], "ttl_delays"),
        ("interface: [0@lo]", [], "unknown key `interface`"),
        ("{cpu_port: 1, cpu: 100000}", [], "the switch cannot run on processor 100000: Invalid argument"),
    ],
)
def test_a_description_that_cannot_be_is_refused(
    cli: Cli, tmp_path: Path, text: str, options: list[str], message: str
) -> None:
    file = tmp_path / "switch.yaml"
    file.write_text(text, encoding="utf-8")
    done = cli("switch", str(SCHEMES / "dctcp-red.p4"), "--description", str(file), *options)
    assert done.code == 2
    assert message in done.err


def test_an_interface_has_the_line_of_all_unless_it_has_its_own() -> None:
    fast = {"port": 1, "name": "b", "rate": "1G", "delay": "2us", "arrival_delay": "3us", "ttl_delays": ["0", "4us"]}
    given = {"interfaces": ["0@a", fast], "rate": "100M", "delay": "1us"}
    described = validate(live.SwitchDescription, given, "")
    lines = described.to_engine()["interfaces"]
    assert [line["rate_bps"] for line in lines] == [100_000_000, 1_000_000_000]
    assert [line["delay_ns"] for line in lines] == [1_000, 2_000]
    assert [(line["arrival_delay_ns"], line["ttl_delays_ns"]) for line in lines] == [(0, ()), (3_000, (0, 4_000))]
    assert validate(live.SwitchDescription, described.model_dump(mode="json"), "") == described


@needs_root
def test_a_described_switch_observes_what_a_simulated_one_does(hosts: Hosts, tmp_path: Path) -> None:
    """A burst, with its own marking threshold; the receiver's count of marks is the oracle."""
    count, out = 300, tmp_path / "out"
    entries, description = tmp_path / "entries.json", tmp_path / "switch.yaml"
    entries.write_text(json.dumps([route(1, 0), route(2, 1)]), encoding="utf-8")
    a, b = hosts.interfaces
    traced = {"port": 1, "interval": "100us"}
    described: dict[str, Any] = {"interfaces": [f"0@{a}", {"port": 1, "name": b, "rate": "20M"}], "traces": [traced]}
    described |= {"captures": [{"port": 1, "path": str(tmp_path / "b.pcap")}]}
    description.write_text(json.dumps(described), encoding="utf-8")
    options = ["--description", str(description), "--entries", str(entries), "--out", str(out)]
    out.mkdir()
    (out / "report.json").write_text("of another run", encoding="utf-8")
    begin_s = time.time()
    with switch_process(*options):
        assert not (out / "report.json").exists()
        received = hosts.send(count)
    report = live.read_report(out)
    assert 0 < received.marked < count
    port = next(port for port in report["ports"] if port["port"] == 1)
    assert (port["marked"], port["dropped"], port["enqueued"]) == (received.marked, 0, port["sent"])
    [trace] = live.read_traces(out)[1]
    assert int(trace["marked"].sum()) == received.marked
    assert int(trace["departed"].sum()) == port["sent"]
    assert int(trace["sent_bytes"].sum()) == port["sent_bytes"]
    assert int(trace["max_packets"].max()) == port["max_packets"]
    assert int(trace["packets"][-1]) == 0
    assert port["wire_bytes"] - port["sent_bytes"] >= 24 * count
    assert port["busy_ns"] == pytest.approx(port["wire_bytes"] * 8e9 / 20e6, rel=1e-6)
    marks = [cell["packets"] for cell in report["counters"] if cell["counter"].endswith("marks")]
    assert (marks, report["faults"]) == ([received.marked], 0)
    capture = (tmp_path / "b.pcap").read_bytes()
    assert struct.unpack_from("<I", capture) == (0xA1B23C4D,) or struct.unpack_from(">I", capture) == (0xA1B23C4D,)
    seconds = struct.unpack_from(">I", capture, 24)[0]
    assert begin_s - 2 < seconds < time.time() + 2


@needs_root
def test_a_sender_chooses_the_delay_of_its_packets_by_ttl(hosts: Hosts, tmp_path: Path) -> None:
    """A flow stays in order; a busy machine can only delay packets further."""
    description = tmp_path / "switch.yaml"
    a, b = hosts.interfaces
    delayed = {"port": 0, "name": a, "arrival_delay": "20ms", "ttl_delays": ["0", "100ms"]}
    described = {"interfaces": [delayed, f"1@{b}"]}
    entries = tmp_path / "entries.json"
    entries.write_text(json.dumps([route(1, 0), route(2, 1)]), encoding="utf-8")
    description.write_text(json.dumps(described), encoding="utf-8")
    with switch_process("--description", str(description), "--entries", str(entries)):
        plain, longer, mixed = hosts.send(5), hosts.send(5, ttls=(65,)), hosts.send(5, ttls=(65, 64))
    assert 0.02 <= min(plain.ages_s) < 0.12 <= min(longer.ages_s)
    assert mixed.numbers == [0, 1, 2, 3, 4]
    assert min(mixed.ages_s) >= 0.1


@needs_root
def test_a_switch_without_room_for_its_records_ends_with_their_names(hosts: Hosts, tmp_path: Path) -> None:
    full = tmp_path / "full.pcap"
    full.symlink_to("/dev/full")
    description = tmp_path / "switch.yaml"
    a, b = hosts.interfaces
    described = {"interfaces": [f"0@{a}", f"1@{b}"], "captures": [{"port": 0, "path": str(full)}]}
    description.write_text(json.dumps(described), encoding="utf-8")
    with switch_process("--description", str(description), code=2) as process:
        with hosts.namespaces[0].python(SENDER.format(count=100, ttls=(64,))) as sender:
            assert sender.wait(30) == 0
        # It ends by itself.
        assert process.wait(20) == 2
        assert process.stderr is not None
        assert f"{full}: No space left on device" in process.stderr.read()


def test_a_folder_without_room_is_named(tmp_path: Path) -> None:
    (tmp_path / "report.json").symlink_to("/dev/full")
    switch = LiveSwitch(program(), json.dumps({"interfaces": [], "cpu_port": 3}))
    with pytest.raises(RunFailed, match=r"report\.json could not be written: No space left on device"):
        live.write(tmp_path, live.stop(switch))
    with pytest.raises(RunFailed, match="left no report"):
        live.read_report(tmp_path)


@needs_root
def test_a_switch_ends_when_an_interface_goes_and_not_when_it_is_down(hosts: Hosts, tmp_path: Path) -> None:
    entries = tmp_path / "entries.json"
    entries.write_text(json.dumps([route(1, 0), route(2, 1)]), encoding="utf-8")
    a, b = hosts.interfaces
    with switch_process(f"-i0@{a}", f"-i1@{b}", "--entries", str(entries), "--out", str(tmp_path), code=2) as process:
        ip("link", "set", a, "down")
        ip("link", "set", a, "up")
        assert hosts.send(2).numbers == [0, 1]
        ip("link", "del", b)
        assert process.wait(20) == 2
        assert process.stderr is not None
        assert f"the switch failed: interface `{b}` is gone" in process.stderr.read()
    with pytest.raises(RunFailed, match="left no report"):
        live.read_report(tmp_path)


@needs_root
def test_a_killed_switch_leaves_nothing_that_stops_the_next(hosts: Hosts, tmp_path: Path) -> None:
    interfaces = [f"-i{port}@{name}" for port, name in enumerate(hosts.interfaces)]
    with switch_process(*interfaces, "--out", str(tmp_path), code=-signal.SIGKILL) as process:
        process.kill()
        process.wait(20)
    with pytest.raises(RunFailed, match="it was killed, or failed"):
        live.read_report(tmp_path)
    with switch_process(*interfaces, "--out", str(tmp_path)):
        pass
    assert [port["port"] for port in live.read_report(tmp_path)["ports"]] == [0, 1]


@needs_root
def test_an_interface_is_a_port_of_one_switch_only(hosts: Hosts, cli: Cli) -> None:
    a, b = hosts.interfaces
    with switch_process(f"-i0@{a}"), switch_process(f"-i0@{b}"):
        done = cli("switch", str(SCHEMES / "dctcp-red.p4"), "-i", f"1@{a}")
    assert (done.code, done.err) == (2, f"error: interface `{a}` is a port of another switch\n")


@needs_root
@pytest.mark.needs("network tools")
def test_without_the_right_to_packets_a_switch_says_so() -> None:
    drop = ["setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw"]
    command = [*drop, sys.executable, str(REPOSITORY / "orchestrator.py"), "switch", str(SCHEMES / "dctcp-red.p4")]
    done = subprocess.run([*command, "-i", "0@lo"], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "interface `lo`: packet socket (needs root or CAP_NET_RAW): Operation not permitted" in done.stderr


def test_a_taken_address_of_the_control_plane_is_named(cli: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = cli("switch", str(SCHEMES / "dctcp-red.p4"), "--cpu-port", "3", "--grpc-server-addr", address)
    assert done.code == 2
    assert f"cannot serve P4Runtime at {address}" in done.err


@contextmanager
def switch_process(*options: str, code: int = 0) -> Iterator["subprocess.Popen[str]"]:
    """A switch process, which is asked to end after the context, and has to end with this exit code."""
    command = [sys.executable, str(REPOSITORY / "orchestrator.py"), "switch", str(SCHEMES / "dctcp-red.p4"), *options]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            said = process.stderr.readline()
            assert "runs on ports" in said, said + process.stderr.read()
            yield process
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            assert process.wait(20) == code
        finally:
            process.kill()
