# SPDX-License-Identifier: MIT OR Apache-2.0
"""Switch processes of a lab: one per switch of the network, in its namespace, set up over P4Runtime."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import yaml

from marklab.catalog.scheme import Entry
from marklab.devices.frames import Framing
from marklab.devices.hosts import Limit
from marklab.devices.queueing import Queues
from marklab.errors import RunFailed
from marklab.lab import live
from marklab.lab.health import process_cpu_s
from marklab.lab.network import Net
from marklab.p4runtime.client import connected
from marklab.paths import PACKAGE
from marklab.results.observation import Columns
from marklab.topology import Line, Port

_END_S = 30.0
_SOCKET = "p4runtime"


@dataclass(frozen=True)
class Plan:
    """What all switches of a network run, and how. Without rates frames pass as fast as the machine lets them."""

    program: Path
    entries: Sequence[Entry]
    routes: Sequence[Sequence[Entry]]  # of each switch
    queues: Queues
    queue: Limit
    framing: Framing
    frame_bytes: int  # of a full frame
    ttl_delays_ns: Sequence[int]  # of packets that hosts send, see lab.delays
    with_rates: bool = True
    traced: Mapping[Port, Mapping[str, Any]] | None = None  # what is recorded, of ports by their nodes
    captured: tuple[Port, Path] | None = None  # a port and its file
    kind: Literal["marklab", "bmv2"] = "marklab"


@dataclass(frozen=True)
class SwitchSeen:
    """What a switch reports when it ends."""

    name: str
    report: live.SwitchReport
    # Of each recorded port: all of it, then each of its queues if it has several.
    traces: Mapping[Port, Sequence[Columns]]
    cpu_s: float


class Switches(Protocol):
    """The switches of a network, running and set up."""

    def addresses(self) -> Mapping[str, str]:
        """Where each serves P4Runtime."""

    def check(self) -> None:
        """Fail if one has ended."""

    def stop(self) -> list[SwitchSeen]:
        """End them and take their reports."""

    def handled(self, seen: Sequence[SwitchSeen]) -> int:
        """Frames that switches passed on, each at each switch."""


class SwitchProcess:
    """A real-time switch of ours that runs."""

    def __init__(self, process: subprocess.Popen[bytes], name: str, node: int, folder: Path) -> None:
        self._process = process
        self.name = name
        self.node = node
        self._folder = folder

    @property
    def address(self) -> str:
        """Where it serves P4Runtime."""
        return f"unix:{self._folder / _SOCKET}"

    def check(self) -> None:
        """Fail if it has ended."""
        code = self._process.poll()
        if code is None:
            return
        log = (self._folder / "log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        errors = [line for line in log if "error" in line] or log[-1:]
        raise RunFailed(f"the switch {self.name} {how}{': ' if errors else ''}{errors[0] if errors else ''}")

    def stop(self) -> SwitchSeen:
        """End it and take its report."""
        self.check()
        cpu_s = process_cpu_s(self._process.pid)
        self._process.send_signal(signal.SIGTERM)
        try:
            if self._process.wait(_END_S) != 0:
                self.check()
        except subprocess.TimeoutExpired as error:
            raise RunFailed(f"the switch {self.name} does not end") from error
        observed = live.read(self._folder / "out")
        traces = {Port(self.node, port): queues for port, queues in observed.traces.items()}
        return SwitchSeen(self.name, observed.report, traces, cpu_s)


@contextmanager
def switch_process(
    net: Net, node: int, name: str, program: Path, described: Mapping[str, Any], folder: Path
) -> Iterator[SwitchProcess]:
    """Start a switch in a node's namespace, as `live.SwitchDescription` describes it."""
    folder.mkdir(parents=True)
    file = folder / "switch.yaml"
    file.write_text(yaml.safe_dump(dict(described)), encoding="utf-8")
    command = [
        *net.keeping(node), sys.executable, "-m", "marklab", "switch", str(program.resolve()),
        "--description", str(file), "--grpc-server-addr", f"unix:{folder / _SOCKET}", "--out", str(folder / "out"),
    ]  # fmt: skip
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(  # noqa: S603 - no shell
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd=PACKAGE.parent
        ) as process,
    ):
        try:
            yield SwitchProcess(process, name, node, folder)
        finally:
            process.kill()


class OurSwitches:
    """One of our switches per switch of the network."""

    def __init__(self, switches: Sequence[SwitchProcess]) -> None:
        self._switches = switches

    def addresses(self) -> Mapping[str, str]:
        """Where each serves P4Runtime."""
        return {switch.name: switch.address for switch in self._switches}

    def check(self) -> None:
        """Fail if one has ended."""
        for switch in self._switches:
            switch.check()

    def stop(self) -> list[SwitchSeen]:
        """End them and take their reports."""
        return [switch.stop() for switch in self._switches]

    def handled(self, seen: Sequence[SwitchSeen]) -> int:
        """Frames that switches passed on, each at each switch."""
        return sum(port["received"] for switch in seen for port in switch.report["ports"])


@contextmanager
def our_switches(net: Net, plan: Plan, folder: Path) -> Iterator[OurSwitches]:
    """Start all switches and set them up over P4Runtime; they run as long as the context at most."""
    hosts = len(net.graph.hosts)
    with ExitStack() as stack:
        switches = []
        for number, name in enumerate(net.graph.switches):
            node = hosts + number
            described = description(net, plan, node)
            starting = switch_process(net, node, name, plan.program, described, folder / name)
            switches.append(stack.enter_context(starting))
        for number, switch in enumerate(switches):
            with connected(switch.address, check=switch.check) as client:
                client.write([*plan.entries, *plan.routes[number]])
        yield OurSwitches(switches)


def description(net: Net, plan: Plan, node: int) -> dict[str, Any]:
    """A switch: lines that leave it, what hosts' lines do to what comes, its queues, and what is recorded."""
    described = {
        "interfaces": [_interface(net, plan, line) for line in net.graph.lines_from[node]],
        "queue": str(plan.queue),
        "queues": str(plan.queues),
        "framing": plan.framing.model_dump(),
        "traces": [{"port": at.port, **wanted} for at, wanted in (plan.traced or {}).items() if at.node == node],
    }
    if plan.captured is not None and plan.captured[0].node == node:
        described["captures"] = [{"port": plan.captured[0].port, "path": str(plan.captured[1])}]
    return described


def _interface(net: Net, plan: Plan, line: Line) -> dict[str, Any]:
    interface: dict[str, Any] = {"port": line.source.port, "name": net.interface(line.source)}
    if not plan.with_rates:
        return interface
    interface |= {"rate": line.rate_bps, "delay": f"{line.delay_ns}ns"}
    if net.graph.is_host(line.target.node):
        interface |= arriving(net.graph.lines_from[line.target.node][0], plan.ttl_delays_ns)
    return interface


def arriving(line: Line, ttl_delays_ns: Sequence[int]) -> dict[str, Any]:
    """What a line does to frames before they are there, and the delays that senders ask for beside it."""
    return {
        "arrival_rate": line.rate_bps,
        "arrival_delay": f"{line.delay_ns}ns",
        "ttl_delays": [f"{delay}ns" for delay in ttl_delays_ns],
    }
