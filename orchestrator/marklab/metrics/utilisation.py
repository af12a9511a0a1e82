# SPDX-License-Identifier: MIT OR Apache-2.0
"""How busy the lines of a cell were: those of the bottleneck, all by tier, and the busiest.

The time ends when the last flow starts, as traffic then runs out. If `until` ends the run, or its
flows are those of jobs, it is the whole run.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marklab.prepare.experiment import Experiment
from marklab.results.observation import Observation
from marklab.results.summary import MOST_BUSIEST, BusyLine, LineUse, TierUse
from marklab.topology import Network

Integers = NDArray[np.int64]


def of_bottleneck(experiment: Experiment, seen: Observation) -> float:
    """Fraction of time that the bottleneck's lines were busy, as the mean over the lines."""
    network = experiment.network
    names = network.graph.names
    wanted = {(names[line.source.node], line.source.port) for line in network.bottleneck}
    column, end_ns = _time(experiment, seen)
    busy = [line[column] for line in seen.report["lines"] if tuple(line["from"]) in wanted]
    # The frame that is being sent at the end counts as a whole.
    return min(1.0, sum(busy) / len(busy) / end_ns) if end_ns else 0.0


def of_all_lines(experiment: Experiment, seen: Observation) -> LineUse | None:
    """Utilisation by tier, and the busiest lines; None for one switch, or where not all lines were observed."""
    network, lines = experiment.network, seen.report["lines"]
    column, end_ns = _time(experiment, seen)
    if len(network.graph.switches) < 2 or len(lines) < len(network.graph.lines) or not end_ns:
        return None
    number = {name: node for node, name in enumerate(network.graph.names)}
    found = [(number[line["from"][0]], number[line["to"][0]], line[column]) for line in lines]
    source, target, busy_ns = np.array(found, dtype=np.int64).T
    # Whole numbers, because their sum is the same on every machine.
    busy_ns = np.minimum(busy_ns, end_ns)
    busiest = np.argsort(-busy_ns, kind="stable")[:MOST_BUSIEST]
    return LineUse(
        tiers=_by_tier(network, source, target, busy_ns, end_ns),
        busiest=tuple(
            BusyLine(
                line=f"{_end(network, *lines[line]['from'])} -> {lines[line]['to'][0]}",
                utilisation=int(busy_ns[line]) / end_ns,
                seed=seen.seed,
            )
            for line in busiest.tolist()
            if busy_ns[line]
        ),
    )


def _time(experiment: Experiment, seen: Observation) -> tuple[str, int]:
    """The column of a line's busy time, and the time that it is a part of."""
    if experiment.spec.until_ns is not None or experiment.spec.training:
        return "busy_ns", seen.report["end_ns"]
    return "busy_during_arrivals_ns", seen.report["arrivals_end_ns"]


def _by_tier(
    network: Network, source: Integers, target: Integers, busy_ns: Integers, end_ns: int
) -> dict[str, TierUse]:
    """Directions that lead up, from the hosts on, and then those that lead down."""
    ends = np.stack([network.graph.tiers[source], network.graph.tiers[target]])
    # Lines between switches that no host reaches carry nothing.
    directions = [(start, end) for start, end in np.unique(ends, axis=1).T.tolist() if start >= 0]
    used = {}
    for start, end in sorted(directions, key=_place):
        own_ns = busy_ns[(ends[0] == start) & (ends[1] == end)]
        used[f"{network.tier_name(start)} -> {network.tier_name(end)}"] = TierUse(
            lines=len(own_ns), mean=int(own_ns.sum()) / (len(own_ns) * end_ns), max=int(own_ns.max()) / end_ns
        )
    return used


def _place(direction: tuple[int, int]) -> tuple[bool, int, int]:
    """Where a packet on its way up and down passes a direction between tiers."""
    start, end = direction
    return end < start, -start if end < start else start, end


def _end(network: Network, node: str, port: int) -> str:
    """The end of a line; hosts have one port."""
    return f"{node}:{port}" if node in network.graph.switches else node
