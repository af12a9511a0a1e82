# SPDX-License-Identifier: MIT OR Apache-2.0
"""P4Runtime's view of a program: P4Info, and the entries in the program's source.

The engine describes a program as plain data (`engine.describe_control_plane`). `program` adds ids (`ids`), types
(`types`) and annotations (`annotation`). `p4info` with `objects`, and `entries`, build the `messages`; `files` writes
them. All of it follows p4c, so one control plane serves programs of either compiler. `server` is a P4Runtime server;
`client` is a controller for any such server, which writes the lab's entries (`lab_entries`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from marklab.p4runtime import entries, files, p4info


def write(described: Mapping[str, Any], infos: Sequence[Path], requests: Sequence[Path]) -> list[Path]:
    """Write a program's P4Info and entries to files, in formats given by their suffixes. Returns the written files."""
    for path in (*infos, *requests):
        files.form(path)
    # Both are built before the first file is written, so a refusal leaves no file.
    info, program = p4info.build(described)
    request = entries.build(program)
    for message, paths in ((info, infos), (request, requests)):
        for path in paths:
            files.write(message, path)
    return [*infos, *requests]
