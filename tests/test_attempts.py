# SPDX-License-Identifier: MIT OR Apache-2.0
"""A machine that is busy for a moment: repeated attempts before an error, and the choice of a dilation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from comparisons import run as run_of
from marklab.comparison.side_by_side import compare
from marklab.engine import binding as engine
from marklab.errors import BadInput, MarklabError, RunFailed, TooSlow
from marklab.execution import run as execution
from marklab.fabrics import Cell, Sim, mininet
from marklab.fabrics.mininet import LADDER, Mininet
from marklab.lab import validity
from marklab.lab.preflight import LongFlows
from marklab.lab.validity import ATTEMPTS, Preflight, Problem, enough_dilation, needed_fps
from marklab.metrics.doubts import doubts
from marklab.prepare.experiment import Experiment, prepare
from marklab.report.terminal import real_fabric
from marklab.results.collection import Collection
from marklab.results.observation import Observation
from marklab.results.summary import RealTime, Summary
from marklab.spec.description import make_spec
from marklab.sweeps.plan import plan_of
from marklab.topology import Graph
from runs import small

SLOW, WRONG = Problem("a full queue drained at 0.976 of the line's rate"), Problem("nothing was marked", slow=False)
REAL_TIME = RealTime(
    dilation=100, switch="marklab", duration_s=1.0, capacity_fps=1.0, needed_fps=1.0, lateness_p50_us=0.0,
    lateness_p99_us=0.0, late_start_p99_us=0.0, cpu_busy=0.0, softirq_drops=0, drain_ratio=None,
    standing_packets=None, rtt_us=(), marks_made=0, ce_received=0, marks_echoed=0, buffers=(),
)  # fmt: skip


def described(**real: Any) -> Experiment:
    return prepare(make_spec({"schemes": ["tcn"], "baseline": "none", "flows": 10, "mininet": real}))


class Network:
    graph = Graph((), (), ())


def shown(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    attempts: Sequence[Sequence[Problem]],
    capacities: Sequence[float] = (1e6,),
) -> Preflight:
    """The preflight of a machine with these problems in its attempts, and these frames per second."""
    found, carried = iter(attempts), iter(capacities)
    proven = Preflight(0.0, 1.0, None, None, (), LongFlows(1, 1), 1, ())
    monkeypatch.setattr(validity, "_attempt", lambda *_: (proven, list(next(found))))
    monkeypatch.setattr(validity, "capacity", lambda *_: next(carried))
    experiment, plan = described(dilation=100), replace(_plan())
    folder.mkdir(exist_ok=True)
    made = validity.preflight(experiment, experiment.schemes[0], Network(), plan, None, folder / "it")  # type: ignore[arg-type]
    assert next(found, None) is None, "no more attempts than it takes"
    return made


def _plan() -> Any:
    cell = described(dilation=100)
    return mininet.switch_plan(Cell(cell, cell.schemes[0], 1), mininet.dilate(Cell(cell, cell.schemes[0], 1)))


def test_what_is_right_at_once_is_not_asked_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert shown(monkeypatch, tmp_path, [[]]).failed_attempts == ()


def test_a_machine_is_asked_three_times_and_all_answers_are_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    proven = shown(monkeypatch, tmp_path, [[SLOW], [SLOW, WRONG], []])
    assert ATTEMPTS == 3
    assert proven.failed_attempts == (SLOW.text, f"{SLOW.text}; {WRONG.text}")
    assert proven.capacity_fps == 1e6


def test_three_failures_are_an_error_and_more_time_may_help(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(TooSlow, match=r"tcn: .*, in 3 attempts: a full queue drained at 0\.976") as slow:
        shown(monkeypatch, tmp_path, [[SLOW]] * 3)
    assert slow.value.dilation == 200
    assert "--dilation 200 or auto" in str(slow.value.remedy)


def test_what_no_time_mends_is_no_reason_for_a_larger_dilation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match="nothing was marked") as wrong:
        shown(monkeypatch, tmp_path, [[SLOW], [SLOW], [SLOW, WRONG]])
    assert not isinstance(wrong.value, TooSlow)


def test_capacity_is_measured_again_as_well(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    needed = needed_fps(described(dilation=100).network, 100)
    proven = shown(monkeypatch, tmp_path / "a", [[]], capacities=[2 * needed - 1, 2 * needed])
    assert proven.capacity_fps == 2 * needed
    (failed,) = proven.failed_attempts
    assert failed.startswith("a full bottleneck is 12,191 frames/s, and this machine carries 24,381")
    with pytest.raises(TooSlow) as slow:
        shown(monkeypatch, tmp_path / "b", [], capacities=[needed, needed / 2, needed])
    assert slow.value.dilation == enough_dilation(described(dilation=100).network, needed) == 221


# Choosing a dilation


def settled(monkeypatch: pytest.MonkeyPatch, enough: float, **real: Any) -> Experiment:
    """The result of a run on a machine on which this dilation is just enough."""
    experiment = described(**real)
    fps = needed_fps(experiment.network, 1) * 2 * 1.1 / enough
    monkeypatch.setattr(mininet, "_capacity", lambda *_: fps)
    return Mininet().settled(experiment)


@pytest.mark.parametrize(("enough", "rung"), [(3, 100), (99.99, 100), (100.01, 200), (399.9, 400), (799.9, 800)])
def test_auto_takes_the_smallest_dilation_that_is_enough(
    monkeypatch: pytest.MonkeyPatch, enough: float, rung: int
) -> None:
    assert settled(monkeypatch, enough).dilation == rung


def test_a_dilation_that_is_given_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settled(monkeypatch, 500, dilation=50).dilation == 50


def test_a_machine_that_no_dilation_helps_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TooSlow, match=r"this machine carries [0-9,]+ frames/s") as slow:
        settled(monkeypatch, 800.5)
    assert slow.value.dilation == 801


def test_only_auto_and_only_a_slow_machine_lead_to_the_next_dilation() -> None:
    lab, slow = Mininet(), TooSlow("it did not keep up", 200)
    auto = replace(described(), dilation=100)
    for expected in (200, 400, 800):
        found = lab.slower(auto, slow)
        assert found is not None
        assert found.dilation == expected
        auto = found
    assert lab.slower(auto, slow) is None
    assert lab.slower(replace(described(), dilation=100), RunFailed("a switch died")) is None
    assert lab.slower(described(dilation=100), slow) is None
    assert LADDER == (100, 200, 400, 800)


class Slow(Sim):
    """A simulator that finds the first dilations too small, in the second of its cells."""

    def __init__(self, enough: int) -> None:
        self.enough = enough
        self.ran: list[tuple[str, int | None]] = []

    def settled(self, experiment: Experiment) -> Experiment:
        return replace(experiment, dilation=100)

    def slower(self, experiment: Experiment, error: RunFailed) -> Experiment | None:
        return Mininet().slower(experiment, error)

    def run(self, cell: Cell, watch: engine.Watch) -> Observation:
        dilation = cell.experiment.dilation or 0
        self.ran.append((cell.scheme.label, dilation))
        if cell.scheme.label == "tcn" and dilation < self.enough:
            raise TooSlow(f"{cell}: the run did not keep up", 2 * dilation)
        return replace(super().run(cell, watch), real_time=REAL_TIME.model_copy(update={"dilation": dilation}))

    def check(self, experiment: Experiment) -> None:
        pass


def auto_run(monkeypatch: pytest.MonkeyPatch, folder: Path, fabric: Slow) -> Summary:
    monkeypatch.setattr(execution, "fabric_of", lambda _: fabric)
    spec = make_spec({"schemes": ["droptail", "tcn"], "baseline": "none", "flows": 20, "seeds": 1, "mininet": {}})
    return execution.run_spec(spec, folder, 1).summary


def test_all_cells_of_a_comparison_run_at_one_dilation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fabric = Slow(enough=400)
    summary = auto_run(monkeypatch, tmp_path, fabric)
    assert fabric.ran == [(scheme, dilation) for dilation in (100, 200, 400) for scheme in ("droptail", "tcn")]
    for result in summary.schemes.values():
        (seed,) = result.seeds
        assert seed.real_time is not None
        assert seed.real_time.dilation == 400
        assert [text.partition(":")[0] for text in seed.real_time.given_up] == ["dilation 100", "dilation 200"]
    assert real_fabric(summary) == "real hosts, marklab, times x 400 (auto)"


def test_when_no_dilation_is_enough_nothing_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(TooSlow, match="did not keep up"):
        auto_run(monkeypatch, tmp_path, Slow(enough=1600))
    assert list(tmp_path.iterdir()) == []


# Its effects


def on_real_hosts(dilation: int, failed: tuple[str, ...] = ()) -> Collection:
    found = run_of(1.0, 2.0, 3.0)
    (point,) = found.points
    real_time = REAL_TIME.model_copy(update={"dilation": dilation, "failed_attempts": failed})
    schemes = {
        label: result.model_copy(
            update={"seeds": tuple(seed.model_copy(update={"real_time": real_time}) for seed in result.seeds)}
        )
        for label, result in point.summary.schemes.items()
    }
    return replace(found, points=(replace(point, summary=point.summary.model_copy(update={"schemes": schemes})),))


def test_runs_at_unlike_dilations_are_not_compared() -> None:
    with pytest.raises(BadInput, match="BASE ran at 100; NEW ran at 200") as refused:
        compare(on_real_hosts(100), on_real_hosts(200))
    assert refused.value.remedy == "--dilation 200 for all"
    assert compare(on_real_hosts(200), on_real_hosts(200)).exit_code == 0
    # A simulated run has no dilation.
    assert compare(run_of(1.0, 2.0, 3.0), on_real_hosts(100)).exit_code == 0


def said(word: str, **figures: object) -> list[str]:
    """Doubts with this word about a run on real hosts with these figures."""
    experiment, _, summary = small()
    scheme, result = experiment.schemes[0], summary.main
    real_time = REAL_TIME.model_copy(update=figures)
    seeds = tuple(seed.model_copy(update={"real_time": real_time}) for seed in result.seeds[:1])
    found = doubts(experiment, scheme, result.model_copy(update={"seeds": seeds}))
    return [text for text in map(str, found) if word in text]


def test_a_pass_after_a_failure_is_a_doubt() -> None:
    assert said("attempt", failed_attempts=()) == []
    (text,) = said("attempt", failed_attempts=("a ping took long", SLOW.text))
    assert "the machine passed its checks only after 2 failed attempt(s): a full queue drained at 0.976" in text


def test_a_congestion_control_that_the_kernel_left_out_is_a_doubt() -> None:
    assert said("left out", replaced_answers=0) == []
    (text,) = said("left out", replaced_answers=3)
    assert "the kernel left out the hosts' DCTCP in BPF at 3 reduction(s)" in text


def test_a_sweep_says_its_dilation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mininet, "check", lambda *_: None)

    def points(**real: Any) -> Iterator[tuple[dict[str, Any], Any, tuple[str, ...]]]:
        spec = make_spec({"schemes": ["tcn"], "baseline": "none", "flows": 10, "mininet": real})
        yield {"load": 0.5}, spec, ("tcn",)

    assert len(plan_of(points(dilation=100)).points) == 1
    with pytest.raises(BadInput, match="need one dilation") as refused:
        plan_of(points())
    assert "--set mininet.dilation=100" in str(refused.value.remedy)


@pytest.mark.parametrize("text", ["0", "1000001", "1e2", "-3", "fast"])
def test_what_is_no_dilation_is_refused(text: str) -> None:
    with pytest.raises(MarklabError, match=f"`{text}` is not a dilation") as refused:
        described(dilation=text)
    assert refused.value.remedy == "a whole number from 1 to 1,000,000, or auto"
