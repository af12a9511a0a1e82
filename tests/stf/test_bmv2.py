# SPDX-License-Identifier: MIT OR Apache-2.0
"""simple_switch as a process: the wait for its start, and the report of its end. A script stands in for it."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from marklab.errors import RunFailed
from marklab.p4tools.peers import bmv2

# It starts like simple_switch: some work, then the files of all ports in order, then the control port.
_STAND_IN = """#!{python}
import os, re, signal, socket, sys, time
def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
port = int(sys.argv[sys.argv.index("--thrift-port") + 1])
def start():
    pipes = [open(word.split("@")[1] + "_in.pcap", "rb") for word in sys.argv if re.match("[0-9]+@", word)]
    server = socket.create_server(("localhost", port))
    server.listen()
    return pipes, server
{body}
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder at the front of PATH with a `simple_switch`; tests write its script."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def _does(folder: Path, body: str) -> bmv2.SimpleSwitch:
    script = folder / "simple_switch"
    script.write_text(_STAND_IN.format(python=sys.executable, body=body))
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return bmv2.SimpleSwitch(folder / "program.json", folder)


def test_a_start_is_waited_for_while_it_works(stand_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bmv2, "_STALL_S", 0.3)
    with _does(stand_in, "work(1.0); everything = start(); time.sleep(60)") as switch:
        assert switch.cpu_s >= 1.0


def test_a_start_that_does_nothing_is_not_waited_for(stand_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bmv2, "_STALL_S", 0.5)
    with (
        pytest.raises(RunFailed, match=r"has not started and has used no CPU time for 0\.5 s") as raised,
        _does(stand_in, "time.sleep(60)"),
    ):
        pass
    assert "by hand" in str(raised.value.remedy)


def test_a_start_without_end_is_not_waited_for(stand_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bmv2, "_START_S", 0.5)
    with (
        pytest.raises(RunFailed, match=r"has not started within 0\.5 s") as raised,
        _does(stand_in, "work(60)"),
    ):
        pass
    assert "more memory" in str(raised.value.remedy)


def test_a_switch_that_ends_at_its_start_is_told_with_its_status(stand_in: Path) -> None:
    with (
        pytest.raises(bmv2.SwitchDied, match="simple_switch ended with status 3 as it started"),
        _does(stand_in, "sys.exit(3)"),
    ):
        pass


def test_a_switch_that_ends_of_a_packet_is_told_with_its_signal(stand_in: Path) -> None:
    # It reads the first packet and ends; later writes find a broken pipe.
    body = "pipes, server = start(); pipes[0].read(24 + 16 + 1); os.kill(os.getpid(), signal.SIGSEGV)"
    with (
        _does(stand_in, body) as switch,
        pytest.raises(bmv2.SwitchDied, match="simple_switch ended by SIGSEGV after a packet"),
    ):
        switch.exchange([(0, b"\0")] * 100, gaps_s=[0.02] * 100)
