# SPDX-License-Identifier: MIT OR Apache-2.0
"""The command: verdicts, the diff of a packet by fields, the trace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Finished
from marklab.errors import BadInput
from marklab.p4tools.stf import diff, trace
from marklab.p4tools.stf.device import Device, Exchange
from marklab.p4tools.stf.runner import Verdict, compiled, run_pair
from marklab.p4tools.stf.statements import Packet

PROGRAMS = Path(__file__).parent.parent / "p4"
TABLES, REGISTERS, DETOURS, QUEUE = (PROGRAMS / f"{name}.p4" for name in ("tables", "registers", "detours", "queue"))

Cli = Callable[..., Finished]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "a.stf"
        path.write_text(text)
        return path

    return write


Write = Callable[[str], Path]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("packet 0 07000000000000\n", "line 1: unexpected packet on port 1"),
        ("expect 1\n", "line 1: nothing came out of port 1"),
        ("packet 0 07000000000000\nexpect 1 08", "line 2: another packet came out of port 1"),
        # The order matters among the packets of a port, not between a packet and its expectation.
        (
            "expect 1 07\nexpect 1 00\npacket 0 00000000000000\npacket 0 07000000000000",
            "line 1: another packet came out of port 1",
        ),
        ("packet 0 07000000000000\nexpect 1 0700000000cccc00 $", "line 2: another packet came out of port 1"),
    ],
)
def test_what_fails(text: str, message: str, write: Write) -> None:
    outcome = run_pair(TABLES, write(text))
    assert (outcome.verdict, outcome.message) == (Verdict.FAILED, message)


@pytest.mark.parametrize(
    "text",
    ["", "no_packet\nwait", "packet 0 07000000000000\nexpect 1", "expect 1 07*\npacket 0 07000000000000"],
)
def test_what_passes(text: str, write: Write) -> None:
    assert run_pair(TABLES, write(text)).verdict is Verdict.PASSED


@pytest.mark.parametrize(
    ("check", "found"),
    [("packets == 1", "0"), ("bytes > 0", "0"), ("packets != 0", "0"), ("packets < 0", "0")],
)
def test_a_counter_that_is_wrong(check: str, found: str, write: Write) -> None:
    outcome = run_pair(REGISTERS, write(f"check_counter events(0) {check}"))
    assert outcome.message == f"line 1: counter events(0): want {check}, it has {found}"


def test_a_command_that_nobody_carries_out_is_unsupported(write: Write) -> None:
    outcome = run_pair(REGISTERS, write("counter_write hits 0 1 1"))
    assert outcome.verdict is Verdict.UNSUPPORTED
    message = "line 1: `counter_write` of `ShellIngress.work.hits`, a direct counter, is not supported"
    assert outcome.message == message


def test_time_stands_still_until_a_packet_is_later(write: Write) -> None:
    packet, expect = ("packet 0 " + "ff" * 18, "expect 1 0000 0000 00000000 0000000{0} 00000000000{0} $")
    later, same = f"# queue now_ns=9000\n{packet}", packet
    expected = "\n".join(expect.format(us) for us in (0, 9, 9))
    assert run_pair(QUEUE, write("\n".join([packet, later, same, expected]))).verdict is Verdict.PASSED


def test_time_does_not_go_back(write: Write) -> None:
    times = (9000, 9000, 8999)
    with pytest.raises(BadInput, match=r"line 6: now_ns=8999 is before 9000, when the last packet left"):
        run_pair(QUEUE, write("\n".join(f"# queue now_ns={now_ns}\npacket 0 {'ff' * 18}" for now_ns in times)))


def test_the_diff_has_the_fields_of_the_deparser(write: Write) -> None:
    outcome = run_pair(TABLES, write("packet 0 07000000000000 aabb\nexpect 1 0700*00000cccd ab"))
    assert outcome.report
    (complaint,) = outcome.report.complaints
    rows = diff.rows(complaint)
    assert [(row.header, row.name, row.want, row.got, row.differs) for row in rows] == [
        ("hdr.data", "op", "07", "07", False),
        ("hdr.data", "a", "00*0", "0000", False),
        ("hdr.data", "b", "0000", "0000", False),
        ("hdr.data", "x", "cccd", "cccc", True),
        ("", "bytes beyond", "ab", "aa", True),
    ]


def test_fields_that_are_no_whole_digits_are_shown_by_their_value() -> None:
    program = PROGRAMS / "wide.p4"
    test = PROGRAMS / "wide.stf"
    text = test.read_text().replace("expect 1 81", "expect 1 01")
    assert text != test.read_text()
    exchange = Device(compiled(program, True), trace=True).send(Packet(1, 0, bytes(50)))
    emitted = next(event for event in exchange.events if event["kind"] == "emit")
    assert [width for _, width, _ in emitted["fields"]] == [1, 7, 65, 127, 200]


def test_the_trace_tells_of_a_miss_that_runs_nothing() -> None:
    event = {"kind": "table", "table": "c.t", "key": [["a", "0x1"]], "entry": None, "action": None, "args": []}
    exchange = Exchange(Packet(0, 0, b"\1"), [], [], [{**event, "file": "", "line": 0}])
    assert any(line.strip() == "table c.t [a=0x1]: miss: nothing runs" for line in trace.lines(exchange))


def test_the_trace_tells_what_the_program_did() -> None:
    device = Device(compiled(TABLES, True), trace=True)
    story = list(trace.lines(device.send(Packet(1, 0, bytes.fromhex("05123400000000")))))
    assert story[0] == "port 0, 7 bytes: 05123400000000"
    assert story[-1] == "out on port 1, 7 bytes: 05123400000001"
    lines = [" ".join(line.split()) for line in story]
    assert any(line.startswith("shell.p4:") and "extract hdr.data: op=0x5, a=0x1234" in line for line in lines)
    table = "table ShellIngress.work.written [d.a=0x1234]: hit, entry 1: ShellIngress.work.set(value=0x1)"
    assert any(line.startswith("tables.p4:") and table in line for line in lines)
    assert not device.send(Packet(2, 0, bytes(7))).events[0]["fields"]


def test_a_dropped_packet_says_where() -> None:
    story = list(
        trace.lines(Device(compiled(DETOURS, True), trace=True).send(Packet(1, 0, bytes.fromhex("010000000000"))))
    )
    assert "mark_to_drop()" in story[-2] or any("mark_to_drop()" in line for line in story)
    assert story[-1] == "dropped by ingress"


def test_the_command_runs_a_folder(cli: Cli) -> None:
    finished = cli("stf", str(PROGRAMS))
    assert finished.code == 0
    assert finished.out.splitlines()[-1].endswith("passed, 0 failed, 0 unsupported")


def test_the_command_runs_a_folder_of_tests_of_one_program(cli: Cli, tmp_path: Path) -> None:
    for name in ("a.stf", "b.stf"):
        (tmp_path / name).write_text(TABLES.with_suffix(".stf").read_text())
    assert cli("stf", str(TABLES), str(tmp_path)).out.splitlines()[-1] == "2 passed, 0 failed, 0 unsupported"
    (tmp_path / "none").mkdir()
    refused = cli("stf", str(TABLES), str(tmp_path / "none"))
    assert refused.code == 2
    assert "there are no tests NAME.stf" in refused.err


def test_the_command_explains_a_failure(cli: Cli, write: Write) -> None:
    finished = cli("stf", str(TABLES), str(write("packet 0 07000000000000\nexpect 1 07000000000000 $")))
    assert finished.code == 1
    assert "another packet came out of port 1" in finished.out
    assert "->  hdr.data.x" in finished.out
    assert "table ShellIngress.work.keyless: miss" in finished.out


def test_the_command_sends_a_packet(cli: Cli) -> None:
    plain = cli("stf", str(TABLES), "--packet", "07 0000 0000 0000")
    assert plain.out == "out on port 1, 7 bytes: 0700000000cccc\n"
    traced = cli("stf", str(TABLES), "--packet", "07000000000000", "--port", "3", "--trace")
    assert "port 3, 7 bytes" in traced.out
    assert "ShellParser" in traced.out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nowhere.p4"], "there is no file nowhere.p4"),
        ([str(TABLES), "nowhere.stf"], "there is no file nowhere.stf"),
        ([str(TABLES), "--packet", "0g"], "`0g` is not a packet"),
        ([str(Path(__file__).parent)], "has no pairs NAME.p4 and NAME.stf"),
    ],
)
def test_the_command_refuses(cli: Cli, arguments: list[str], complaint: str) -> None:
    finished = cli("stf", *arguments)
    assert finished.code == 2
    assert complaint in finished.err
