# SPDX-License-Identifier: MIT OR Apache-2.0
"""A cell as a trace that ui.perfetto.dev opens: flows, windows, queues, marks and losses over time.

The format is Perfetto's `Trace` message (protos/perfetto/trace/perfetto_trace.proto), of which these are the fields
that such a trace has. Fields that a reader does not find are absent, as in any protocol buffer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from marklab.errors import BadInput
from marklab.fabrics import Cell
from marklab.fabrics.sim import session

# Looks at the network in a trace, and flows that a viewer can list.
_LOOKS = 20_000
MOST_FLOWS = 5_000
_ALL_EVENTS = (1 << 64) - 1

_SLICE_BEGIN, _SLICE_END, _COUNTER = 1, 2, 4
# Of each switch port: the words, and the column of a view. The last two count from the start.
_COUNTERS = {"queue": "packets", "marks": "marked", "losses": "lost"}
_Field = descriptor_pb2.FieldDescriptorProto

# Name, number and type of the fields of each message; a type that is a text is another of these messages.
_MESSAGES: dict[str, list[tuple[str, int, Any]]] = {
    "CounterDescriptor": [("unit_name", 6, _Field.TYPE_STRING)],
    "TrackDescriptor": [
        ("uuid", 1, _Field.TYPE_UINT64),
        ("name", 2, _Field.TYPE_STRING),
        ("parent_uuid", 5, _Field.TYPE_UINT64),
        ("counter", 8, "CounterDescriptor"),
    ],
    "TrackEvent": [
        ("type", 9, _Field.TYPE_INT32),
        ("track_uuid", 11, _Field.TYPE_UINT64),
        ("name", 23, _Field.TYPE_STRING),
        ("counter_value", 30, _Field.TYPE_INT64),
    ],
    "TracePacket": [
        ("timestamp", 8, _Field.TYPE_UINT64),
        ("trusted_packet_sequence_id", 10, _Field.TYPE_UINT32),
        ("track_event", 11, "TrackEvent"),
        ("track_descriptor", 60, "TrackDescriptor"),
    ],
    "Trace": [("packet", 1, "TracePacket")],
}


@cache
def trace_class() -> Any:
    """The class of a whole trace."""
    file = descriptor_pb2.FileDescriptorProto(
        name="marklab/perfetto.proto", package="marklab.perfetto", syntax="proto2"
    )
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, kind in fields:
            label = _Field.LABEL_REPEATED if name == "Trace" else _Field.LABEL_OPTIONAL
            if isinstance(kind, str):
                of = f".marklab.perfetto.{kind}"
                message.field.add(name=field, number=number, label=label, type=_Field.TYPE_MESSAGE, type_name=of)
            else:
                message.field.add(name=field, number=number, label=label, type=kind)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("marklab.perfetto.Trace"))


@dataclass(frozen=True)
class Life:
    """A flow: its number in the cell's list, and when it began and ended, if it did."""

    flow: int
    begin_ns: int
    end_ns: int | None
    text: str


class Trace:
    """A trace that is being made."""

    def __init__(self) -> None:
        self.message = trace_class()()
        self._tracks = 0
        self._last: dict[int, int] = {}

    def track(self, name: str, parent: int | None = None, unit: str | None = None) -> int:
        """A new track, below another one if there is a parent; a counter if it has a unit. Returns its number."""
        self._tracks += 1
        packet = self._packet()
        packet.track_descriptor.uuid, packet.track_descriptor.name = self._tracks, name
        if parent is not None:
            packet.track_descriptor.parent_uuid = parent
        if unit is not None:
            packet.track_descriptor.counter.unit_name = unit
        return self._tracks

    def count(self, track: int, time_ns: int, value: int) -> None:
        """The value of a counter from a time on; one that has not changed is left out."""
        if self._last.get(track) != value:
            self._last[track] = value
            self._event(track, time_ns, _COUNTER).counter_value = value

    def slice(self, track: int, begin_ns: int, end_ns: int, name: str) -> None:
        """Something that lasts."""
        self._event(track, begin_ns, _SLICE_BEGIN).name = name
        self._event(track, end_ns, _SLICE_END)

    def _packet(self) -> Any:
        return self.message.packet.add(trusted_packet_sequence_id=1)

    def _event(self, track: int, time_ns: int, kind: int) -> Any:
        packet = self._packet()
        packet.timestamp = time_ns
        packet.track_event.type, packet.track_event.track_uuid = kind, track
        return packet.track_event


def write_trace(cell: Cell, lives: Sequence[Life], path: Path) -> None:
    """Run a cell again, and write its trace. `lives` are its flows in order of their begin.

    Raises BadInput for more flows than a viewer can list.
    """
    if len(lives) > MOST_FLOWS:
        raise BadInput(f"{len(lives):,} flows are too many for a trace", f"--flows {MOST_FLOWS} or fewer")
    trace = Trace()
    flows = trace.track("flows")
    own = {life.flow: trace.track(life.text, flows) for life in lives}
    windows = {flow: trace.track("cwnd", track, "bytes") for flow, track in own.items()}
    last_ns = max((life.end_ns or life.begin_ns for life in lives), default=1)
    end_ns = _follow(trace, cell, lives, windows, max(1, last_ns // _LOOKS))
    for life in lives:
        trace.slice(own[life.flow], life.begin_ns, end_ns if life.end_ns is None else life.end_ns, life.text)
    path.write_bytes(trace.message.SerializeToString())


def _follow(trace: Trace, cell: Cell, lives: Sequence[Life], windows: Mapping[int, int], step_ns: int) -> int:
    """Counters of the switch ports, and the windows of the flows that live. Returns when the run ended."""
    graph = cell.experiment.network.graph
    played = session(cell)
    ports = {
        number: f"{graph.names[line.source.node]}:{line.source.port}"
        for number, line in enumerate(graph.lines)
        if not graph.is_host(line.source.node)
    }
    counters = {
        number: [(trace.track(f"{name} {word}", unit="packets"), column) for word, column in _COUNTERS.items()]
        for number, name in ports.items()
    }
    living: list[Life] = []
    coming = deque(lives)
    time_ns = 0
    while not played.ended:
        time_ns += step_ns
        played.run(time_ns, _ALL_EVENTS)
        view = played.view()
        for number, own in counters.items():
            for track, column in own:
                trace.count(track, time_ns, int(view[column][number]))
        while coming and coming[0].begin_ns <= time_ns:
            living.append(coming.popleft())
        living = [life for life in living if life.end_ns is None or life.end_ns > time_ns - step_ns]
        for life in living:
            sender = played.sender(life.flow)
            if sender is not None:
                trace.count(windows[life.flow], time_ns, sender["cwnd_bytes"])
    return played.now_ns


def lives_of(cell: Cell, folder: Path) -> list[Life]:
    """The flows of a cell in order of their begin, from the folder of its run."""
    # Polars loads slowly, and only this needs it.
    import polars as pl  # noqa: PLC0415

    hosts = cell.experiment.network.graph.hosts
    own = (pl.col("scheme") == cell.scheme.label) & (pl.col("seed") == cell.seed)
    rows = pl.read_parquet(folder / "flows.parquet").filter(own).sort("start_ns", "flow")
    return [
        Life(
            row["flow"],
            row["start_ns"],
            None if row["fct_ns"] is None else row["start_ns"] + row["fct_ns"],
            f"flow {row['flow']}: {hosts[row['src']]} to {hosts[row['dst']]}, {row['size_bytes']:,} bytes",
        )
        for row in rows.iter_rows(named=True)
    ]
