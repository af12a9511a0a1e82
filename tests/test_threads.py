# SPDX-License-Identifier: MIT OR Apache-2.0
"""A cell of each experiment gives the same bytes on any number of threads."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import Finished
from marklab.execution.run import run_spec
from marklab.papers.experiment import Effort, known_experiments, load_experiment, runs_of
from marklab.prepare.experiment import prepare
from marklab.spec.description import make_spec
from same_bytes import differing

Cli = Callable[..., Finished]

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


def report_of(cli: Cli, folder: Path, *options: str) -> dict[str, Any]:
    """What `--threads-report` says of a run."""
    run = ("run", "-s", "dctcp-red", "--flows", "50", "--seeds", "1", "--baseline", "none", "--no-report", "--json")
    done = cli(*run, "--out", str(folder), "--threads-report", *options)
    assert (done.code, done.err) == (0, "")
    return dict(json.loads(done.out)["parallelism"])


def test_the_report_of_threads_bounds_their_speed_up(cli: Cli, tmp_path: Path) -> None:
    leaf_spine = ("--topology", "leaf-spine:leaves=4,spines=4,hosts=4")
    found = report_of(cli, tmp_path, *leaf_spine)
    assert found["windows"] > 100
    assert [bound["threads"] for bound in found["bounds"]] == [2, 4, 8, 16, 32, 64]
    for bound in found["bounds"]:
        # There are 24 nodes.
        assert 1 < bound["by_events"] <= min(bound["threads"], 24)
        assert 1 < bound["by_time"] <= min(bound["threads"], 24)
    again = report_of(cli, tmp_path / "again", *leaf_spine)
    # Times depend on the machine, counts do not.
    for one, other in zip(found["bounds"], again["bounds"], strict=True):
        assert one["by_events"] == other["by_events"]


def test_a_report_of_threads_is_a_table(cli: Cli, tmp_path: Path) -> None:
    done = cli("-s", "tcn", "--flows", "20", "--seeds", "1", "--out", str(tmp_path), "--threads-report")
    assert "Speed-up of the simulation, at most" in done.out
    assert "upper bound" in done.out


def test_a_network_without_delays_is_one_part(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    links = [{"ends": [host, "s0"], "delay": "0ns"} for host in ("a", "b")]
    topology = {"hosts": ["a", "b"], "switches": ["s0"], "links": links, "senders": ["a"], "receivers": ["b"]}
    spec = make_spec(SETTINGS | {"baseline": "none", "topology": topology, "flows": 5})
    ran = run_spec(spec, tmp_path, 1, measures_threads=True)
    assert ran.parallelism is not None
    assert set(ran.parallelism.bounds.values()) == {(1.0, 1.0)}
    run_spec(spec, tmp_path, 1, threads=4)
    assert "ran on 1 of 4 threads" in caplog.text


@pytest.mark.parametrize("options", [("--threads", "2"), ("--jobs", "2"), ("--fabric", "mininet")])
def test_a_report_of_threads_needs_one_thread_of_the_simulator(cli: Cli, options: tuple[str, str]) -> None:
    refused = cli("run", "-s", "tcn", "--threads-report", *options)
    assert refused.code == 2
    assert "--threads-report" in refused.err
