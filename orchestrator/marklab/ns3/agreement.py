# SPDX-License-Identifier: MIT OR Apache-2.0
"""Whether completion times here are ns-3's: pooled over seeds, with intervals, and flow by flow.

Seeds are resampled together with what both simulators made of them. Both agree on a quantity if the interval of its
difference lies within the tolerance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from marklab.engine import binding as engine
from marklab.fabrics import Cell, Sim
from marklab.ns3.kept import FlowResults, columns_of
from marklab.ns3.scenario import Scenario
from marklab.prepare.experiment import Experiment
from marklab.results.summary import LARGE_BYTES, SHORT_BYTES
from marklab.statistics.bootstrap import percentile_interval, seed_weights
from marklab.statistics.randomness import Floats, integers, uniform
from marklab.statistics.samples import Interval
from marklab.traffic.flows import FlowList

RESAMPLES = 2_000
# Starts of flows move by less than this, to see what a difference without meaning makes of the results.
JITTER_NS = 1_000
# Of the flows that differ most, and so often are their starts moved.
MOST_DIFFERENT, DRAWS = 10, 20
# So much lower than the lab's own under jitter may the correlation with ns-3 be.
CORRELATION_TOLERANCE = 0.005

# Bytes that a flow has more than, and at most.
_ALL, _SHORT, _LARGE = (0, 2**63), (0, SHORT_BYTES), (LARGE_BYTES, 2**63)
_BETWEEN = (SHORT_BYTES, LARGE_BYTES)


@dataclass(frozen=True)
class Quantity:
    """A mean or percentile of completion times of flows of a class, all seeds together."""

    name: str
    sizes: tuple[int, int]
    part: float | None = None  # of a percentile; None is the mean
    tolerance: float | None = None


QUANTITIES = (
    Quantity("mean", _ALL, tolerance=0.03),
    Quantity("mean, up to 100 KB", _SHORT, tolerance=0.03),
    Quantity("mean, between", _BETWEEN),
    Quantity("mean, above 10 MB", _LARGE, tolerance=0.03),
    Quantity("median", _ALL, 0.5),
    Quantity("median, up to 100 KB", _SHORT, 0.5),
    Quantity("p99", _ALL, 0.99),
    Quantity("p99, up to 100 KB", _SHORT, 0.99, tolerance=0.1),
)


@dataclass(frozen=True)
class Difference:
    """A quantity of both, and the difference as a part of ns-3's."""

    quantity: Quantity
    here_us: float
    there_us: float
    interval: Interval

    @property
    def relative(self) -> float:
        """The difference."""
        return self.here_us / self.there_us - 1

    @property
    def is_agreement(self) -> bool | None:
        """Whether the interval lies within the tolerance; None without one."""
        if self.quantity.tolerance is None:
            return None
        return max(map(abs, self.interval)) <= self.quantity.tolerance


@dataclass(frozen=True)
class Pool:
    """The flows of all seeds that finished in both."""

    seed: NDArray[np.intp]  # its place among the seeds
    seeds: tuple[int, ...]
    flow: NDArray[np.intp]
    size_bytes: NDArray[np.uint64]
    here: Mapping[str, NDArray[np.int64]]
    there: Mapping[str, NDArray[np.int64]]

    @cached_property
    def log_ratio(self) -> Floats:
        """Logarithm of the completion time here as a part of ns-3's."""
        return np.asarray(np.log(self.here["fct_ns"] / self.there["fct_ns"]))

    @cached_property
    def weights(self) -> Floats:
        """Weight of each seed in each resample."""
        return seed_weights(self.seeds, RESAMPLES)

    def difference(self, quantity: Quantity) -> Difference:
        """A quantity of both."""
        low, high = quantity.sizes
        taken = (self.size_bytes > low) & (self.size_bytes <= high)
        estimate = _mean if quantity.part is None else _percentile(quantity.part)
        weights = np.vstack([np.ones(len(self.seeds)), self.weights])
        of_here, of_there = (
            estimate(side["fct_ns"][taken] / 1e3, self.seed[taken], weights) for side in (self.here, self.there)
        )
        interval = percentile_interval(of_here[1:] / of_there[1:] - 1)
        return Difference(quantity, float(of_here[0]), float(of_there[0]), interval)

    @cached_property
    def correlation(self) -> float:
        """Of the logarithms of completion times."""
        return float(np.corrcoef(np.log(self.here["fct_ns"]), np.log(self.there["fct_ns"]))[0, 1])

    @cached_property
    def most_different(self) -> NDArray[np.intp]:
        """Places of the flows whose times differ most."""
        return np.argsort(-np.abs(self.log_ratio), kind="stable")[:MOST_DIFFERENT]


def pool(scenario: Scenario, here: Mapping[int, FlowResults], there: Mapping[int, FlowResults]) -> Pool:
    """Put the flows of all seeds together."""
    lists = scenario.experiment.flow_lists
    both = (columns_of(here, "fct_ns") > 0) & (columns_of(there, "fct_ns") > 0)
    sides = [
        {name: columns_of(side, name)[both] for name in ("fct_ns", "retransmissions", "timeouts")}
        for side in (here, there)
    ]
    place = np.repeat(np.arange(len(lists)), [len(flows) for flows in lists.values()])[both]
    number = np.concatenate([np.arange(len(flows)) for flows in lists.values()])[both]
    size_bytes = np.concatenate([flows.size_bytes for flows in lists.values()])[both]
    return Pool(place, tuple(lists), number, size_bytes, *sides)


Estimate = Callable[[Floats, NDArray[np.intp], Floats], Floats]


def _mean(values: Floats, seed: NDArray[np.intp], weights: Floats) -> Floats:
    seeds = weights.shape[1]
    total = np.bincount(seed, weights=values, minlength=seeds)
    return np.asarray((weights @ total) / (weights @ np.bincount(seed, minlength=seeds)))


def _percentile(part: float) -> Estimate:
    """The smallest value that this part of the weight is not above."""

    def estimate(values: Floats, seed: NDArray[np.intp], weights: Floats) -> Floats:
        order = np.argsort(values, kind="stable")
        ordered, of_seed = values[order], seed[order]
        found = []
        for row in weights:
            below = np.cumsum(row[of_seed])
            # A rounding error must not move a rank.
            found.append(ordered[np.searchsorted(below, part * below[-1] * (1 - 1e-12))])
        return np.array(found)

    return estimate


def run_here(experiment: Experiment) -> dict[int, FlowResults]:
    """Run all lists in the lab."""
    return {seed: _run(experiment, seed) for seed in experiment.flow_lists}


def _run(experiment: Experiment, seed: int) -> FlowResults:
    seen = Sim().run(Cell(experiment, experiment.schemes[0], seed), engine.new_watch())
    counts = (seen.per_flow[name].astype(np.int64) for name in ("retransmissions", "timeouts"))
    return FlowResults(seen.fct_ns.astype(np.int64), *counts)


def jittered(experiment: Experiment, draw: int = 0) -> Experiment:
    """The same, but each flow starts up to `JITTER_NS` later. Flows keep their order, and with it their ports."""
    moved = replace(experiment)
    # Where a cached property has its value.
    vars(moved)["flow_lists"] = {seed: _moved(flows, seed, draw) for seed, flows in experiment.flow_lists.items()}
    return moved


def _moved(flows: FlowList, seed: int, draw: int) -> FlowList:
    count = len(flows)
    drawn = uniform(seed, "jitter of starts", count * (draw + 1))[-count:]
    later = integers(drawn, JITTER_NS).astype(np.uint64)
    return replace(flows, start_ns=np.maximum.accumulate(flows.start_ns + later))


def ranges_us(experiment: Experiment, found: Pool) -> Floats:
    """Of the flows that differ most, the shortest and the longest time here when starts are moved."""
    seed, flow = (column[found.most_different] for column in (np.array(found.seeds)[found.seed], found.flow))
    times = np.zeros((DRAWS, len(flow)))
    for draw in range(DRAWS):
        moved = jittered(experiment, draw)
        for each in np.unique(seed):
            of_seed = seed == each
            times[draw, of_seed] = _run(moved, int(each)).fct_ns[flow[of_seed]] / 1e3
    return np.stack([times.min(axis=0), times.max(axis=0)], axis=1)


@dataclass(frozen=True)
class Agreement:
    """A list in both, the lab against itself with jitter, and other stacks of the lab."""

    pool: Pool
    itself: Pool
    ranges_us: Floats  # of the flows that differ most, under jitter
    stacks: Mapping[str, Pool]

    @cached_property
    def differences(self) -> Sequence[Difference]:
        """All quantities."""
        return [self.pool.difference(quantity) for quantity in QUANTITIES]

    @property
    def lacking_correlation(self) -> float:
        """How much lower the correlation is than the lab's with itself."""
        return self.itself.correlation - self.pool.correlation


def agree(scenario: Scenario, there: Mapping[int, FlowResults]) -> Agreement:
    """Run the lab, and compare it with ns-3's results."""
    here = run_here(scenario.experiment)
    itself = run_here(jittered(scenario.experiment))
    stacks = {
        name: pool(scenario, run_here(other.experiment), there) for name, other in scenario.with_other_stacks.items()
    }
    found = pool(scenario, here, there)
    return Agreement(found, pool(scenario, itself, here), ranges_us(scenario.experiment, found), stacks)
