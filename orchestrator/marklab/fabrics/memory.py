# SPDX-License-Identifier: MIT OR Apache-2.0
"""How much memory a simulated cell takes, by estimate (docs/parallel.md)."""

from __future__ import annotations

from marklab.prepare.experiment import Experiment

# From what processes took (bench/RESULTS.md): a direction of a link with its port, queue, table entries and frames took
# 10 to 25 KB, the more the busier the network was; a flow with both of its ends up to 3 KB.
_LINE_BYTES = 25_000
_FLOW_BYTES = 3_000
_CELL_BYTES = 100_000_000


def cell_bytes(experiment: Experiment) -> int:
    """Memory of a cell in bytes, without recordings."""
    graph = experiment.network.graph
    flows = max((len(flows) for flows in experiment.flow_lists.values()), default=0)
    return _CELL_BYTES + 2 * len(graph.links) * _LINE_BYTES + flows * _FLOW_BYTES
