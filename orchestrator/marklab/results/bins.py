# SPDX-License-Identifier: MIT OR Apache-2.0
"""Traces cut into bins of time: a trace may have more rows than a picture has pixels.

A bin shows the largest value, or the mean rate, within its time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from marklab.results import traces
from marklab.statistics.randomness import Floats
from marklab.units import parse_time

_MOST_BINS = 800


@dataclass(frozen=True)
class Bins:
    """Equal parts of the time that is shown."""

    begin_ns: int
    width_ns: int
    count: int

    @classmethod
    def over(cls, rows: pl.DataFrame, step_ns: int) -> Bins:
        """Bins over the whole time of a trace whose rows are `step_ns` apart. The trace needs at least one row."""
        times = rows["time_ns"].to_numpy()
        begin, end = int(times.min()), int(times.max()) + step_ns
        steps = -(-(end - begin) // step_ns)
        per_bin = -(-steps // _MOST_BINS)
        return cls(begin, per_bin * step_ns, -(-steps // per_bin))

    @property
    def centres_ms(self) -> Floats:
        """Times at which the values of the bins are drawn."""
        return np.asarray((self.begin_ns + (np.arange(self.count) + 0.5) * self.width_ns) / 1e6, dtype=np.float64)

    def of(self, rows: pl.DataFrame) -> NDArray[np.intp]:
        """The bin of each row; all rows must lie in the time that is shown."""
        return ((rows["time_ns"].to_numpy().astype(np.int64) - self.begin_ns) // self.width_ns).astype(np.intp)

    def sums(self, rows: pl.DataFrame, column: str) -> Floats:
        """Sum of a column in each bin."""
        weights = rows[column].to_numpy().astype(np.float64)
        sums = np.bincount(self.of(rows), weights=weights, minlength=self.count)
        return np.asarray(sums, dtype=np.float64)

    def largest(self, rows: pl.DataFrame, column: str) -> Floats:
        """Largest value of a column in each bin; NaN for a bin without rows."""
        result = np.full(self.count, np.nan)
        np.fmax.at(result, self.of(rows), rows[column].to_numpy().astype(np.float64))
        return result

    def lengths(self, rows: pl.DataFrame) -> Floats:
        """Largest length of a queue in each bin, in packets. A bin without rows keeps the length before it."""
        largest, places = self.largest(rows, "max_packets"), self.of(rows)
        left = np.full(self.count, np.nan)
        left[places] = rows["packets"].to_numpy()
        latest = np.maximum.accumulate(np.where(np.isnan(left), -1, np.arange(self.count)))
        before = np.where(latest >= 0, left[latest], 0)
        return np.where(np.isnan(largest), before, largest)

    def longest_waits_us(self, rows: pl.DataFrame) -> Floats:
        """Longest wait in a queue in each bin, in us; NaN for a bin without rows."""
        return self.largest(rows, "max_sojourn_ns") / 1e3


def intervals_ns(spec: Mapping[str, Any]) -> dict[str, int]:
    """Time between rows of the traces that a description asks for, by kind of trace."""
    of = {traces.FLOWS: spec.get("trace_flows"), traces.PORT: spec.get("trace_queue")}
    known = {kind: parse_time(str(every)) for kind, every in of.items() if every is not None}
    probes = [parse_time(str(probe["every"])) for probe in spec.get("probes", [])]
    return known | ({traces.PROBES: min(probes)} if probes else {})
