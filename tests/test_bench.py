# SPDX-License-Identifier: MIT OR Apache-2.0
"""The measurements of bench/ compute rates from counts."""

from __future__ import annotations

import importlib
from contextlib import nullcontext
from types import ModuleType
from typing import Any

import pytest

from marklab.paths import REPOSITORY

SNMP = """\
Ip: Forwarding DefaultTTL
Ip: 1 64
Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors IgnoredMulti MemErrors
Udp: {read} 0 {refused} 0 {refused} 0 0 0 0
UdpLite: InDatagrams
UdpLite: 0
"""


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(REPOSITORY / "bench")
    return importlib.import_module("live")


class Host:
    """A second host whose kernel has counted, at each query, datagrams that were read and that found no room."""

    def __init__(self, *counts: tuple[int, int]) -> None:
        self.counts = iter(counts)

    def run(self, number: int, *command: str) -> str:
        assert (number, *command) == (1, "cat", "/proc/net/snmp")
        read, refused = next(self.counts)
        return SNMP.format(read=read, refused=refused)


def test_rates_of_datagrams_are_the_kernels(
    live: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lost_more_than_was_sent(*_: Any) -> dict[str, Any]:
        return {"sum": {"packets": 300_000, "lost_packets": 433_194, "seconds": 3.0}}

    monkeypatch.setattr(live, "iperf3", lost_more_than_was_sent)
    monkeypatch.setattr(live, "routes", lambda _: [live.Route("Marklab", 0, nullcontext)])
    seconds = live.SECONDS + 1
    assert live.small(Host((7, 5), (7 + 40_000 * seconds, 5 + 90_000 * seconds)), 1)
    [row] = [line for line in capsys.readouterr().out.splitlines() if "Marklab" in line and "130,000" in line]
    assert "100,000" in row  # sent
    assert "40,000" in row  # read
    assert "-" not in row
