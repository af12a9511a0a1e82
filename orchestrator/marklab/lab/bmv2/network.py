# SPDX-License-Identifier: MIT OR Apache-2.0
"""A network of BMv2 switches.

BMv2 has queues and no lines. So each line of the network runs through a patch panel, a switch of ours with a program
that does nothing: it holds frames for what they take on the line and the delays that senders ask for, has no queue, and
counts what goes into and comes out of BMv2, which does not tell what its queues drop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from marklab.lab import live
from marklab.lab.bmv2 import switch as bmv2
from marklab.lab.bmv2.limits import packets_per_s
from marklab.lab.health import process_cpu_s
from marklab.lab.network import Net, wire_interface
from marklab.lab.switches import Plan, SwitchProcess, SwitchSeen, arriving, switch_process
from marklab.p4runtime.client import connected
from marklab.topology import Line, Port

_PROGRAM = Path(__file__).with_name("wires.p4")
_DROPPED = "lost in BMv2, which does not say where"


class Bmv2Switches:
    """BMv2 per switch of the network, and the panel."""

    def __init__(
        self, net: Net, panel: SwitchProcess, switches: Sequence[bmv2.Bmv2], addresses: Mapping[str, str]
    ) -> None:
        self._net, self._panel, self._switches, self._addresses = net, panel, switches, addresses

    def addresses(self) -> Mapping[str, str]:
        """Where each serves P4Runtime."""
        return self._addresses

    def check(self) -> None:
        """Fail if one has ended."""
        self._panel.check()
        for switch in self._switches:
            switch.check_alive()

    def stop(self) -> list[SwitchSeen]:
        """Take counters, end the panel, and see what is missing."""
        self.check()
        cpu_s = [process_cpu_s(switch.pid) for switch in self._switches]
        counters = [_counters(switch) for switch in self._switches]
        panel = self._panel.stop()
        traces = {target: panel.traces[Port(self._panel.node, end)] for end, target in self._recorded(panel)}
        hosts = len(self._net.graph.hosts)
        seen = [
            SwitchSeen(name, _report(self._lost(panel, hosts + number), counters[number]), {}, cpu_s[number])
            for number, name in enumerate(self._net.graph.switches)
        ]
        return [*seen, SwitchSeen(panel.name, panel.report, traces, panel.cpu_s)]

    def handled(self, seen: Sequence[SwitchSeen]) -> int:
        """Frames that came out of BMv2."""
        ports = seen[-1].report["ports"]
        ends = {end for end, line in panel_ends(self._net) if not self._net.graph.is_host(line.source.node)}
        return sum(port["received"] for port in ports if port["port"] in ends)

    def _recorded(self, panel: SwitchSeen) -> Iterator[tuple[int, Port]]:
        """The panel's ends by which lines leave it, of those that are recorded."""
        recorded = {at.port for at in panel.traces}
        for end, line in panel_ends(self._net):
            if end ^ 1 in recorded:
                yield end ^ 1, line.source

    def _lost(self, panel: SwitchSeen, node: int) -> int:
        """Frames that went into a switch and did not come out. Some are still there, if flows had not ended."""
        ports = {port["port"]: port for port in panel.report["ports"]}
        ends = [end for end, line in panel_ends(self._net) if line.source.node == node]
        return max(0, sum(ports[end]["sent"] - ports[end]["received"] for end in ends))


def panel_ends(net: Net) -> Iterator[tuple[int, Line]]:
    """The panel's ports, each with the line that comes in there and goes on by the other port of the pair."""
    for number, link in enumerate(net.graph.links):
        there, back = link.lines()
        yield 2 * number, there
        yield 2 * number + 1, back


@contextmanager
def bmv2_switches(net: Net, plan: Plan, folder: Path) -> Iterator[Bmv2Switches]:
    """Start BMv2 and the panel, and set them up; they run as long as the context at most."""
    assert net.panel is not None  # noqa: S101 - who built the network
    folder.mkdir(parents=True)
    compiled = bmv2.compile_program(plan.program, folder)
    with ExitStack() as stack:
        panel = stack.enter_context(
            switch_process(net, net.panel, "panel", _PROGRAM, _panel(net, plan), folder / "panel")
        )
        switches, addresses = [], {}
        for number, name in enumerate(net.graph.switches):
            node = len(net.graph.hosts) + number
            ports = [_port(net, plan, line) for line in net.graph.lines_from[node]]
            entries = [*plan.entries, *plan.routes[number]]
            inside = net.keeping(node)
            switches.append(stack.enter_context(bmv2.running(inside, name, ports, compiled, entries, folder)))
            addresses[name] = f"unix:{folder / f'{name}.grpc'}"
        # One that serves runs.
        with connected(panel.address, check=panel.check):
            pass
        yield Bmv2Switches(net, panel, switches, addresses)


def _port(net: Net, plan: Plan, line: Line) -> bmv2.SwitchPort:
    rate = packets_per_s(line.rate_bps, plan.frame_bytes, plan.framing) if plan.with_rates else None
    assert plan.queue.packets is not None  # noqa: S101 - see bmv2_limits.check
    return bmv2.SwitchPort(line.source.port, net.interface(line.source), rate, plan.queue.packets)


def _panel(net: Net, plan: Plan) -> dict[str, Any]:
    traced = plan.traced or {}
    interfaces, traces = [], []
    for end, line in panel_ends(net):
        interface: dict[str, Any] = {"port": end, "name": wire_interface(end)}
        if plan.with_rates:
            from_host = net.graph.is_host(line.source.node)
            interface |= arriving(line, plan.ttl_delays_ns if from_host else ())
        interfaces.append(interface)
        if line.source in traced:
            traces.append({"port": end ^ 1, "interval": traced[line.source]["interval"]})
    return {"interfaces": interfaces, "framing": plan.framing.model_dump(), "traces": traces}


def _counters(switch: bmv2.Bmv2) -> list[live.Counted]:
    return [
        live.Counted(counter=counter.preamble.name, index=index, packets=cell.packets, bytes=cell.bytes)
        for counter in switch.client.info.counters
        for index, cell in enumerate(switch.client.counter(counter.preamble.name))
        if cell.packets
    ]


def _report(lost: int, counters: list[live.Counted]) -> live.SwitchReport:
    """What is known of a BMv2."""
    drops = [live.Lost(place="queue", port=None, reason=_DROPPED, packets=lost)] if lost else []
    late = live.Lateness(count=0, p50=None, p99=None, p999=None, max=0)
    return live.SwitchReport(
        ports=[], drops=drops, counters=counters, faults=0, lateness_ns=late, started_ns=0, end_ns=0
    )
