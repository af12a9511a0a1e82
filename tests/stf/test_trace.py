# SPDX-License-Identifier: MIT OR Apache-2.0
"""Meters in a trace; other events are in examples of the pages, which are tested."""

from __future__ import annotations

import pytest

from marklab.p4tools.stf import trace
from marklab.p4tools.stf.device import Device
from marklab.p4tools.stf.reader import read
from marklab.p4tools.stf.runner import compiled
from marklab.p4tools.stf.statements import Packet
from marklab.paths import REPOSITORY

METERS = REPOSITORY / "tests" / "p4" / "meters.p4"


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (0, "packets[0] is green"),
        (1, "packets[1] is red"),
        (3, "packets[3] is green"),
        (4, "packets[4] is out of range: there is no colour"),
    ],
)
def test_a_trace_says_the_colour_of_a_packet(cell: int, said: str) -> None:
    device = Device(compiled(METERS, True), trace=True)
    for statement in read("meter_set_rates packets 1 0:0 0:0\n"):
        device.configure(statement)
    exchange = device.send(Packet(1, 0, bytes([0, 0, cell, 0, 0, 0, 0])))
    (meter_line,) = (line for line in trace.lines(exchange) if " meter " in line)
    assert meter_line.endswith(f".{said}")
