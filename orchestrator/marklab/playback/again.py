# SPDX-License-Identifier: MIT OR Apache-2.0
"""A packet of a run as a packet test (STF): it can be edited, and sent again through a switch as it stood.

The test has what the packet met: the entries that matched, the registers that it read, and what the queue told it. It
stands alone, so it goes into a repository as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from marklab.engine import binding as engine
from marklab.errors import BadInput
from marklab.fabrics import Cell
from marklab.p4tools.stf.device import Device
from marklab.p4tools.stf.names import is_ordered, keys_of
from marklab.p4tools.stf.reader import read
from marklab.p4tools.stf.runner import run
from marklab.p4tools.stf.trace import own_name

Event = Mapping[str, Any]

# In a test, larger priorities win; an entry that a packet met needs any.
_PRIORITY = 1
_QUEUE_DEPTHS = ("enq_qdepth", "deq_qdepth")


def packet_test(cell: Cell, way: Mapping[str, Any], node: str) -> str:
    """The test of a packet at a switch on its way, as `Session.follow` gives it.

    Raises BadInput if the packet was not there, if the switch's program did not come to decide about it, or if it
    decides otherwise when the packet is alone.
    """
    hops = [hop for hop in way["hops"] if hop["node"] == node]
    if not hops:
        path = [hop["node"] for hop in way["hops"]]
        raise BadInput(f"the packet did not pass {node}", f"a switch on its path: {', '.join(path)}")
    hop, last = hops[0], hops[-1] is way["hops"][-1]
    end = way["end"] if last and hop["left"] is None else None
    if end is not None and end["kind"] != "lost":
        raise BadInput(f"the packet was still at {node} when the run ended", "a packet that has left it")
    if end is not None and end["place"] == "queue":
        raise BadInput(
            f"{node} lost the packet before its program could decide: {end['reason']}", "a packet that came to a queue"
        )
    if cell.scheme.fitted.defines:
        raise BadInput(
            f"the program of {cell.scheme.label} is compiled with settings of this run, which a test cannot give",
            "a scheme whose program needs none",
        )
    text = "\n".join(_lines(cell, hop, end)) + "\n"
    _check(cell, hop, text)
    return text


def _lines(cell: Cell, hop: Mapping[str, Any], end: Mapping[str, Any] | None) -> Iterator[str]:
    left_ns = hop["left"]["time_ns"] if hop["left"] is not None else (end or {})["time_ns"]
    yield f"# A packet of {cell.scheme.label}, seed {cell.seed}, at {hop['node']}: it came at {hop['arrived_ns']:,} ns."
    yield from dict.fromkeys(_entries(hop["events"], engine.describe(cell.scheme.program)["tables"]))
    yield from (f"mirroring_add {session} {port}" for session, port in cell.scheme.mirrors.items())
    yield from _registers(hop["events"])
    signals = {"now_ns": left_ns, "sojourn_ns": left_ns - hop["arrived_ns"], **_depths(hop["events"])}
    yield "# queue " + " ".join(f"{name}={value}" for name, value in signals.items())
    yield f"packet {hop['ingress_port']} {frame(hop['packet']).hex()}"
    if hop["left"] is not None and hop["queue"] is not None:
        yield f"expect {hop['queue']['port']} {frame(hop['left']['packet']).hex()} $"
    else:
        yield "# It was lost."


def _entries(events: Sequence[Event], tables: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The entries and default actions that the packet met, unless the program has them itself."""
    known = {table["name"]: table for table in tables}
    for event in events:
        if event["kind"] != "table" or event["action"] is None:
            continue
        table = known[event["table"]]
        if table["implementation"] is not None:
            raise BadInput(
                f"the entries of `{table['name']}` point to members, which a test of one packet does not have",
                "write the test by hand",
            )
        arguments = ", ".join(f"{name}:{value}" for name, value in event["args"])
        call = f"{event['action']}({arguments})"
        if event["entry"] is None and not table["const_default"]:
            yield f"setdefault {table['name']} {call}"
        elif event["entry"] is not None and not table["const_entries"]:
            values = dict(event["key"])
            keys = " ".join(f"{key['name']}:{values[key['name']]}" for key in keys_of(table))
            priority = f"{_PRIORITY} " if is_ordered(table) else ""
            yield f"add {table['name']} {priority}{keys} {call}"


def _registers(events: Sequence[Event]) -> Iterator[str]:
    """The registers that the packet read before it wrote to them; others do not matter to it."""
    met: set[tuple[str, int]] = set()
    for event in events:
        if event["kind"] not in ("register_read", "register_write"):
            continue
        cell = (event["object"], event["index"])
        value = int(event["value"] or "0", 16)
        if event["kind"] == "register_read" and cell not in met and value:
            yield f"register_write {cell[0]} {cell[1]} {value}"
        met.add(cell)


def _depths(events: Sequence[Event]) -> dict[str, int]:
    """What the switch told the program of the queue."""
    told = dict.fromkeys(_QUEUE_DEPTHS, 0)
    for event in events:
        if event["kind"] == "block":
            found = {own_name(name): int(value, 16) for name, _, value in event["fields"]}
            told |= {name: found[name] for name in _QUEUE_DEPTHS if name in found}
    return told


def frame(packet: Mapping[str, Any]) -> bytes:
    """A packet of a hop as bytes: those that the simulator does not store are 0."""
    stored = bytes.fromhex(packet["stored"])
    return stored + bytes(packet["bytes"] - len(stored))


def _check(cell: Cell, hop: Mapping[str, Any], text: str) -> None:
    """Send the packet alone, and refuse a test of what the run did not do."""
    program: Path = cell.scheme.fitted.scheme.program
    report = run(read(text, program.name), Device(cell.scheme.program))
    if report.complaints:
        raise BadInput(
            f"sent alone, the packet leaves {hop['node']} otherwise than in the run: {report.complaints[0].text}. The "
            "program depends on more than this packet read, such as random numbers, or on a register that others "
            "changed while it waited",
            "another packet, or a test by hand",
        )
