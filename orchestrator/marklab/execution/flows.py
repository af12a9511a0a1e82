# SPDX-License-Identifier: MIT OR Apache-2.0
"""The table of all flows of a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from marklab.prepare.experiment import Experiment
from marklab.prepare.ideal import ideal_ns
from marklab.results.observation import Observation

# Means over the round trips of a flow, which may be over before it has measured one.
_UNKNOWN_AT_0 = ("rtt_mean_ns", "cwnd_mean_bytes", "base_delay_ns")


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
