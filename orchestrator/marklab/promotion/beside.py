# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a scheme's twin for Tofino decides on one packet of a run, beside the scheme itself.

The twin gets the packets of the port up to that one, each with what it met in the run: so it has the state of the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marklab.catalog.twin import own_arch, twin_spec
from marklab.engine import binding as engine
from marklab.errors import BadInput
from marklab.fabrics import Cell
from marklab.fabrics.sim import Sim
from marklab.playback.explain import Lines, in_words, reasons
from marklab.prepare.experiment import ready_scheme
from marklab.promotion.equivalence import OfTwin, Signals, on_packet
from marklab.promotion.sequence import DECISIONS, sequence_of
from marklab.results.observation import Columns
from marklab.spec.packets import TracePackets
from marklab.topology import Port

# Packets of the port that the twin gets at most: the last ones before the packet, and it.
MOST_PACKETS = 100_000

_US = 1000
_SENT = np.iinfo(np.uint8).max


@dataclass(frozen=True)
class Beside:
    """Decisions on a packet: that of the run, and that of the twin after `packets`, all of the port if `complete`."""

    program: str
    decision: str
    twin: OfTwin
    packets: int
    complete: bool

    def to_plain(self) -> dict[str, Any]:
        """For programs."""
        return {
            "program": self.program,
            "decisions": {"run": self.decision, "twin": self.twin.decision, "again": self.twin.scheme},
            "packets": self.packets,
            "complete": self.complete,
            "registers": dict(self.twin.registers),
            **in_words(self.twin.events, Lines()),
        }

    def lines(self) -> list[str]:
        """As text."""
        which = "all" if self.complete else "the last"
        packets = f"{which} {self.packets:,} packets of the port"
        head = f"the twin {self.program}: {self.twin.decision}, after {packets}; the run: {self.decision}"
        if self.twin.scheme is not None:
            head += f"; the scheme, which assigns queues, with the same packets again: {self.twin.scheme}"
        return [head, *(f"  {line}" for line in reasons(self.twin.events, Lines()))]


def beside(cell: Cell, at: Port, left_ns: int) -> Beside:
    """Decisions on the packet that left a port of a switch at a time.

    Raises BadInput if the scheme has no twin, if it runs as its twin already, or if no packet left then.
    """
    experiment, scheme = cell.experiment, cell.scheme
    spec = experiment.spec
    if spec.arch is not None:
        raise BadInput("this run is one of the twin already", "a run without --arch")
    arch = own_arch(scheme.fitted.scheme.name)
    ecmp = experiment.network.graph.has_equal_ways
    twin = ready_scheme(scheme.fitted.choice, experiment.setup, ecmp, spec.queue_limit, arch)
    columns, dscp, complete = _recorded(cell, at, left_ns)
    there = np.flatnonzero(columns["time_ns"] == left_ns)
    if not len(there):
        name = experiment.network.graph.names[at.node]
        raise BadInput(f"no packet left {name}:{at.port} at {left_ns:,} ns", "the time at which one left")
    row = int(there[0])
    sequence, order = sequence_of(_passages(columns), dscp, len(columns["time_ns"]))
    place_of = np.argsort(order)
    seen = _signals(columns, place_of)
    described = twin_spec(scheme.fitted.scheme.name, arch)
    found = on_packet(experiment, (scheme, twin), described, sequence, seen, row)
    return Beside(twin.fitted.scheme.program.name, DECISIONS[seen.decision[row]], found, len(order), complete)


def _recorded(cell: Cell, at: Port, left_ns: int) -> tuple[dict[str, NDArray[Any]], NDArray[np.uint8], bool]:
    """The packets that left a port up to a time, code points of all flows, and whether these are all packets."""
    graph = cell.experiment.network.graph
    record = TracePackets(port=f"{graph.names[at.node]}:{at.port}", last=MOST_PACKETS)
    others = dict.fromkeys(("trace_queue_ns", "trace_flows_ns", "windows", "pcap"))
    settings: Mapping[str, Any] = {**others, "trace_packets": record, "until_ns": left_ns + 1}
    spec = cell.experiment.spec.model_copy(update=settings)
    seen = Sim().run(replace(cell, experiment=replace(cell.experiment, spec=spec), captures=None), engine.new_watch())
    if seen.packet_trace is None:
        raise BadInput("the run recorded no packets")
    columns = seen.packet_trace.columns
    sent = columns["lost"] == _SENT
    return {name: values[sent] for name, values in columns.items()}, seen.flows.dscp, not seen.packet_trace.dropped


def _passages(columns: Columns) -> Columns:
    return {
        "arrived_ns": columns["time_ns"] - columns["sojourn_ns"],
        "departed_ns": columns["time_ns"],
        "five_tuple": columns["flow"] * 2 + np.where(columns["by_client"], 0, 1).astype(np.uint32),
        "flow": columns["flow"],
        "bytes": columns["bytes"],
    }


def _signals(columns: Columns, place_of: NDArray[np.intp]) -> Signals:
    """What the packets saw. Times are whole microseconds, as the scheme counted them."""
    now_ns = columns["time_ns"] // _US * _US
    arrived_ns = (columns["time_ns"] - columns["sojourn_ns"]) // _US * _US
    whole = (place_of, columns["queue"], now_ns, now_ns - arrived_ns, columns["enq_qdepth"], columns["deq_qdepth"])
    return Signals(*(np.asarray(each, np.int64) for each in (*whole, columns["marked"])))
