"""As much of the STF test language (p4c, tools/stf) as the packet tests here need.

    add TABLE KEY:VALUE[/BITS] ... ACTION(PARAM:VALUE, ...)
    setdefault TABLE ACTION(PARAM:VALUE, ...)
    packet PORT HEX ...
    expect PORT HEX ... [$]     `*` is any digit; the packet may be longer where there is no `$`

A comment that begins with `# queue` gives the next packet its queue: `# queue now_ns=9000 sojourn_ns=5000 enq_qdepth=3
deq_qdepth=2`, each 0 where it is left out. Other readers of STF see a comment.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

_CALL = re.compile(r"(\w[\w.]*)\((.*)\)$")
_SIGNALS = {"now_ns", "sojourn_ns", "enq_qdepth", "deq_qdepth"}
_BYTES_OF_HEADERS = (("Ethernet", 14), ("IPv4", 34))


@dataclass(frozen=True)
class Sent:
    """A packet, and the line on which it stands."""

    line: int
    port: int
    frame: bytes
    queue: dict[str, int]


@dataclass(frozen=True)
class Expected:
    """A packet as it has to come out."""

    line: int
    digits: str
    whole: bool

    def matches(self, frame: bytes) -> bool:
        """Whether this is it."""
        seen = frame.hex()
        if len(seen) < len(self.digits) or (self.whole and len(seen) != len(self.digits)):
            return False
        return all(want in ("*", got) for want, got in zip(self.digits, seen, strict=False))


@dataclass
class Script:
    """A test: entries, packets, and what has to come out of each port, in order."""

    entries: list[dict[str, Any]] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    expected: defaultdict[int, list[Expected]] = field(default_factory=lambda: defaultdict(list))


def read(text: str) -> Script:
    """Read a test; ValueError names the line that is not understood."""
    script = Script()
    queue: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        try:
            match line.split():
                case ["#", "queue", *signals]:
                    queue = dict(_signal(signal) for signal in signals)
                case ["packet", port, *digits]:
                    script.sent.append(Sent(number, int(port), bytes.fromhex("".join(digits)), queue))
                    queue = {}
                case [word, *rest] if not word.startswith("#"):
                    _command(script, number, word, rest)
        except ValueError as error:
            raise ValueError(f"line {number}: {line}: {error}") from error
    return script


def _command(script: Script, number: int, word: str, rest: list[str]) -> None:
    match word, rest:
        case "add", [table, *words]:
            script.entries.append(_entry(table, " ".join(words)))
        case "setdefault", [table, *words]:
            script.entries.append({"table": table, **_call(" ".join(words))})
        case "expect", [port, *digits]:
            pattern = "".join(digits).lower()
            body = pattern.removesuffix("$")
            if not re.fullmatch("[0-9a-f*]+", body):
                raise ValueError(f"`{body}` is not hexadecimal")
            script.expected[int(port)].append(Expected(number, body, body != pattern))
        case _:
            raise ValueError("not a command that is known here")


def _signal(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    if name not in _SIGNALS:
        raise ValueError(f"`{name}` is no queue signal")
    return name, int(value)


def _call(text: str) -> dict[str, Any]:
    found = _CALL.match(text.strip())
    if found is None:
        raise ValueError(f"`{text}` is no action")
    params = dict(part.split(":") for part in found[2].replace(" ", "").split(",") if part)
    return {"action": found[1], "params": {name: int(value, 0) for name, value in params.items()}}


def _entry(table: str, text: str) -> dict[str, Any]:
    head, parenthesis, tail = text.partition("(")
    *keys, action = head.split()
    return {"table": table, "match": dict(_key(key) for key in keys), **_call(action + parenthesis + tail)}


def _key(text: str) -> tuple[str, dict[str, Any]]:
    name, _, value = text.partition(":")
    number, slash, bits = value.partition("/")
    return name, {"lpm": [int(number, 0), int(bits)]} if slash else {"exact": int(number, 0)}


def run(script: Script, harness: Any) -> list[str]:
    """Send the packets; gives what is not as expected."""
    complaints = []
    waiting = {port: list(expected) for port, expected in script.expected.items()}
    for packet in script.sent:
        port, frame, _ = harness.process(packet.port, packet.frame, **packet.queue)
        if frame is None:
            continue
        if not waiting.get(port):
            complaints.append(f"line {packet.line}: unexpected on port {port}: {_grouped(frame.hex())}")
            continue
        expected = waiting[port].pop(0)
        if not expected.matches(frame):
            shown = f"{_grouped(expected.digits)}{' $' if expected.whole else ''}"
            complaints.append(f"line {expected.line}: port {port}:\n  want {shown}\n  seen {_grouped(frame.hex())}")
    complaints += [f"line {left.line}: nothing came" for expected in waiting.values() for left in expected]
    return complaints


def _grouped(digits: str) -> str:
    parts, at = [], 0
    for _, end in _BYTES_OF_HEADERS:
        parts.append(digits[at : 2 * end])
        at = 2 * end
    return " ".join([*parts, digits[at:]]).strip()
