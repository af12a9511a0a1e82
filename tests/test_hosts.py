# SPDX-License-Identifier: MIT OR Apache-2.0
"""Scripts through Linux's TCP."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from marklab.hosts.__main__ import main


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
