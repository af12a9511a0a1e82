# SPDX-License-Identifier: MIT OR Apache-2.0
"""The trace of a packet as text: one line per event, with the source line that caused it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from marklab.p4tools.stf.device import Exchange

Event = dict[str, Any]

_PLACE_WIDTH = 18


def lines(exchange: Exchange) -> Iterator[str]:
    """Lines of the trace of a packet."""
    packet = exchange.packet
    queue = "".join(f" {name}={value}" for name, value in packet.queue.items())
    yield f"port {packet.port}, {len(packet.frame)} bytes: {packet.frame.hex()}"
    if queue:
        yield f"queue:{queue}"
    for event in exchange.events:
        text = event_text(event)
        yield text if event["kind"] == "block" else f"  {_place(event):<{_PLACE_WIDTH}} {text}"
    for port, frame in exchange.frames:
        yield f"out on port {port}, {len(frame)} bytes: {frame.hex()}"
    yield from exchange.losses
    if not exchange.frames and not exchange.losses:
        yield "nothing left the switch"


def event_text(event: Mapping[str, Any]) -> str:
    """What happened, in words, without its place."""
    return _WORDS[event["kind"]](dict(event))


def _place(event: Event) -> str:
    return f"{Path(event['file']).name}:{event['line']}" if event["line"] else ""


def _values(fields: Sequence[Sequence[Any]]) -> str:
    """Names and values, separated by commas."""
    return ", ".join(f"{name}={value}" for name, *_, value in fields)


def own_name(field: str) -> str:
    """The last part of a field's name: `ttl` of `hdr.ipv4.ttl`."""
    return field.rpartition(".")[2]


def _own_values(event: Event) -> str:
    return ", ".join(f"{own_name(name)}={value}" for name, _, value in event["fields"])


def _block(event: Event) -> str:
    values = _own_values(event)
    return f"{event['block']}" + (f"  ({values})" if values else "")


def _table(event: Event) -> str:
    key = f" [{_values(event['key'])}]" if event["key"] else ""
    found = "miss" if event["entry"] is None else f"hit, entry {event['entry']}"
    action = "nothing runs" if event["action"] is None else f"{event['action']}({_values(event['args'])})"
    return f"table {event['table']}{key}: {found}: {action}"


def _register_read(event: Event) -> str:
    if event["value"] is None:
        return f"register {event['object']}[{event['index']}] is out of range: nothing is read"
    return f"register {event['object']}[{event['index']}] is {event['value']}"


def _meter(event: Event) -> str:
    if event["value"] is None:
        return f"meter {event['object']}[{event['index']}] is out of range: there is no colour"
    return f"meter {event['object']}[{event['index']}] is {('green', 'yellow', 'red')[event['value']]}"


def _verified(event: Event) -> str:
    verdict = "right" if event["expected"] == event["found"] else f"wrong, it should be {event['expected']}"
    return f"checksum {event['object']} {event['found']} is {verdict}"


_WORDS: dict[str, Callable[[Event], str]] = {
    "block": _block,
    "state": lambda event: f"state {event['state']}",
    "select": lambda event: f"select ({', '.join(event['values'])}) -> {event['target']}",
    "reject": lambda event: f"parser error {event['error']}",
    "extract": lambda event: f"extract {event['header']}: {_own_values(event)}",
    "advance": lambda event: f"advance {event['bits']} bits",
    "branch": lambda event: f"if: {'true' if event['taken'] else 'false'}",
    "assign": lambda event: " ".join(f"{name} = {value}" for name, _, value in event["fields"]),
    "validity": lambda event: f"{event['header']} is {'valid' if event['valid'] else 'invalid'}",
    "table": _table,
    "register_read": _register_read,
    "register_write": lambda event: f"register {event['object']}[{event['index']}] := {event['value']}",
    "meter": _meter,
    "count": lambda event: f"count {event['object']}[{event['index']}]",
    "verify_checksum": _verified,
    "call": lambda event: f"{event['name']}({', '.join(event['values'])})",
    "emit": lambda event: f"emit {event['header']}: {_own_values(event)}",
    "exit": lambda _event: "exit",
}
