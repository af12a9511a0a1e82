# SPDX-License-Identifier: MIT OR Apache-2.0
"""Scripts through Linux: many pairs of namespaces at one real-time switch, and the same table entries as in `sim`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from marklab.devices.frames import Framing
from marklab.devices.hosts import Limit, Transport
from marklab.devices.queueing import Queues
from marklab.errors import RunFailed, SetupError
from marklab.hosts.bottleneck import COUNTER, FIRST_CLIENT_PORT, PROGRAM, SERVER_PORT, Bottleneck, Placed, detours_of
from marklab.hosts.capture import read_capture
from marklab.hosts.rounds import INFINITE_SEGMENTS, STATES, AlphaRow, WindowRow, flow_seen
from marklab.hosts.script import CONTROLS, Case, Control
from marklab.hosts.simulated import CaseSeen, size_bytes
from marklab.lab import workspace
from marklab.lab.commands import require, run
from marklab.lab.hosts import congestion
from marklab.lab.hosts.tcp import configure
from marklab.lab.network import TOOLS, Net, address, mininet
from marklab.lab.records import ALPHA_ONE, observation_windows
from marklab.lab.switches import switch_process
from marklab.p4runtime.client import connected
from marklab.paths import PACKAGE
from marklab.prepare.control import host_ip

# Pairs of hosts for each transport, and detours for all.
PAIRS = 6
DETOURS = 16
# Flows of a batch do not begin at once.
_STAGGER_NS = 11 * 10**6
# Beyond the time that simulated hosts took.
_PATIENCE_NS = 5 * 10**9
_END_S = 20.0
# Linux joins acknowledgements of segments that come out of order within 1 ms (tcp_comp_sack_nr), by a timer: how many
# there are would depend on how fast this machine is.
_STEADY = ("net.ipv4.tcp_comp_sack_nr=0",)
# Observation windows that DCTCP in BPF remembers: those of a batch.
_RECORDS = 4096


@dataclass
class Lab:
    """A network that is up, and the hosts of each transport in it."""

    net: Net
    folder: Path
    pairs: Mapping[Control, tuple[int, ...]]
    # The kernel's names of controls.
    kernel: Mapping[Control, str]
    # Whether DCTCP keeps records.
    is_recorded: bool
    # What each pair's hosts have been set up for.
    _transports: dict[int, Transport] = field(default_factory=dict)
    batches: int = 0

    def prepare(self, placed: Placed, transport: Transport) -> None:
        """Set up a pair of hosts, if it is not set up like that."""
        if self._transports.get(placed.pair) == transport:
            return
        control = placed.case.control
        for host in (2 * placed.pair, 2 * placed.pair + 1):
            inside = self.net.inside(host)
            configure(inside, transport, self.kernel[control], ecn=congestion.control_named(control).ecn)
            run(*inside, "sysctl", "--quiet", "--write", *_STEADY)
        self._transports[placed.pair] = transport


def check() -> None:
    """Refuse a machine that cannot run real hosts."""
    if os.geteuid() != 0:
        raise SetupError("network namespaces need root", "sudo")
    require(TOOLS)
    workspace.remove_orphans()
    congestion.remove_orphans()


@contextmanager
def lab(controls: Collection[Control] = CONTROLS, pairs: int = PAIRS) -> Iterator[Lab]:
    """Namespaces for pairs of hosts of each transport, and the kernel's names of some; no switch runs yet."""
    graph = Bottleneck((), 1, pairs * len(CONTROLS), DETOURS).graph
    with ExitStack() as stack:
        folder = stack.enter_context(workspace.workspace("scripts"))
        net = stack.enter_context(mininet(graph, folder.name, folder / "mininet.log"))
        kernel: dict[Control, str] = {}
        is_recorded = "dctcp" in controls and not congestion.in_kernel("dctcp")
        for name in (control for control in CONTROLS if control in controls):
            records = _RECORDS if name == "dctcp" and is_recorded else 0
            kernel[name] = stack.enter_context(congestion.loaded(congestion.control_named(name), records))
        hosts = {name: tuple(range(place * pairs, (place + 1) * pairs)) for place, name in enumerate(CONTROLS)}
        yield Lab(net, folder, hosts, kernel, is_recorded)


def batches(cases: Sequence[Case], seconds: Mapping[Case, float], pairs: int = PAIRS) -> list[list[Case]]:
    """Cases that run side by side: as many of each transport as have hosts, those that last long together."""
    found: list[list[Case]] = []
    free: list[dict[Control, int]] = []
    for case in sorted(cases, key=lambda case: -seconds[case]):
        needed = len(case.script.all_flows)
        place = next((at for at, left in enumerate(free) if _fits(case, needed, left, found[at])), len(found))
        if place == len(found):
            found.append([])
            free.append(dict.fromkeys(CONTROLS, pairs))
        found[place].append(case)
        free[place][case.control] -= needed
    return found


def _fits(case: Case, needed: int, left: Mapping[Control, int], others: Sequence[Case]) -> bool:
    return left[case.control] >= needed and detours_of([*others, case]) <= DETOURS


def run_batch(
    here: Lab, cases: Sequence[Case], transports: Mapping[Case, Transport], seconds: Mapping[Case, float]
) -> list[CaseSeen]:
    """Run cases side by side. `seconds` is how long each took in the simulator."""
    mss_bytes = transports[cases[0]].mss_bytes
    number = here.batches
    here.batches += 1
    pairs = len(here.net.graph.hosts) // 2
    # Ports of earlier batches may be those of connections that are not over.
    first_port = FIRST_CLIENT_PORT + number * pairs
    network = Bottleneck(tuple(cases), mss_bytes, pairs, DETOURS, here.pairs, first_port)
    folder = here.folder / str(number)
    captures = {placed.pair: folder / f"{placed.pair}.pcap" for placed in network.placed}
    folder.mkdir()
    for placed in network.placed:
        here.prepare(placed, transports[placed.case])
    switch = len(here.net.graph.hosts)
    with switch_process(
        here.net, switch, "s0", PROGRAM, _description(here.net, network, captures), folder / "s0"
    ) as running:
        with connected(running.address, check=running.check) as client:
            client.write(network.entries())
        seen = _run_endpoints(here.net, network, seconds, folder)
        report = running.stop().report
    alphas = _alphas(here)
    met = {row["index"]: row["packets"] for row in report["counters"] if row["counter"].endswith(COUNTER)}
    never = network.never(met)
    found: dict[Case, list[Any]] = {}
    for placed, samples in zip(network.placed, seen, strict=True):
        captured = read_capture(captures[placed.pair], (host_ip(2 * placed.pair), placed.client_port))
        rows = [_row(sample) for sample in samples["samples"]]
        size = size_bytes(placed.described, mss_bytes)
        flow = flow_seen(captured, size, placed.case.script.rtt_ns, rows, alphas.get(placed.client_port, ()))
        found.setdefault(placed.case, []).append(flow)
    return [CaseSeen(case, tuple(flows), tuple(never.get(case, ()))) for case, flows in found.items()]


def _row(sample: Sequence[int]) -> WindowRow:
    time_ns, cwnd, ssthresh, state = sample
    return WindowRow(time_ns, cwnd, None if ssthresh >= INFINITE_SEGMENTS else ssthresh, STATES[state])


def _description(net: Net, network: Bottleneck, captures: Mapping[int, Path]) -> dict[str, Any]:
    """The switch: lines without rates, with the delays of this batch."""
    switch = len(net.graph.hosts)
    interfaces = []
    for line in network.graph.lines_from[switch]:
        interface = {"port": line.source.port, "name": net.interface(line.source), "delay": f"{line.delay_ns}ns"}
        if net.graph.is_host(line.target.node):
            interface["arrival_delay"] = f"{line.delay_ns}ns"
        interfaces.append(interface)
    return {
        "interfaces": interfaces,
        "queue": str(Limit(packets=10**6)),
        "queues": str(Queues()),
        "framing": Framing().model_dump(),
        "captures": [{"port": 2 * pair, "path": str(path)} for pair, path in captures.items()],
    }


def _run_endpoints(net: Net, network: Bottleneck, seconds: Mapping[Case, float], folder: Path) -> list[dict[str, Any]]:
    plan, result = folder / "plan.json", folder / "seen.json"
    plans = [_plan(net, placed, network, seconds[placed.case]) for placed in network.placed]
    plan.write_text(json.dumps(plans), encoding="utf-8")
    command = [*net.keeping(0), sys.executable, "-m", "marklab.hosts.endpoints", str(plan), str(result)]
    most_s = max(each["until_ns"] + each["start_ns"] for each in plans) / 1e9 + _END_S
    with (
        (folder / "errors").open("w", encoding="utf-8") as errors,
        subprocess.Popen(  # noqa: S603 - no shell
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=PACKAGE.parent
        ) as process,
    ):
        try:
            process.communicate("begin\n", timeout=most_s)
        except subprocess.TimeoutExpired as error:
            raise RunFailed("the process of the hosts does not end") from error
        finally:
            process.kill()
    if not result.exists():
        said = (folder / "errors").read_text(encoding="utf-8", errors="replace").strip().splitlines()
        raise RunFailed(f"the process of the hosts ended: {said[-1] if said else 'it said nothing'}")
    found: list[dict[str, Any]] = json.loads(result.read_text(encoding="utf-8"))
    return found


def _plan(net: Net, placed: Placed, network: Bottleneck, seconds: float) -> dict[str, Any]:
    flow, mss_bytes = placed.described, network.mss_bytes
    if flow.rate_bps is None:
        writes = [(write.at_ns, write.segments * mss_bytes - flow.close) for write in flow.written]
    else:
        step_ns = mss_bytes * 8 * 10**9 / flow.rate_bps
        writes = [(round(number * step_ns), mss_bytes) for number in range(flow.stream_segments)]
        writes[-1] = (writes[-1][0], mss_bytes - flow.close)
    client, server = 2 * placed.pair, 2 * placed.pair + 1
    return {
        "client": address(client),
        "server": address(server),
        "client_port": placed.client_port,
        "server_port": SERVER_PORT,
        "client_namespace": f"/proc/{net.pids[client]}/ns/net",
        "server_namespace": f"/proc/{net.pids[server]}/ns/net",
        "start_ns": flow.start_ns + placed.pair * _STAGGER_NS,
        "writes": writes,
        "close": flow.close,
        "until_ns": min(placed.case.script.until_ns, round(seconds * 1.5e9) + _PATIENCE_NS),
    }


def _alphas(here: Lab) -> dict[int, list[AlphaRow]]:
    """DCTCP's alpha over time, by the sender's port."""
    if not here.is_recorded:
        return {}
    wall_ns = time.time_ns() - time.monotonic_ns()
    found: dict[int, list[AlphaRow]] = {}
    for window in observation_windows(here.kernel["dctcp"]):
        found.setdefault(window.port, []).append(AlphaRow(window.time_ns + wall_ns, window.alpha / ALPHA_ONE))
    return found
