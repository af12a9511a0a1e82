# SPDX-License-Identifier: MIT OR Apache-2.0
"""A run with a controller: the network goes on to the next call or write, and no further."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from marklab.catalog.controller import ControllerChoice
from marklab.controllers.controller import Controller
from marklab.controllers.limits import Limit, TookTooLong
from marklab.controllers.loading import explained, load, times_ns
from marklab.controllers.network import Network
from marklab.engine import binding as engine
from marklab.errors import BadInput, RunFailed
from marklab.topology import Graph
from marklab.units import format_time

# Of one call, in real time: a loop without an end is not waited for.
MOST_S = 10.0


def simulate(choice: ControllerChoice, graph: Graph, inputs: engine.Inputs, watch: engine.Watch) -> Mapping[str, Any]:
    """Run a network with a controller; gives what the engine gives of a run without one, and `control`: its writes.

    Raises RunFailed for a controller that fails or takes too long, and Cancelled.
    """
    run = engine.new_controlled_run(inputs)
    with Limit(watch, MOST_S) as limit:
        loop = _Loop(choice, graph, run, inputs.seed, limit)
        try:
            loop.begin()
            while not run.ended:
                loop.go_on(watch)
        except (_Failed, BadInput) as error:
            when = format_time(loop.network.now_ns)
            raise RunFailed(f"the controller {choice} failed at {when}: {error}", _remedy(choice)) from error
    return engine.outcome_of(run) | {"control": loop.network.written}


def rehearse(choice: ControllerChoice, graph: Graph, inputs: engine.Inputs) -> None:
    """Call a controller once on the network before its first packet, and let hold what it writes.

    Raises BadInput for whatever is wrong by then.
    """
    run, watch = engine.new_controlled_run(inputs), engine.new_watch()
    with Limit(watch, MOST_S) as limit:
        loop = _Loop(choice, graph, run, inputs.seed, limit)
        try:
            loop.begin()
            loop.network.apply(loop.delay_ns)
        except (_Failed, BadInput) as error:
            raise BadInput(f"the controller {choice} fails before the run: {error}", _remedy(choice)) from error


def _remedy(choice: ControllerChoice) -> str:
    return f"a scheme whose program has what {choice.file} writes" if choice.is_known else f"mend {choice.file}"


class _Failed(Exception):  # noqa: N818 - of a controller, not of the lab
    """A controller raised an exception, or took too long."""


class _Loop:
    """A controller, the network that it sees, and when it is called next."""

    def __init__(
        self, choice: ControllerChoice, graph: Graph, run: engine.ControlledRun, seed: int, limit: Limit
    ) -> None:
        self.controller: Controller = load(choice)
        self.period_ns, self.delay_ns = times_ns(self.controller, choice)
        self.network = Network(graph, run, self.delay_ns, seed)
        self._choice, self._run, self._limit = choice, run, limit
        self._next_call_ns = 0

    def begin(self) -> None:
        """The first call, at time 0."""
        self._call(lambda: self.controller.start(self.network))
        self._step()

    def go_on(self, watch: engine.Watch) -> None:
        """To the next call or write. Writes that come to hold at the time of a call hold before it."""
        write_ns = self.network.next_write_ns
        until_ns = self._next_call_ns if write_ns is None else min(write_ns, self._next_call_ns)
        engine.run_until(self._run, until_ns, watch)
        self.network.moved_to(until_ns)
        if until_ns == self._next_call_ns and not self._run.ended:
            self._step()

    def _step(self) -> None:
        self._call(lambda: self.controller.step(self.network))
        self._next_call_ns += self.period_ns
        self.network.apply(self.network.now_ns)

    def _call(self, function: Callable[[], None]) -> None:
        try:
            self._limit.call(function)
        except engine.Cancelled:
            raise
        except TookTooLong:
            raise _Failed(f"a call took more than {MOST_S:g} s") from None
        except Exception as error:
            raise _Failed(explained(error, self._choice.file)) from error
