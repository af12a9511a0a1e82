# SPDX-License-Identifier: MIT OR Apache-2.0
"""The reference compiler, for switches that run its output."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from marklab.errors import RunFailed
from marklab.paths import PROGRAMS

_COMPILE_S = 120.0


@dataclass(frozen=True)
class ForBmv2:
    """A program as BMv2 reads it, and its P4Info (protobuf)."""

    json: Path
    p4info: Path


def compile_program(program: Path, folder: Path) -> ForBmv2:
    """Have p4c-bm2-ss compile a program, into files in a folder."""
    made = ForBmv2(folder / f"{program.stem}.json", folder / f"{program.stem}.p4info.bin")
    command = ["p4c-bm2-ss", "-I", str(PROGRAMS), "-o", str(made.json), "--p4runtime-files", str(made.p4info)]
    try:
        found = subprocess.run(  # noqa: S603 - no shell
            [*command, str(program)], capture_output=True, text=True, check=False, timeout=_COMPILE_S
        )
    except subprocess.TimeoutExpired as error:
        raise RunFailed(f"p4c-bm2-ss does not end on {program} ({_COMPILE_S:g} s waited)") from error
    if found.returncode != 0:
        raise RunFailed(f"p4c-bm2-ss refuses {program}: {found.stderr.strip()}")
    return made
