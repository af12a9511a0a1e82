# SPDX-License-Identifier: MIT OR Apache-2.0
"""A sample of numbers: mean and percentiles."""

from __future__ import annotations

import numpy as np

from marklab.results.summary import Sample
from marklab.statistics.randomness import Floats
from marklab.statistics.samples import PERCENTILES, mean, nearest_rank


def sample(values: Floats) -> Sample:
    """Mean and percentiles."""
    if not len(values):
        return Sample(n=0)
    ordered = np.sort(values)
    p50, p99, p999 = (nearest_rank(ordered, part) for part in PERCENTILES)
    return Sample(n=len(values), mean=mean(values.tolist()), p50=p50, p99=p99, p999=p999)
