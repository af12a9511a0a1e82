# SPDX-License-Identifier: MIT OR Apache-2.0
"""How the network of a cell stands while it runs, as lines of JSON for another program (docs/results.md)."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from marklab.engine import binding as engine
from marklab.errors import BadInput
from marklab.fabrics import Cell

# What a picture has of each line, as the engine names it.
COLUMNS = ("packets", "wire_bytes", "marked", "lost")


def network(cell: Cell) -> dict[str, Any]:
    """Nodes with their tiers (0 for hosts), and the lines in the order of pictures."""
    graph = cell.experiment.network.graph
    tiers = graph.tiers.tolist()
    return {
        "nodes": [{"name": name, "tier": tier} for name, tier in zip(graph.names, tiers, strict=True)],
        "lines": [
            {"from": list(line.source), "to": list(line.target), "rate_bps": line.rate_bps} for line in graph.lines
        ],
    }


class Pictures:
    """Writes pictures of one cell into a file, or into a pipe that another program reads."""

    def __init__(self, path: Path) -> None:
        try:
            self._file: IO[str] = path.open("w", encoding="utf-8")
        except OSError as error:
            raise BadInput(f"cannot write pictures to {path}: {error.strerror}", "another --pictures FILE") from error
        self._latest_ns = -1

    def __enter__(self) -> Pictures:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        # Whoever read the pipe may be gone.
        with suppress(OSError):
            self._file.close()

    def begin(self, cell: Cell) -> None:
        """Say what pictures show."""
        self._write({"scheme": cell.scheme.label, "seed": cell.seed} | network(cell))

    def note(self, watch: engine.Watch) -> None:
        """Write the latest picture, if it is a new one, and ask for the next."""
        picture = watch.picture()
        if picture is None or picture[0] <= self._latest_ns:
            return
        self._latest_ns, finished, view = picture
        columns = {name: view[name].tolist() for name in COLUMNS}
        self._write({"now_ns": self._latest_ns, "finished": finished, **columns})

    def _write(self, plain: dict[str, Any]) -> None:
        with suppress(BrokenPipeError):
            self._file.write(json.dumps(plain) + "\n")
            self._file.flush()
