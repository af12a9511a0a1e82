# SPDX-License-Identifier: MIT OR Apache-2.0
"""The reference compiler, for switches that run its output."""

from __future__ import annotations

import subprocess
from pathlib import Path

from marklab.errors import RunFailed
from marklab.paths import PROGRAMS

_COMPILE_S = 120.0


def compile_program(program: Path, folder: Path, *, p4info: Path | None = None) -> Path:
    """Have p4c-bm2-ss compile a program, into a file in a folder for BMv2.

    Writes P4Info (protobuf) as well if told where. P4Runtime has no form for all that P4_16 has, so that a program
    may compile without P4Info alone.
    """
    json = folder / f"{program.stem}.json"
    command = ["p4c-bm2-ss", "-I", str(PROGRAMS), "-o", str(json), str(program)]
    if p4info is not None:
        command += ["--p4runtime-files", str(p4info)]
    try:
        found = subprocess.run(  # noqa: S603 - no shell
            command, capture_output=True, text=True, check=False, timeout=_COMPILE_S
        )
    except subprocess.TimeoutExpired as error:
        raise RunFailed(f"p4c-bm2-ss does not end on {program} ({_COMPILE_S:g} s waited)") from error
    if found.returncode != 0:
        raise RunFailed(f"p4c-bm2-ss refuses {program}: {found.stderr.strip()}")
    return json
