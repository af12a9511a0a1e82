# SPDX-License-Identifier: MIT OR Apache-2.0
"""Traces: queues, rates of flows and round trips over time. The columns and names of their files, and how to read them.

A row is an interval in which something happened. Between rows a queue stays as it was, and a flow delivers nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from marklab.results.observation import ACTIVE_FLOWS, ESTIMATED, Columns, ControlWrite, Observation, PacketTrace
from marklab.spec.description import Spec

FOLDER = "traces"
# In the engine's record of packets: the packet was not lost.
_SENT = 255

# Columns of `SCHEME-seedN-SWITCH-PORT.parquet`.
QUEUE_COLUMNS: Mapping[str, str] = {
    "time_ns": "start of the interval",
    "queue": "number of the queue; null for all of the port together",
    "packets": "packets that wait at the end of the interval",
    "bytes": "bytes that wait at the end of the interval",
    "max_packets": "most packets during the interval",
    "departed": "packets that left in the interval",
    "sent_bytes": "bytes of their frames",
    "marked": "marked packets among them",
    "max_sojourn_ns": "their longest sojourn time",
    "mean_sojourn_ns": "their mean sojourn time; null if none left",
    "rounds": "turns that ended in the interval",
    "mean_round_ns": "mean time since the end of the queue's last turn, or since it became busy; null if no turn ended",
}

# Columns of `SCHEME-seedN-flows.parquet`.
FLOW_COLUMNS: Mapping[str, str] = {
    "time_ns": "start of the interval",
    "flow": "as in flows.parquet",
    "dscp": "its code point",
    "bytes": "payload that the receiver got in order in the interval",
    "rate_bps": "the same as a rate",
}

# Columns of `SCHEME-seedN-probes.parquet`.
PROBE_COLUMNS: Mapping[str, str] = {
    "time_ns": "when the request was sent",
    "probe": "`FROM:TO`, with its code point",
    "rtt_ns": "time until the reply; null without one",
}

# Columns of `SCHEME-seedN-packets.parquet`.
PACKET_COLUMNS: Mapping[str, str] = {
    "time_ns": "when the packet left the switch, or was lost",
    "node": "the switch",
    "port": "its port; null if the packet was lost before it had come to one",
    "queue": "number of the port's queue; null if the packet was lost",
    "flow": "as in flows.parquet; null for probes",
    "by_client": "whether the host sent it that opened the connection: data, unless the flow was requested",
    "bytes": "bytes of its frame",
    "enq_qdepth": "packets that it found in the queue; null if it was lost",
    "deq_qdepth": "packets that it left behind in the queue; null if it was lost",
    "sojourn_ns": "time from its arrival at the queue to its departure; null if it was lost",
    "marked": "whether the switch marked it",
    "lost": "why it was lost; null if it was not",
}

# Columns of `SCHEME-seedN-control.parquet`.
CONTROL_COLUMNS: Mapping[str, str] = {
    "time_ns": "from when on it holds",
    "node": "the switch",
    "target": "the table, or the register",
    "match": "key of the entry, or number of the cell, as JSON; null for a default action",
    "action": "null for a deleted entry, and for a register",
    "params": "of the action, or the value of the cell, as JSON; null for a deleted entry",
}

# Names of the traces of flows, of packets, of probes and of a controller, in the place of a port's name.
CONTROL = "control"
FLOWS = "flows"
PACKETS = "packets"
PROBES = "probes"
PORT = "port"


def queue_table(queues: Sequence[Columns]) -> pl.DataFrame:
    """Rows of a port: first the whole port, with the scheme's estimates, then each queue if there are several."""
    numbered = enumerate(queues, start=-1)
    tables = [pl.DataFrame(dict(columns)).with_columns(_number(number)) for number, columns in numbered]
    estimates = [name for name in queues[0] if name.startswith(ESTIMATED) or name == ACTIVE_FLOWS]
    return (
        pl.concat(tables, how="diagonal")
        .with_columns(
            _mean("sum_sojourn_ns", "departed").alias("mean_sojourn_ns"),
            _mean("sum_round_ns", "rounds").alias("mean_round_ns"),
        )
        .select([*QUEUE_COLUMNS, *estimates])
    )


def _number(queue: int) -> pl.Expr:
    return pl.lit(None if queue < 0 else queue, dtype=pl.UInt8).alias("queue")


def _mean(total: str, count: str) -> pl.Expr:
    return pl.when(pl.col(count) > 0).then(pl.col(total) / pl.col(count))


def flow_table(columns: Columns, dscp: NDArray[np.uint8], interval_ns: int) -> pl.DataFrame:
    """Rows of all flows, in order of time."""
    table = pl.DataFrame(dict(columns))
    rate = (pl.col("bytes") * 8e9 / interval_ns).alias("rate_bps")
    return table.with_columns(pl.Series("dscp", dscp[columns["flow"]]), rate).select(list(FLOW_COLUMNS))


def packet_table(trace: PacketTrace) -> pl.DataFrame:
    """Rows of all packets, in order of time."""
    named = {name: pl.Series(name, values) for name, values in trace.columns.items()}
    of_node = pl.Series(trace.nodes, dtype=pl.String).cast(pl.Categorical)
    of_loss = pl.Series(trace.reasons, dtype=pl.String).cast(pl.Categorical)
    lost = pl.Series(trace.columns["lost"]).cast(pl.UInt32)
    reason = lost.replace(_SENT, None)
    table = pl.DataFrame(named).with_columns(node=of_node.gather(named["node"]), lost=of_loss.gather(reason))
    sent = pl.col("lost").is_null()
    return table.with_columns(
        *(pl.when(sent).then(pl.col(name)).alias(name) for name in ("queue", "enq_qdepth", "deq_qdepth", "sojourn_ns")),
        _unless_largest("port", 16),
        _unless_largest("flow", 32),
    ).select(list(PACKET_COLUMNS))


def _unless_largest(name: str, bits: int) -> pl.Expr:
    return pl.when(pl.col(name) != (1 << bits) - 1).then(pl.col(name)).alias(name)


def probe_table(columns: Columns, labels: Sequence[str]) -> pl.DataFrame:
    """Rows of all requests, probe by probe."""
    number = pl.Series("number", columns["probe"])
    return pl.DataFrame(
        {
            "time_ns": columns["time_ns"],
            "probe": pl.Series(labels, dtype=pl.String).gather(number),
            "rtt_ns": pl.Series(columns["rtt_ns"]).replace(-1, None),
        }
    ).select(list(PROBE_COLUMNS))


def control_table(writes: Sequence[ControlWrite]) -> pl.DataFrame:
    """Rows of all that a controller wrote, in order of time."""
    rows = [tuple(getattr(write, name) for name in CONTROL_COLUMNS) for write in writes]
    types = {name: pl.UInt64 if name == "time_ns" else pl.String for name in CONTROL_COLUMNS}
    return pl.DataFrame(rows, schema=types, orient="row")


def recorded(spec: Spec, seen: Observation) -> dict[str, pl.DataFrame]:
    """All traces of a cell, by subject: a port, `CONTROL`, `FLOWS`, `PACKETS` or `PROBES`."""
    found = {port: queue_table(queues) for port, queues in seen.traces.items()}
    if seen.flow_trace is not None and spec.trace_flows_ns is not None:
        found[FLOWS] = flow_table(seen.flow_trace, seen.flows.dscp, spec.trace_flows_ns)
    if seen.packet_trace is not None:
        found[PACKETS] = packet_table(seen.packet_trace)
    if seen.control is not None:
        found[CONTROL] = control_table(seen.control)
    if spec.probes:
        found[PROBES] = probe_table(seen.probes, [probe.label for probe in spec.probes])
    return found


def file_name(scheme: str, seed: int, what: str) -> str:
    """Name of the trace of a port, of `CONTROL`, `FLOWS`, `PACKETS` or `PROBES`."""
    return f"{scheme.replace('/', '_')}-seed{seed}-{what}.parquet"


def kind_of(path: Path) -> str:
    """`CONTROL`, `FLOWS`, `PACKETS`, `PROBES`, or `PORT`."""
    name = path.stem.rpartition("-")[2]
    return name if name in (CONTROL, FLOWS, PACKETS, PROBES) else PORT


def read(path: Path) -> pl.DataFrame:
    """Read a trace."""
    return pl.read_parquet(path)
