# SPDX-License-Identifier: MIT OR Apache-2.0
"""Whether two runs of a cell gave the same: every value of its row, exactly.

What a run does not decide is left out: how long it took, and what made it, which versions say.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from marklab.errors import BadInput
from marklab.results.metric import METRICS

Value = str | float | bool | None

# Parts of a row that are JSON, and those of a seed's result that differ from run to run.
_JSON = ("result", "curves", "scheme_at_point", "warnings")
_OF_THE_RUN = ("result.engine_cpu_s",)


@dataclass(frozen=True)
class Difference:
    """A value that differs: its cell or claim, and its name."""

    where: str
    what: str
    stored: Value
    repeated: Value

    @property
    def relative(self) -> float | None:
        """Distance to the stored number, by that number; infinite from 0, None where one of them is no number."""
        if not (_is_number(self.stored) and _is_number(self.repeated)):
            return None
        old, new = float(self.stored or 0), float(self.repeated or 0)
        return abs(new - old) / abs(old) if old else math.inf

    def __str__(self) -> str:
        far = "" if self.relative is None or math.isinf(self.relative) else f" ({self.relative:.2g} of it)"
        return f"{self.where}: {self.what}: stored {_text(self.stored)}, repeated {_text(self.repeated)}{far}"


def _is_number(value: Value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _text(value: Value) -> str:
    return "nothing" if value is None else str(value)


def values_of(row: Mapping[str, Any]) -> dict[str, Value]:
    """All values of a cell that the same description gives again, by their paths."""
    found = {name: row[name] for name in METRICS if name in row}
    for name in _JSON:
        found |= leaves(parsed(row, name), name)
    return {path: value for path, value in found.items() if path not in _OF_THE_RUN}


def parsed(row: Mapping[str, Any], column: str) -> Any:
    """What a column of JSON holds; raises BadInput where it holds none."""
    try:
        return json.loads(row[column])
    except (ValueError, TypeError) as error:
        at = f"{row['scheme']}, seed {row['seed']}"
        raise BadInput(f"a cell ({at}) has no JSON in `{column}`: {error}", "unpack the archive again") from error


def leaves(plain: Any, path: str) -> dict[str, Value]:
    """What is in nested plain data, by paths as `result.fct_us.short.mean`."""
    return dict(_leaves(plain, path))


def _leaves(plain: Any, path: str) -> Iterator[tuple[str, Value]]:
    if isinstance(plain, dict):
        for key, value in plain.items():
            yield from _leaves(value, f"{path}.{key}")
    elif isinstance(plain, list):
        for number, value in enumerate(plain):
            yield from _leaves(value, f"{path}[{number}]")
    else:
        yield path, plain


def differences(where: str, stored: Mapping[str, Value], repeated: Mapping[str, Value]) -> Iterator[Difference]:
    """Values that are not the same; one that only one side has is compared with nothing."""
    for what in dict.fromkeys([*stored, *repeated]):
        old, new = stored.get(what), repeated.get(what)
        if not _same(old, new):
            yield Difference(where, what, old, new)


def _same(old: Value, new: Value) -> bool:
    """The same number, to the last bit; an empty list and none at all are the same nothing."""
    both_nan = isinstance(old, float) and isinstance(new, float) and math.isnan(old) and math.isnan(new)
    return both_nan or (old == new and isinstance(old, bool) == isinstance(new, bool))


def table_differences(where: str, what: str, stored: Path | None, repeated: Path | None) -> Iterator[Difference]:
    """Columns of a table whose values are not the same; raises BadInput for a stored one that cannot be read."""
    if stored is None or repeated is None:
        yield Difference(where, what, None if stored is None else "a table", None if repeated is None else "a table")
        return
    old, new = read_table(stored), read_table(repeated)
    if old.height != new.height:
        yield Difference(where, f"{what}, rows", old.height, new.height)
        return
    for name in dict.fromkeys([*old.columns, *new.columns]):
        if name not in old.columns or name not in new.columns:
            there = ("a column" if name in each.columns else None for each in (old, new))
            yield Difference(where, f"{what}, {name}", *there)
        elif not old[name].equals(new[name], null_equal=True):
            at = next(row for row, (a, b) in enumerate(zip(old[name], new[name], strict=True)) if not _same(a, b))
            yield Difference(where, f"{what}, {name}, row {at}", old[name][at], new[name][at])


def read_table(path: Path) -> pl.DataFrame:
    """Read a Parquet file; raises BadInput that names it where it is damaged."""
    try:
        return pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise BadInput(f"{path} cannot be read: {str(error).splitlines()[0]}", "unpack the archive again") from error
