# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks whether both twins of a scheme decide alike on the packets of a real run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marklab.catalog.twin import TwinSpec, cells_per_packet
from marklab.engine import binding as engine
from marklab.errors import BadInput
from marklab.metrics.cell import CAUSES_PER_PORT
from marklab.prepare.experiment import Experiment, ReadyScheme
from marklab.promotion.sequence import DECISIONS, IN_PORT, OUT_PORT, Recording, decided, entries_to_port

_US = 1000


@dataclass(frozen=True)
class Signals:
    """What packets saw of their queue, in the order in which they left, and the decisions about them."""

    place: NDArray[np.int64]  # in the sequence
    queue: NDArray[np.int64]
    now_ns: NDArray[np.int64]
    sojourn_ns: NDArray[np.int64]
    enq_qdepth: NDArray[np.int64]  # packets
    deq_qdepth: NDArray[np.int64]
    decision: NDArray[np.int64]

    def part(self, begin: int, end: int | None) -> Signals:
        """Signals of some packets."""
        return Signals(*(getattr(self, field.name)[begin:end] for field in fields(self)))


@dataclass(frozen=True)
class Difference:
    """The first packet on which the twins differ: what it saw, and the registers after it."""

    place: int
    signals: Mapping[str, int]
    decided: tuple[str, str]
    states: tuple[Mapping[str, int], Mapping[str, int]]


@dataclass(frozen=True)
class Agreement:
    """Decisions of both twins on the same packets."""

    packets: int
    equal: int
    marks: tuple[int, int]  # and drops
    by_cause: Mapping[str, tuple[int, int]]  # as the programs count them
    first: Difference | None

    @property
    def part(self) -> float:
        """Fraction of packets on which both decide alike."""
        return self.equal / self.packets if self.packets else 0.0


def agreement(
    experiment: Experiment, scheme: ReadyScheme, twin: ReadyScheme, spec: TwinSpec, sequence: Recording
) -> Agreement:
    """Send the sequence through both twins.

    The first twin has its own queues; packets leave them at the departure times of the run. The queue depths and
    sojourn times of these packets, in packets and microseconds, are given to the second twin, in cells and nanoseconds.
    A scheme that assigns queues decides in ingress which packets see which queue, so its twin has its own queues as
    well.
    """
    run = _Run(experiment, scheme, sequence)
    seen = run.signals()
    harness, decisions = _twin_decides(experiment, twin, spec, sequence, seen)
    by_cause = {name: (_counted(run.harness, cause), _counted(harness, cause)) for cause, name in scheme.causes.items()}
    differing = np.flatnonzero(decisions != seen.decision)
    first = None
    if len(differing):
        first = _difference(experiment, (scheme, twin), spec, sequence, seen, at=int(differing[0]))
    equal = len(seen.place) - len(differing)
    marks = int(np.count_nonzero(seen.decision)), int(np.count_nonzero(decisions))
    return Agreement(len(seen.place), equal, marks, by_cause, first)


@dataclass(frozen=True)
class OfTwin:
    """A twin's decision on one packet, its registers after it, and its trace.

    A twin that assigns queues has no trace. Its packets take other queues than in the run, so `scheme` is what the
    scheme decides when it gets the same packets.
    """

    decision: str
    scheme: str | None
    registers: Mapping[str, int]
    events: Sequence[Mapping[str, Any]]


def on_packet(
    experiment: Experiment,
    schemes: tuple[ReadyScheme, ReadyScheme],
    spec: TwinSpec,
    sequence: Recording,
    seen: Signals,
    at: int,
) -> OfTwin:
    """What the second of two twins decides on one packet, after all that left before it.

    Raises BadInput if a twin that assigns queues drops the packet before its queue.
    """
    scheme, twin = schemes
    if twin.fitted.deals_out_queues:
        place = int(seen.place[at])
        again, (run, own) = _passed(experiment, scheme, sequence, place), _passed(experiment, twin, sequence, place)
        states = state(run, twin, int(own.queue[0]))
        return OfTwin(DECISIONS[own.decision[0]], DECISIONS[again[1].decision[0]], states, [])
    program = engine.compile_program(twin.fitted.scheme.program, twin.fitted.defines, interpret=True)
    harness = _harness(experiment, replace(twin, program=program), alone=True)
    cells = cells_per_packet(experiment.setup.frame_bytes, spec.chip)
    _told(harness, sequence, seen.part(0, at), cells)
    harness.trace(on=True)
    decision = _told(harness, sequence, seen.part(at, at + 1), cells)[0]
    events = json.loads(harness.take_trace())
    return OfTwin(DECISIONS[decision], None, state(harness, twin, int(seen.queue[at])), events)


def _passed(
    experiment: Experiment, scheme: ReadyScheme, sequence: Recording, place: int
) -> tuple[engine.Harness, Signals]:
    """The switch after a sequence, and what one of the packets saw of its queues."""
    run = _Run(experiment, scheme, sequence)
    signals = run.signals()
    found = np.flatnonzero(signals.place == place)
    if not len(found):
        raise BadInput(
            f"{scheme.label} dropped the packet before its queue, or has it there still, when it got the packets again",
            "another packet",
        )
    return run.harness, signals.part(int(found[0]), int(found[0]) + 1)


def _twin_decides(
    experiment: Experiment,
    twin: ReadyScheme,
    spec: TwinSpec,
    sequence: Recording,
    seen: Signals,
    stop_after: int | None = None,
) -> tuple[engine.Harness, NDArray[np.int64]]:
    """The twin's switch after the packets in `seen`, or after the first of them, and its decisions about them."""
    if not twin.fitted.deals_out_queues:
        harness = _harness(experiment, twin, alone=True)
        cells = cells_per_packet(experiment.setup.frame_bytes, spec.chip)
        return harness, _told(harness, sequence, seen.part(0, stop_after), cells)
    run = _Run(experiment, twin, sequence)
    own = run.signals(stop_after)
    by_place = np.zeros(len(sequence), dtype=np.int64)
    by_place[own.place] = own.decision
    return run.harness, by_place[seen.place]


def _told(harness: engine.Harness, sequence: Recording, seen: Signals, cells: int) -> NDArray[np.int64]:
    """Decisions of a switch about packets, given what the packets saw."""
    decisions = np.zeros(len(seen.place), dtype=np.int64)
    for at, place in enumerate(seen.place.tolist()):
        _, data, _ = harness.process(
            IN_PORT,
            sequence.frame(place),
            int(seen.now_ns[at]),
            int(seen.sojourn_ns[at]),
            int(seen.enq_qdepth[at]) * cells,
            int(seen.deq_qdepth[at]) * cells,
        )
        decisions[at] = decided(data)
    return decisions


def _counted(harness: engine.Harness, cause: int) -> int:
    return sum(harness.counter(name, _place(cause))[0] for name in ("marks", "drops"))


def _place(cause: int) -> int:
    return OUT_PORT * CAUSES_PER_PORT + cause


class _Run:
    """A switch that a sequence passes through; packets leave at the departure times of the run."""

    def __init__(self, experiment: Experiment, scheme: ReadyScheme, sequence: Recording) -> None:
        self.sequence = sequence
        self.harness = _harness(experiment, scheme)

    def signals(self, stop_after: int | None = None) -> Signals:
        sequence, harness = self.sequence, self.harness
        waiting: dict[int, list[int]] = {}
        rows: list[tuple[int, int, int, int, int, int, int]] = []
        arrived, departed = sequence.arrived_ns.tolist(), sequence.departed_ns.tolist()
        coming = 0
        for now_ns in departed:
            while coming < len(arrived) and arrived[coming] <= now_ns:
                found = harness.receive(IN_PORT, sequence.frame(coming), arrived[coming])
                if found is not None:
                    waiting.setdefault(found[1], []).append(coming)
                coming += 1
            left = harness.transmit(OUT_PORT, now_ns)
            if left is None:
                continue
            data, queue, enq_qdepth, deq_qdepth, sojourn_ns, _ = left
            place = waiting[queue].pop(0)
            rows.append((place, queue, now_ns, sojourn_ns, enq_qdepth, deq_qdepth, decided(data)))
            if len(rows) == stop_after:
                break
        columns = np.array(rows, dtype=np.int64).reshape(-1, 7).T
        return Signals(*columns)


def _harness(experiment: Experiment, scheme: ReadyScheme, *, alone: bool = False) -> engine.Harness:
    """A switch with the run's queues. With `alone` it has room for everything, as its signals are given."""
    queueing = None
    if not alone:
        queueing = json.dumps(scheme.queues.to_engine(experiment.spec.queue_limit, experiment.setup.frame_bytes))
    harness = engine.new_harness(scheme.program, entries=entries_to_port(scheme), queueing=queueing)
    for session, port in scheme.mirrors.items():
        harness.mirroring_add(session, port)
    return harness


def _difference(
    experiment: Experiment,
    schemes: tuple[ReadyScheme, ReadyScheme],
    spec: TwinSpec,
    sequence: Recording,
    seen: Signals,
    at: int,
) -> Difference:
    """What the packet saw, and the states of both switches after it, from a second pass up to that packet."""
    scheme, twin = schemes
    run = _Run(experiment, scheme, sequence)
    run.signals(stop_after=at + 1)
    harness, decisions = _twin_decides(experiment, twin, spec, sequence, seen, at + 1)
    queue = int(seen.queue[at])
    return Difference(
        place=int(seen.place[at]),
        signals={
            "queue": queue,
            "now_us": int(seen.now_ns[at]) // _US,
            "sojourn_us": int(seen.sojourn_ns[at]) // _US,
            "enq_qdepth_pkts": int(seen.enq_qdepth[at]),
            "deq_qdepth_pkts": int(seen.deq_qdepth[at]),
        },
        decided=(DECISIONS[seen.decision[at]], DECISIONS[decisions[at]]),
        states=(state(run.harness, scheme, queue), state(harness, twin, queue)),
    )


def state(harness: engine.Harness, scheme: ReadyScheme, queue: int) -> dict[str, int]:
    """Registers of the port and of one of its queues. Registers of up to 512 cells are indexed by port."""
    described: list[dict[str, Any]] = engine.describe(scheme.program)["registers"]
    cells = {}
    for register in described:
        index = OUT_PORT if register["size"] <= _PORTS else queue * _PORTS + OUT_PORT
        if index < register["size"]:
            cells[register["name"]] = harness.register(register["name"], index)
    return cells


_PORTS = 512
