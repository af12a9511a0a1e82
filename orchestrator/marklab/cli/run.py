# SPDX-License-Identifier: MIT OR Apache-2.0
"""`run`: one experiment, from options or a file to a table and a folder."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from marklab.devices.hosts import CONTROLS, LINUX_CONTROLS
from marklab.errors import BadInput
from marklab.execution.cells import default_workers
from marklab.execution.run import run_spec
from marklab.model import as_list
from marklab.paths import RESULTS
from marklab.report.files import REPORT, Form, write_report
from marklab.report.terminal import render
from marklab.results.archive import open_collection
from marklab.spec.description import Spec, make_spec
from marklab.spec.settings import choose_fabric, chosen_schemes, merged_settings
from marklab.traffic.workload import known_workloads

_TRACE_QUEUE_EVERY = "10us"
_TRACE_FLOWS_EVERY = "100us"

_TRANSPORTS = (
    f"{', '.join(name for name in CONTROLS if name not in LINUX_CONTROLS)}; mininet: {', '.join(LINUX_CONTROLS)}."
)

_TRAFFIC, _NETWORK, _FABRIC, _OUTPUT = "Traffic", "Network", "Fabric", "Output"


def _option(*names: str, says: str, value: str = " ", panel: str | None = None, setting: str | None = None) -> Any:
    """Describe an option; where it is a setting of `Spec`, with the default that the setting has there."""
    if setting is not None:
        says = f"{says} Default: {Spec.model_fields[setting].default}."
    return typer.Option(*names, help=says, metavar=value, rich_help_panel=panel, show_default=False)


def run(
    scheme: Annotated[
        list[str] | None,
        _option(
            "--scheme", "-s", value="SCHEME", says="NAME, NAME:PRESET, NAME:param=value,... or FILE.p4; repeatable."
        ),
    ] = None,
    param: Annotated[list[str] | None, _option(value="NAME=VALUE", says="Parameter of the scheme; repeatable.")] = None,
    baseline: Annotated[
        str | None, _option(value="SCHEME", says="What to compare with, or none.", setting="baseline")
    ] = None,
    load: Annotated[
        str | None, _option(value="0..1", says="Load of the bottleneck.", panel=_TRAFFIC, setting="load")
    ] = None,
    workload: Annotated[
        str | None,
        _option(value="NAME", says=f"{', '.join(known_workloads())} or FILE.csv.", panel=_TRAFFIC, setting="workload"),
    ] = None,
    flows: Annotated[str | None, _option(value="N", says="Flows per seed.", panel=_TRAFFIC, setting="flows")] = None,
    seeds: Annotated[
        str | None, _option(value="N", says="Seeds, each with flows of its own.", panel=_TRAFFIC, setting="seeds")
    ] = None,
    flow_list: Annotated[
        Path | None,
        _option(value="FILE.csv", says="Replay these flows (start_ns,src,dst,size_bytes) instead.", panel=_TRAFFIC),
    ] = None,
    until: Annotated[
        str | None,
        _option(value="TIME", says="When the run ends, whatever is under way: 100ms.", panel=_TRAFFIC),
    ] = None,
    topology: Annotated[
        str | None,
        _option(
            value="NAME",
            says="incast, leaf-spine, fat-tree, with settings (incast:senders=16), or FILE.yaml.",
            panel=_NETWORK,
        ),
    ] = None,
    rate: Annotated[str | None, _option(value="RATE", says="Rate of the links. Default: 10G.", panel=_NETWORK)] = None,
    rtt: Annotated[
        str | None,
        _option(
            value="RTT",
            says="RTTs without queueing: 80us, 70us..210us, classes:1us,20us.",
            panel=_NETWORK,
            setting="rtt",
        ),
    ] = None,
    queue: Annotated[
        str | None,
        _option(value="LIMIT", says="Of each switch port: 600 (packets), 900KB.", panel=_NETWORK, setting="queue"),
    ] = None,
    queues: Annotated[
        str | None,
        _option(
            value="QUEUES",
            says="Of each switch port: fifo, strict, wrr or dwrr, with settings (dwrr:count=4,buffer=96KB).",
            panel=_NETWORK,
            setting="queues",
        ),
    ] = None,
    pfc: Annotated[
        str | None,
        _option(
            value="on",
            says="Pause instead of losing packets; with settings: xoff=20KB,xon=10KB,buffer=12MB,per=flow.",
            panel=_NETWORK,
        ),
    ] = None,
    pias: Annotated[
        str | None,
        _option(
            value="THRESHOLDS",
            says="Priorities by bytes sent, in strict queues: published, equal:levels=4, 20KB/1MB.",
            panel=_TRAFFIC,
        ),
    ] = None,
    services: Annotated[
        str | None,
        _option(
            value="N",
            says="Services, each with a queue of its own: 4, 4:weights=10/20/30/40, 4:by=pair.",
            panel=_TRAFFIC,
        ),
    ] = None,
    transport: Annotated[str | None, _option(value="NAME", says=_TRANSPORTS, panel=_NETWORK)] = None,
    ecn_plus: Annotated[
        bool, _option("--ecn-plus", says="Answers to SYNs are ECN capable, with ecn-star.", panel=_NETWORK)
    ] = False,
    fabric: Annotated[
        str | None,
        _option(value="NAME", says="sim (virtual time), or mininet (real packets, root).", panel=_FABRIC),
    ] = None,
    dilation: Annotated[
        str | None,
        _option(value="N|auto", says="mininet: times N times as long, rates as slow. Default: auto.", panel=_FABRIC),
    ] = None,
    switch: Annotated[str | None, _option(value="NAME", says="mininet: marklab, or bmv2.", panel=_FABRIC)] = None,
    arch: Annotated[
        str | None,
        _option(value="NAME", says="v1model, or the schemes' twins: tna (Tofino), t2na (Tofino 2).", panel=_FABRIC),
    ] = None,
    spec: Annotated[Path | None, _option(value="FILE.yaml", says="Settings of a run; options override them.")] = None,
    set_: Annotated[
        list[str] | None,
        _option("--set", value="KEY=VALUE", says="Any setting of a spec, such as transport.min_rto=5ms; repeatable."),
    ] = None,
    out: Annotated[Path, _option(value="FOLDER", says="Where the folder of the result goes.", panel=_OUTPUT)] = RESULTS,
    name: Annotated[str | None, _option(value="NAME", says="First part of its name.", panel=_OUTPUT)] = None,
    as_json: Annotated[bool, _option("--json", says="Print the summary as one JSON object.", panel=_OUTPUT)] = False,
    trace_queue: Annotated[
        bool, _option("--trace-queue", says="Record the queues of the bottleneck.", panel=_OUTPUT)
    ] = False,
    trace_flows: Annotated[bool, _option("--trace-flows", says="Record the rate of each flow.", panel=_OUTPUT)] = False,
    sample_queues: Annotated[
        str | None,
        _option(value="TIME", says="Look at the queues of all ports so often, for distributions.", panel=_OUTPUT),
    ] = None,
    probe: Annotated[
        list[str] | None,
        _option(
            value="A:B,every=1ms", says="Ping host B from host A (size=, dscp=, start=); repeatable.", panel=_OUTPUT
        ),
    ] = None,
    pcap: Annotated[
        str | None, _option(value="PORT", says="Capture SWITCH:PORT or HOST in the first cell.", panel=_OUTPUT)
    ] = None,
    no_report: Annotated[bool, _option("--no-report", says="Write no report.html.", panel=_OUTPUT)] = False,
    figures: Annotated[
        Form | None, _option(value="pdf|png", says="Draw the charts of the report into files, too.", panel=_OUTPUT)
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", "-j", min=1, metavar="N", help="Cells at a time. Default: cores.", rich_help_panel=_OUTPUT
        ),
    ] = None,
) -> None:
    """Run a scheme and its baseline on the same flows, and report flow completion times."""
    given = {
        "load": load, "topology": topology, "workload": workload, "transport": transport, "rate": rate, "rtt": rtt,
        "queue": queue, "queues": queues, "pfc": pfc, "pias": pias, "services": services, "flows": flows,
        "seeds": seeds, "baseline": baseline, "flow_list": flow_list, "name": name, "until": until, "arch": arch,
        "probes": probe or None, "pcap": pcap, "trace_queue": _TRACE_QUEUE_EVERY if trace_queue else None,
        "trace_flows": _TRACE_FLOWS_EVERY if trace_flows else None, "sample_queues": sample_queues,
    }  # fmt: skip
    more = [*(set_ or []), *(["transport.ecn_plus=true"] if ecn_plus else [])]
    settings = merged_settings(spec, {key: value for key, value in given.items() if value is not None}, more)
    choose_fabric(settings, fabric, {"dilation": dilation, "switch": switch})
    settings["schemes"] = chosen_schemes(scheme or as_list(settings.get("schemes", [])), param or [])
    if no_report and figures is not None:
        raise BadInput("--figures and --no-report contradict each other: figures are those of the report")
    summary, folder = run_spec(make_spec(settings), out, jobs or default_workers())
    if not no_report:
        # When the folder is there: whatever may go wrong in a report, the result is kept.
        write_report(open_collection(folder), folder / REPORT, figures)
    if as_json:
        sys.stdout.write(json.dumps(summary.to_json()) + "\n")
    else:
        console = Console(highlight=False)
        render(summary, console)
        console.print(f"[dim]{folder}[/dim]", soft_wrap=True)
