# SPDX-License-Identifier: MIT OR Apache-2.0
"""p4c's Tofino back end, if it is installed: compiles a twin, and reads which resources of the chip it uses."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from marklab.catalog.twin import TwinSpec
from marklab.errors import RunFailed
from marklab.prepare.experiment import ReadyScheme
from marklab.promotion.build import compiler_arguments

_COMPILE_S = 900.0

# Resources of a stage that the compiler's report lists with their users.
_COUNTED = {
    "rams": "SRAM",
    "tcams": "TCAM",
    "map_rams": "map RAM",
    "gateways": "gateways",
    "meter_alus": "stateful ALUs",
}


@dataclass(frozen=True)
class Compiled:
    """The result of a compilation: messages if it failed, otherwise the stages and units used."""

    compiler: str
    message: str | None
    stages: int = 0
    used: Mapping[str, int] | None = None


def compiler() -> str | None:
    """Path of a p4c that supports Tofino, or None."""
    for name in ("bf-p4c", "p4c"):
        path = shutil.which(name)
        if path is not None and _knows_tofino(path):
            return path
    return None


def _knows_tofino(path: str) -> bool:
    try:
        found = subprocess.run([path, "--target-help"], capture_output=True, text=True, check=False, timeout=60)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return False
    return "tofino" in found.stdout + found.stderr


def compile_twin(path: str, scheme: ReadyScheme, twin: TwinSpec) -> Compiled:
    """Compile a twin. Raises RunFailed if the compiler does not end in time."""
    with TemporaryDirectory(prefix="marklab-p4c-") as folder:
        command = [path, *compiler_arguments(scheme, twin, scheme.fitted.scheme.program), "-o", folder]
        try:
            found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_COMPILE_S)  # noqa: S603
        except subprocess.TimeoutExpired as error:
            raise RunFailed(f"p4c did not finish {scheme.label} within {_COMPILE_S:g} s") from error
        if found.returncode != 0:
            said = [line for line in (found.stderr + found.stdout).splitlines() if "error" in line.lower()]
            return Compiled(path, "; ".join(said[:5]) or f"status {found.returncode}")
        return _report(path, Path(folder))


def _report(path: str, folder: Path) -> Compiled:
    files = sorted(folder.rglob("resources.json"))
    if not files:
        raise RunFailed(f"{path} left no resources.json", "a build of p4c with `p4c-build-logs` on its PATH")
    return read_resources(path, json.loads(files[0].read_text(encoding="utf-8")))


def read_resources(path: str, report: Mapping[str, Any]) -> Compiled:
    """Read the compiler's report (p4c, backends/tofino/compiler_interfaces/schemas/resources_schema.py)."""
    mau = report["resources"]["mau"]
    used: dict[str, int] = dict.fromkeys(("logical tables", *_COUNTED.values()), 0)
    last = -1
    for stage in mau["mau_stages"]:
        tables = stage["logical_tables"]["ids"]
        used["logical tables"] += len(tables)
        for key, name in _COUNTED.items():
            used[name] += _units(stage[key])
        if tables:
            last = max(last, stage["stage_number"])
    return Compiled(path, None, last + 1, used)


def _units(block: Mapping[str, Any]) -> int:
    """Count the units in use: entries of the lists in a block that name a user (`usages` or `usage`)."""
    found = 0
    for value in block.values():
        for each in value if isinstance(value, list) else []:
            found += bool(each.get("usages") or each.get("usage"))
    return found
