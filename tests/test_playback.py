# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs that are run again to look at: the same packets, from any copy, and what was said of them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pcapng import FileScanner
from pcapng.blocks import EnhancedPacket, InterfaceDescription

from marklab.errors import BadInput
from marklab.execution.run import run_spec
from marklab.fabrics import Cell
from marklab.fabrics.traced import find_port
from marklab.p4tools.stf.runner import Verdict, run_pair
from marklab.paths import PROGRAMS
from marklab.playback import checkpoints
from marklab.playback.again import packet_test
from marklab.playback.capture import write_capture
from marklab.playback.explain import FromTheStart, decision, explain
from marklab.playback.playback import Playback
from marklab.playback.questions import Follow, Wanted
from marklab.playback.stored import stored_cell
from marklab.playback.timeline import MOST
from marklab.promotion.beside import beside
from marklab.spec.description import make_spec
from marklab.topology import Port
from processes import children_of

SPEC = {
    "schemes": ["tcn", "droptail"],
    "topology": "leaf-spine:leaves=2,spines=2,hosts=4",
    "load": 0.8,
    "flows": 200,
    "queue": 250,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_spec(make_spec(SPEC), tmp_path_factory.mktemp("playback"), 2).folder


@pytest.fixture(scope="module")
def playback(folder: Path) -> Iterator[Playback]:
    with pytest.MonkeyPatch.context() as patch:
        # Many copies, so that packets come before some of them, and some are given up.
        patch.setattr(checkpoints, "_FIRST_EVENTS", 500)
        patch.setattr(checkpoints, "MOST_EVENTS", 20_000)
        played = Playback(stored_cell(folder, "tcn", 1), lambda _now_ns, _finished: None)
        yield played
    played.end()


def report(folder: Path, name: str) -> Any:
    return json.loads((folder / "summary.json").read_text())["schemes"]["tcn"]["seeds"][0][name]


def marking_port(playback: Playback) -> Port:
    """The port with the most marks."""
    lines = playback.cell.experiment.network.graph.lines
    return lines[int(np.argmax(playback.timeline.table("marked")[-1]))].source


def test_the_time_line_ends_as_the_run_did(folder: Path, playback: Playback) -> None:
    timeline = playback.timeline
    assert 100 < len(timeline) < MOST
    assert timeline.to_plain()["finished"][-1] == SPEC["flows"]
    assert timeline.table("packets")[-1].sum() == 0
    assert timeline.table("marked")[-1].sum() == report(folder, "marks")["total"] > 0
    for column in ("wire_bytes", "marked", "lost"):
        assert (np.diff(timeline.table(column).astype(np.int64), axis=0) >= 0).all()
    assert np.unique(np.diff(timeline.to_plain()["time_ns"])).tolist() == [timeline.interval_ns]


def test_every_copy_tells_the_same_as_the_run_from_its_start(playback: Playback) -> None:
    at, cell = marking_port(playback), playback.cell
    start = FromTheStart(cell)
    assert len(playback.past) > 8
    for number, wanted in enumerate([*Wanted, *Wanted]):
        if wanted is Wanted.LOSS:
            continue
        from_ns = 1 + number * playback.end_ns // 10
        told = playback.explain(at, from_ns, wanted)
        assert told == explain(cell, start, at, from_ns, wanted)
        assert told.time_ns >= from_ns
        assert told.way["end"]["kind"] == "delivered"


def test_a_mark_has_its_switch_queue_and_line_of_the_program(playback: Playback) -> None:
    at = marking_port(playback)
    told = playback.explain(at, 0, Wanted.MARK).to_plain()
    names = playback.cell.experiment.network.graph.names
    hop = next(hop for hop in told["hops"] if hop["node"] == names[at.node])
    assert (hop["marked"], hop["queue"]["port"], hop["left"]["time_ns"]) == (True, at.port, told["time_ns"])
    step, conditions = hop["decision"]["step"], hop["decision"]["conditions"]
    assert hop["decision"]["what"] == "mark"
    assert "ecn" in Path(step["file"]).read_text().splitlines()[step["line"] - 1]
    assert conditions
    assert {Path(each["file"]).name for each in conditions} <= {"tcn.p4", "threshold.p4"}
    # TCN compares the sojourn time in us with its threshold.
    egress = next(event for event in hop["events"] if event["kind"] == "block" and "Egress" in event["block"])
    values = {name.rpartition(".")[2]: int(value, 16) for name, _, value in egress["fields"]}
    waited_us = (hop["left"]["time_ns"] - hop["arrived_ns"]) / 1e3
    assert abs(values["deq_timedelta"] - waited_us) <= 1
    assert hop["queue"]["found"]["packets"] > 100


def test_switches_on_the_path_follow_each_other(playback: Playback) -> None:
    told = playback.explain(marking_port(playback), 0, Wanted.MARK)
    times = [time for hop in told.way["hops"] for time in (hop["arrived_ns"], hop["left"]["time_ns"])]
    assert times == sorted(times)
    assert times[-1] < told.way["end"]["time_ns"]


def test_a_loss_says_why(folder: Path) -> None:
    cell = stored_cell(folder, "droptail", 1)
    with Losing(cell) as at:
        told = explain(cell, FromTheStart(cell), at, 0, Wanted.LOSS)
    assert told.way["end"]["kind"] == "lost"
    assert (told.way["end"]["reason"], told.way["end"]["time_ns"]) == ("queue full", told.time_ns)
    assert told.way["hops"][-1]["left"] is None


class Losing:
    """The port where a cell loses most packets."""

    def __init__(self, cell: Any) -> None:
        self.played = Playback(cell, lambda _now_ns, _finished: None)

    def __enter__(self) -> Port:
        lost = self.played.timeline.table("lost")[-1]
        assert lost.sum() > 0
        return self.played.cell.experiment.network.graph.lines[int(np.argmax(lost))].source

    def __exit__(self, *_: object) -> None:
        self.played.end()


def test_a_life_of_a_flow_has_its_window(playback: Playback) -> None:
    flows = playback.cell.experiment.flow_lists[1]
    longest = int(np.argmax(flows.size_bytes))
    begin = int(flows.start_ns[longest])
    life = playback.life(longest, begin, playback.end_ns)
    windows = [sender["cwnd_bytes"] for sender in life["sender"] if sender is not None]
    assert len(life["time_ns"]) == len(life["sender"]) > 300
    assert len(set(windows)) > 3
    acknowledged = [sender["acknowledged_bytes"] for sender in life["sender"] if sender is not None]
    assert acknowledged == sorted(acknowledged)
    assert acknowledged[-1] >= int(flows.size_bytes[longest])


def test_a_life_has_the_queues_that_the_flow_passed(playback: Playback) -> None:
    flows = playback.cell.experiment.flow_lists[1]
    graph = playback.cell.experiment.network.graph
    longest = int(np.argmax(flows.size_bytes))
    ports = playback.life(longest, int(flows.start_ns[longest]), playback.end_ns)["ports"]
    last = graph.names[graph.lines_from[int(flows.dst[longest])][0].target.node]
    assert ports[-1]["at"].startswith(f"{last}:")
    assert all(port["packets"] >= flows.size_bytes[longest] // 1460 for port in ports)
    for port in ports:
        assert (len(port["marks_ns"]), len(port["losses_ns"])) == (port["marked"], port["lost"])
        assert 0 < len(port["found"]["time_ns"]) == len(port["found"]["enq_qdepth"]) <= 2_000
    assert sum(port["marked"] for port in ports) > 0


def test_copies_end_with_what_made_them(folder: Path) -> None:
    played = Playback(stored_cell(folder), lambda _now_ns, _finished: None)
    pids = [each.pid for each in played.past._copies]
    assert pids
    played.end()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_killed_playback_leaves_no_process(folder: Path) -> None:
    command = [sys.executable, "-m", "marklab.playback.serve", str(folder), "tcn", "1"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        while "ready" not in child.stdout.readline():
            pass
        copies = children_of(child.pid)
        child.kill()
    assert copies
    assert wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in copies))


def wait_until(done: Callable[[], bool]) -> bool:
    for _ in range(200):
        if done():
            return True
        subprocess.run(["sleep", "0.02"], check=True)
    return False


def test_a_server_answers_and_refuses(folder: Path) -> None:
    questions: list[dict[str, Any]] = [
        {"explain": {"at": "l0:0", "from_ns": 0, "what": "departure"}},
        {"explain": {"at": "l9:0", "from_ns": 0, "what": "departure"}},
        {"explain": {"at": "h0", "from_ns": 0, "what": "departure"}},
        {"explain": {"at": "l0:0", "from_ns": 10**15, "what": "departure"}},
        {"test": {"at": "l0:0", "from_ns": 0, "what": "departure", "node": "l0"}},
        {"test": {"at": "l0:0", "from_ns": 0, "what": "departure", "node": "h0"}},
        {"life": {"flow": 3, "until_ns": 10**12}},
        {"life": {"flow": 200, "until_ns": 10**12}},
        {"weather": {}},
    ]
    done = subprocess.run(
        [sys.executable, "-m", "marklab.playback.serve", str(folder), "tcn", "1"],
        input="".join(json.dumps(each) + "\n" for each in questions),
        capture_output=True,
        text=True,
        check=True,
    )
    said = [json.loads(line) for line in done.stdout.splitlines()]
    ready = next(number for number, each in enumerate(said) if "ready" in each)
    network = said[ready]["ready"]
    assert [node["tier"] for node in network["nodes"]] == [0] * 8 + [1] * 2 + [2] * 2
    assert len(network["lines"]) == 2 * (8 + 4)
    errors = [each.get("error") for each in said[ready + 1 :]]
    assert [error is None for error in errors] == [True, False, False, False, True, False, True, False, False]
    assert "is a host" in errors[2]
    assert "to the end of the run" in errors[3]
    assert "did not pass h0" in errors[5]
    assert "no flow 200" in errors[7]


def test_a_changed_program_is_refused(tmp_path: Path) -> None:
    program = tmp_path / "own.p4"
    program.write_text((PROGRAMS / "droptail.p4").read_text())
    spec = make_spec({"schemes": [str(program)], "topology": "incast:senders=2", "load": 0.5, "flows": 20})
    folder = run_spec(spec, tmp_path, 1).folder
    assert stored_cell(folder).scheme.label == "own"
    program.write_text(program.read_text() + "const bit<8> MORE = 1;\n")
    with pytest.raises(BadInput, match="has changed since the run"):
        stored_cell(folder)


def test_what_a_run_does_not_have_is_named(folder: Path) -> None:
    with pytest.raises(BadInput, match="unknown scheme of the run `ecn`"):
        stored_cell(folder, "ecn")
    with pytest.raises(BadInput, match="unknown seed of the run `7`"):
        stored_cell(folder, "tcn", 7)
    with pytest.raises(BadInput, match="is not a result"):
        stored_cell(folder / "nothing")


def test_nobody_is_followed_from_nowhere(playback: Playback) -> None:
    assert playback.past.ask(Follow((17, 8, 0))) is None


def test_the_command_tells_of_a_packet(folder: Path, cli: Callable[..., Any], playback: Playback) -> None:
    at = marking_port(playback)
    name = f"{playback.cell.experiment.network.graph.names[at.node]}:{at.port}"
    text = cli("explain", str(folder), "--at", name).out
    assert text.startswith(f"mark at {name}, ")
    assert "mark: switch.p4:" in text
    assert "since t" in text
    assert "delivered at" in text
    plain = json.loads(cli("explain", str(folder), "--at", name, "--what", "departure", "--json").out)
    assert plain["wanted"] == "departure"
    wrong = cli("explain", str(folder), "--at", name, "--time", "10s")
    assert wrong.code == 2
    assert "there is no mark" in wrong.err


def test_a_program_that_drops_decides() -> None:
    drop = {"kind": "call", "name": "mark_to_drop", "values": [], "file": "a.p4", "line": 3}
    branch = {"kind": "branch", "taken": True, "file": "a.p4", "line": 2}
    other = {"kind": "branch", "taken": False, "file": "b.p4", "line": 1}
    block = {"kind": "block", "block": "Egress", "fields": [], "file": None, "line": None}
    assert decision([branch, block, other, drop]) == {"what": "drop", "step": drop, "conditions": []}
    assert decision([block, branch, other, drop]) == {"what": "drop", "step": drop, "conditions": [branch]}
    assert decision([block, branch]) is None


def test_a_packet_is_a_test_that_stands_alone(playback: Playback, tmp_path: Path) -> None:
    told = playback.explain(marking_port(playback), 0, Wanted.MARK)
    for hop in told.way["hops"]:
        path = tmp_path / f"{hop['node']}.stf"
        path.write_text(packet_test(playback.cell, told.way, hop["node"]))
        assert run_pair(PROGRAMS / "tcn.p4", path).verdict is Verdict.PASSED
    # A packet that waited for a shorter time is not marked.
    marked = next(hop["node"] for hop in told.way["hops"] if hop["marked"])
    path = tmp_path / f"{marked}.stf"
    path.write_text(re.sub(r"sojourn_ns=\d+", "sojourn_ns=1000", path.read_text()))
    changed = run_pair(PROGRAMS / "tcn.p4", path)
    assert changed.verdict is Verdict.FAILED
    assert "another packet came out" in changed.message


def test_a_test_of_a_lost_packet_is_refused(folder: Path) -> None:
    cell = stored_cell(folder, "droptail", 1)
    with Losing(cell) as at:
        told = explain(cell, FromTheStart(cell), at, 0, Wanted.LOSS)
    with pytest.raises(BadInput, match="before its program could decide: queue full"):
        packet_test(cell, told.way, told.way["hops"][-1]["node"])


@pytest.mark.parametrize("scheme", ["ecn-sharp", "diffecn", "codel"])
def test_registers_of_a_test_are_those_that_the_packet_met(scheme: str, tmp_path: Path) -> None:
    folder = run_spec(make_spec({"schemes": [scheme], "flows": 150, "seeds": 1, "load": 0.8}), tmp_path, 2).folder
    cell = stored_cell(folder, scheme)
    at = find_port(cell.experiment.network, "s0:7")
    told = explain(cell, FromTheStart(cell), at, 3_000_000, Wanted.MARK)
    text = packet_test(cell, told.way, "s0")
    assert "register_write" in text
    path = tmp_path / "mark.stf"
    path.write_text(text)
    assert run_pair(cell.scheme.fitted.scheme.program, path).verdict is Verdict.PASSED


def test_a_decision_that_other_packets_had_a_part_in_makes_no_test(tmp_path: Path) -> None:
    settings = {"schemes": ["red"], "flows": 150, "seeds": 1, "load": 0.8}
    cell = stored_cell(run_spec(make_spec(settings), tmp_path, 2).folder)
    at = find_port(cell.experiment.network, "s0:7")
    tests = 0
    for ms in range(20):
        told = explain(cell, FromTheStart(cell), at, ms * 1_000_000, Wanted.MARK)
        with suppress(BadInput):
            packet_test(cell, told.way, "s0")
            tests += 1
    assert tests < 20


def first_mark_ns(cell: Cell, at: Port) -> int:
    return explain(cell, FromTheStart(cell), at, 3_000_000, Wanted.MARK).time_ns


def test_a_twin_decides_on_the_same_packets(tmp_path: Path) -> None:
    """Of a hundred packets in a row, the twin of ECN# decides on all but a few as the run did."""
    settings = {"schemes": ["ecn-sharp"], "flows": 150, "seeds": 1, "load": 0.8}
    cell = stored_cell(run_spec(make_spec(settings), tmp_path, 2).folder)
    at = find_port(cell.experiment.network, "s0:7")
    past = FromTheStart(cell)
    found, from_ns = [], first_mark_ns(cell, at) - 20_000
    for _ in range(20):
        told = explain(cell, past, at, from_ns, Wanted.DEPARTURE)
        found.append((beside(cell, at, told.time_ns), told.way["hops"][0]["marked"]))
        from_ns = told.time_ns + 1
    assert {each.decision for each, _ in found} == {"passed", "marked"}
    assert all((each.decision == "marked") == marked for each, marked in found)
    assert sum(each.twin.decision == each.decision for each, _ in found) >= 19
    marked = next(each for each, marked in found if marked)
    assert marked.complete
    assert "the twin ecn-sharp.p4: marked" in marked.lines()[0]
    assert "ecn = ecn_t.CE" in marked.lines()[1]
    with pytest.raises(BadInput, match="no packet left s0:7"):
        beside(cell, at, told.time_ns + 1)


@pytest.mark.filterwarnings("ignore:Field type should not be:DeprecationWarning:pcapng")
def test_packets_are_written_with_the_reasons_of_their_marks(playback: Playback, tmp_path: Path) -> None:
    at = marking_port(playback)
    told = playback.explain(at, 0, Wanted.MARK)
    path = tmp_path / "marks.pcapng"
    write_capture(path, [told])
    with path.open("rb") as file:
        blocks = list(FileScanner(file))
    names = [block.options["if_name"] for block in blocks if isinstance(block, InterfaceDescription)]
    packets = [block for block in blocks if isinstance(block, EnhancedPacket)]
    assert len(packets) == 2 * len(told.way["hops"])
    times_ns = [round(block.timestamp * 1e9) for block in packets]
    hops = told.way["hops"]
    assert times_ns == sorted(time for hop in hops for time in (hop["arrived_ns"], hop["left"]["time_ns"]))
    node = playback.cell.experiment.network.graph.names[at.node]
    (marked,) = (block for block in packets if "mark:" in block.options["opt_comment"])
    assert names[marked.interface_id] == f"{node}:{at.port}"
    assert "since threshold.p4:" in marked.options["opt_comment"]
    with pytest.raises(BadInput, match="cannot write"):
        write_capture(tmp_path / "none" / "marks.pcapng", [told])
