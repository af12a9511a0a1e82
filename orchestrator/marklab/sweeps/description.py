# SPDX-License-Identifier: MIT OR Apache-2.0
"""A grid of runs: the settings that all points share, and the settings that differ."""

from __future__ import annotations

import copy
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic.json_schema import JsonSchemaValue

from marklab.errors import BadInput, unknown
from marklab.model import as_list
from marklab.spec.description import FABRICS, Spec, grid_of, make_spec, placed, read_spec, setting_names
from marklab.spec.settings import chosen_schemes, put_setting
from marklab.units import parse_setting

Settings = dict[str, Any]

GRID = "grid"
# Prefix of grid keys that are parameters of schemes.
PARAMETER = "param."

# Keys that describe a whole sweep, and so cannot differ between its points.
_NOT_IN_GRIDS = {
    "schemes": "list them under `schemes`, beside the grid",
    "baseline": "write it beside the grid",
    "name": "write it beside the grid",
    "seeds": "write how many there are beside the grid, `seeds: 5`; each is a cell of its own",
    "first_seed": "write it beside the grid",
    **dict.fromkeys(FABRICS, "write it beside the grid"),
}


def written_grid() -> JsonSchemaValue:
    """JSON Schema of a grid."""
    own = [name for name in setting_names() if name not in _NOT_IN_GRIDS]
    return grid_of([*own, PARAMETER.rstrip(".")], {"description": "a value, or several in a list"})


@dataclass(frozen=True)
class Sweep:
    """Settings of a run, as in a spec file, and a grid: further settings by key, each with a list of values."""

    settings: Settings
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def count(self) -> int:
        """Number of points of the grid."""
        return math.prod(len(values) for values in self.grid.values())

    def points(self) -> Iterator[Settings]:
        """Settings of each point. The last key of the grid varies fastest."""
        for values in itertools.product(*self.grid.values()):
            yield dict(zip(self.grid, values, strict=True))

    def spec_at(self, point: Mapping[str, Any]) -> tuple[Spec, tuple[str, ...]]:
        """The run at a point, and the names of its schemes, which are the same in the whole grid."""
        settings = copy.deepcopy(self.settings)
        params = [f"{key.removeprefix(PARAMETER)}={value}" for key, value in point.items() if _is_parameter(key)]
        for key, value in point.items():
            if not _is_parameter(key):
                put_setting(settings, key, yaml.safe_dump(value) if not isinstance(value, str) else _quoted(value))
        named = as_list(settings.get("schemes", []))
        settings["schemes"] = chosen_schemes(named, params)
        spec = make_spec(settings)
        labels = tuple(choice.label for choice in chosen_schemes(named, []))
        return spec, labels + tuple(choice.label for choice in spec.choices[len(labels) :])

    def to_yaml(self) -> str:
        """The description as a file."""
        grid = {GRID: {key: list(values) for key, values in self.grid.items()}} if self.grid else {}
        return yaml.safe_dump(self.settings | grid, sort_keys=False, allow_unicode=True)


def _is_parameter(key: str) -> bool:
    return key.startswith(PARAMETER)


def _quoted(text: str) -> str:
    """YAML of a text that stays text: `0.5` must not become a number."""
    return yaml.safe_dump(text, default_style='"')


def read_sweep(path: Path | None, over: Mapping[str, Any], more: Sequence[str], grid: Sequence[str]) -> Sweep:
    """Read a sweep from a file, settings that override the file, `KEY=VALUE`, and `KEY=VALUE,VALUE` for the grid.

    Raises BadInput for unknown keys, with the nearest known key, and for a grid without cells.
    """
    settings = dict(read_spec(path)) if path is not None else {}
    where = f"{path}: " if path is not None else ""
    in_file = settings.pop(GRID, None) or {}
    if not isinstance(in_file, dict):
        raise BadInput(f"{where}`grid` is not a mapping", "write `grid: {load: [0.2, 0.5, 0.8]}`")
    if path is not None:
        in_file = placed(in_file, path.parent)
    settings |= over
    for text in more:
        put_setting(settings, *parse_setting(text))
    values = {str(key): tuple(as_list(value)) for key, value in in_file.items()}
    for text in grid:
        key, listed = parse_setting(text)
        values[key] = tuple(_values(key, listed))
    # Schemes are named independently of the folder, as the description is kept with the results.
    settings["schemes"] = [str(choice) for choice in chosen_schemes(as_list(settings.get("schemes", [])), [])]
    return checked(Sweep(settings, values), where)


def _values(key: str, listed: str) -> list[Any]:
    """Values separated by commas, each as YAML. Values that contain commas are written in a list: `[...]`."""
    try:
        found = yaml.safe_load(listed if listed.startswith("[") else f"[{listed}]")
    except yaml.YAMLError as error:
        raise BadInput(f"--grid {key}={listed} is not a list of values", f"--grid {key}=VALUE,VALUE") from error
    return list(found)


def checked(sweep: Sweep, where: str = "") -> Sweep:
    """Return the sweep if its keys are known and its grid has points. Raises BadInput otherwise."""
    known = setting_names()
    for key, values in sweep.grid.items():
        top = key.partition(".")[0]
        if top in _NOT_IN_GRIDS:
            raise BadInput(f"{where}`{key}` cannot be in a grid", _NOT_IN_GRIDS[top])
        if top not in known and not _is_parameter(key):
            error = unknown("key of the grid", key, [name for name in known if name not in _NOT_IN_GRIDS])
            raise BadInput(f"{where}{error}", f"{error.remedy}; or `{PARAMETER}NAME`, a parameter of schemes")
        if not values:
            raise BadInput(f"{where}the grid has no cells: `{key}` lists no value", f"write `{key}: [VALUE, VALUE]`")
        twice, times = Counter(map(str, values)).most_common(1)[0]
        if times > 1:
            raise BadInput(f"{where}`{key}` of the grid lists {twice} twice", "list each value once")
    return sweep
