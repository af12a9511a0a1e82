# SPDX-License-Identifier: MIT OR Apache-2.0
"""Packets that a page sends again, as packet tests, and what the twin for Tofino decides on them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from marklab.errors import BadInput
from marklab.paths import COMMAND
from marklab.studio.commands import told
from marklab.studio.looks import Look
from marklab.studio.questions import AskedTwin, SavedTest, Sent, Written


async def sent(asked: Sent, unsaved: Path) -> dict[str, Any]:
    """What comes of a test: its verdict, and what the program did with each packet. The program has to compile."""
    with tempfile.TemporaryDirectory(dir=unsaved) as folder:
        program, test = Path(folder) / f"{asked.name}.p4", Path(folder) / "packet.stf"
        # The lab's own program has the file names that a page knows.
        path = asked.program.path
        if _edited(asked):
            program.write_text(asked.text, encoding="utf-8")
            path = program
        test.write_text(asked.test, encoding="utf-8")
        outcome: dict[str, Any] = (await told(["stf", str(path), str(test)]))["tests"][0]
    return outcome


def _edited(written: Written) -> bool:
    return written.text != written.program.path.read_text(encoding="utf-8")


def save_test(asked: SavedTest) -> dict[str, str]:
    """Write a test into the present folder; gives the command that runs it."""
    path = Path(f"{asked.name_}.stf").absolute()
    if path.exists():
        raise BadInput(f"{path} exists already", "another name")
    try:
        path.write_text(asked.test, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"cannot write {path}: {error.strerror}", "start the studio in a folder of your own") from error
    program = f"my-{asked.name}.p4" if _edited(asked) else asked.program.path
    return {"path": str(path), "command": f"{COMMAND} stf {program} {path.name}"}


async def twin(asked: AskedTwin, look: Look) -> dict[str, Any]:
    """What the twin decides on the packet that left a port of a switch at a time."""
    cell = [str(look.folder), "--scheme", look.scheme, "--seed", str(look.seed)]
    packet = ["--at", asked.at, "--time", f"{asked.left_ns}ns", "--what", "departure", "--twin"]
    beside: dict[str, Any] = (await told(["explain", *cell, *packet]))["twin"]
    return beside
