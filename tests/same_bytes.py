# SPDX-License-Identifier: MIT OR Apache-2.0
"""Everything that a simulated cell observed, on any number of threads, as one digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from marklab.engine import binding as engine
from marklab.fabrics import Cell, Sim
from marklab.prepare.experiment import Experiment, ReadyScheme
from marklab.results.observation import Observation

# What depends on the machine, and how the cell ran.
_MEASURED = {"cpu_s", "flows", "threads", "parallelism"}


def _parts(value: Any) -> Iterator[bytes]:
    if isinstance(value, np.ndarray):
        yield f"{value.dtype} {value.shape}".encode()
        yield json.dumps(value.tolist()).encode() if value.dtype.kind in "UO" else np.ascontiguousarray(value).tobytes()
    elif isinstance(value, Mapping):
        for key in value:
            yield str(key).encode()
            yield from _parts(value[key])
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for each in value:
            yield from _parts(each)
    else:
        yield repr(value).encode()


def digest(seen: Observation) -> str:
    """Digest of an observation."""
    found = hashlib.sha256()
    for field in fields(seen):
        if field.name not in _MEASURED:
            for part in _parts(getattr(seen, field.name)):
                found.update(len(part).to_bytes(8, "little") + part)
    return found.hexdigest()


def differing(experiment: Experiment, scheme: ReadyScheme, seed: int, threads: Iterable[int]) -> list[int]:
    """The numbers of threads on which a cell does not give what it gives on one."""

    def on(count: int) -> str:
        return digest(Sim().run(Cell(experiment, scheme, seed, threads=count), engine.new_watch()))

    alone = on(1)
    return [count for count in threads if on(count) != alone]
