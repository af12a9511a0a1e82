# SPDX-License-Identifier: MIT OR Apache-2.0
"""Execution traces in Chakra's format (MLCommons): what each rank of a job computes and communicates, as a graph.

A file per rank, `PREFIX.0.et`, `PREFIX.1.et` and so on, has messages of protobuf with their lengths before them: one
`GlobalMetadata`, and a `Node` for each operation. The fields that the lab reads are described here, by their names and
numbers in `et_def.proto`; others are skipped, as protobuf does.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, proto
from google.protobuf.message import DecodeError

from marklab.errors import BadInput

SUFFIX = ".et"


class Kind(IntEnum):
    """`NodeType`, as far as the lab knows it."""

    METADATA = 1
    MEM_LOAD = 2
    MEM_STORE = 3
    COMP = 4
    SEND = 5
    RECV = 6
    COLLECTIVE = 7


# `CollectiveCommType`, as far as the lab has it.
COLLECTIVES = {0: "all-reduce", 2: "all-gather", 6: "all-to-all", 7: "reduce-scatter"}


@dataclass(frozen=True)
class Node:
    """An operation of a rank, and the operations of this rank that it waits for."""

    number: int
    name: str
    kind: Kind
    waits: tuple[int, ...]
    duration_ns: int
    attributes: Mapping[str, Any]

    def whole(self, name: str) -> int:
        """A number among its attributes. Raises BadInput if it is not there."""
        value = self.attributes.get(name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise BadInput(f"{self} has no number `{name}`")
        return value

    def __str__(self) -> str:
        return f"node {self.number} `{self.name}`"


def trace_files(prefix: str) -> tuple[Path, ...]:
    """The files of all ranks of `PREFIX.et`. Raises BadInput if the first is not there."""
    path = Path(prefix)
    stem = path.name.removesuffix(SUFFIX)
    found: list[Path] = []
    while (file := path.with_name(f"{stem}.{len(found)}{SUFFIX}")).is_file():
        found.append(file)
    if not found:
        raise BadInput(
            f"there is no execution trace {path.with_name(f'{stem}.0{SUFFIX}')}",
            "PREFIX.et stands for PREFIX.0.et, PREFIX.1.et and so on, a file per rank",
        )
    return tuple(found)


def trace_digest(prefix: str) -> str:
    """SHA-256 of all files of a trace."""
    state = hashlib.sha256()
    for file in trace_files(prefix):
        content = file.read_bytes()
        state.update(len(content).to_bytes(8, "big") + content)
    return state.hexdigest()


def read_trace(prefix: str) -> tuple[tuple[Node, ...], ...]:
    """The nodes of each rank, in the order of its file. Raises BadInput for what is no trace."""
    return tuple(_read_rank(file) for file in trace_files(prefix))


def _read_rank(file: Path) -> tuple[Node, ...]:
    try:
        nodes = tuple(_node(file, message) for message in _messages(file))
    except DecodeError as error:
        raise BadInput(f"{file} is not in Chakra's format: {error}") from error
    numbers = {node.number for node in nodes}
    if len(numbers) < len(nodes):
        raise BadInput(f"{file}: two nodes have the same id")
    for node in nodes:
        missing = set(node.waits) - numbers
        if missing:
            raise BadInput(f"{file}: {node} waits for {min(missing)}, which is not there")
    return nodes


def _messages(file: Path) -> Iterator[Any]:
    stream = io.BytesIO(file.read_bytes())
    metadata, node = messages()
    if proto.parse_length_prefixed(metadata, stream) is None:
        raise BadInput(f"{file} is empty")
    while (message := proto.parse_length_prefixed(node, stream)) is not None:
        yield message


def _node(file: Path, message: Any) -> Node:
    values = ((each.name, getattr(each, each.WhichOneof("value") or "name")) for each in message.attr)
    attributes = dict(values)
    where = f"{file}: node {message.id} `{message.name}`"
    try:
        kind = Kind(message.type)
    except ValueError:
        raise BadInput(f"{where} is of type {message.type}, which the lab does not have") from None
    if kind == Kind.COMP and not message.duration_micros and attributes.get("num_ops"):
        raise BadInput(f"{where} has operations but no duration, and the lab has no model of a machine")
    waits = tuple(dict.fromkeys([*message.ctrl_deps, *message.data_deps]))
    return Node(message.id, message.name, kind, waits, message.duration_micros * 1000, attributes)


_FIELD = descriptor_pb2.FieldDescriptorProto
# Of each message: fields as (name, number, type or message, repeated).
_SCHEMA: dict[str, tuple[tuple[str, int, int | str, bool], ...]] = {
    "AttributeProto": (
        ("name", 1, _FIELD.TYPE_STRING, False),
        ("int32_val", 7, _FIELD.TYPE_INT32, False),
        ("int64_val", 9, _FIELD.TYPE_INT64, False),
        ("uint32_val", 11, _FIELD.TYPE_UINT32, False),
        ("uint64_val", 13, _FIELD.TYPE_UINT64, False),
        ("bool_val", 27, _FIELD.TYPE_BOOL, False),
        ("string_val", 29, _FIELD.TYPE_STRING, False),
    ),
    "GlobalMetadata": (("version", 1, _FIELD.TYPE_STRING, False),),
    "Node": (
        ("id", 1, _FIELD.TYPE_UINT64, False),
        ("name", 2, _FIELD.TYPE_STRING, False),
        # An enum, which is a number on the wire.
        ("type", 3, _FIELD.TYPE_INT32, False),
        ("ctrl_deps", 4, _FIELD.TYPE_UINT64, True),
        ("data_deps", 5, _FIELD.TYPE_UINT64, True),
        ("duration_micros", 7, _FIELD.TYPE_UINT64, False),
        ("attr", 10, "AttributeProto", True),
    ),
}


@cache
def messages() -> tuple[Any, Any]:
    """The classes of `GlobalMetadata` and `Node`."""
    package = "marklab.chakra"
    file = descriptor_pb2.FileDescriptorProto(name="marklab/chakra.proto", package=package, syntax="proto3")
    for name, fields in _SCHEMA.items():
        message = file.message_type.add(name=name)
        for field, number, kind, repeated in fields:
            label = _FIELD.LABEL_REPEATED if repeated else _FIELD.LABEL_OPTIONAL
            made = message.field.add(name=field, number=number, label=label)
            if isinstance(kind, str):
                made.type, made.type_name = _FIELD.TYPE_MESSAGE, f".{package}.{kind}"
            else:
                made.type = kind
            if field.endswith("_val"):
                made.oneof_index = 0
        if name == "AttributeProto":
            message.oneof_decl.add(name="value")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    names = ("GlobalMetadata", "Node")
    metadata, node = (
        message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}")) for name in names
    )
    return metadata, node
