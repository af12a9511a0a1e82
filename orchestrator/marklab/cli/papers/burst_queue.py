# SPDX-License-Identifier: MIT OR Apache-2.0
"""`burst-queue`: how long the queue of a line is without any AQM, by a formula."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from marklab.devices.hosts import Transport
from marklab.errors import BadInput
from marklab.traffic.workload import load_workload
from marklab.units import format_rate, format_time, parse_rate, parse_time

_RATES = ("100M", "155M", "622M")
_LOADS = (0.7, 0.8, 0.85, 0.9, 0.95)


def burst_queue(
    workload: Annotated[str, typer.Option(help="Sizes of flows: a name, or a CSV file.")] = "web_objects",
    rate: Annotated[list[str] | None, typer.Option(help="Rate of the line; repeatable. Default: the paper's.")] = None,
    load: Annotated[list[float] | None, typer.Option(help="Load of the line, below 1; repeatable.")] = None,
    delay: Annotated[str, typer.Option(help="Target delay of an AQM.")] = "5ms",
    mss: Annotated[int, typer.Option(help="Bytes of a full segment.", min=1)] = Transport().mss_bytes,
    initial_window: Annotated[int, typer.Option(help="Segments of a flow's first burst.", min=1)] = 2,
) -> None:
    """Print how often a queue of bursts is longer than an AQM's target, by the formula of the ECN+ paper."""
    # It loads slowly, so other commands do not import it.
    from marklab.metrics.burst_queue import RECEIVE_WINDOWS, burst_sizes, mean_queue, part_beyond  # noqa: PLC0415

    loads, rates = load or list(_LOADS), [parse_rate(text) for text in rate or _RATES]
    beyond = next((each for each in loads if not 0 < each < 1), None)
    if beyond is not None:
        raise BadInput(f"--load {beyond:g}: the formula needs a load below 1", "a load between 0 and 1")
    delay_ns, sizes = parse_time(delay), burst_sizes(load_workload(workload), mss, initial_window, RECEIVE_WINDOWS)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("load")
    table.add_column("mean, packets", justify="right")
    for bps in rates:
        table.add_column(f"beyond {format_time(delay_ns)} at {format_rate(bps)}b/s", justify="right")
    for each in loads:
        packets = [int(delay_ns * bps / 8e9 / (mss + 40)) for bps in rates]
        parts = (f"{part_beyond(each, sizes, count):.2%}" for count in packets)
        table.add_row(f"{each:g}", f"{mean_queue(each, sizes):,.1f}", *parts)
    console = Console(highlight=False)
    console.print(table)
    text = f"{workload}: bursts of {float((sizes * range(len(sizes))).sum()):.2f} packets on average, M^[X]/M/1."
    console.print(Text(text, style="dim"))
