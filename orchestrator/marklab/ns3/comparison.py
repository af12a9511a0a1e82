# SPDX-License-Identifier: MIT OR Apache-2.0
"""Both runs of a scenario, and their quantities beside each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marklab.engine import binding as engine
from marklab.fabrics import Cell, Sim
from marklab.metrics.window_means import queue_length
from marklab.ns3.peer import Played, play
from marklab.ns3.scenario import PLAIN, Scenario
from marklab.prepare.experiment import Experiment
from marklab.results.observation import Observation
from marklab.results.summary import LARGE_BYTES, SHORT_BYTES
from marklab.statistics.samples import mean


@dataclass(frozen=True)
class QueueReading:
    """The queue to the receiver in the window that is measured."""

    seconds: float
    mean_packets: float
    departures: float
    departed_bytes: float  # on the line
    marks: float
    drops: float


@dataclass(frozen=True)
class Side:
    """What a simulator made of one flow list."""

    size_bytes: NDArray[np.uint64]
    fct_us: NDArray[np.float64]  # NaN where the flow did not finish
    retransmissions: float
    timeouts: float
    marks: float
    drops: float
    queue: QueueReading | None


def run_here(scenario: Scenario, seed: int) -> Side:
    """Our side."""
    seen = _seen(scenario.experiment, seed)
    return Side(
        size_bytes=scenario.flows(seed).size_bytes,
        fct_us=_in_us(seen.fct_ns),
        retransmissions=float(seen.per_flow["retransmissions"].sum()),
        timeouts=float(seen.per_flow["timeouts"].sum()),
        marks=sum(port["marked"] for port in seen.report["ports"]),
        drops=_drops(seen),
        queue=_queue_here(scenario, seed, seen),
    )


def _seen(experiment: Experiment, seed: int) -> Observation:
    return Sim().run(Cell(experiment, experiment.schemes[0], seed), engine.new_watch())


def _drops(seen: Observation) -> int:
    return sum(drop["packets"] for drop in seen.report["drops"])


def _queue_here(scenario: Scenario, seed: int, seen: Observation) -> QueueReading | None:
    spec = scenario.experiment.spec
    if not spec.windows or spec.trace_queue_ns is None:
        return None
    window = spec.windows[0]
    ((port, *_),) = seen.traces.values()
    inside = slice(*np.searchsorted(port["time_ns"].astype(np.int64), window))
    total = {name: float(port[name][inside].sum()) for name in ("departed", "sent_bytes", "marked")}
    return QueueReading(
        (window.end_ns - window.begin_ns) / 1e9,
        queue_length(port, window, spec.trace_queue_ns, scenario.experiment.network.line_rate_bps).mean,
        total["departed"],
        total["sent_bytes"] + total["departed"] * spec.framing.overhead_bytes,
        total["marked"],
        _drops(seen) - _drops(_seen(scenario.ending(window.begin_ns), seed)),
    )


def run_there(scenario: Scenario, seed: int, program: Path, more: Sequence[str] = ()) -> Side:
    """ns-3's side, given further options."""
    flows = scenario.flows(seed)
    played = play(program, flows, [*scenario.options(seed), *more])
    return Side(
        size_bytes=flows.size_bytes,
        fct_us=_in_us(played.fct_ns),
        retransmissions=float(played.retransmissions.sum()),
        timeouts=played.number("rtos"),
        marks=played.number("marks"),
        drops=played.number("drops"),
        queue=_queue_there(played) if scenario.experiment.spec.windows else None,
    )


def _queue_there(played: Played) -> QueueReading:
    names = ("measured_seconds", "queue_mean_packets", "queue_departures", "queue_departed_bytes")
    return QueueReading(*map(played.number, (*names, "queue_marks", "queue_drops")))


def _in_us(fct_ns: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.where(fct_ns > 0, fct_ns / 1e3, np.nan)


@dataclass(frozen=True)
class Row:
    """A quantity of both."""

    name: str
    here: float
    there: Sequence[float]  # one for each way to run ns-3

    @property
    def differences(self) -> list[float | None]:
        """Of ours, relative to ns-3's; none where that is 0."""
        return [self.here / other - 1 if other else None for other in self.there]


@dataclass(frozen=True)
class PeerComparison:
    """A scenario in both, once per seed."""

    scenario: Scenario
    here: Sequence[Side]
    there: Mapping[str, Sequence[Side]]  # by the way to run ns-3

    @property
    def rows(self) -> list[Row]:
        """All quantities: of the queue where a window is measured, of completion times where flows finish, counts."""
        return [
            Row(name, of(self.here), [of(sides) for sides in self.there.values()])
            for name, of in (*self._of_queues(), *self._of_flows(), *_COUNTS.items())
        ]

    @property
    def correlation(self) -> float | None:
        """Of the logarithms of completion times, flow by flow; none without flows that finish."""
        ours, theirs = (_joined(sides, "fct_us") for sides in (self.here, self.there[PLAIN]))
        both = ~np.isnan(ours) & ~np.isnan(theirs)
        if both.sum() < 2:
            return None
        return float(np.corrcoef(np.log(ours[both]), np.log(theirs[both]))[0, 1])

    def _of_queues(self) -> Iterator[tuple[str, Quantity]]:
        if not self.scenario.experiment.spec.windows:
            return
        rate_bps = self.scenario.experiment.network.line_rate_bps
        of: dict[str, Callable[[QueueReading], float]] = {
            "queue, mean, packets": lambda queue: queue.mean_packets,
            # Little's law.
            "wait, mean, µs": lambda queue: 1e6 * queue.mean_packets * queue.seconds / queue.departures,
            "utilisation, %": lambda queue: 100 * queue.departed_bytes * 8 / (rate_bps * queue.seconds),
            "marked packets, %": lambda queue: 100 * queue.marks / queue.departures,
            "dropped packets, %": lambda queue: 100 * queue.drops / queue.departures,
        }
        for name, value in of.items():
            yield name, partial(_mean_of_queues, value)

    def _of_flows(self) -> Iterator[tuple[str, Quantity]]:
        """Completion times of the flows that finished in both, however ns-3 was run."""
        sizes = _joined(self.here, "size_bytes")
        fct_us = np.array([_joined(sides, "fct_us") for sides in (self.here, *self.there.values())])
        finished: NDArray[np.bool_] = np.isfinite(fct_us.sum(axis=0))
        small: NDArray[np.bool_] = sizes <= SHORT_BYTES
        large: NDArray[np.bool_] = sizes > LARGE_BYTES
        classes: dict[str, NDArray[np.bool_]] = {
            "FCT, mean, µs": finished,
            "FCT, mean, up to 100 KB, µs": finished & small,
            "FCT, mean, between, µs": finished & ~small & ~large,
            "FCT, mean, above 10 MB, µs": finished & large,
        }
        for name, flows in classes.items():
            if flows.any():
                yield name, partial(_mean_fct, flows)
        if finished.any():
            yield "unfinished flows", lambda sides: float(np.isnan(_joined(sides, "fct_us")).sum())


# A number of the runs of one simulator.
Quantity = Callable[[Sequence[Side]], float]


def _joined(sides: Sequence[Side], name: str) -> NDArray[Any]:
    return np.concatenate([getattr(side, name) for side in sides])


def _mean_of_queues(value: Callable[[QueueReading], float], sides: Sequence[Side]) -> float:
    return mean([value(side.queue) for side in sides if side.queue is not None])


def _mean_fct(flows: NDArray[np.bool_], sides: Sequence[Side]) -> float:
    return float(_joined(sides, "fct_us")[flows].mean())


def _total(name: str, sides: Sequence[Side]) -> float:
    return float(sum(getattr(side, name) for side in sides))


_COUNTS: Mapping[str, Quantity] = {
    f"{name}, whole run": partial(_total, name) for name in ("marks", "drops", "retransmissions", "timeouts")
}


def compare(scenario: Scenario, program: Path) -> PeerComparison:
    """Run a scenario in both, for each seed."""
    seeds = scenario.experiment.spec.seed_numbers
    return PeerComparison(
        scenario,
        [run_here(scenario, seed) for seed in seeds],
        {
            name: [run_there(scenario, seed, program, options) for seed in seeds]
            for name, options in scenario.peers.items()
        },
    )
