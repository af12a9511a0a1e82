# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs in BPF, compiled against the type information of the kernel that runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from marklab.errors import SetupError
from marklab.lab.commands import require, run

TYPES = Path("/sys/kernel/btf/vmlinux")
TOOLS = ("bpftool", "clang")


def check(what: str, remedy: str) -> None:
    """Refuse what needs BPF where there is no way to it."""
    require(TOOLS)
    if os.geteuid() != 0:
        raise SetupError(f"{what} can be loaded by root only", "sudo")
    if not TYPES.exists():
        raise SetupError(f"this kernel has no type information ({TYPES}), which {what} needs", remedy)


def kernel_types() -> str:
    """Those of the kernel, in C."""
    return run("bpftool", "btf", "dump", "file", str(TYPES), "format", "c")


def compiled(source: Path, types: str, program: Path, defined: Sequence[str] = ()) -> Path:
    """Compile a source to a file in a folder of its own."""
    (program.parent / "vmlinux.h").write_text(types, encoding="utf-8")
    options = ["-g", "-O2", "-Wall", "-Werror", "-target", "bpf", "-mcpu=v3", f"-I{program.parent}", *defined]
    whole = program.with_suffix(".whole.o")
    run("clang", *options, "-c", str(source), "-o", str(whole))
    # Linking leaves out what a debugger would need besides the types.
    run("bpftool", "gen", "object", str(program), str(whole))
    return program
