# SPDX-License-Identifier: MIT OR Apache-2.0
"""The comparison with BMv2: tests without BMv2, and one program with it if it is installed."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from marklab.engine import binding as engine
from marklab.engine import p4c
from marklab.errors import RunFailed
from marklab.p4tools.peers import bmv2, differential, random_packets
from marklab.p4tools.stf.device import Exchange, Memory
from marklab.p4tools.stf.outcome import Outcome, compared
from marklab.p4tools.stf.runner import compiled
from marklab.p4tools.stf.statements import Packet
from marklab.paths import REPOSITORY

TABLES = [
    {
        "name": "c.t",
        "keys": [
            {"name": "a", "match": "exact", "bits": 8},
            {"name": "b", "match": "ternary", "bits": 8},
            {"name": "o", "match": "optional", "bits": 8},
            {"name": "r", "match": "range", "bits": 8},
        ],
        "actions": [{"name": "c.set", "params": [{"name": "p", "bits": 8}, {"name": "q", "bits": 8}]}],
    },
    {
        "name": "c.l",
        "keys": [{"name": "a", "match": "lpm", "bits": 32}],
        "actions": [{"name": "NoAction", "params": []}],
    },
]
CALL = {"table": "c.t", "action": "c.set", "params": {"q": 2, "p": 1}}


@pytest.mark.parametrize(
    ("entry", "command"),
    [
        (
            {**CALL, "priority": 9, "match": {"a": {"exact": 3}, "o": {"exact": 4}, "r": {"range": [5, 6]}}},
            "table_add c.t c.set 3 0&&&0 4&&&255 5->6 => 1 2 9",
        ),
        (
            {**CALL, "priority": 9, "match": {"a": {"exact": 3}, "b": {"ternary": [4, 12]}}},
            "table_add c.t c.set 3 4&&&12 0&&&0 0->255 => 1 2 9",
        ),
        (CALL, "table_set_default c.t c.set 1 2"),
        (
            {"table": "c.l", "action": "NoAction", "params": {}, "priority": 0, "match": {"a": {"lpm": [1, 8]}}},
            "table_add c.l NoAction 1/8 =>",
        ),
    ],
)
def test_entries_in_the_words_of_simple_switch(entry: dict[str, object], command: str) -> None:
    assert bmv2.table_command(entry, TABLES) == command


def test_the_same_seed_gives_the_same_packets() -> None:
    seeds = [bytes(4), bytes(9)]
    first, second = (random_packets.random_frames(seeds, 50, random.Random(7)) for _ in range(2))  # noqa: S311
    assert first == second
    assert len(set(first)) > 20


def test_every_program_with_packets_is_compared() -> None:
    found = {case.program.stem for case in random_packets.cases()}
    assert {"dctcp-red", "ecn-sharp", "tables", "detours"} <= found
    assert all(case.seeds for case in random_packets.cases())


def test_differences_are_told() -> None:
    exchanges = [Exchange(Packet(0, 0, b"\0"), [(1, b"\1")]), Exchange(Packet(1, 0, b"\0"), [(2, b"\2"), (3, b"\3")])]
    here = random_packets.Result(exchanges, Memory({"r": [1, 2]}, {"c": [(1, 2)]}))
    same = {port: [] for port in bmv2.PORTS} | {1: [b"\1"], 2: [b"\2"], 3: [b"\3"]}
    assert not list(random_packets.differences(here, Outcome(same, Memory({"r": [1, 2]}, {"c": [(1, 2)]}))))
    other = Outcome(same | {2: [b"\4"], 3: []}, Memory({"r": [1, 3]}, {"c": [(1, 3)]}))
    first_lines = [text.splitlines()[0] for text in random_packets.differences(here, other)]
    assert first_lines == [
        "port 2: 02 here, 04 of BMv2",
        "port 3: 1 packets here, 0 of BMv2",
        "r[1]: 2 here, 3 of BMv2",
        "c[0]: (1, 2) here, (1, 3) of BMv2",
    ]


def test_state_of_the_clock_is_not_compared() -> None:
    parts = {"registers": [{"name": "c.idle_since"}, {"name": "c.average"}], "counters": [{"name": "marks"}]}
    assert compared(parts) == {"registers": [{"name": "c.average"}], "counters": [{"name": "marks"}]}


def test_a_packet_that_ends_a_switch_is_left_out_alone() -> None:
    case = next(case for case in random_packets.cases() if case.program.stem == "detours")
    fine, failing = bytes.fromhex("000000000000"), bytes.fromhex("09ff00000000")
    result = random_packets.run_here(case, [fine, failing, fine, failing, fine], interpret=False)
    assert [exchange.packet.frame for exchange in result.exchanges] == [fine] * 3


@pytest.mark.parametrize(
    ("program", "data", "beyond"),
    [
        # An operation, then the index: registers and counters have 4 cells, meters 4 and 2.
        ("registers", "00 0003 0000 0000", False),
        ("registers", "00 0004 0000 0000", True),
        ("registers", "01 0004 0000 0000", True),
        ("registers", "03 0003 0000 0000", False),
        ("registers", "03 0004 0000 0000", True),
        ("registers", "04 0004 0000 0000", False),
        ("meters", "00 0003 0000 0000", False),
        ("meters", "00 0004 0000 0000", True),
        ("meters", "01 0002 0000 0000", True),
    ],
)
def test_an_index_beyond_an_array_is_found(program: str, data: str, beyond: bool) -> None:
    case = next(case for case in random_packets.cases() if case.program.stem == program)
    (exchange,) = random_packets.run_here(case, [bytes.fromhex(data)], interpret=True).exchanges
    parts = engine.describe(compiled(case.program, True))
    assert random_packets.reaches_beyond(exchange, parts) is beyond


def test_a_switch_that_ends_of_an_index_is_asked_again_without(monkeypatch: pytest.MonkeyPatch) -> None:
    case = next(case for case in random_packets.cases() if case.program.stem == "registers")
    parts = engine.describe(compiled(case.program, True))

    def unchecked(case: random_packets.Case, frames: Sequence[bytes]) -> Outcome:
        result = random_packets.run_here(case, frames, interpret=True)
        if any(random_packets.reaches_beyond(exchange, parts) for exchange in result.exchanges):
            raise bmv2.SwitchDied("simple_switch ended by SIGSEGV after a packet")
        sent = {
            port: [frame for each in result.exchanges for at, frame in each.frames if at == port] for port in range(8)
        }
        return Outcome(sent, result.memory)

    monkeypatch.setattr(random_packets, "run_bmv2", unchecked)
    comparison = random_packets.compare(case, 1)
    assert not comparison.differences
    assert 0 < comparison.beyond == random_packets.PACKETS - comparison.packets
    assert f"- tests/p4/registers.p4: {comparison.beyond} packets" in differential.differential_page(
        [comparison], [], 1, {}
    )

    def broken(case: random_packets.Case, frames: Sequence[bytes]) -> Outcome:
        raise bmv2.SwitchDied("simple_switch ended by SIGSEGV after a packet")

    monkeypatch.setattr(random_packets, "run_bmv2", broken)
    assert random_packets.compare(case, 1).differences == [
        "not compared: simple_switch ended by SIGSEGV after a packet"
    ]


def test_the_page_has_every_program_and_its_result() -> None:
    same = random_packets.SwitchComparison("tests/p4/a.p4", 300, 290, 4, 2, [])
    scheme = random_packets.SwitchComparison("p4src/c.p4", 300, 200, 8, 6, [], marks=(3, 4))
    other = random_packets.SwitchComparison("tests/p4/b.p4", 300, 7, 0, 0, ["port 2: 02 here, 04 of BMv2\n  trace"])
    page = differential.differential_page([same, other, scheme], [], 5, {"p4c-bm2-ss": "1.2", "simple_switch": "1.15"})
    assert "(seed 5)" in page
    assert "p4c-bm2-ss 1.2 and simple_switch 1.15" in page
    assert "2 of 3 programs behave the same." in page
    assert "| tests/p4/a.p4 | 300 | 290 | | 4 | 2 | same |" in page
    assert "| tests/p4/b.p4 | 300 | 7 | | 0 | 0 | differs |" in page
    assert "| p4src/c.p4 | 300 | 200 | 3 / 4 | 8 | 6 | same |" in page
    assert "```\nport 2: 02 here, 04 of BMv2\n  trace\n```" in page


def test_the_committed_page_is_about_these_programs() -> None:
    page = differential.PAGE.read_text()
    named = set(re.findall(r"^\| (\S+\.p4) \|.* same \|$", page, re.MULTILINE))
    waiting = set(re.findall(r"^- (\S+\.p4)$", page.partition("\n## Not compared yet\n")[2], re.MULTILINE))
    assert named.isdisjoint(waiting)
    assert named | waiting == {str(case.program.relative_to(REPOSITORY)) for case in random_packets.cases()}, (
        "run `make differential`"
    )


def test_without_the_tools_it_says_how_to_get_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert differential.main() == 0
    said = capsys.readouterr().out
    assert said.startswith("skipped: not on PATH: p4c-bm2-ss, simple_switch, simple_switch_CLI\n  try: ")


@pytest.mark.needs("simple_switch")
def test_p4c_refuses_value_sets_of_tuples_for_p4info_alone(tmp_path: Path) -> None:
    program = REPOSITORY / "tests" / "p4" / "value_sets.p4"
    assert p4c.compile_program(program, tmp_path).exists()
    with pytest.raises(RunFailed, match=r"tuples: Unsupported type argument for Value Set; this version of P4Runtime"):
        p4c.compile_program(program, tmp_path, p4info=tmp_path / "p4info.bin")


@pytest.mark.needs("simple_switch")
def test_bmv2_does_the_same() -> None:
    case = next(case for case in random_packets.cases() if case.program.stem == "detours")
    frames = random_packets.random_frames(case.seeds, 50, random.Random(3))  # noqa: S311
    here = random_packets.run_here(case, frames, interpret=False)
    there = random_packets.run_bmv2(case, [exchange.packet.frame for exchange in here.exchanges])
    assert there.packets == sum(len(exchange.frames) for exchange in here.exchanges) > 0
    assert not list(random_packets.differences(here, there))
