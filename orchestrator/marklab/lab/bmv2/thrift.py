# SPDX-License-Identifier: MIT OR Apache-2.0
"""Calls of BMv2's Thrift server, which has what P4Runtime has not: rates and depths of queues.

The strict binary protocol over TCP, multiplexed, for calls that take whole numbers and give one. Run as a program, in
the switch's namespace, it makes the calls of a list in JSON: `python -m marklab.lab.bmv2.thrift PORT < calls`.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from marklab.errors import RunFailed

_ANSWER_S = 10.0
# A switch opens its control port a moment after it has started.
_PATIENCE_S = 20.0
_GLANCE_S = 0.05

_VERSION = 0x8001_0000
_CALL, _EXCEPTION = 1, 3
_STOP = 0


class Type(IntEnum):
    """Types of values, by their numbers on the wire."""

    I32 = 8
    I64 = 10
    STRING = 11


_FORMS: dict[int, str] = {Type.I32: ">i", Type.I64: ">q"}


@dataclass(frozen=True)
class Call:
    """A function of a service, and its arguments in order."""

    service: str
    function: str
    arguments: tuple[tuple[Type, int], ...]

    def message(self, number: int) -> bytes:
        """As it is sent."""
        name = f"{self.service}:{self.function}".encode()
        fields = b"".join(
            struct.pack(">bh", kind, place) + struct.pack(_FORMS[kind], value)
            for place, (kind, value) in enumerate(self.arguments, start=1)
        )
        head = struct.pack(">Ii", _VERSION | _CALL, len(name)) + name + struct.pack(">i", number)
        return head + fields + bytes([_STOP])


def queue_depth(port: int, packets: int) -> Call:
    """How many packets each queue of a port holds."""
    return Call("simple_switch", "set_egress_queue_depth", ((Type.I32, port), (Type.I32, packets)))


def queue_rate(port: int, packets_per_s: int) -> Call:
    """How fast each queue of a port is emptied."""
    return Call("simple_switch", "set_egress_queue_rate", ((Type.I32, port), (Type.I64, packets_per_s)))


def make(address: tuple[str, int], calls: Sequence[Call]) -> None:
    """Make calls, one after the other; a server that is just starting is waited for."""
    with _connected(address) as connection, connection.makefile("rb") as answers:
        for number, call in enumerate(calls):
            connection.sendall(call.message(number))
            _read_answer(answers, call)


def to_json(calls: Iterable[Call]) -> str:
    """Calls as text."""
    return json.dumps([[call.service, call.function, call.arguments] for call in calls])


def from_json(text: str) -> list[Call]:
    """Calls of such a text."""
    return [
        Call(service, function, tuple((Type(kind), value) for kind, value in arguments))
        for service, function, arguments in json.loads(text)
    ]


def _connected(address: tuple[str, int]) -> socket.socket:
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            return socket.create_connection(address, timeout=_ANSWER_S)
        except OSError as error:
            if time.monotonic() >= deadline:
                raise RunFailed(f"no Thrift server at {address[0]}:{address[1]}: {error}") from error
            time.sleep(_GLANCE_S)


def _read_answer(answers: Any, call: Call) -> None:
    """Read to the end of an answer; one that is an exception is raised."""

    def take(form: str) -> Any:
        data = answers.read(struct.calcsize(form))
        if len(data) != struct.calcsize(form):
            raise RunFailed(f"the Thrift server ended while it answered `{call.function}`")
        return struct.unpack(form, data)[0]

    head = take(">I")
    if head & 0xFFFF_0000 != _VERSION:
        raise RunFailed("what answers is no Thrift server")
    answers.read(take(">i") + 4)
    told = ""
    while (kind := take(">b")) != _STOP:
        take(">h")
        if kind == Type.STRING:
            told = answers.read(take(">i")).decode(errors="replace")
        elif kind in _FORMS:
            take(_FORMS[kind])
        else:
            raise RunFailed(f"the Thrift server answers `{call.function}` with a value of type {kind}")
    if head & 0xFF == _EXCEPTION:
        raise RunFailed(f"the Thrift server refuses `{call.function}`: {told}")


if __name__ == "__main__":
    try:
        make(("127.0.0.1", int(sys.argv[1])), from_json(sys.stdin.read()))
    except (RunFailed, OSError) as failure:
        sys.exit(str(failure))
