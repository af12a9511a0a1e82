# SPDX-License-Identifier: MIT OR Apache-2.0
"""A cell of each experiment gives the same bytes on any number of threads."""

from typing import Any

import pytest

from marklab.papers.claims import Effort, known_experiments, load_experiment, runs_of
from marklab.prepare.experiment import prepare
from marklab.spec.description import make_spec
from same_bytes import differing

THREADS = (2, 3)
# Enough for flows that overlap, in each of an experiment's networks.
SMALL = Effort(flows=40, seeds=1)


@pytest.mark.parametrize("name", sorted(known_experiments()))
def test_a_cell_of_each_experiment(name: str) -> None:
    quick = load_experiment(name).with_effort(load_experiment(name).quick)
    # Readers who ask until the end of the run need as many flows as there are.
    closed_loop = quick.setup.get("sessions", {}).get("closed_loop", False)
    _, spec, _ = next(runs_of(quick if closed_loop else quick.with_effort(SMALL)))
    experiment = prepare(spec)
    assert differing(experiment, experiment.schemes[-1], experiment.spec.seed_numbers[0], THREADS) == []


SETTINGS = {
    "schemes": ["ecn-sharp"],
    "flows": 60,
    "seeds": 1,
    "load": 0.9,
    "topology": "leaf-spine:leaves=2,spines=2,hosts=2",
}


def same(**settings: Any) -> bool:
    """Whether a cell that differs from the settings above in these is the same on all numbers of threads."""
    experiment = prepare(make_spec(SETTINGS | settings))
    return not differing(experiment, experiment.schemes[0], 1, THREADS)


@pytest.mark.parametrize("transport", ["dctcp", "ecn-star", "reno", "dcqcn"])
@pytest.mark.parametrize("connections", ["new", {"mode": "persistent", "per_pair": 1}, "asked"])
def test_every_transport_and_kind_of_connection(transport: str, connections: Any) -> None:
    assert same(transport=transport, connections=connections)


@pytest.mark.parametrize(
    "recorded",
    [
        {"trace_queue": "1us"},
        {"trace_flows": "100us"},
        {"sample_queues": "10us"},
        {"probes": "h0:h3,every=50us"},
    ],
    ids=lambda recorded: next(iter(recorded)),
)
def test_every_recording(recorded: dict[str, Any]) -> None:
    assert same(**recorded)
