# SPDX-License-Identifier: MIT OR Apache-2.0
"""Options that are settings of a spec, as data: a command receives the given ones as one mapping."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

import typer

from marklab.devices.hosts import CONTROLS, LINUX_CONTROLS
from marklab.devices.stacks import PROFILES
from marklab.spec.description import Spec
from marklab.traffic.workload import known_workloads

_TRAFFIC, _NETWORK, _FABRIC, _OUTPUT = "Traffic", "Network", "Fabric", "Output"


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

    def parameter(self) -> inspect.Parameter:
        """The option as a parameter for typer: text, or a bool for a flag."""
        says = f"{self.says} Default: {Spec.model_fields[self.name].default}." if self.shown else self.says
        flag = f"--{self.name.replace('_', '-')}"
        option = typer.Option(flag, help=says, metavar=self.value, rich_help_panel=self.panel, show_default=False)
        kind: Any = bool if self.sets else list[str] | None if self.repeatable else str | None
        default = False if self.sets else None
        return inspect.Parameter(
            self.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option]
        )

    def given(self, value: Any) -> dict[str, Any]:
        """The setting as a mapping, which is empty if the option was not given."""
        # An empty text counts as given, so that the setting can refuse it.
        there = value not in (None, False, [])
        return {self.setting or self.name: self.sets or value} if there else {}


RUN = (
    SettingOption("baseline", "SCHEME", "Scheme to compare with, or none.", shown=True),
    SettingOption("load", "0..1", "Load of the bottleneck.", _TRAFFIC, shown=True),
    SettingOption("workload", "NAME", f"{', '.join(known_workloads())} or FILE.csv.", _TRAFFIC, shown=True),
    SettingOption("flows", "N", "Flows per seed.", _TRAFFIC, shown=True),
    SettingOption("seeds", "N", "Number of seeds; each has other flows.", _TRAFFIC, shown=True),
    SettingOption("flow_list", "FILE.csv", "Replay these flows (start_ns,src,dst,size_bytes) instead.", _TRAFFIC),
    SettingOption("until", "TIME", "End the run at this time, even if flows are unfinished: 100ms.", _TRAFFIC),
    SettingOption(
        "pias", "THRESHOLDS", "Priorities by bytes sent, in strict queues: published, equal:levels=4 or 20KB/1MB.",
        _TRAFFIC,
    ),
    SettingOption(
        "services", "N", "Services, each with its own queue: 4, 4:weights=10/20/30/40 or 4:by=pair.", _TRAFFIC
    ),
    SettingOption(
        "topology", "NAME", "incast, leaf-spine, fat-tree, with settings (incast:senders=16), or FILE.yaml.", _NETWORK
    ),
    SettingOption("rate", "RATE", "Rate of the links. Default: 10G.", _NETWORK),
    SettingOption(
        "rtt", "RTT", "RTTs without queueing: 80us, 70us..210us or classes:1us,20us.", _NETWORK, shown=True
    ),
    SettingOption("queue", "LIMIT", "Queue limit of each switch port: 600 (packets) or 900KB.", _NETWORK, shown=True),
    SettingOption(
        "queues", "QUEUES",
        "Queues of each switch port: fifo, strict, wrr or dwrr, with settings (dwrr:count=4,buffer=96KB).",
        _NETWORK, shown=True,
    ),
    SettingOption(
        "pfc", "on", "Pause senders instead of losing packets; settings: xoff=20KB,xon=10KB,buffer=12MB,per=flow.",
        _NETWORK,
    ),
    SettingOption(
        "transport", "NAME",
        f"{', '.join(name for name in CONTROLS if name not in LINUX_CONTROLS)}; mininet: {', '.join(LINUX_CONTROLS)}.",
        _NETWORK,
    ),
    SettingOption(
        "stack", "NAME", f"TCP of simulated hosts: {', '.join(PROFILES)}; docs/stacks.md.", _NETWORK,
        setting="transport.stack.profile",
    ),
    SettingOption(
        "ecn_plus", " ", "Make SYN/ACKs ECN capable (with ecn-star).", _NETWORK,
        setting="transport.ecn_plus", sets=True,
    ),
    SettingOption("arch", "NAME", "v1model, or the schemes' twins: tna (Tofino), t2na (Tofino 2).", _FABRIC),
    SettingOption("name", "NAME", "First part of the folder's name.", _OUTPUT),
    SettingOption("trace_queue", " ", "Record the queues of the bottleneck.", _OUTPUT, sets="10us"),
    SettingOption("trace_flows", " ", "Record the rate of each flow.", _OUTPUT, sets="100us"),
    SettingOption("sample_queues", "TIME", "Sample all ports' queues at this interval, for distributions.", _OUTPUT),
    SettingOption(
        "probe", "A:B,every=1ms", "Ping host B from host A (size=, dscp=, start=); repeatable.", _OUTPUT,
        setting="probes", repeatable=True,
    ),
    SettingOption("pcap", "PORT", "Capture SWITCH:PORT or HOST in the first cell.", _OUTPUT),
)  # fmt: skip


def takes_settings(options: Sequence[SettingOption]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command these options in place of its parameter `settings`, which becomes a mapping of the given ones."""

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True)
        parameters: list[inspect.Parameter] = []
        for parameter in inspect.signature(command).parameters.values():
            if parameter.name == "settings":
                parameters += [option.parameter() for option in options]
            else:
                parameters.append(
                    parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[parameter.name])
                )

        def called(**values: Any) -> None:
            settings: dict[str, Any] = {}
            for option in options:
                settings |= option.given(values.pop(option.name))
            command(settings=settings, **values)

        functools.update_wrapper(called, command)
        called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        vars(called)["__signature__"] = inspect.Signature(parameters)
        return called

    return decorated
