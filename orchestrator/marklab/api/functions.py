# SPDX-License-Identifier: MIT OR Apache-2.0
"""The lab from Python: `from marklab import run, sweep, compare`. Results are data frames of polars.

    from marklab import compare, run, sweep

    result = run(["ecn-sharp", "tcn"], load=0.8, flows=1000)
    result.summary            # one row per scheme, size class and statistic
    result.flows              # one row per flow

    grid = sweep(["ecn-sharp", "tcn"], grid={"load": [0.2, 0.5, 0.8]}, flows=1000)
    grid.cells                # one row per point of the grid, scheme and seed

    compare("results/reference", grid, fail_on=["short.p99 > +5%"]).table

Keywords are the settings of a spec file; nested settings are mappings, as `transport={"min_rto": "5ms"}`. Errors are
raised as `MarklabError`, whose `remedy` says what to do. Results stay in folders, which commands take as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from marklab.comparison import side_by_side as comparison
from marklab.comparison.policy import Policy, read_policy
from marklab.execution.cells import default_workers
from marklab.execution.progress import cells_bar
from marklab.execution.run import run_spec
from marklab.model import as_list
from marklab.paths import RESULTS
from marklab.report.comparison import to_json, to_markdown
from marklab.report.files import REPORT, write_report
from marklab.results.archive import open_collection
from marklab.results.collection import Collection
from marklab.results.summary import STATISTICS, Estimate, SchemeResult, Summary
from marklab.spec.description import make_spec, read_spec
from marklab.spec.settings import chosen_schemes
from marklab.sweeps.cluster import Workers
from marklab.sweeps.description import Sweep, checked, read_sweep
from marklab.sweeps.execute import run_sweep

# One scheme, or several.
Schemes = str | Sequence[str]

_SUMMARY_SCHEMA = {
    "scheme": pl.String,
    "size_class": pl.String,
    "statistic": pl.String,
    "n": pl.UInt64,
    **{f"{what}{end}": pl.Float64 for what in ("fct_us", "normalised", "slowdown") for end in ("", "_low", "_high")},
}


@dataclass(frozen=True)
class Result:
    """The results in a folder, as data frames."""

    folder: Path

    @cached_property
    def collection(self) -> Collection:
        """The whole result, as reports and comparisons use it."""
        return open_collection(self.folder)

    @property
    def warnings(self) -> list[str]:
        """The doubts about the result, each with the label of its point if it has one."""
        return self.collection.warnings

    @property
    def report(self) -> Path:
        """The folder's report.html, which is written if it does not exist."""
        path = self.folder / REPORT
        if not path.exists():
            write_report(self.collection, path)
        return path

    @cached_property
    def summary(self) -> pl.DataFrame:
        """One row per point, scheme, size class and statistic.

        Columns: the settings of the point, `scheme`, `size_class`, `statistic` (mean, p50, p99), `n` flows; `fct_us`,
        `normalised` (to the baseline on the same flows) and `slowdown`, each with `_low` and `_high` of its 95 %
        confidence interval over the seeds. Numbers that do not exist are null.
        """
        points = [
            pl.DataFrame(list(_rows(point.summary)), schema=_SUMMARY_SCHEMA).select(
                *(pl.lit(value).alias(key) for key, value in point.settings.items()), pl.all()
            )
            for point in self.collection.points
        ]
        return pl.concat(points, how="vertical_relaxed") if points else pl.DataFrame(schema=_SUMMARY_SCHEMA)


@dataclass(frozen=True)
class Run(Result):
    """A finished run."""

    @cached_property
    def flows(self) -> pl.DataFrame:
        """One row per scheme, seed and flow; docs/results.md has its columns."""
        return pl.read_parquet(self.folder / "flows.parquet")

    @property
    def numbers(self) -> Summary:
        """Everything that `summary.json` holds."""
        return self.collection.points[0].summary


@dataclass(frozen=True)
class SweepResult(Result):
    """A finished sweep; `cells` includes the cells that failed, with their errors."""

    @cached_property
    def cells(self) -> pl.DataFrame:
        """One row per cell; docs/sweeps.md has its columns."""
        return pl.read_parquet(self.folder / "cells" / "*.parquet")

    @property
    def failed(self) -> pl.DataFrame:
        """The cells that failed."""
        return self.cells.filter(pl.col("status") == "failed")

    @cached_property
    def flows(self) -> pl.LazyFrame:
        """One row per flow of all cells. Lazy, as they may exceed the memory: `.collect()` reads them."""
        return pl.scan_parquet(self.folder / "flows" / "*.parquet")


def run(
    schemes: Schemes | None = None,
    *,
    spec: str | Path | None = None,
    out: str | Path = RESULTS,
    jobs: int | None = None,
    **settings: Any,
) -> Run:
    """Run schemes and a baseline on the same flows, as the command `run` does.

    `schemes` are written as on the command line: NAME, NAME:PRESET, NAME:param=value or FILE.p4. `spec` is a file of
    settings, which the keywords override. `jobs` is the number of cells that run in parallel, by default the number of
    cores. Raises MarklabError.
    """
    given = {**(read_spec(Path(spec)) if spec is not None else {}), **_plain(settings)}
    given["schemes"] = chosen_schemes(_listed(schemes) or as_list(given.get("schemes", [])), [])
    return Run(run_spec(make_spec(given), Path(out), jobs or default_workers()).folder)


def sweep(
    schemes: Schemes | None = None,
    *,
    grid: Mapping[str, Sequence[Any]] | None = None,
    file: str | Path | None = None,
    out: str | Path = RESULTS,
    workers: int | None = None,
    scheduler: str | None = None,
    keep_flows: bool = True,
    **settings: Any,
) -> SweepResult:
    """Run a grid of settings, as the command `sweep` does. Cells that have finished before do not run again.

    `grid` maps settings to their values; the key `param.NAME` is a parameter of the schemes. `file` is a sweep file,
    which the other arguments override. `scheduler` is the address of a Dask scheduler; without one the cells run in
    `workers` processes of this machine. Raises MarklabError; a failed cell raises nothing and is in `failed`.
    """
    given = _plain(settings) | ({"schemes": _listed(schemes)} if schemes is not None else {})
    described = read_sweep(Path(file) if file is not None else None, given, (), ())
    values = {key: tuple(as_list(each)) for key, each in (grid or {}).items()}
    described = checked(Sweep(described.settings, {**described.grid, **values}))
    with cells_bar(str(described.settings.get("name") or "sweep")) as on_cells:
        chosen = Workers(workers or default_workers(), scheduler)
        folder = run_sweep(described, Path(out), chosen, on_cells, keep_flows=keep_flows)
    return SweepResult(folder)


_DIFFERENCES: dict[str, pl.DataType] = {
    **dict.fromkeys(("scheme", "metric", "point"), pl.String()),
    **dict.fromkeys(("base", "new", "relative"), pl.Float64()),
    "ci95": pl.List(pl.Float64()),
    "paired": pl.Boolean(),
    "verdict": pl.String(),
}
_TABLE = ("scheme", "metric", "point", "base", "new", "relative", "low", "high", "paired", "verdict")
_RULES: dict[str, pl.DataType] = {
    **dict.fromkeys(("rule", "scheme", "point"), pl.String()),
    "broken": pl.Boolean(),
    "reason": pl.String(),
}


@dataclass(frozen=True)
class Comparison:
    """Two results side by side."""

    details: comparison.Comparison

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per scheme and metric over all points, then one for each point.

        Columns: `scheme`, `metric`, `point` (null: all), `base` and `new` (means over the seeds), `relative` difference
        with `low` and `high` of its 95 % confidence interval, `paired` (seeds with the same flows), `verdict`.
        """
        low, high = pl.col("ci95").list.get(0, null_on_oob=True), pl.col("ci95").list.get(1, null_on_oob=True)
        frame = pl.DataFrame(self._plain["differences"], schema=_DIFFERENCES)
        return frame.with_columns(low=low, high=high).select(_TABLE)

    @cached_property
    def rules(self) -> pl.DataFrame:
        """One row per application of a rule: `rule`, `scheme`, `point`, `broken`, `reason`."""
        return pl.DataFrame(self._plain["rules"], schema=_RULES)

    @cached_property
    def _plain(self) -> dict[str, Any]:
        return to_json(self.details)

    @property
    def broken(self) -> bool:
        """Whether a rule is broken."""
        return bool(self.details.broken)

    @property
    def markdown(self) -> str:
        """The comparison for a pull request."""
        return to_markdown(self.details)


def compare(
    base: Result | str | Path,
    new: Result | str | Path,
    *,
    fail_on: str | Sequence[str] = (),
    policy: str | Path | None = None,
    force: bool = False,
) -> Comparison:
    """Compare two runs, or two sweeps, as the command `compare` does: folders, or results of `run` and `sweep`.

    `fail_on` holds rules such as `short.p99 > +5%`, in addition to those in the file `policy`; a broken rule raises
    nothing. With `force`, different versions of the lab may have written the two. Raises MarklabError.
    """
    rules = read_policy(Path(policy)) if policy is not None else Policy()
    rules = rules.with_rules([fail_on] if isinstance(fail_on, str) else list(fail_on))
    sides = [each.collection if isinstance(each, Result) else open_collection(Path(each)) for each in (base, new)]
    return Comparison(comparison.compare(sides[0], sides[1], rules, force=force))


def _listed(schemes: Schemes | None) -> list[str]:
    return [] if schemes is None else [schemes] if isinstance(schemes, str) else list(schemes)


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as in a file, where paths are text."""
    return {key: str(value) if isinstance(value, Path) else value for key, value in settings.items()}


def _rows(summary: Summary) -> Iterator[dict[str, Any]]:
    for label, result in summary.schemes.items():
        for size_class in result.fct_us:
            for statistic in STATISTICS:
                yield {"scheme": label, **_row(result, size_class, statistic)}


def _row(result: SchemeResult, size_class: str, statistic: str) -> dict[str, Any]:
    blocks = {"fct_us": result.fct_us, "normalised": result.normalised, "slowdown": result.slowdown}
    row: dict[str, Any] = {"size_class": size_class, "statistic": statistic, "n": result.fct_us[size_class].n}
    for name, block in blocks.items():
        estimate = block[size_class] if block else Estimate(n=0)
        low, high = getattr(estimate.ci95, statistic) or (None, None)
        row |= {name: getattr(estimate, statistic), f"{name}_low": low, f"{name}_high": high}
    return row
