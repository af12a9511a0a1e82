# SPDX-License-Identifier: MIT OR Apache-2.0
"""`lab`: a network of real hosts and switches that is up until Ctrl-C, for inspection and experiments by hand."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from marklab.errors import Interrupted
from marklab.fabrics import Cell
from marklab.lab.network import Net, address, shape_host
from marklab.model import as_list
from marklab.prepare.experiment import prepare
from marklab.spec.description import make_spec
from marklab.spec.settings import choose_fabric, chosen_schemes, merged_settings

_TICK_S = 0.5
_STOPS = (128 + signal.SIGTERM, 128 + signal.SIGINT)


def lab(
    scheme: Annotated[str | None, typer.Option("--scheme", "-s", metavar="SCHEME", help="As in `run`.")] = None,
    topology: Annotated[str | None, typer.Option(metavar="NAME", help="As in `run`.")] = None,
    rate: Annotated[str | None, typer.Option(metavar="RATE", help="As in `run`, before dilation.")] = None,
    rtt: Annotated[str | None, typer.Option(metavar="RTT", help="As in `run`, before dilation.")] = None,
    dilation: Annotated[str | None, typer.Option(metavar="N|auto", help="As in `run`. Default: auto.")] = None,
    switch: Annotated[str | None, typer.Option(metavar="NAME", help="marklab, or bmv2.")] = None,
    spec: Annotated[Path | None, typer.Option(metavar="FILE.yaml", help="Settings of a run.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any setting of a spec; repeatable.")
    ] = None,
) -> None:
    """Start the network of a run without its flows, and keep it up until Ctrl-C."""
    # gRPC loads slowly, so other commands do not import it.
    from marklab.fabrics.mininet import Mininet, dilate, network, switch_plan  # noqa: PLC0415
    from marklab.lab.running import running_switches  # noqa: PLC0415

    given = {"topology": topology, "rate": rate, "rtt": rtt}
    settings = merged_settings(spec, {key: value for key, value in given.items() if value is not None}, set_ or [])
    settings["schemes"] = chosen_schemes([scheme] if scheme else as_list(settings.get("schemes", [])), [])[:1]
    settings |= {"baseline": "none", "seeds": 1}
    choose_fabric(settings, "mininet", {"dilation": dilation, "switch": switch})
    experiment = prepare(make_spec(settings))
    Mininet().check(experiment)
    experiment = Mininet().settled(experiment)
    cell = Cell(experiment, experiment.schemes[0], experiment.spec.first_seed)
    dilated = dilate(cell)
    try:
        with network(experiment, dilated) as (net, folder, _):
            for host in range(len(net.graph.hosts)):
                shape_host(net, host, experiment.spec.framing)
            with running_switches(net, switch_plan(cell, dilated), folder / "switches") as switches:
                sys.stdout.writelines(_lines(net, switches.addresses()))
                sys.stdout.write(f"{cell.scheme.label} runs; Ctrl-C takes the lab down\n")
                sys.stdout.flush()
                while True:
                    time.sleep(_TICK_S)
                    switches.check()
    except Interrupted as interrupted:
        if interrupted.exit_code not in _STOPS:
            raise


def _lines(net: Net, serving: Mapping[str, str]) -> Iterator[str]:
    width = max(map(len, net.graph.names))
    yield f"{'node':{width}}  a command there    address\n"
    for node, name in enumerate(net.graph.names):
        where = address(node) if net.graph.is_host(node) else serving[name]
        yield f"{name:{width}}  nsenter -t {net.pids[node]} -n  {where}\n"
