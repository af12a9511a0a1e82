# SPDX-License-Identifier: MIT OR Apache-2.0
"""What an artifact holds of an experiment: its description, and a row for each cell."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from marklab.artifact.equality import parsed
from marklab.artifact.packing import SUMS
from marklab.errors import BadInput, unknown
from marklab.papers.experiment import PaperExperiment, read_experiment
from marklab.results.sweep import FINISHED, PLAN, SWEEP, read_cells

# Of the folder of an artifact, in which each experiment has one of its own: that of a reproduction, and more.
EXPERIMENTS = "experiments"

_DAMAGED = "unpack the archive again"

# The point's settings, the scheme and the seed: what tells the cells of an experiment apart, whatever made them.
Place = tuple[str, str, int]


def place_of(settings: Mapping[str, Any], scheme: str, seed: int) -> Place:
    """The place of a cell, in whatever order its settings were written."""
    return json.dumps(dict(settings), sort_keys=True), scheme, seed


@dataclass(frozen=True)
class StoredCell:
    """A cell: where it is in words, its number in the plan, and its row."""

    at: str
    number: int
    row: Mapping[str, Any]

    @property
    def key(self) -> str:
        """Digest of all that decided its result."""
        return str(self.row["key"])

    @property
    def error(self) -> str | None:
        """Why it failed; None if it did not."""
        return None if self.row["status"] == FINISHED else str(self.row["error"])

    @property
    def wall_s(self) -> float:
        """Seconds that it took."""
        return float(self.row["wall_s"])

    @property
    def scheme(self) -> str:
        """What its scheme is called."""
        return str(self.row["scheme"])

    @property
    def program(self) -> str:
        """Digest of its scheme's program."""
        return str(parsed(self.row, "scheme_at_point")["program"])


@dataclass(frozen=True)
class Stored:
    """An experiment in the folder of an artifact. Its cells are in the order of the plan."""

    name: str
    folder: Path
    paper: PaperExperiment
    cells: Mapping[Place, StoredCell]


def read_stored(folder: Path) -> Stored:
    """Read an experiment of an artifact.

    Raises BadInput, which names the file, for what is damaged, and for one that is not whole.
    """
    paper = read_experiment(folder / SWEEP)
    cells = read_rows(folder)
    try:
        planned = json.loads((folder / PLAN).read_text(encoding="utf-8"))["cells"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{folder / PLAN} cannot be read: {error}", _DAMAGED) from error
    if len(cells) != planned:
        raise BadInput(f"{folder} has {len(cells)} of {planned} cells", _DAMAGED)
    return Stored(folder.name, folder, paper, cells)


def read_rows(folder: Path) -> dict[Place, StoredCell]:
    """All cells in a folder of results, by their places; raises BadInput for a file that is damaged."""
    rows, damaged = read_cells(folder)
    for path, why in damaged:
        raise BadInput(f"{path} cannot be read: {why}", _DAMAGED)
    cells = {}
    for number, row in enumerate(rows.iter_rows(named=True)):
        settings = parsed(row, "settings")
        at = ", ".join([*(f"{key} {value}" for key, value in settings.items()), row["scheme"]])
        place = place_of(settings, row["scheme"], row["seed"])
        cells[place] = StoredCell(f"{at}, seed {row['seed']}", number, row)
    return cells


def read_artifact(folder: Path, only: Sequence[str] = ()) -> list[Stored]:
    """Read the experiments of an artifact, or some of them by their names."""
    if folder.is_file():
        raise BadInput(f"{folder} is a file", f"unpack it, `tar xzf {folder}`, and name the folder")
    known = {path.parent.name: path.parent for path in sorted((folder / EXPERIMENTS).glob(f"*/{SWEEP}"))}
    if not known:
        raise BadInput(
            f"{folder} is no artifact: it has no {EXPERIMENTS}/*/{SWEEP}",
            f"name the folder that an archive of `artifact` unpacks to; {SUMS} and README.md lie in it",
        )
    for name in only:
        if name not in known:
            raise unknown("experiment of the artifact", name, known)
    return [read_stored(path) for name, path in known.items() if not only or name in only]


def chosen(stored: Iterable[Stored], count: int | None) -> dict[str, frozenset[Place]]:
    """So many cells of all experiments, or all of them, by the names of the experiments.

    Which they are follows from the digests of the cells: the same ones everywhere, and from all over the grids.
    """
    cells = [(cell.key, each.name, place) for each in stored for place, cell in each.cells.items()]
    taken = sorted(cells)[:count]
    names = dict.fromkeys(name for _, name, _ in taken)
    return {name: frozenset(place for _, of, place in taken if of == name) for name in names}
