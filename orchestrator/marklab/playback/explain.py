# SPDX-License-Identifier: MIT OR Apache-2.0
"""One packet of a run: found at a port of a switch, and followed from host to host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from marklab.errors import BadInput
from marklab.fabrics import Cell
from marklab.fabrics.sim import session
from marklab.p4tools.stf.trace import event_text, own_name
from marklab.playback.questions import Find, Follow, Question, Wanted
from marklab.topology import Port
from marklab.units import format_time

_CE = 3
_ECN_FIELDS = ("ecn", "diffserv", "tos")


class Past(Protocol):
    """A run that can be asked."""

    def ask(self, question: Question, earlier: int = 0) -> Any:
        """The answer, from so many copies earlier than the last possible one."""

    def earliest(self, question: Question, earlier: int) -> bool:
        """Whether it was asked from the beginning."""


class FromTheStart:
    """A run that is run again for each question."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell

    def ask(self, question: Question, earlier: int = 0) -> Any:
        """The answer; `earlier` makes no difference."""
        del earlier
        return question.answer(session(self._cell))

    def earliest(self, question: Question, earlier: int) -> bool:
        """It always is."""
        del question, earlier
        return True


@dataclass(frozen=True)
class Explained:
    """What was asked, when it happened, and the packet's way, as `Session.follow` gives it."""

    wanted: Wanted
    at: str
    time_ns: int
    way: Mapping[str, Any]

    def to_plain(self) -> dict[str, Any]:
        """For programs: each step has its words, each switch its decision."""
        code = Lines()
        hops = [{**hop, **in_words(hop["events"], code)} for hop in self.way["hops"]]
        return {"wanted": self.wanted, "at": self.at, "time_ns": self.time_ns, **self.way, "hops": hops}


def explain(cell: Cell, past: Past, at: Port, from_ns: int, wanted: Wanted) -> Explained:
    """The first packet that does what is wanted at a port, from a time on.

    Raises BadInput if there is none until the end of the run.
    """
    graph = cell.experiment.network.graph
    name = f"{graph.names[at.node]}:{at.port}"
    if graph.is_host(at.node):
        raise BadInput(f"{graph.names[at.node]} is a host, which decides nothing", "a port of a switch, such as s0:0")
    find = Find(at.node, at.port, from_ns, wanted)
    earlier = 0
    while True:
        found = past.ask(find, earlier)
        if found is None:
            raise BadInput(
                f"there is no {wanted} at {name} from {format_time(from_ns)} to the end of the run",
                "an earlier time, another port, or another scheme of the run",
            )
        time_ns, arrival = found
        if arrival is not None:
            break
        if past.earliest(find, earlier):
            raise BadInput(
                f"the packet at {name} came from no host: a program made it", "another time, or another port"
            )
        earlier += 1
    way = past.ask(Follow(tuple(arrival)))
    return Explained(wanted, name, time_ns, way)


class Lines:
    """Lines of programs, each file read once."""

    def __init__(self) -> None:
        self._files: dict[str, list[str]] = {}

    def of(self, event: Mapping[str, Any]) -> str | None:
        """The line of a step; None if the compiler has added the step, or the file is gone."""
        path, line = event["file"], event["line"]
        if path is None:
            return None
        if path not in self._files:
            try:
                self._files[path] = Path(path).read_text(encoding="utf-8").splitlines()
            except OSError:
                self._files[path] = []
        text = self._files[path]
        return text[line - 1].strip() if line <= len(text) else None


def in_words(events: Sequence[Mapping[str, Any]], code: Lines) -> dict[str, Any]:
    """The `events` of a packet at a switch, each with its words and its line of P4, and the `decision`."""
    told = [{**event, "text": event_text(event), "code": code.of(event)} for event in events]
    return {"events": told, "decision": decision(told)}


def decision(events: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The last step that marks or drops, and the conditions that held before it in its block; None without such a step.

    Conditions in the file of the step are left out where there are others: the code that all schemes share asks there
    whether a packet may be marked at all, and the scheme elsewhere whether it is to be.
    """
    held: list[Mapping[str, Any]] = []
    decided: dict[str, Any] | None = None
    for event in events:
        if event["kind"] == "block":
            held = []
        elif event["kind"] == "branch" and event["taken"]:
            held.append(event)
        elif (what := _decides(event)) is not None:
            own = [each for each in held if each["file"] != event["file"]]
            decided = {"what": what, "step": event, "conditions": own or list(held)}
    return decided


def _decides(event: Mapping[str, Any]) -> str | None:
    if event["kind"] == "call" and event["name"] in ("mark_to_drop", "drop"):
        return "drop"
    if event["kind"] == "assign":
        name, _, value = event["fields"][0]
        if own_name(name) in _ECN_FIELDS and int(value, 16) & _CE == _CE:
            return "mark"
    return None


def lines(explained: Explained) -> Iterator[str]:
    """An explanation as text."""
    way = explained.way
    sender = "a probe" if way["flow"] is None else f"flow {way['flow']}"
    kind = "data" if way["by_client"] else "an acknowledgement"
    yield f"{explained.wanted} at {explained.at}, {explained.time_ns / 1e3:,.3f} us: {kind} of {sender}"
    code = Lines()
    for hop in way["hops"]:
        yield from _hop_lines(hop, code)
    yield _end(way["end"])


def _hop_lines(hop: Mapping[str, Any], code: Lines) -> Iterator[str]:
    yield ""
    size = hop["packet"]["bytes"]
    yield f"{hop['node']}: came by port {hop['ingress_port']} at {hop['arrived_ns'] / 1e3:,.3f} us, {size} bytes"
    for event in hop["events"]:
        text = event_text(event)
        place = f"{Path(event['file']).name}:{event['line']}" if event["line"] else ""
        yield f"  {text}" if event["kind"] == "block" else f"    {place:<22} {text}"
    queue, left = hop["queue"], hop["left"]
    if queue is not None:
        waited = f", waited {(left['time_ns'] - hop['arrived_ns']) / 1e3:,.3f} us" if left else ""
        found, behind = queue["found"], queue["left"]
        yield (
            f"  port {queue['port']}: found {found['packets']} packets ({found['bytes']:,} bytes){waited}"
            + (f", left {behind['packets']} packets behind" if left else "")
        )
    yield from (f"  {line}" for line in reasons(hop["events"], code))


def reasons(events: Sequence[Mapping[str, Any]], code: Lines) -> Iterator[str]:
    """The line of P4 that marks or drops a packet, and the conditions that held before it; nothing without one."""
    if (decided := decision(events)) is not None:
        yield f"{decided['what']}: {_source(decided['step'], code)}"
        for condition in decided["conditions"]:
            yield f"  since {_source(condition, code)}"


def _source(event: Mapping[str, Any], code: Lines) -> str:
    """The line of the program, with its place."""
    return f"{Path(event['file']).name}:{event['line']}: {code.of(event)}"


def _end(end: Mapping[str, Any]) -> str:
    match end["kind"]:
        case "delivered":
            return f"\n{end['node']}: delivered at {end['time_ns'] / 1e3:,.3f} us"
        case "lost":
            port = "" if end["port"] is None else f" at port {end['port']}"
            return f"\nlost{port} at {end['time_ns'] / 1e3:,.3f} us: {end['reason']}"
        case _:
            return "\nunder way when the run ended"
