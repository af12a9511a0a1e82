# SPDX-License-Identifier: MIT OR Apache-2.0
"""The command of p4c for a twin."""

from __future__ import annotations

from pathlib import Path

from marklab.catalog.twin import TwinSpec
from marklab.prepare.experiment import ReadyScheme

_TARGETS = {"tofino1": ("tofino", "tna"), "tofino2": ("tofino2", "t2na")}


def compiler_arguments(scheme: ReadyScheme, twin: TwinSpec, program: Path) -> list[str]:
    """The command of p4c for a program."""
    target, arch = _TARGETS[twin.chip]
    defines = [word for name, value in scheme.fitted.defines for word in ("-D", f"{name}={value}")]
    return ["--target", target, "--arch", arch, "-g", *defines, str(program)]
