# SPDX-License-Identifier: MIT OR Apache-2.0
"""Packet-out and packet-in (P4Runtime specification, section 16.1).

Headers annotated `@controller_header` precede packets on the CPU port: "packet_out" on the way in, "packet_in" on the
way out. Hidden fields are present, with value 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from marklab.p4runtime import annotation
from marklab.p4runtime.ids import field_ids
from marklab.p4runtime.messages import p4runtime_pb2
from marklab.p4runtime.program import Program, hidden
from marklab.p4runtime.server.refusal import invalid
from marklab.p4runtime.server.values import by_id, decode, encode


class CpuPort(Protocol):
    """The port between switch and controller."""

    number: int

    def send(self, frame: bytes) -> None:
        """Inject a frame at this port."""

    def listen(self, receive: Callable[[bytes], None]) -> None:
        """Call `receive`, from any thread, with each frame that leaves through this port from now on."""


@dataclass(frozen=True)
class _Field:
    number: int
    name: str
    bits: int
    is_hidden: bool


class ControllerHeader:
    """A header between switch and controller. It has no fields if the program does not declare it."""

    def __init__(self, program: Program, name: str) -> None:
        self._name = name
        self._fields = _fields(program, name)
        self._bytes = (sum(field.bits for field in self._fields) + 7) // 8

    def prepend(self, packet: Any) -> bytes:
        """Convert a packet-out to a frame."""
        sent = ((metadata.metadata_id, metadata.value) for metadata in packet.metadata)
        names = {field.number: field.name for field in self._fields if not field.is_hidden}
        given = by_id(self._name, "field", sent, names)
        header = 0
        for field in self._fields:
            value = 0
            if not field.is_hidden:
                what = f"{self._name}: field `{field.name}`"
                if field.number not in given:
                    raise invalid(f"{what} is missing", "give all fields of the header")
                value = decode(given[field.number], field.bits, what)
            header = header << field.bits | value
        return header.to_bytes(self._bytes, "big") + bytes(packet.payload)

    def split(self, frame: bytes) -> Any | None:
        """Convert a frame to a packet-in; None if it is shorter than the header."""
        if len(frame) < self._bytes:
            return None
        packet = p4runtime_pb2.PacketIn(payload=frame[self._bytes :])
        header = int.from_bytes(frame[: self._bytes], "big")
        left = sum(field.bits for field in self._fields)
        for field in self._fields:
            left -= field.bits
            if not field.is_hidden:
                value = header >> left & (1 << field.bits) - 1
                packet.metadata.add(metadata_id=field.number, value=encode(value))
        return packet


def _fields(program: Program, name: str) -> list[_Field]:
    for header in program.controller_headers:
        if not hidden(header) and annotation.text(header["annotations"], "controller_header") == name:
            fields = program.types.flat(header["name"])
            ids = field_ids(header["name"], fields)
            return [
                _Field(number, field["name"], program.types.bits(field["type"]), hidden(field))
                for number, field in zip(ids, fields, strict=True)
            ]
    return []
