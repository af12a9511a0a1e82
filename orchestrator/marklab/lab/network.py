# SPDX-License-Identifier: MIT OR Apache-2.0
"""A network of namespaces, built by Mininet: each node has one, and lines are veth pairs without offloads.

Mininet runs under the system's Python, which Debian's package is for, in a process of its own (mininet_keeper.py).
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from marklab.devices.frames import FULL_FRAME_BYTES, Framing
from marklab.errors import RunFailed, SetupError
from marklab.lab.commands import require, run
from marklab.prepare.control import host_ip, mac
from marklab.topology import Graph, Port

SYSTEM_PYTHON = "/usr/bin/python3"
_KEEPER = Path(__file__).with_name("mininet_keeper.py")
_END_S = 20.0

# Linux has no room for longer names.
_INTERFACE_BYTES = 15

# What runs a command before all programs without it.
REAL_TIME = ("chrt", "--rr", "1")

TOOLS = ("chrt", "mnexec", "nsenter", "setpriv", "ip", "ethtool", "sysctl", "tc")

# What Mininet begins each node with. Where it fails, Mininet waits for the node forever.
MAKES_NODE = ("mnexec", "-n", "true")
NODES_REMEDY = "`mount --rbind DIR DIR` before `chroot DIR`: mnexec needs a / that is a mount point"

# What would make other packets of those that hosts send: on a line none of it exists.
_OFFLOADS = ("rx", "tx", "sg", "tso", "gso", "gro")
# Queued in front of a host's line at most.
_NIC_SECONDS = 60


@dataclass(frozen=True)
class Net:
    """A network that is up. Nodes have the indices of the graph."""

    graph: Graph
    pids: tuple[int, ...]
    # A node through which all lines run, behind those of the graph, if there is one: see bmv2_network.
    panel: int | None = None

    def inside(self, node: int) -> tuple[str, ...]:
        """What runs a command in a node's namespace."""
        return ("nsenter", "--target", str(self.pids[node]), "--net")

    def keeping(self, node: int) -> tuple[str, ...]:
        """What runs a command there before other programs, and ends it when we end, even if we are killed.

        Switches come before hosts: a sender that never sleeps must not keep them from their lines.
        """
        priority = 1 if self.graph.is_host(node) else 2
        return ("setpriv", "--pdeathsig", "KILL", *_first(priority), *self.inside(node))

    def interface(self, at: Port) -> str:
        """The interface of a port."""
        return interface_name(self.graph, at)


@cache
def _first(priority: int) -> tuple[str, ...]:
    """Real-time scheduling, where we may have it: a switch or host that waits for a processor lengthens round trips."""
    with suppress(RunFailed):
        run(*REAL_TIME, "true")
        return (*REAL_TIME[:-1], str(priority))
    return ()


def interface_name(graph: Graph, at: Port) -> str:
    """`s0-eth2`, as Mininet has it; by number where the node's name is too long."""
    name = f"{graph.names[at.node]}-eth{at.port}"
    fits = len(name) <= _INTERFACE_BYTES and name.isascii() and "/" not in name and not any(map(str.isspace, name))
    return name if fits else f"n{at.node}-eth{at.port}"


def wire_interface(end: int) -> str:
    """Of the panel: lines 2 i and 2 i + 1 are the ends of link i."""
    return f"panel-eth{end}"


def address(host: int) -> str:
    """Of a host."""
    return str(IPv4Address(host_ip(host)))


def mac_text(graph: Graph, node: int) -> str:
    """As `ip` writes it."""
    return mac(graph, node).to_bytes(6, "big").hex(":")


@contextmanager
def mininet(graph: Graph, name: str, log: Path, *, with_panel: bool = False) -> Iterator[Net]:
    """Build a network that is there as long as the context; all its processes carry the name, and its words the log."""
    require(TOOLS)
    try:
        run(*MAKES_NODE)
    except RunFailed as error:
        raise SetupError(f"Mininet cannot make a node: {error}", NODES_REMEDY) from None
    wiring = json.dumps(_wiring(graph, name, with_panel=with_panel))
    command = ["setpriv", "--pdeathsig", "TERM", SYSTEM_PYTHON, str(_KEEPER), name]
    with (
        log.open("w", encoding="utf-8") as errors,
        subprocess.Popen(  # noqa: S603 - no shell
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True
        ) as keeper,
    ):
        try:
            assert keeper.stdin is not None and keeper.stdout is not None  # noqa: S101, PT018
            keeper.stdin.write(wiring + "\n")
            keeper.stdin.flush()
            answer = keeper.stdout.readline()
            if not answer:
                raise _failed(keeper, log)
            net = Net(graph, tuple(json.loads(answer)["pids"]), len(graph.names) if with_panel else None)
            for node in range(len(net.pids)):
                _tidy(net, node)
            yield net
        except BrokenPipeError:
            raise _failed(keeper, log) from None
        finally:
            _stop(keeper)


def _stop(keeper: subprocess.Popen[str]) -> None:
    """Its input ends, and so does the network."""
    try:
        keeper.communicate(timeout=_END_S)
    except (subprocess.TimeoutExpired, BrokenPipeError, ValueError):
        keeper.kill()


def _failed(keeper: subprocess.Popen[str], log: Path) -> Exception:
    keeper.wait()
    said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() or ["it said nothing"]
    if "Mininet is not there" in said[-1]:
        return SetupError(said[-1], "apt-get install mininet")
    return RunFailed(f"Mininet failed: {said[-1]}")


def _wiring(graph: Graph, net: str, *, with_panel: bool) -> dict[str, Any]:
    nodes = [
        {
            "name": f"{net}:{name}",
            "ip": f"{address(node)}/8" if graph.is_host(node) else None,
            "mac": mac_text(graph, node) if graph.is_host(node) else None,
        }
        for node, name in enumerate(graph.names)
    ]
    links = [[_end(graph, link.a), _end(graph, link.b)] for link in graph.links]
    if with_panel:
        panel = len(nodes)
        nodes.append({"name": f"{net}:panel", "ip": None, "mac": None})
        ends = [end for link in links for end in link]
        links = [
            [end, {"node": panel, "port": number, "interface": wire_interface(number)}]
            for number, end in enumerate(ends)
        ]
    return {"nodes": nodes, "links": links}


def _end(graph: Graph, at: Port) -> dict[str, Any]:
    return {"node": at.node, "port": at.port, "interface": interface_name(graph, at)}


def _tidy(net: Net, node: int) -> None:
    """Nothing but the lab's own packets, and those as they are."""
    inside, graph = net.inside(node), net.graph
    quiet = ["net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1"]
    run(*inside, "sysctl", "--quiet", "--write", *quiet)
    if node == net.panel:
        interfaces = [wire_interface(end) for end in range(2 * len(graph.links))]
    else:
        interfaces = [net.interface(line.source) for line in graph.lines_from[node]]
    for interface in interfaces:
        run(*inside, "ethtool", "-K", interface, *(word for name in _OFFLOADS for word in (name, "off")))
    if graph.is_host(node):
        _know_all(net, node)


def _know_all(net: Net, host: int) -> None:
    """Permanent neighbours, so that no host asks: switches do not answer, and ARP packets would be in the queues."""
    interface = net.interface(Port(host, 0))
    others = [other for other in range(len(net.graph.hosts)) if other != host]
    lines = [
        f"neigh replace {address(other)} lladdr {mac_text(net.graph, other)} dev {interface} nud permanent"
        for other in others
    ]
    run(*net.inside(host), "ip", "-batch", "-", text="\n".join(lines) + "\n")


def shape_host(net: Net, host: int, framing: Framing) -> None:
    """Give a host the rate of its line: TCP then waits for it, as for a NIC. Framing counts as in `sim`."""
    line = net.graph.lines_from[host][0]
    most = framing.overhead_bytes + framing.min_bytes
    frame_bytes = FULL_FRAME_BYTES + max(0, framing.overhead_bytes)
    burst = max(frame_bytes, most) + 64
    limit = max(line.rate_bps // 8 * _NIC_SECONDS, 10**6)
    run(
        *net.inside(host), "tc", "qdisc", "replace", "dev", net.interface(line.source), "root", "handle", "1:",
        "stab", "overhead", str(framing.overhead_bytes), "mpu", str(most),
        "tbf", "rate", f"{line.rate_bps}bit", "burst", str(burst), "limit", str(min(limit, 2**31 - 1)),
    )  # fmt: skip


def host_drops(net: Net, hosts: Sequence[int]) -> dict[int, int]:
    """Packets that hosts lost in front of their lines so far."""
    lost = {}
    for host in hosts:
        interface = net.interface(Port(host, 0))
        shown = json.loads(run(*net.inside(host), "tc", "-s", "-json", "qdisc", "show", "dev", interface))
        lost[host] = sum(int(qdisc.get("drops", 0)) for qdisc in shown)
    return lost
