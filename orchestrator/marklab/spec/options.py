# SPDX-License-Identifier: MIT OR Apache-2.0
"""Settings of a run that have an option of their own, as data: for the command line, and for forms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from marklab.devices.hosts import CONTROLS
from marklab.devices.stacks import PROFILES
from marklab.spec.description import FABRICS, Spec
from marklab.traffic.jobs import COLLECTIVES
from marklab.traffic.workload import known_workloads

_OTHER_FABRICS = "".join(f", or {name} ({says})" for name, says in FABRICS.items())

# Panels of the help, and parts of a form.
TRAFFIC, NETWORK, FABRIC, OUTPUT = "Traffic", "Network", "Fabric", "Output"


@dataclass(frozen=True)
class SettingOption:
    """An option that is a setting: `--trace-queue` is `trace_queue`.

    A flag sets the setting to the value `sets`. A `repeatable` option collects its values in a list. The default is the
    default in `Spec`; the help shows it if `shown` is true.
    """

    name: str
    value: str
    says: str
    panel: str | None = None
    setting: str | None = None
    sets: Any = None
    repeatable: bool = False
    shown: bool = False

    @property
    def flag(self) -> str:
        """As on the command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def default(self) -> str | None:
        """The default as text; None if it is not worth a word."""
        return str(Spec.model_fields[self.name].default) if self.shown else None

    def given(self, value: Any) -> dict[str, Any]:
        """The setting as a mapping, which is empty if the option was not given."""
        # An empty text counts as given, so that the setting can refuse it.
        there = value not in (None, False, [])
        return {self.setting or self.name: self.sets or value} if there else {}


# Of the fabric, which decide whether a run has real hosts: a spec has no setting of these names.
REAL = (
    SettingOption("fabric", "NAME", f"sim (virtual time){_OTHER_FABRICS}.", FABRIC),
    SettingOption("dilation", "N|auto", "mininet: run N times slower in real time. Default: auto.", FABRIC),
    SettingOption("switch", "NAME", "mininet: marklab, or bmv2.", FABRIC),
)

RUN = (
    SettingOption("baseline", "SCHEME", "Scheme to compare with, or none.", shown=True),
    SettingOption("load", "0..1", "Load of the bottleneck.", TRAFFIC, shown=True),
    SettingOption("workload", "NAME", f"{', '.join(known_workloads())} or FILE.csv.", TRAFFIC, shown=True),
    SettingOption("flows", "N", "Flows per seed.", TRAFFIC, shown=True),
    SettingOption("seeds", "N", "Number of seeds; each has other flows.", TRAFFIC, shown=True),
    SettingOption("flow_list", "FILE.csv", "Replay these flows (start_ns,src,dst,size_bytes) instead.", TRAFFIC),
    SettingOption("until", "TIME", "End the run at this time, even if flows are unfinished: 100ms.", TRAFFIC),
    SettingOption(
        "pias", "THRESHOLDS", "Priorities by bytes sent, in strict queues: published, equal:levels=4 or 20KB/1MB.",
        TRAFFIC,
    ),
    SettingOption(
        "services", "N", "Services, each with its own queue: 4, 4:weights=10/20/30/40 or 4:by=pair.", TRAFFIC
    ),
    SettingOption(
        "queries", "N:at=TIMES", "Bursts of N short flows at once: 40:at=10ms/60ms or 40:load=0.05.", TRAFFIC
    ),
    SettingOption(
        "training", "COLLECTIVE",
        f"Jobs, not a workload: {', '.join(COLLECTIVES)} (all-reduce:size=16MB) or FILE.et; repeatable; docs/jobs.md.",
        TRAFFIC, repeatable=True,
    ),
    SettingOption(
        "topology", "NAME", "incast, leaf-spine, fat-tree, with settings (incast:senders=16), or FILE.yaml.", NETWORK
    ),
    SettingOption("rate", "RATE", "Rate of the links. Default: 10G.", NETWORK),
    SettingOption(
        "rtt", "RTT", "RTTs without queueing: 80us, 70us..210us or classes:1us,20us.", NETWORK, shown=True
    ),
    SettingOption("queue", "LIMIT", "Queue limit of each switch port: 600 (packets) or 900KB.", NETWORK, shown=True),
    SettingOption(
        "queues", "QUEUES",
        "Queues of each switch port: fifo, strict, wrr or dwrr, with settings (dwrr:count=4,buffer=96KB).",
        NETWORK, shown=True,
    ),
    SettingOption(
        "pfc", "on", "Pause senders instead of losing packets; settings: xoff=20KB,xon=10KB,buffer=12MB,per=flow.",
        NETWORK,
    ),
    SettingOption(
        "transport", "NAME",
        f"Congestion control of the hosts: {', '.join(CONTROLS)}; docs/transports.md.",
        NETWORK,
    ),
    SettingOption(
        "stack", "NAME", f"TCP of simulated hosts: {', '.join(PROFILES)}; docs/stacks.md.", NETWORK,
        setting="transport.stack.profile",
    ),
    SettingOption(
        "ecn_plus", " ", "Make SYN/ACKs ECN capable (with ecn-star).", NETWORK,
        setting="transport.ecn_plus", sets=True,
    ),
    SettingOption(
        "controller", "NAME|FILE.py", "Program that tunes switches during the run; docs/controllers.md.", FABRIC
    ),
    SettingOption("arch", "NAME", "v1model, or the schemes' twins: tna (Tofino), t2na (Tofino 2).", FABRIC),
    SettingOption("name", "NAME", "First part of the folder's name.", OUTPUT),
    SettingOption("trace_queue", " ", "Record the queues of the bottleneck.", OUTPUT, sets="10us"),
    SettingOption("trace_flows", " ", "Record the rate of each flow.", OUTPUT, sets="100us"),
    SettingOption(
        "trace_packets", "WHICH", "Record packets at switches: all, marks, losses, flow=7, port=s0:7, last=1e6.", OUTPUT
    ),
    SettingOption("sample_queues", "TIME", "Sample all ports' queues at this interval, for distributions.", OUTPUT),
    SettingOption(
        "probe", "A:B,every=1ms", "Ping host B from host A (size=, dscp=, start=); repeatable.", OUTPUT,
        setting="probes", repeatable=True,
    ),
    SettingOption("pcap", "PORT", "Capture SWITCH:PORT or HOST in the first cell.", OUTPUT),
)  # fmt: skip
