# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tables of results and their files."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from marklab.experiment import Experiment
from marklab.ideal import ideal_ns
from marklab.observation import Observation

# Fixed, so that the same flows give the same bytes whatever polars thinks best for the machine.
_ROW_GROUP = 1 << 18

# Means over the round trips of a flow, which may be over before it has measured one.
_UNKNOWN_AT_0 = ("rtt_mean_ns", "cwnd_mean_bytes", "base_delay_ns")


def write_table(path: Path, table: pl.DataFrame) -> None:
    """Write a Parquet file whose bytes depend on the table alone."""
    # By way of memory: what polars cannot write it reports as an error of its own kind.
    path.write_bytes(to_parquet(table))


def to_parquet(table: pl.DataFrame) -> bytes:
    """The bytes of a Parquet file, which depend on the table alone."""
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression="zstd", compression_level=3, statistics=True, row_group_size=_ROW_GROUP)
    return buffer.getvalue()


def flow_table(experiment: Experiment, observations: Sequence[Observation]) -> pl.DataFrame:
    """One row per scheme, seed and flow, in this order."""
    schemes = pl.Enum([scheme.label for scheme in experiment.schemes])
    ordered = sorted(observations, key=lambda seen: (schemes.categories.to_list().index(seen.scheme), seen.seed))
    return pl.concat([_rows(experiment, seen, schemes) for seen in ordered])


def _rows(experiment: Experiment, seen: Observation, schemes: pl.Enum) -> pl.DataFrame:
    count = len(seen.flows)
    ideal = np.ceil(ideal_ns(experiment.spec, experiment.network, seen.flows)).astype(np.uint64)
    return pl.DataFrame(
        {
            "scheme": pl.Series([seen.scheme], dtype=schemes).new_from_index(0, count),
            "seed": np.full(count, seen.seed, dtype=np.uint32),
            "flow": np.arange(count, dtype=np.uint32),
            **seen.flows.columns(),
            "query": seen.flows.query,
            "fct_ns": pl.Series(seen.fct_ns).replace(-1, None),
            "ideal_ns": pl.Series(ideal).set(pl.Series(seen.flows.endless), None),
            **{name: _known(name, values) for name, values in seen.per_flow.items()},
        }
    )


def _known(name: str, values: NDArray[np.uint64]) -> pl.Series:
    """A column, without what is not known of a flow: times and windows of 0."""
    column = pl.Series(values)
    return column.replace(0, None) if name in _UNKNOWN_AT_0 else column
