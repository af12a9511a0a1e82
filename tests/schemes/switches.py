# SPDX-License-Identifier: MIT OR Apache-2.0
"""A switch with a scheme, whose queue the test chooses."""

from __future__ import annotations

import functools
import json
from enum import Enum
from pathlib import Path
from typing import Any

from frames import CE, ECT0, ECT1, Frame, mac

from marklab import _engine
from marklab.catalog.choice import parse_choice
from marklab.catalog.parameters import Setup
from marklab.catalog.scheme import PROGRAMS, FittedScheme, find_scheme
from marklab.traffic.rtt import parse_rtt

# The testbed of the ECN# paper, section 5.2.
TESTBED = Setup(10**10, parse_rtt("70us..210us"), 1.0, 600)

# Ports with a route: 10.0.0.0 + number. 511 is the drop port.
PORTS = (1, 2, 510)

# Their queues: the first, for all packets without a code point, and others by the code point in `QUEUES`.
PLACES = ((1, 0), (2, 0), (2, 1), (2, 127), (510, 127))
QUEUES = {0: 0, 1: 8, 2: 9, 3: 10, 127: 63}

COUNTERS = ("marks", "not_capable", "drops")
# Causes that fit into the counters' index.
CAUSES = 8


class Fate(Enum):
    """The fate of a packet."""

    PASSED = "passed"
    MARKED = "marked"
    DROPPED = "dropped"


@functools.cache
def compiled(program: Path, interpret: bool = False) -> Any:
    """A program of the catalog, or a program of these tests."""
    return _engine.Program(program, [PROGRAMS], interpret=interpret)


@functools.cache
def fitted(scheme: str, setup: Setup = TESTBED) -> FittedScheme:
    """A scheme by the text that chooses it."""
    choice = parse_choice(scheme)
    return find_scheme(choice).fit(choice, setup)


@functools.cache
def frame_to(port: int, ecn: int, queue: int = 0) -> bytes:
    """A frame that is routed to this port and queue."""
    return _frame_to(port, ecn, queue).build()


@functools.cache
def frame_from(port: int, ecn: int, ecn_out: int, queue: int = 0) -> bytes:
    """The same frame, as it has to leave the switch."""
    return _frame_to(port, ecn, queue).routed(mac(port), ecn_out).build()


def _frame_to(port: int, ecn: int, queue: int) -> Frame:
    return Frame(dst=(10 << 24) + port, ecn=ecn, dscp=QUEUES[queue])


def routes() -> list[dict[str, Any]]:
    """Table entries by which frames reach the ports."""
    return [
        {
            "table": "ipv4_lpm",
            "match": {"dst_addr": {"lpm": [(10 << 24) + port, 32]}},
            "action": "forward",
            "params": {"port": port, "dst_addr": int.from_bytes(mac(port), "big")},
        }
        for port in PORTS
    ]


def services() -> list[dict[str, Any]]:
    """Table entries by which frames reach the queues."""
    return [
        {
            "table": "service_queue",
            "match": {"dscp": {"exact": dscp}},
            "action": "set_queue",
            "params": {"queue": queue},
        }
        for queue, dscp in QUEUES.items()
        if dscp
    ]


@functools.cache
def _entries(scheme: str, setup: Setup) -> str:
    chosen = fitted(scheme, setup)
    # A scheme that assigns queues itself does not use the code point.
    return json.dumps(chosen.entries + routes() + ([] if chosen.deals_out_queues else services()))


class Switch:
    """Routes to PORTS, and a scheme as the catalog fits it to a setup."""

    def __init__(self, scheme: str, setup: Setup = TESTBED, *, interpret: bool = False, seed: int = 0) -> None:
        program = compiled(fitted(scheme, setup).scheme.program, interpret)
        self.harness = _engine.Harness(program, _entries(scheme, setup), seed)

    def send(
        self,
        now_us: int | None = None,
        sojourn_us: int = 0,
        enq: int = 0,
        deq: int = 0,
        *,
        port: int = 1,
        queue: int = 0,
        ecn: int = ECT0,
    ) -> Fate:
        """Send one packet, which must leave unchanged except for the fields that a router changes.

        It leaves its queue at `now_us`, or as soon as its sojourn allows.
        """
        now_us = sojourn_us if now_us is None else now_us
        out_port, out, loss = self.harness.process(
            0, frame_to(port, ecn, queue), 1000 * now_us, 1000 * sojourn_us, enq, deq
        )
        if out is None:
            assert loss == "dropped by egress"
            return Fate.DROPPED
        assert out_port == port
        if out == frame_from(port, ecn, ecn, queue):
            return Fate.PASSED
        assert ecn in {ECT0, ECT1}
        assert out == frame_from(port, ecn, CE, queue)
        return Fate.MARKED

    def marks(self, *args: int, **kwargs: int) -> bool:
        """Whether an ECN-capable packet is marked; it passes if not."""
        fate = self.send(*args, **kwargs)
        assert fate is not Fate.DROPPED
        return fate is Fate.MARKED

    def state(self, register: str, port: int = 1, queue: int = 0) -> int:
        """A scheme's state for a queue."""
        return int(self.harness.register(f"marking.{register}", 512 * queue + port))

    def set_state(self, register: str, value: int, port: int = 1) -> None:
        """Set the scheme's state."""
        self.harness.set_register(f"marking.{register}", port, value)

    def counts(self) -> dict[tuple[str, int, int], int]:
        """Packets by counter, port and cause, without zeros."""
        found = {}
        for counter in COUNTERS:
            for cell in range(512 * CAUSES):
                packets, _ = self.harness.counter(counter, cell)
                if packets:
                    found[counter, cell // CAUSES, cell % CAUSES] = packets
        return found


def params(scheme: str, table: str = "marking.params", setup: Setup = TESTBED) -> dict[str, int]:
    """The parameters of the default action of a table."""
    (entry,) = (e for e in fitted(scheme, setup).entries if e["table"] == table and "match" not in e)
    return {name: int(value) for name, value in entry["params"].items()}
