# SPDX-License-Identifier: MIT OR Apache-2.0
"""Controllers: what they see, when what they write holds, and what is said of those that fail."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from marklab.catalog.controller import ControllerChoice
from marklab.controllers import Port, loop
from marklab.controllers.loading import load
from marklab.errors import BadInput, MarklabError, RunFailed
from marklab.execution.cells import run_cells
from marklab.execution.run import run_spec
from marklab.fabrics import Cell, Sim
from marklab.fabrics.mininet import Mininet
from marklab.fabrics.sim import session
from marklab.paths import REPOSITORY
from marklab.prepare.experiment import prepare
from marklab.results.observation import Observation
from marklab.results.summary import Summary
from marklab.spec.description import make_spec, read_spec
from marklab.studio.form import fields, words
from runs import run
from same_bytes import digest

Write = Callable[..., Path]

HEAD = "from marklab.controllers import Controller\n"
NOTHING = HEAD + "class Idle(Controller):\n    period = '50us'\n    def step(self, network): pass\n"
# Writes its setting `k` at `at_us` and notes what it sees, one line of JSON for each call.
WRITER = (
    HEAD
    + """
import json
class Writer(Controller):
    period = "100us"
    k, at_us, notes = 30, 0, ""
    def step(self, network):
        if network.now_ns == self.at_us * 1000:
            for switch in network.switches:
                switch.write("marking.params", "set_params", k_pkts=self.k)
        switch = network.switches[0]
        seen = {"now_ns": network.now_ns, "marked": sum(port.marked for port in switch.ports),
                "counted": sum(switch.counter("marks", cell)[0] for cell in range(256)) if self.notes else 0,
                "packets": sum(port.packets for port in switch.ports),
                "acks": int(network.round_trips().packets.sum()), "draw": network.random.random()}
        if self.notes:
            with open(self.notes, "a") as file:
                print(json.dumps(seen), file=file)
"""
)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str, name: str = "mine.py") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def observed(**settings: Any) -> list[Observation]:
    """The cells of a small run, whose only scheme is DCTCP-RED unless the settings have others."""
    few = {"schemes": ["dctcp-red"], "baseline": "none", "flows": 200, "seeds": 1, "load": 0.8}
    experiment = prepare(make_spec(few | settings))
    cells = [Cell(experiment, scheme, seed) for seed in experiment.spec.seed_numbers for scheme in experiment.schemes]
    sim = Sim()
    sim.check(experiment)
    return run_cells(sim, cells, 2, lambda _: None)


def results(seen: Observation) -> tuple[object, ...]:
    return seen.fct_ns.tolist(), json.dumps(seen.report["drops"]), json.dumps(seen.report["counters"])


# What is run


def test_a_run_whose_controller_writes_nothing_is_the_run_without_one(write: Write) -> None:
    traced = {"trace_queue": "10us", "trace_flows": "100us", "sample_queues": "10us", "probes": "h0:h7,every=1ms"}
    (plain,) = observed(**traced)
    (idle,) = observed(controller=str(write(NOTHING)), **traced)
    assert idle.control == []
    assert digest(idle) != digest(plain), "the record of the controller is part of what was observed"
    without = {name: value for name, value in vars(idle).items() if name not in ("control", "cpu_s", "flows")}
    for name, value in without.items():
        expected = getattr(plain, name)
        if isinstance(value, np.ndarray):
            assert np.array_equal(value, expected), name
        elif name in ("report", "scheme", "seed", "threads"):
            assert value == expected, name
    assert [len(table["time_ns"]) for table in idle.traces["s0-7"]] == [
        len(table["time_ns"]) for table in plain.traces["s0-7"]
    ]


@pytest.mark.parametrize("topology", ["incast:senders=7", "leaf-spine:leaves=2,spines=2,hosts=4"])
def test_a_threshold_that_is_written_at_once_is_that_of_the_scheme(write: Write, topology: str) -> None:
    (static,) = observed(schemes=["dctcp-red:k=30"], topology=topology)
    (written,) = observed(controller=f"{write(WRITER)}", topology=topology)
    assert results(written) == results(static)
    (other,) = observed(topology=topology)
    assert results(other) != results(static)
    assert written.control is not None
    assert {row.node for row in written.control} == {each.node for each in written.control}
    assert all(row.time_ns == 0 and row.params == '{"k_pkts": 30}' for row in written.control)


def test_only_schemes_that_were_asked_for_have_the_controller(write: Write) -> None:
    asked, baseline = observed(controller=str(write(WRITER)), baseline="dctcp-red:tail")
    (alone,) = observed(schemes=["dctcp-red:tail"])
    assert asked.control is not None
    assert baseline.control is None
    assert results(baseline) == results(alone)


@pytest.mark.parametrize(("delay_us", "at_us"), [(0, 0), (1, 0), (250, 1000), (1000, 1000)])
def test_what_is_written_holds_after_the_delay(write: Write, tmp_path: Path, delay_us: int, at_us: int) -> None:
    """With a threshold beyond all queues, nothing is marked once it holds."""
    notes = tmp_path / "notes"
    (seen,) = observed(
        schemes=["dctcp-red:k=5"],
        controller=f"{write(WRITER)}:delay={delay_us}us,at_us={at_us},k=100000,notes={notes}",
        trace_packets="marks",
    )
    assert seen.control is not None
    holds_ns = (at_us + delay_us) * 1000
    assert [row.time_ns for row in seen.control] == [holds_ns]
    assert seen.packet_trace is not None
    marked_ns = seen.packet_trace.columns["time_ns"]
    assert (marked_ns <= holds_ns).all()
    (until_then,) = observed(schemes=["dctcp-red:k=5"], trace_packets="marks")
    assert until_then.packet_trace is not None
    expected = until_then.packet_trace.columns["time_ns"]
    # A packet that leaves at the very time is decided before what is written.
    assert marked_ns.tolist() == expected[expected <= holds_ns].tolist()
    assert (expected > holds_ns).any()


def test_a_controller_sees_what_the_run_counts(write: Write, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    (seen,) = observed(controller=f"{write(WRITER)}:k=20,notes={notes}")
    # The rehearsal has a line of its own.
    rows = [json.loads(line) for line in notes.read_text().splitlines()][1:]
    assert [row["now_ns"] for row in rows] == list(range(0, 100_000 * len(rows), 100_000))
    assert rows[-1]["now_ns"] < seen.report["end_ns"] <= rows[-1]["now_ns"] + 100_000
    assert all(row["marked"] == row["counted"] for row in rows)
    assert [row["marked"] for row in rows] == sorted(row["marked"] for row in rows)
    total = sum(port["marked"] for port in seen.report["ports"])
    assert 0 < rows[-1]["marked"] <= total
    assert max(row["packets"] for row in rows) > 20
    assert seen.rtts is not None
    assert 0 < sum(row["acks"] for row in rows) <= int(seen.rtts["packets"].sum())


def test_a_controller_draws_the_same_numbers_again(write: Write, tmp_path: Path) -> None:
    drawn = []
    for name in ("a", "b"):
        notes = tmp_path / name
        observed(controller=f"{write(WRITER)}:notes={notes}", seeds=2)
        rows = [json.loads(line) for line in notes.read_text().splitlines()]
        drawn.append([row["draw"] for row in rows if row["now_ns"] == 0])
    assert sorted(drawn[0]) == sorted(drawn[1])
    # The rehearsal and the run of one seed, and the run of another one.
    assert len(set(drawn[0])) == 2


KEYED = """
#include <core.p4>
#include <v1model.p4>
#include "include/marking.p4"
#include "../include/threshold.p4"
control Marking(in queue_signals_t q, out decision_t decision, out cause_t cause) {
    Threshold() above;
    register<bit<32>>(512) floor;
    bit<32> k = 0;
    bit<32> least = 0;
    action set_params(bit<19> k_pkts) { k = (bit<32>)k_pkts; }
    table params {
        key = { q.port: exact; }
        actions = { set_params; }
        default_action = set_params(100000);
        size = 512;
    }
    apply {
        params.apply();
        floor.read(least, (bit<32>)q.port);
        if (least != 0) { k = least; }
        above.apply((bit<32>)q.enq_qdepth_pkts, k, 1, decision, cause);
    }
}
#include "include/switch.p4"
"""


@pytest.mark.parametrize(
    ("steps", "k"),
    [
        ('s.write("marking.params", "set_params", {"port": 7}, k_pkts=30)', 30),
        ('s.write("marking.params", "set_params", {"q.port": {"exact": 7}}, k_pkts=30)', 30),
        (
            'for k in 5, 30: s.write("marking.params", "set_params", {"port": 7}, k_pkts=k)',
            30,
        ),
        ('s.write("marking.params", "set_params", {"port": 6}, k_pkts=30)', 100_000),
        (
            's.write("marking.params", "set_params", {"port": 7}, k_pkts=5); s.delete("marking.params", {"port": 7})',
            100_000,
        ),
        ('s.set_register("marking.floor", 7, 30)', 30),
        ('s.set_register("marking.floor", 7, 30); assert s.registers("marking.floor") == {}', 30),
    ],
    ids=["insert", "its match in full", "modify", "another port", "delete", "register", "not before it holds"],
)
def test_entries_and_registers_are_written(write: Write, steps: str, k: int) -> None:
    program = write(KEYED, "keyed.p4")
    text = (
        HEAD
        + f"class Once(Controller):\n    def start(self, network):\n        s = network.switch('s0')\n        {steps}\n"
    )
    controller = write(text + "    def step(self, network): pass\n")
    (written,) = observed(schemes=[str(program)], controller=str(controller))
    (static,) = observed(schemes=[f"dctcp-red:k={k}"])
    assert written.fct_ns.tolist() == static.fct_ns.tolist()


def test_writes_are_kept_in_the_folder(write: Write, tmp_path: Path) -> None:
    spec = make_spec({"schemes": ["dctcp-red"], "flows": 100, "seeds": 2, "controller": f"{write(WRITER)}:delay=5us"})
    ran = run_spec(spec, tmp_path / "out", 2)
    files = sorted((ran.folder / "traces").glob("*.parquet"))
    assert [path.name for path in files] == [f"dctcp-red-seed{seed}-control.parquet" for seed in (1, 2)]
    assert pl.read_parquet(files[0]).rows() == [
        (5000, "s0", "marking.params", None, "set_params", '{"k_pkts": 30}'),
    ]


def test_the_same_controller_is_the_same_run_wherever_it_lies(write: Write, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    here, there = write(WRITER), tmp_path / "there" / "mine.py"
    there.write_text(WRITER)
    named = [prepare(make_spec({"schemes": ["dctcp-red"], "controller": str(path)})) for path in (here, there)]
    assert named[0].folder_name == named[1].folder_name
    other = prepare(make_spec({"schemes": ["dctcp-red"], "controller": f"{here}:k=31"}))
    assert other.folder_name != named[0].folder_name
    without = prepare(make_spec({"schemes": ["dctcp-red"]}))
    assert without.folder_name != named[0].folder_name


def test_a_spec_file_names_a_controller_beside_it(write: Write, tmp_path: Path) -> None:
    write(WRITER)
    spec = write("{schemes: dctcp-red, controller: 'mine.py:k=40,period=2ms'}", "spec.yaml")
    choice = make_spec(read_spec(spec)).controller
    assert choice is not None
    assert (choice.file, choice.settings, choice.period_ns) == (tmp_path / "mine.py", {"k": "40"}, 2_000_000)
    again = make_spec(make_spec(read_spec(spec)).to_plain())
    assert again.controller == choice
    write(WRITER + "# changed\n")
    with pytest.raises(BadInput, match="has changed since this description was written"):
        make_spec({"schemes": ["dctcp-red"], "controller": choice.model_dump()})


def test_the_threshold_that_follows_rtts_follows_them() -> None:
    """It is told nothing of them, and its thresholds are in the order of the rule's."""
    found = []
    for rtt in ("20us..60us", "70us..210us", "140us..420us"):
        (seen,) = observed(controller="follow-rtt", rtt=rtt, load=0.7, flows=500)
        assert seen.control is not None
        found.append(np.median([json.loads(row.params or "")["k_pkts"] for row in seen.control]))
    assert found == sorted(found)
    assert found[2] > 1.5 * found[0]


def port(**seen: int) -> Port:
    """A port of 10 Gb/s."""
    counted = {"packets": 0, "bytes": 0, "sent_bytes": 0, "marked": 0, "lost": 0}
    return Port(number=7, peer="h7", rate_bps=10**10, **counted | seen)


@pytest.mark.parametrize(
    ("utilisation", "queue_bytes", "costs"),
    [
        # 0.875 (1 - 0.9) for the line. 2,001 bytes exceed E(0), and 20 KB E(0) to E(3): 0.0125 each.
        (0.9, 2_000, 0.0875),
        (0.9, 2_001, 0.075),
        (0.9, 20_000, 0.0375),
        # A full line costs nothing, nor does one without load. Frames that end after the period may count as more.
        (1.0, 0, 0.0),
        (1.0, 6_000, -0.025),
        (1.01, 6_000, -0.025),
        (0.39, 6_000, -0.025),
        (0.4, 6_000, 0.5),
        # No queue costs more than its weight.
        (1.0, 10**9, -0.125),
    ],
)
def test_acc_follows_the_reward(utilisation: float, queue_bytes: int, costs: float) -> None:
    """The reward by hand: 0.875 utilisation + 0.125 (1 - n / 10) with a queue that exceeds n of 2, 4, ... KB."""
    acc: Any = load(ControllerChoice.model_validate("acc"))
    assert acc.costs(utilisation, queue_bytes) == pytest.approx(costs)


@pytest.mark.parametrize(
    ("level", "costs_ms", "then"),
    [(3.0, 0.1, 3.4), (3.0, -0.1, 2.6), (3.0, 0.3, 4.0), (3.0, -0.3, 2.0), (0.1, -0.1, 0.0), (8.9, 0.1, 9.0)],
    ids=["up", "down", "a level at most", "a level at most, down", "not below E(0)", "not above E(9)"],
)
def test_acc_changes_a_threshold_by_what_it_cost(level: float, costs_ms: float, then: float) -> None:
    acc: Any = load(ControllerChoice.model_validate("acc"))
    assert acc.next_level(level, costs_ms) == pytest.approx(then)


class OneSwitch:
    """A network of one switch with one port, as `Acc` sees it, and what it writes."""

    def __init__(self) -> None:
        self.name, self.now_ns, self.ports, self.switches = "s0", 0, [port()], [self]
        self.written: list[Any] = []

    def write(self, table: str, action: str, match: dict[str, int], **thresholds: int) -> None:
        assert (table, action, match) == ("marking.params", "set_params", {"port": 7})
        self.written.append(tuple(thresholds.values()))


def test_acc_tunes_a_port_once_it_marks() -> None:
    """E(6) is 128 KB, 85 packets. A line of 10 Gb/s that sends 225 of 250 KB in 200 us costs 0.0875 * 0.2 = 0.0175.
    After two such periods 4 * 0.035 = 0.14 levels more are 94 packets."""
    network: Any = OneSwitch()
    acc = load(ControllerChoice.model_validate("acc"))
    acc.start(network)
    acc.step(network)
    assert network.written == [(85, 85, 2**32 - 1)]
    for period, marked in ((1, 0), (2, 1), (3, 1), (4, 1)):
        network.now_ns = 200_000 * period
        network.ports = [port(sent_bytes=225_000 * min(period, 2), marked=marked)]
        acc.step(network)
    assert network.written[1:] == [(94, 94, 2**32 - 1)], "nothing before the mark, and nothing while it is idle"
    network.now_ns, network.ports = 10**6, [port(sent_bytes=700_000, marked=1, lost=1, bytes=900_000)]
    acc.step(network)
    # 250 KB: a full line. 900 KB exceed nine of ten: 0.1125 * 0.2 * 4 = 0.09 levels less.
    assert network.written[2:] == [(88, 88, 2**32 - 1)], "a packet that is lost is as good as a mark"


def test_acc_writes_a_slope_between_two_thresholds() -> None:
    network: Any = OneSwitch()
    acc = load(ControllerChoice.model_validate("acc:k_min=0.25,p_max=0.2,first=0,smallest_bytes=30000"))
    acc.start(network)
    assert network.written == [(5, 20, round(2**32 * 0.2 / 15))]


def test_acc_tunes_each_port_of_a_run_alike_for_a_seed() -> None:
    """The port that all flows share is tuned; others mark nothing, and keep what all ports have from time 0."""
    chosen = {"schemes": ["acc"], "controller": "acc", "topology": "incast:senders=8", "flows": 300}
    seen, again = (observed(**chosen)[0] for _ in range(2))
    assert digest(seen) == digest(again)
    assert seen.control is not None
    first = [row for row in seen.control if row.time_ns == 20_000]
    assert [json.loads(row.match or "")["port"]["exact"] for row in first] == list(range(9))
    assert len({row.params for row in first}) == 1
    later = [row for row in seen.control if row.time_ns > 20_000]
    assert {row.match for row in later} == {first[8].match}
    assert len({row.params for row in later}) > 3
    (static,) = observed(schemes=["acc"], topology="incast:senders=8", flows=300)
    assert results(static) != results(seen)


def test_acc_that_may_not_change_a_threshold_is_the_static_one() -> None:
    """E(6) is 128 KB, 85 packets, from the first packet on."""
    (tuned,) = observed(schemes=["acc"], controller="acc:gain=0,delay=0us")
    (static,) = observed(schemes=["acc:k_max=85"])
    assert results(tuned) == results(static)


def test_the_example_of_the_page_runs(write: Write, tmp_path: Path) -> None:
    page = (REPOSITORY / "docs/controllers.md").read_text(encoding="utf-8")
    example = page.split("```python\n")[1].split("```")[0]
    command = next(line for line in page.splitlines() if "--controller backlog.py" in line)
    write(example, "backlog.py")
    program, *words_of = command.split()[1:]
    few = ["--flows", "300", "--seeds", "1", "--queue", "100", "--json", "--out", str(tmp_path / "out")]
    shown = subprocess.run(
        [sys.executable, str(REPOSITORY / program), *words_of, *few],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert set(json.loads(shown.stdout)["schemes"]) == {"dctcp-red", "dctcp-red:tail"}
    written = pl.read_parquet(next((tmp_path / "out").glob("*/traces/*-control.parquet")))
    assert set(written["params"]) == {'{"k_pkts": 40}', '{"k_pkts": 170}'}


# What fails


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no class derives from"),
        (HEAD, "no class derives from"),
        (NOTHING + "class Other(Idle): pass\n", "2 classes derive from"),
        (HEAD + "class Half(Controller): pass\n", "`Half` has no method `step`"),
        (HEAD + "x = (\n", "line 2: SyntaxError"),
        ("import nothing_of_this_name\n", "line 1: ModuleNotFoundError"),
        (NOTHING.replace("50us", "0us"), "called without end"),
        (NOTHING.replace("50us", "often"), "`often`"),
        (NOTHING.replace("pass", "1 / 0"), "line 4: ZeroDivisionError"),
        (NOTHING.replace("pass", "network.switch('s9')"), "there is no switch `s9`"),
        (
            NOTHING.replace("pass", "network.switches[0].write('markin.params', 'set_params', k_pkts=1)"),
            "line 4.*markin",
        ),
        (NOTHING.replace("pass", "network.switches[0].write('marking.params', 'set_params', k=1)"), "line 4"),
        (NOTHING.replace("pass", "network.switches[0].write('marking.params', 'set_params', k_pkts='x')"), "line 4"),
        (
            NOTHING.replace("pass", "network.switches[0].delete('marking.params', {'port': 1})"),
            "no entry of this controller",
        ),
        (NOTHING.replace("pass", "network.switches[0].register('nothing', 0)"), "nothing"),
        (NOTHING.replace("pass", "network.switches[0].counter('marks', 10**9)"), "no cell"),
    ],
)
def test_what_is_wrong_is_named_before_the_run(write: Write, text: str, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        observed(controller=f"{write(text)}:delay=10ms")


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("folow-rtt", "did you mean `follow-rtt`"),
        ("missing.py", "No such file"),
        ("MINE:size=3", "unknown setting of the controller mine: `size`"),
        ("MINE:k=many", "k=many: the setting of the controller mine is a whole number"),
        ("MINE:k=1.5", "is a whole number"),
        ("MINE:period=0us", "greater than 0"),
        ("MINE:period=5", "period"),
        ("MINE:k", "`k` is not a setting"),
    ],
)
def test_a_controller_that_cannot_be_is_refused(write: Write, written: str, says: str) -> None:
    with pytest.raises(MarklabError) as refused:
        observed(controller=written.replace("MINE", str(write(WRITER))))
    assert says in f"{refused.value} {refused.value.remedy}"


def test_a_controller_that_fails_in_a_run_says_when_and_where(write: Write, tmp_path: Path) -> None:
    failing = NOTHING.replace("pass", "assert network.now_ns < 3_000_000")
    spec = make_spec({"schemes": ["dctcp-red"], "flows": 100, "controller": str(write(failing))})
    with pytest.raises(RunFailed, match="the controller mine failed at 3ms: line 4: AssertionError") as failed:
        run_spec(spec, tmp_path / "out", 2)
    assert "mine.py" in str(failed.value.remedy)
    assert list((tmp_path / "out").iterdir()) == []


def test_a_controller_of_the_lab_needs_a_scheme_that_it_is_for() -> None:
    with pytest.raises(RunFailed, match=r"no parameter `k_pkts`; it has t_us") as failed:
        observed(schemes=["tcn"], controller="follow-rtt")
    assert failed.value.remedy is not None
    assert failed.value.remedy.startswith("a scheme whose program has what")


def test_a_refused_write_says_when_it_would_have_held(write: Write) -> None:
    late = HEAD + (
        "class Late(Controller):\n    delay = '2ms'\n    def step(self, network):\n"
        "        if network.now_ns: network.switches[0].write('marking.params', 'other')\n"
    )
    with pytest.raises(RunFailed, match=r"failed at 3ms: line 5.*other"):
        observed(controller=str(write(late)))


def test_a_call_without_an_end_is_ended(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "MOST_S", 0.3)
    swallows = "\n        try:\n            while True: pass\n        except Exception: pass\n"
    with pytest.raises(BadInput, match=r"fails before the run: a call took more than 0\.3 s"):
        observed(controller=str(write(NOTHING.replace("pass", swallows))))
    with pytest.raises(RunFailed, match="failed at 1ms: a call took more than"):
        observed(controller=str(write(NOTHING.replace("pass", "\n        while network.now_ns == 1_000_000: pass\n"))))


def test_an_interrupt_ends_a_call_without_an_end(write: Write, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    endless = f"\n        if network.now_ns:\n            open({str(begun)!r}, 'w')\n            while True: pass\n"
    command: Sequence[str] = [
        *(sys.executable, str(REPOSITORY / "orchestrator.py"), "--scheme", "dctcp-red", "--flows", "100"),
        *("--controller", str(write(NOTHING.replace("pass", endless))), "--out", str(tmp_path / "out")),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        deadline_s = time.monotonic() + 60
        while not begun.exists() and time.monotonic() < deadline_s:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT, said
    assert "interrupted" in said


# Where it is not run


def test_a_run_with_a_controller_is_not_played_again(write: Write) -> None:
    experiment = prepare(make_spec({"schemes": ["dctcp-red"], "controller": str(write(WRITER))}))
    with pytest.raises(BadInput, match="has the controller mine, and cannot be run again in steps yet"):
        session(Cell(experiment, experiment.schemes[0], 1))


def test_real_hosts_have_no_controller(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("marklab.fabrics.mininet.require", lambda _: None)
    spec = make_spec({"schemes": ["dctcp-red"], "controller": str(write(WRITER)), "mininet": {}})
    with pytest.raises(BadInput, match="a controller runs in virtual time only"):
        Mininet().check(prepare(spec))


def test_a_page_runs_no_controller() -> None:
    assert "controller" not in {field["name"] for field in fields(lab=True)}
    with pytest.raises(BadInput, match="unknown setting `controller`"):
        words({"controller": "follow-rtt"}, lab=True)


def test_a_summary_names_the_controller(write: Write) -> None:
    summary: Summary = run(schemes=["dctcp-red"], controller=str(write(WRITER)))[2]
    assert summary.spec["controller"]["path"].endswith("mine.py")
