# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes messages to files, in the format of the file's suffix."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from marklab.errors import unknown
from marklab.p4runtime.messages import json_format, text_format


def _text(message: Any) -> bytes:
    descriptor = message.DESCRIPTOR
    head = f"# proto-file: {descriptor.file.name}\n# proto-message: {descriptor.full_name}\n\n"
    return bytes((head + text_format.MessageToString(message)).encode())


def _json(message: Any) -> bytes:
    return bytes((json_format.MessageToJson(message) + "\n").encode())


_FORMS: dict[str, Callable[[Any], bytes]] = {
    ".txtpb": _text,
    ".txt": _text,
    ".bin": lambda message: bytes(message.SerializeToString(deterministic=True)),
    ".json": _json,
}


def form(path: Path) -> Callable[[Any], bytes]:
    """The function that converts a message to the format of a file's suffix."""
    if path.suffix not in _FORMS:
        raise unknown("ending", path.suffix or path.name, _FORMS)
    return _FORMS[path.suffix]


def write(message: Any, path: Path) -> None:
    """Write a message in the format of the path's suffix."""
    path.write_bytes(form(path)(message))
