# SPDX-License-Identifier: MIT OR Apache-2.0
"""BMv2 as a switch of the lab: its limits, its Thrift protocol, and, if it is installed, its behaviour."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from marklab.catalog.choice import parse_choice
from marklab.catalog.scheme import find_scheme, known_schemes
from marklab.devices.frames import Framing
from marklab.errors import BadInput, RunFailed, SetupError
from marklab.lab.bmv2 import limits as bmv2_limits
from marklab.lab.bmv2 import switch as bmv2
from marklab.lab.bmv2 import thrift
from marklab.lab.bmv2.limits import check, obstacle, packets_per_s
from marklab.lab.bmv2.switch import SwitchPort, compile_program, running
from marklab.p4runtime.client import Count
from marklab.paths import PROGRAMS
from marklab.prepare.control import host_ip
from marklab.spec.description import make_spec
from namespaces import Namespace
from p4runtime_server.controller import FEATURES, probe

real = pytest.mark.needs("privileges", "namespaces", "network tools", "BMv2")

SPEC = {"schemes": "tcn", "rate": "100M"}

# Its limits


def test_what_bmv2_carries_is_accepted() -> None:
    spec = make_spec(SPEC)
    check(spec, spec.queues, [spec.rate_bps])


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"queues": "dwrr:count=4"}, "BMv2 has no ports with a dwrr scheduler"),
        ({"queues": "wrr:count=2"}, "BMv2 has no ports with a wrr scheduler"),
        ({"queues": "strict:count=2"}, "BMv2 has no ports with a strict scheduler"),
        ({"queues": "fifo:buffer=96KB"}, "no memory that queues share"),
        ({"queues": "fifo:shared=1MB"}, "no memory that queues share"),
        ({"queue": "900KB"}, "limits queues in packets, not by 900KB"),
        ({"trace_queue": "1ms"}, "wants `trace_queue`"),
        ({"trace_flows": "1ms"}, "wants `trace_flows`"),
    ],
)
def test_what_bmv2_lacks_is_refused_with_the_reason(settings: dict[str, Any], why: str) -> None:
    spec = make_spec(SPEC | settings)
    with pytest.raises(BadInput) as refused:
        check(spec, spec.queues, [spec.rate_bps])
    assert why in str(refused.value)
    assert "--switch marklab" in (refused.value.remedy or "")


def test_rates_are_whole_packets_of_full_frames() -> None:
    # 1,538 bytes on the line.
    assert packets_per_s(100_000_000, 1514, Framing()) == 8127
    # Frames below the minimum are padded: 84 bytes.
    assert packets_per_s(84 * 8 * 500, 20, Framing()) == 500
    # 100.49 are 0.49 % off, which passes; 90.49 are not.
    assert packets_per_s(round(100.49 * 8 * 1538), 1514, Framing()) == 100
    with pytest.raises(BadInput, match=r"whole packets per second, and .* are 90.5"):
        packets_per_s(round(90.49 * 8 * 1538), 1514, Framing())


def test_schemes_that_need_a_scheduler_cannot_run_on_bmv2() -> None:
    obstacles = {}
    for name in known_schemes():
        spec = find_scheme(parse_choice(name)).spec
        assert spec is not None
        obstacles[name] = obstacle(spec.needs)
    assert {name for name, why in obstacles.items() if why} == {"bfc", "diffecn", "dualpi2", "mq-ecn", "pftcn"}
    assert obstacles["mq-ecn"] == "it needs dwrr or wrr, and BMv2 has one queue per port"


def test_without_bmv2_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match="not on PATH: p4c-bm2-ss, simple_switch_grpc") as refused:
        compile_program(PROGRAMS / "tcn.p4", tmp_path)
    assert refused.value.remedy is not None
    assert "p4lang/behavioral-model" in refused.value.remedy


# Its protocol


def served(answers: list[bytes]) -> tuple[tuple[str, int], list[bytes], threading.Thread]:
    """A server that gives these answers, and records its requests in the list."""
    listener = socket.create_server(("127.0.0.1", 0))
    heard: list[bytes] = []

    def serve() -> None:
        with listener, listener.accept()[0] as connection:
            for answer in answers:
                heard.append(connection.recv(4096))
                connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    return listener.getsockname(), heard, thread


def reply(kind: int, fields: bytes) -> bytes:
    name = b"set_egress_queue_depth"
    return bytes([0x80, 1, 0, kind, 0, 0, 0, len(name)]) + name + bytes(4) + fields


def test_calls_are_those_of_the_strict_binary_protocol() -> None:
    # A field is its type, its number (16 bits) and its value; an answer's result has number 0.
    done = reply(2, bytes([8, 0, 0, 0, 0, 0, 0, 0]))
    address, heard, thread = served([done, done])
    thrift.make(address, [thrift.queue_depth(3, 600), thrift.queue_rate(3, 8127)])
    thread.join()
    names = [b"simple_switch:set_egress_queue_depth", b"simple_switch:set_egress_queue_rate"]
    port = bytes([8, 0, 1, 0, 0, 0, 3])
    assert heard == [
        bytes([0x80, 1, 0, 1, 0, 0, 0, 36]) + names[0] + bytes(4) + port + bytes([8, 0, 2, 0, 0, 2, 0x58, 0]),
        bytes([0x80, 1, 0, 1, 0, 0, 0, 35])
        + names[1]
        + bytes([0, 0, 0, 1])
        + port
        + bytes([10, 0, 2, 0, 0, 0, 0, 0, 0, 0x1F, 0xBF, 0]),
    ]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (reply(3, bytes([11, 0, 1, 0, 0, 0, 4]) + b"what" + bytes([8, 0, 2, 0, 0, 0, 1, 0])), "refuses .*: what"),
        (reply(2, bytes([8, 0, 0, 0])), "ended while it answered"),
        (reply(2, bytes([12, 0, 0])), "answers `set_egress_queue_depth` with a value of type 12"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "is no Thrift server"),
    ],
)
def test_an_answer_that_is_none_is_an_error(answer: bytes, why: str) -> None:
    address, _, thread = served([answer])
    with pytest.raises(RunFailed, match=why):
        thrift.make(address, [thrift.queue_depth(0, 1)])
    thread.join()


def test_calls_can_be_made_by_a_process_of_another_namespace() -> None:
    calls = [thrift.queue_depth(1, 2), thrift.queue_rate(3, 1 << 40)]
    assert thrift.from_json(thrift.to_json(calls)) == calls


def test_a_switch_that_ends_at_once_is_told_with_its_last_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for tool in bmv2_limits.TOOLS:
        (tmp_path / tool).write_text("#!/bin/sh\necho started\necho 'Invalid interface' >&2\nexit 3\n")
        (tmp_path / tool).chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    compiled = bmv2.Compiled(b"{}", None)
    ports = [SwitchPort(0, "none", None, 1)]
    with (
        pytest.raises(RunFailed, match="BMv2 as switch s1 ended with status 3: Invalid interface"),
        running((), "s1", ports, compiled, [], tmp_path),
    ):
        pass
    with pytest.raises(SetupError, match="too long for a socket"), running((), "s" * 90, ports, compiled, [], tmp_path):
        pass


# Its behaviour


class Bench:
    """A namespace for the switch, and two for hosts with an interface each."""

    def __init__(self) -> None:
        self.name = f"mlb{uuid.uuid4().hex[:5]}"
        self.switch = Namespace()
        self.hosts = [Namespace(), Namespace()]
        for number, host in enumerate(self.hosts):
            port = f"p{number}"
            self.switch.ip("link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", host.pid)
            self.switch.ip("link", "set", port, "up")
            host.ip("link", "set", "eth0", "address", mac(number), "up")
            host.ip("addr", "add", f"10.0.0.{number + 1}/24", "dev", "eth0")
            host.ip("neigh", "add", f"10.0.0.{2 - number}", "lladdr", mac(1 - number), "dev", "eth0")
            # As in the lab: libpcap's ring has room for only 8 frames if an interface may have large frames.
            for namespace, interface in ((self.switch, port), (host, "eth0")):
                namespace.without(interface, "rx", "tx", "sg", "tso", "gso", "gro")

    def remove(self) -> None:
        for namespace in (self.switch, *self.hosts):
            namespace.remove()


def mac(host: int) -> str:
    return f"02:00:00:00:00:{host:02x}"


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.remove()


RECEIVER = """
import json, socket, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    receiver.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
    receiver.bind(("10.0.0.2", 5000))
    receiver.settimeout(20)
    print("ready", flush=True)
    seen = []
    for _ in range({count}):
        data, control, _, _ = receiver.recvmsg(2000, 100)
        seen.append((time.monotonic(), control[0][2][0] & 3))
print(json.dumps(seen))
"""
SENDER = """
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
    sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 2)
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
    sender.bind(("10.0.0.1", 5000))
    for _ in range({count}):
        sender.sendto(bytes(1472), ("10.0.0.2", 5000))
"""


def routes() -> list[dict[str, Any]]:
    return [
        {
            "table": "ipv4_lpm",
            "match": {"dst_addr": {"lpm": [host_ip(host), 32]}},
            "action": "forward",
            "params": {"port": host, "dst_addr": int(mac(host).replace(":", ""), 16)},
        }
        for host in range(2)
    ]


@real
def test_a_queue_is_shaped_limited_and_marked(bench: Bench, tmp_path: Path) -> None:
    """100 full frames at once into a queue of 60: dctcp-red marks those that find more than 20 before them."""
    threshold, limit, rate, count = 20, 60, 200, 100
    entries = [*routes(), {"table": "marking.params", "action": "set_params", "params": {"k_pkts": threshold}}]
    folder = Path("/tmp") / bench.name  # noqa: S108 - names of sockets are short
    folder.mkdir()
    try:
        compiled = compile_program(PROGRAMS / "dctcp-red.p4", tmp_path)
        ports = [SwitchPort(number, f"p{number}", rate, limit) for number in range(2)]
        with running(bench.switch.inside, "s1", ports, compiled, entries, folder) as switch:
            with bench.hosts[1].python(RECEIVER.format(count=limit)) as receiver:
                assert receiver.stdout is not None
                assert receiver.stdout.readline() == "ready\n"
                with bench.hosts[0].python(SENDER.format(count=count)) as sender:
                    assert sender.wait(30) == 0
                seen = json.loads(receiver.communicate(timeout=30)[0])
            switch.check_alive()
            marks = switch.client.counter("marks")
            pid = switch.pid
        times, codes = zip(*seen, strict=True)
        # A packet that leaves during the burst makes room for another: on a busy machine the counts vary slightly.
        assert 200 * 0.9 < (limit - 10) / (times[-6] - times[4]) < 200 * 1.1
        marked = codes.count(3)
        assert limit - threshold - 6 <= marked <= limit - threshold + 2
        assert sum(cell.packets for cell in marks) >= marked
        assert Count(0, 0) in marks
        assert not Path(f"/proc/{pid}").exists()
        assert [path.name for path in folder.iterdir()] == ["s1.log"]
    finally:
        shutil.rmtree(folder)


PROBES = """
import select, socket, sys
ends = []
for number in range(3):
    end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    end.bind((f"q{number}", 0))
    end.settimeout(5)
    ends.append(end)
for line in sys.stdin:
    ends[0].send(bytes.fromhex(line))
    # The switch answers at port 1 or 2; it never sends to 0.
    readable, _, _ = select.select(ends[1:], [], [], 5)
    print([ends.index(end) for end in readable if end.recv(100)], flush=True)
"""


@real
def test_the_priorities_of_the_lab_are_those_of_bmv2(bench: Bench, tmp_path: Path) -> None:
    """features.p4: a probe of kind 1 leaves by the port of the rule with the highest precedence."""
    for number in range(3):
        bench.switch.run("ip", "link", "add", f"r{number}", "type", "veth", "peer", "name", f"q{number}")
        # Only the test sends there.
        for name in (f"q{number}", f"r{number}"):
            bench.switch.run("sysctl", "--quiet", "--write", f"net.ipv6.conf.{name}.disable_ipv6=1")
            bench.switch.run("ip", "link", "set", name, "up")
    rules = [
        {"table": "rules", "match": match, "priority": priority, "action": "pace_to", "params": {"port": port}}
        for port, priority, match in (
            (2, 7, {}),
            (1, 6, {"a": {"ternary": [0xF3, 0xF0]}}),
            (2, 5, {"b": {"range": [10, 20]}}),
            (1, 4, {"c": {"exact": 9}}),
        )
    ]
    # One rule is earlier in the list but later by its priority, and vice versa.
    rules = [rules[2], rules[0], rules[3], rules[1]]
    compiled = compile_program(FEATURES, tmp_path)
    ports = [SwitchPort(number, f"r{number}", None, 64) for number in range(3)]
    probes = [(0, 0, 0), (0xF0, 0, 0), (0xF0, 9, 0), (0xF0, 10, 0), (0xF0, 20, 0), (0xF0, 21, 0), (0xF0, 10, 9)]
    frames = "\n".join(probe(1, a, b, c).ljust(60, b"\0").hex() for a, b, c in probes)
    folder = Path("/tmp") / bench.name  # noqa: S108 - names of sockets are short
    folder.mkdir()
    try:
        with running(bench.switch.inside, "s1", ports, compiled, rules, folder) as switch:
            output = bench.switch.run(sys.executable, "-c", PROBES, text=frames)
            assert [json.loads(line) for line in output.splitlines()] == [[2], [1], [1], [2], [2], [1], [1]]
            assert switch.client.counter("seen")[1].packets == len(probes)
            with pytest.raises(RunFailed, match="entry of `rules` with a"):
                switch.client.write(rules[3:])
            with pytest.raises(RunFailed, match="UNIMPLEMENTED"):
                switch.client.register("notes")
    finally:
        shutil.rmtree(folder)
