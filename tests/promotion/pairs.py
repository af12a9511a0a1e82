# SPDX-License-Identifier: MIT OR Apache-2.0
"""Twins beside their schemes, on the same packets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from marklab.catalog.twin import Arch, TwinSpec, twin_of, twin_spec
from marklab.engine import binding as engine
from marklab.fabrics import Cell
from marklab.model import validate
from marklab.prepare.experiment import Experiment, ReadyScheme, prepare
from marklab.promotion.equivalence import Agreement, agreement
from marklab.promotion.sequence import Recording, recorded
from marklab.spec.description import make_spec

# Packets of a run that fills and empties the queue: enough for episodes of each kind.
PACKETS = 40_000

# Settings of schemes that need other queues.
SETTINGS: dict[str, dict[str, Any]] = {
    "per-queue": {
        "schemes": ["per-queue:minimum"], "queues": "dwrr:count=4,quantum=1mtu/2mtu/3mtu/4mtu", "services": "4",
    },
    "red": {"schemes": ["red:star"]},
    "mq-ecn": {"queues": "wrr:count=4,quantum=1mtu/2mtu/3mtu/4mtu", "services": "4"},
}  # fmt: skip


@dataclass(frozen=True)
class Pair:
    """A scheme, its twin, and packets of a real run."""

    experiment: Experiment
    scheme: ReadyScheme
    twin: ReadyScheme
    spec: TwinSpec
    packets: Recording

    def agree(self, twin: ReadyScheme | None = None) -> Agreement:
        """Compare the decisions of the scheme and of its twin, or of another twin."""
        return agreement(self.experiment, self.scheme, twin or self.twin, self.spec, self.packets)

    def with_program(self, program: Path, described: Path) -> ReadyScheme:
        """A twin with another source and description."""
        spec = validate(TwinSpec, yaml.safe_load(described.read_text()), str(described))
        fitted = twin_of(self.scheme.fitted, spec, program)
        compiled = engine.compile_program(program, fitted.defines)
        return replace(self.twin, fitted=fitted, program=compiled, entries=[*fitted.entries, *self.services])

    @property
    def services(self) -> list[dict[str, Any]]:
        """Entries that map services to queues; they are not part of a scheme's entries."""
        return [entry for entry in self.twin.entries if entry["table"] == "service_queue"]


@cache
def pair_of(name: str, arch: Arch = "tna") -> Pair:
    """The pair of a scheme."""
    settings = {
        "schemes": [name], "baseline": "none", "load": 0.9, "flows": 120, "seeds": 1, "trace_queue": "1s",
        "trace_flows": "1s", **SETTINGS.get(name, {}),
    }  # fmt: skip
    plain, other = prepare(make_spec(settings)), prepare(make_spec(settings | {"arch": arch}))
    cell = Cell(plain, plain.schemes[0], 1)
    packets = recorded(cell, plain.network.bottleneck[0].source, PACKETS, engine.new_watch())
    return Pair(plain, plain.schemes[0], other.schemes[0], twin_spec(name, arch), packets)
