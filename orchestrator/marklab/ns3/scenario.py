# SPDX-License-Identifier: MIT OR Apache-2.0
"""A scenario: a description of a run, as any other, and what ns-3 has in place of its scheme.

All but the AQM is taken from the description: topology, rates, delays, queue limit, transport, flows, and the window
that is measured. A file of bench/peers/ns3/scenarios/ states both:

    title: DCTCP at 10 Gb/s, two long flows
    ns3: [--aqm=red, --k_packets=65]
    variants: {"window cut at once": --recovery=classic}
    spec: {schemes: "dctcp-red:k=65", ...}
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from marklab.devices.queueing import Queues
from marklab.errors import BadInput
from marklab.model import Model, OneOrMore, read_yaml, validate
from marklab.ns3.peer import FOLDER
from marklab.prepare.experiment import Experiment, prepare
from marklab.spec.description import Spec, SpecSettings, make_spec, placed
from marklab.topology.description import LeafSpine
from marklab.traffic.flows import FlowList

SCENARIOS = FOLDER / "scenarios"

# So that both model the same: a NIC is a FIFO of any length, windows grow whether they are used or not, a flow has a
# connection of its own, and a frame is IP and PPP's 2 bytes, 12 less than our frame with Ethernet's header.
LIKE_NS3: Mapping[str, Any] = {
    "baseline": "none",
    "nic": {"discipline": "fifo", "limit_packets": 10**9, "budget": 2**40},
    "framing": {"min_bytes": 0, "overhead_bytes": -12},
    "connections": "new",
    "stop": "100s",
    "seeds": 1,
}
LIKE_NS3_TRANSPORT: Mapping[str, Any] = {
    "stack": "ns-3.37",
    "ack_every": 1,
    "receive_window": 2**20,
    "cwnd_validation": False,
}

_TRANSPORTS = {"dctcp": "dctcp", "ecn-star": "newreno-ecn", "reno": "newreno", "cubic": "cubic"}


Options = Annotated[tuple[str, ...], OneOrMore()]

# The name of ns-3 as it is, beside variants.
PLAIN = "ns-3"


class Scenario(Model):
    """What both simulators are to do."""

    title: str
    ns3: Options = Field(min_length=1)
    # Other ways to run ns-3, by what is different about them: options on top.
    variants: dict[str, Options] = Field(default_factory=dict)
    # Of kept lists: other stacks to run here as well (`transport.stack`), one after the other.
    stacks: tuple[dict[str, Any], ...] = ()
    spec: SpecSettings

    @cached_property
    def experiment(self) -> Experiment:
        """The run here."""
        return prepare(make_spec(self._settings))

    def ending(self, end_ns: int) -> Experiment:
        """The run here until an earlier time."""
        recorded = ("windows", "trace_queue")
        settings = {name: value for name, value in self._settings.items() if name not in recorded}
        return prepare(make_spec({**settings, "until": f"{end_ns}ns"}))

    @property
    def _settings(self) -> dict[str, Any]:
        transport = self.spec.get("transport", "dctcp")
        named = {"control": transport} if isinstance(transport, str) else transport
        return {**LIKE_NS3, **self.spec, "transport": {**LIKE_NS3_TRANSPORT, **named}}

    @property
    def with_other_stacks(self) -> dict[str, Scenario]:
        """The same on other stacks, by what is different about them."""
        return {_name(stack): self._on(stack) for stack in self.stacks}

    def _on(self, stack: Mapping[str, Any]) -> Scenario:
        transport = {**self._settings["transport"], "stack": dict(stack)}
        return Scenario(title=self.title, ns3=self.ns3, spec={**self.spec, "transport": transport})

    @property
    def peers(self) -> dict[str, Options]:
        """All ways to run ns-3, by name, with the options that are theirs."""
        return {PLAIN: (), **{f"{PLAIN}, {name}": options for name, options in self.variants.items()}}

    def options(self, seed: int) -> list[str]:
        """The arguments for ns-3."""
        spec = self.experiment.spec
        limit = spec.queue.packets
        _refuse_what_ns3_lacks(spec)
        transport = spec.transport
        ends = {
            "stop_s": (spec.until_ns or spec.stop_ns) / 1e9,
            **({"measure_from_s": spec.windows[0].begin_ns / 1e9} if spec.windows else {}),
        }
        numbers = {
            "rate_bps": self.experiment.network.line_rate_bps,
            # Its queue discs do not see the packet in the device below them, which our queue holds as well.
            "queue_packets": (limit or 0) - 1,
            "segment": transport.mss_bytes,
            "initial_cwnd": transport.initial_window,
            "delack_count": transport.ack_every,
            "delack_timeout_us": transport.ack_delay_ns // 1000,
            "min_rto_us": transport.min_rto_ns // 1000,
            "buffer_bytes": transport.receive_window_bytes,
            **ends,
        }
        return [
            *_network(self.experiment),
            f"--transport={_TRANSPORTS[transport.control]}",
            *(f"--{name}={value}" for name, value in numbers.items()),
            f"--RngRun={seed}",
            *self.ns3,
        ]

    def flows(self, seed: int) -> FlowList:
        """The flows of both."""
        flows = self.experiment.flow_lists[seed]
        if flows.extra_delay_ns.any() or flows.rate_bps.any():
            raise BadInput(
                "ns-3's side has no delays or rates of flows",
                "delays of links, and flows that send as fast as they can",
            )
        return flows


def _name(stack: Mapping[str, Any]) -> str:
    changed = {name: value for name, value in stack.items() if name != "profile"}
    texts = [f"`{name}`: {str(value).lower()}" for name, value in changed.items()]
    return ", ".join(texts) or f"profile `{stack['profile']}`"


def _refuse_what_ns3_lacks(spec: Spec) -> None:
    transport = spec.transport
    if transport.control not in _TRANSPORTS:
        raise BadInput(f"ns-3's side has no {transport.control}", f"one of {', '.join(_TRANSPORTS)}")
    if transport.initial_rto_ns != transport.min_rto_ns:
        raise BadInput("ns-3's side has one timeout: initial_rto differs from min_rto", "give both the same time")
    if spec.windows and (len(spec.windows) > 1 or spec.windows[0].end_ns != spec.until_ns or not spec.trace_queue_ns):
        raise BadInput(
            "ns-3's side measures one window, to the end of the run, of a queue that is traced here",
            "until: 400ms, windows: 100ms..400ms, trace_queue: 1us",
        )
    if spec.queue.packets is None or spec.queue.packets < 2 or spec.queues != Queues() or spec.pfc is not None:
        raise BadInput("ns-3's side has one queue per port, of packets", "queue: 600, without `queues` and `pfc`")


def _network(experiment: Experiment) -> list[str]:
    topology = experiment.spec.topology
    return _leaf_spine(experiment, topology) if isinstance(topology, LeafSpine) else _star(experiment)


def _leaf_spine(experiment: Experiment, topology: LeafSpine) -> list[str]:
    """Both number hosts leaf by leaf, and choose a flow's spine by the same hash of its addresses and ports."""
    (delay_ns,) = {link.delay_ns for link in experiment.network.graph.links}
    sizes = {"leaves": topology.leaves, "spines": topology.spines, "hosts_per_leaf": topology.hosts}
    return [
        "--topology=leaf-spine",
        *(f"--{name}={count}" for name, count in sizes.items()),
        f"--link_delay_ns={delay_ns}",
    ]


def _star(experiment: Experiment) -> list[str]:
    """A switch between hosts; the last one receives."""
    graph = experiment.network.graph
    rates = {link.rate_bps for link in graph.links}
    if len(graph.switches) != 1 or len(graph.links) != len(graph.hosts) or len(rates) != 1:
        raise BadInput("ns-3's side has one switch and links of one rate", "topology: incast")
    (line,) = experiment.network.bottleneck
    last = len(graph.hosts) - 1
    if line.target.node != last:
        raise BadInput("the last host has to be the one that receives", f"flows to {graph.hosts[last]}")
    delays = ",".join(str(lines[0].delay_ns) for lines in graph.lines_from[: last + 1])
    return ["--topology=incast", f"--senders={last}", f"--delays_ns={delays}", "--aqm_ports=receiver"]


def read_scenario(path: Path) -> Scenario:
    """Read a file."""
    data = dict(read_yaml(path))
    if isinstance(data.get("spec"), dict):
        data["spec"] = placed(data["spec"], path.parent)
    return validate(Scenario, data, str(path))


def known_scenarios() -> dict[str, Path]:
    """Files of scenarios by name."""
    return {path.stem: path for path in sorted(SCENARIOS.glob("*.yaml"))}
