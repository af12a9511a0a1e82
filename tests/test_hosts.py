# SPDX-License-Identifier: MIT OR Apache-2.0
"""Scripts through Linux's TCP."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from marklab.hosts.__main__ import main
from marklab.hosts.run import through_both
from marklab.hosts.script import cases, written_scripts


@pytest.mark.needs("privileges", "namespaces", "network tools", "veth", "packet sockets", "Mininet")
def test_linux_meets_the_events_of_the_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without events nothing differs; a packet that never comes is told by both."""
    plain, absent = tmp_path / "plain.yaml", tmp_path / "absent.yaml"
    plain.write_text(yaml.safe_dump({"title": "Nothing", "segments": 30, "transports": "reno"}))
    absent.write_text(
        yaml.safe_dump(
            {
                "title": "No such packet",
                "segments": 5,
                "transports": "reno",
                "events": [{"drop": "data", "packet": 900}],
            }
        )
    )
    assert main([str(plain)]) == 0
    out = capsys.readouterr().out
    assert re.search(r"\| all \| 1 of 1 \|", out)
    assert main([str(absent)]) == 1
    out = capsys.readouterr().out
    assert "Linux: event 1 (drop data): there was no packet 900" in out


@pytest.mark.needs(
    "privileges", "namespaces", "network tools", "veth", "packet sockets", "Mininet", "BPF tools", "type information"
)
def test_an_undone_reduction_gives_back_the_threshold() -> None:
    """A D-SACK tells that nothing was lost: DCTCP in BPF is then where it was before, as Reno is."""
    name = "reordering/one-by-15ms"
    seen = through_both(cases([(name, written_scripts()[name])])).linux
    last = {case.control: found.flows[0].rounds[-1].window for case, found in seen.items()}
    assert {control: window and window.ssthresh for control, window in last.items()} == dict.fromkeys(last)
    assert {window and window.cwnd for window in last.values()} == {60}
