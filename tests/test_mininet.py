# SPDX-License-Identifier: MIT OR Apache-2.0
"""The lab of real packets: the same description as in `sim`, and nothing left behind, however a run ends."""

from __future__ import annotations

import json
import os
import re
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from marklab.errors import BadInput, RunFailed, SetupError
from marklab.fabrics.fabric import Cell
from marklab.fabrics.mininet import LADDER, Mininet, dilate
from marklab.lab import commands, workspace
from marklab.lab.hosts import bpf, congestion
from marklab.lab.network import Net, address, mininet
from marklab.paths import REPOSITORY
from marklab.prepare.dilation import dilated_graph
from marklab.prepare.experiment import prepare
from marklab.spec.description import make_spec
from marklab.topology import Graph

real = pytest.mark.needs("privileges", "namespaces", "network tools", "BPF tools", "type information", "Mininet")

# Long enough for queues, short enough for tests: 2 s of dilated time.
FLOWS = """start_ns,src,dst,size_bytes,extra_delay_ns
0,h0,h4,1500000,0
0,h1,h4,1500000,50000
1000000,h2,h4,20000,0
2000000,h3,h4,20000,100000
3000000,h2,h4,200000,130000
4000000,h0,h4,1000,20000
5000000,h1,h4,60000,0
"""


@pytest.fixture
def flow_list(tmp_path: Path) -> Path:
    path = tmp_path / "flows.csv"
    path.write_text(FLOWS, encoding="utf-8")
    return path


def command(*words: str) -> list[str]:
    return [sys.executable, str(REPOSITORY / "orchestrator.py"), *words]


def lab(flow_list: Path, out: Path, *words: str) -> list[str]:
    return command(
        "--fabric", "mininet", "--baseline", "none", "--topology", "incast:senders=4", "--flow-list", str(flow_list),
        "--out", str(out), *words,
    )  # fmt: skip


def graph(senders: int = 2) -> Graph:
    settings = {"schemes": ["tcn"], "flows": 10, "topology": f"incast:senders={senders}"}
    return dilated_graph(prepare(make_spec(settings)).network.graph, 100)


# The fabric


# For a busy machine, on which the lab chooses a larger dilation.
PATIENCE_S = 600


@real
def test_a_scheme_that_drops_may_drain_its_queue_at_once(flow_list: Path, tmp_path: Path) -> None:
    """RED drops a whole standing queue above max. This is no fault of the line, but was once refused as a slow line."""
    shown = commands.run(*lab(flow_list, tmp_path, "--scheme", "red", "--json"), timeout_s=PATIENCE_S)
    (found,) = json.loads(shown)["schemes"].values()
    assert found["unfinished"] == 0
    assert found["marks"]["total"] > 0


@real
def test_marks_come_back_at_the_largest_dilation(flow_list: Path, tmp_path: Path) -> None:
    """A queue of 400 packets takes 0.4 s there, and slow start some round trips of 56 ms before."""
    slow = lab(flow_list, tmp_path, "--scheme", "dctcp-red", "--dilation", str(LADDER[-1]), "--json")
    (found,) = json.loads(commands.run(*slow, timeout_s=PATIENCE_S))["schemes"].values()
    real_time = found["seeds"][0]["real_time"]
    assert 0 < real_time["marks_echoed"] <= real_time["ce_received"] <= real_time["marks_made"]


@real
def test_three_schemes_on_real_hosts_agree_with_the_simulator(flow_list: Path, tmp_path: Path) -> None:
    schemes = ["dctcp-red", "tcn", "ecn-sharp"]
    words = [word for scheme in schemes for word in ("--scheme", scheme)]
    recorded = ("--trace-queue", "--pcap", "s0:4")
    real = lab(flow_list, tmp_path, *words, "--json", *recorded, "--name", "smoke")
    found = json.loads(commands.run(*real, timeout_s=PATIENCE_S))["schemes"]
    dilation = found["tcn"]["seeds"][0]["real_time"]["dilation"]
    simulated = command(
        "--baseline", "none", "--topology", "incast:senders=4", "--flow-list", str(flow_list), "--json", *words,
        "--out", str(tmp_path / "sim"),
    )  # fmt: skip
    expected = json.loads(commands.run(*simulated))["schemes"]
    for scheme in schemes:
        seed = found[scheme]["seeds"][0]
        assert seed["unfinished"] == 0
        assert seed["fct_us"]["overall"]["mean"] == pytest.approx(
            expected[scheme]["fct_us"]["overall"]["mean"], rel=0.25
        )
        # Marks counted by programs, by the network, by receivers, and echoed to senders are equal.
        assert found[scheme]["marks"]["total"] == sum(found[scheme]["marks"]["by_cause"].values()) > 0
        real_time = seed["real_time"]
        assert real_time["dilation"] == dilation
        assert real_time["drain_ratio"] == pytest.approx(1, abs=0.02)
        assert 0 < real_time["marks_echoed"] <= real_time["ce_received"] <= real_time["marks_made"]
        # Base, and base with the longest extra delay, in dilated time.
        expected_us = [70.4 * dilation, 200.4 * dilation]
        assert [expected for expected, _ in real_time["rtt_us"]] == pytest.approx(expected_us, rel=0.006)
    folder = next(path for path in tmp_path.iterdir() if path.name.startswith("smoke-"))
    assert len(list((folder / "traces").glob("*.parquet"))) == len(schemes)
    # Packets of both directions, of the first scheme.
    assert senders(folder / "s0-4.pcap") == {address(host) for host in range(5)}
    assert left_behind("smoke") == []


def senders(capture: Path) -> set[str]:
    """IPv4 sources in a pcap file of either byte order."""
    data, at, found = capture.read_bytes(), 24, set()
    order = "<" if data[0] in (0x4D, 0xD4) else ">"
    while at < len(data):
        (length,) = struct.unpack_from(f"{order}I", data, at + 8)
        frame = data[at + 16 : at + 16 + length]
        found.add(str(IPv4Address(frame[26:30])))
        at += 16 + length
    return found


# Bits of the second byte of an IPv4 header, and of TCP's flags.
ECN, ECT_0, CE = 0x3, 0x2, 0x3
SYN, ACK, ECE = 0x02, 0x10, 0x40


def answers_to_syns(capture: Path) -> list[tuple[str, int, bool]]:
    """The sender of each SYN-ACK in a pcap file of this machine, its ECN field, and whether its checksum is right."""
    data, at, found = capture.read_bytes(), 24, []
    order = "<" if data[0] in (0x4D, 0xD4) else ">"
    while at < len(data):
        (length,) = struct.unpack_from(f"{order}I", data, at + 8)
        frame = data[at + 16 : at + 16 + length]
        header = frame[14 : 14 + 4 * (frame[14] & 0xF)]
        if frame[23] == 6 and frame[14 + len(header) + 13] & (SYN | ACK) == SYN | ACK:
            words = sum(struct.unpack(f">{len(header) // 2}H", header))
            found.append((str(IPv4Address(header[12:16])), header[1] & ECN, words % 0xFFFF == 0))
        at += 16 + length
    return found


@real
@pytest.mark.parametrize("connections", ["new", "asked"])
@pytest.mark.parametrize("plus", [False, True])
def test_with_ecn_plus_answers_to_syns_are_ecn_capable(tmp_path: Path, connections: str, plus: bool) -> None:
    """SYN-ACKs of receivers; and with `asked`, SYN-ACKs of senders, which pass the bottleneck's queue."""
    flows = tmp_path / "flows.csv"
    sent = "".join(f"{1000 * number},h{number % 4},h4,20000\n" for number in range(12))
    flows.write_text(f"start_ns,src,dst,size_bytes\n{sent}", encoding="utf-8")
    transport = f"transport={{control: ecn-star, ecn_plus: {str(plus).lower()}}}"
    settings = ("--set", transport, "--set", f"connections={connections}", "--pcap", "s0:4", "--json")
    found = json.loads(
        commands.run(*lab(flows, tmp_path / "out", "--scheme", "dctcp-red:k=2", *settings), timeout_s=PATIENCE_S)
    )
    (capture,) = (tmp_path / "out").glob("*/s0-4.pcap")
    answers = answers_to_syns(capture)
    answering = {address(4)} if connections == "new" else {address(host) for host in range(4)}
    assert len(answers) >= 12
    assert {source for source, _, _ in answers} == answering
    assert {ecn & ECT_0 for _, ecn, _ in answers} == ({ECT_0} if plus else {0})
    # The kernel's checksum, and the program's.
    assert all(right for _, _, right in answers)
    # The host that sent marked packets reports them, whichever host opened the connection.
    (scheme,) = found["schemes"].values()
    (seed,) = scheme["seeds"]
    assert seed["unfinished"] == 0
    assert seed["marks"]["total"] > 0
    (parquet,) = (tmp_path / "out").glob("*/flows.parquet")
    assert pl.read_parquet(parquet)["marked_packets"].sum() > 0


def processes(name: str) -> list[str]:
    """Processes of a lab, which keep its namespaces and interfaces alive; their command lines contain the name."""
    rows = [line.split(maxsplit=1) for line in commands.run("ps", "-ww", "-eo", "pid,args").splitlines()[1:]]
    return [args for pid, args in rows if int(pid) != os.getpid() and re.search(rf"\b{name}[.:]", args)]


def left_behind(name: str) -> list[str]:
    """Remains of a lab. Congestion controls without a lab are removed, too."""
    return [*processes(name), *map(str, Path("/run/marklab").glob(f"{name}.*")), *congestion.remove_orphans()]


@pytest.fixture
def running(flow_list: Path, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A lab with flows under way: endless flows, for a minute."""
    flow_list.write_text("start_ns,src,dst,size_bytes\n0,h0,h4,endless\n0,h1,h4,endless\n", encoding="utf-8")
    words = lab(flow_list, tmp_path / "out", "--scheme", "tcn", "--until", "600ms", "--name", "hygiene")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            deadline = time.monotonic() + 60
            while not list(Path("/run/marklab").glob("hygiene.*/hosts/4")):
                assert process.poll() is None, process.communicate()
                assert time.monotonic() < deadline
                time.sleep(0.1)
            time.sleep(1.0)
            yield process
        finally:
            process.kill()


def _gone(seconds: float = 10) -> list[str]:
    deadline = time.monotonic() + seconds
    while (left := left_behind("hygiene")) and time.monotonic() < deadline:
        time.sleep(0.2)
    return left


@real
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_lab_leaves_nothing(
    running: subprocess.Popen[str], tmp_path: Path, number: signal.Signals
) -> None:
    running.send_signal(number)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 128 + number
    assert "nothing was kept" in said
    assert _gone() == []
    assert list((tmp_path / "out").iterdir()) == []


@real
def test_a_killed_lab_leaves_what_the_next_one_removes(running: subprocess.Popen[str]) -> None:
    running.kill()
    running.communicate(timeout=20)
    deadline = time.monotonic() + 10
    while (left := processes("hygiene")) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert left == []
    experiment = prepare(make_spec({"schemes": ["tcn"], "flows": 10, "mininet": {}}))
    Mininet().check(experiment)
    assert left_behind("hygiene") == []


@real
def test_a_switch_that_dies_ends_the_run(running: subprocess.Popen[str], tmp_path: Path) -> None:
    folder = next(Path("/run/marklab").glob("hygiene.*"))
    pids = [
        line.split()[0]
        for line in commands.run("ps", "-ww", "-eo", "pid,args").splitlines()
        if f"{folder}/switches" in line
    ]
    assert len(pids) == 1
    os.kill(int(pids[0]), signal.SIGKILL)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 2
    assert "the switch s0 was killed by SIGKILL" in said
    assert _gone() == []
    assert list((tmp_path / "out").iterdir()) == []


@real
def test_labs_side_by_side_have_networks_of_their_own(tmp_path: Path) -> None:
    with ExitStack() as stack:
        nets = [stack.enter_context(mininet(graph(), f"side{number}", tmp_path / "log")) for number in range(2)]
        assert not set(nets[0].pids) & set(nets[1].pids)
        namespaces = {_namespace(net, node) for net in nets for node in range(len(net.graph.names))}
        assert len(namespaces) == 2 * len(nets[0].graph.names)
    assert left_behind("side[01]") == []


def _namespace(net: Net, node: int) -> str:
    return commands.run(*net.inside(node), "readlink", "/proc/self/ns/net").strip()


@real
def test_nodes_are_as_a_line_wants_them(tmp_path: Path) -> None:
    with mininet(graph(), "nodes", tmp_path / "log") as net:
        shown = json.loads(commands.run(*net.inside(0), "ip", "-json", "address", "show", "dev", "h0-eth0"))[0]
        neighbours = json.loads(commands.run(*net.inside(0), "ip", "-json", "neigh"))
        features = commands.run(*net.inside(3), "ethtool", "-k", "s0-eth2")
    assert [each["local"] for each in shown["addr_info"]] == [address(0)]
    assert (shown["mtu"], shown["address"]) == (1500, "02:00:00:00:00:00")
    assert {each["dst"]: each["lladdr"] for each in neighbours} == {
        address(1): "02:00:00:00:00:01",
        address(2): "02:00:00:00:00:02",
    }
    assert all("PERMANENT" in each["state"] for each in neighbours)
    for name in ("tx-checksumming", "tcp-segmentation-offload", "generic-segmentation-offload", "rx-checksumming"):
        assert f"{name}: off" in features


# Words


def experiment(**settings: Any) -> Any:
    return prepare(make_spec({"schemes": ["tcn"], "flows": 10, "mininet": {}} | settings))


def test_a_threshold_of_delays_is_dilated() -> None:
    given = experiment(mininet={"dilation": 200}, rate="10G", transport="ear")
    assert dilate(Cell(given, given.schemes[0], given.spec.first_seed)).delay_threshold_ns == 144_000 * 200


def test_a_lab_needs_space(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(workspace, "_ROOT", tmp_path)
    monkeypatch.setattr(workspace, "_LEAST_BYTES", 2**62)
    with pytest.raises(RunFailed, match="MiB left") as caught, workspace.workspace("mine"):
        pass
    assert "free some space" in str(caught.value.remedy)


def test_a_host_is_captured_at_its_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("marklab.fabrics.mininet.require", lambda _: None)
    with pytest.raises(BadInput, match="h1 is a host") as caught:
        Mininet().check(experiment(pcap="h1"))
    assert caught.value.remedy == "--pcap s0:1"


def test_without_root_there_is_no_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SetupError, match="need root") as caught:
        Mininet().check(experiment())
    assert "--fabric sim" in str(caught.value.remedy)


def test_a_missing_tool_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SetupError, match="mnexec") as caught:
        Mininet().check(experiment())
    assert "mininet" in str(caught.value.remedy)


def test_what_only_the_simulator_records_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("marklab.fabrics.mininet.require", lambda _: None)
    with pytest.raises(BadInput, match="`trace_flows`"):
        Mininet().check(experiment(trace_flows="1ms"))


def test_flows_that_wait_for_their_connection_are_simulated_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("marklab.fabrics.mininet.require", lambda _: None)
    with pytest.raises(BadInput, match="real hosts open a connection when all are busy"):
        Mininet().check(experiment(connections={"busy": "wait"}, rtt="80us"))


def test_hosts_that_take_part_in_ecn_for_some_of_their_flows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("marklab.fabrics.mininet.require", lambda _: None)
    with pytest.raises(BadInput, match="one setting for all of its flows"):
        Mininet().check(experiment(ecn_share=0.5))


def test_ecn_plus_needs_the_kernels_types(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("marklab.fabrics.mininet.require", lambda _: None)
    monkeypatch.setattr(bpf, "require", lambda _: None)
    monkeypatch.setattr(bpf, "TYPES", tmp_path / "vmlinux")
    with pytest.raises(SetupError, match=r"no type information .* which ECN\+ on real hosts needs") as caught:
        Mininet().check(experiment(transport={"control": "ecn-star", "ecn_plus": True}))
    assert "CONFIG_DEBUG_INFO_BTF" in str(caught.value.remedy)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--dilation", "10"], "--dilation is an option of the fabric mininet"),
        (["--fabric", "minimet"], "unknown fabric `minimet`"),
        (["--fabric", "mininet", "--switch", "bmv3"], "`bmv3`"),
        (["--fabric", "mininet", "--dilation", "0"], "dilation"),
    ],
)
def test_bad_words_are_explained(words: list[str], said: str) -> None:
    ended = subprocess.run(command("--scheme", "tcn", *words), capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert "try:" in ended.stderr


@real
def test_mininet_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marklab.lab.network.SYSTEM_PYTHON", sys.executable)
    with pytest.raises(SetupError, match="Mininet is not there") as caught, mininet(graph(), "nodes", tmp_path / "log"):
        pass
    assert caught.value.remedy == "apt-get install mininet"


@pytest.mark.needs("network tools", "Mininet")
def test_nodes_that_cannot_be_made_are_an_error_and_nothing_to_wait_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """mnexec fails in a chroot whose / is not a mount point."""
    tool = tmp_path / "mnexec"
    tool.write_text("#!/bin/sh\necho 'remount: Invalid argument' >&2\nexit 1\n")
    tool.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    said = "cannot make a node: `mnexec -n true` failed with status 1: remount: Invalid argument"
    with pytest.raises(SetupError, match=said) as caught, mininet(graph(), "nodes", tmp_path / "log"):
        pass
    assert caught.value.remedy is not None
    assert "mount --rbind" in caught.value.remedy


@real
def test_a_workspace_outlives_its_owner_only_until_the_next_start() -> None:
    with workspace.workspace("mine") as folder:
        assert workspace.remove_orphans() == []
        assert folder.is_dir()
    assert not folder.exists()
    orphan = Path("/run/marklab/orphan.test")
    orphan.mkdir()
    (orphan / "lock").touch()
    assert workspace.remove_orphans() == ["orphan.test"]
    assert not orphan.exists()


def test_a_workspace_that_cannot_be_made_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(workspace, "_ROOT", tmp_path / "file")
    with pytest.raises(RunFailed, match="cannot make a folder"), workspace.workspace("mine"):
        pass


# docs/lab.md


@real
def test_the_same_flows_in_both_fabrics_are_compared(tmp_path: Path) -> None:
    """Agreement would need more flows, and an idle machine."""
    flows = ("--scheme", "tcn", "--load", "0.8", "--flows", "20", "--topology", "incast:senders=2")
    words = command("crosscheck", *flows, "--within", "300", "--json", "--out", str(tmp_path))
    shown = commands.run(*words, timeout_s=PATIENCE_S)
    rules = json.loads(shown)["rules"]
    assert [rule["rule"] for rule in rules] == [
        f"{metric} {bound}" for metric in ("overall.mean", "short.mean") for bound in ("> +300%", "< -300%")
    ]
    assert not any(rule["broken"] for rule in rules)
    assert len(list(tmp_path.glob("tcn-*/flows.parquet"))) == 2
    assert len(list(tmp_path.glob("crosscheck-*/comparison.md"))) == 1


@real
@pytest.mark.needs("p4runtime-shell")
def test_what_the_page_shows_works() -> None:
    """The commands of `Looking into it`, with the present output of the lab in place of the page's."""
    section = (REPOSITORY / "docs" / "lab.md").read_text().partition("\n## Looking into it\n")[2].partition("\n## ")[0]
    lines = [line.removeprefix("$ ") for line in section.splitlines() if line.startswith("$ ")]
    (lab_line,) = (line for line in lines if "orchestrator.py lab" in line)
    (ping,) = (line.split() for line in lines if " ping " in line)
    (shell,) = (line.split() for line in lines if "p4runtime_sh" in line)
    queries = [line.split(">>> ")[1] for line in section.splitlines() if line.startswith("P4Runtime sh >>>")]
    words = command(*lab_line.split()[2:])
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        try:
            shown = []
            while not any("Ctrl-C" in line for line in shown):
                line = process.stdout.readline()
                assert line, shown
                shown.append(line)
            rows = {line.split()[0]: line.split() for line in shown if "nsenter" in line}
            h0, switch = rows["h0"], rows["s0"]
            assert rows["h2"][-1] == ping[-1]
            commands.run(*h0[1:5], "ping", "-c", "2", ping[-1], timeout_s=20)
            shell[shell.index("--grpc-addr") + 1] = switch[-1]
            said = commands.run(
                str(REPOSITORY / shell[0]), *shell[1:], text="\n".join([*queries, "exit", ""]), timeout_s=60
            )
            # A route per host.
            assert said.count('"SwitchIngress.ipv4_lpm"') == 3
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
    assert left_behind(Path(switch[-1]).parts[3].partition(".")[0]) == []
