# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sends bursts into a slow queue of the lab's switch and BMv2's: which packets schemes mark, and by which cause.

BMv2 fixes a packet's departure when the packet arrives at its queue: at once, or 1/rate after the previous packet
(QueueingLogicPriRL; rates are in packets per second). A burst that is sent within that time is completely in the queue
when its second packet leaves. So the queue lengths that packets see do not depend on BMv2's threads, and sojourn times
are multiples of 1/rate to within a few ms. A threshold half way between two such times separates the same packets as in
virtual time.
"""

from __future__ import annotations

import heapq
import itertools
import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from marklab.catalog.choice import parse_choice
from marklab.catalog.parameters import Setup
from marklab.catalog.scheme import FittedScheme, find_scheme
from marklab.devices.frames import MTU_BYTES
from marklab.engine import binding as engine
from marklab.engine import p4c
from marklab.errors import MarklabError, RunFailed
from marklab.model import Model, read_yaml, validate
from marklab.p4tools.peers import bmv2
from marklab.p4tools.stf import names
from marklab.p4tools.stf.device import Device, Memory
from marklab.p4tools.stf.outcome import Outcome, cells_of, compared, counts_differ, different_cells, not_compared
from marklab.p4tools.stf.reader import read, read_file
from marklab.p4tools.stf.runner import compiled
from marklab.p4tools.stf.statements import Packet, Statement
from marklab.paths import REPOSITORY
from marklab.traffic.rtt import parse_rtt

FOLDER = REPOSITORY / "tests" / "schemes" / "bursts"

RATE_PPS = 4
DEPTH_PACKETS = 16
RTT = "1125ms"

# Times between packets: long enough for the first packet to leave, and for the others to arrive at the queue.
_FIRST_GAP_S, _GAP_S = 0.02, 0.003
STEP_S = 1 / RATE_PPS

# How late BMv2's threads may send a packet. Sojourn times are further away from thresholds (test_bursts.py).
LATE_S = 0.2 * STEP_S
_TRIES = 3

# Time of a switch before the first packet. With 0, the packet would not have waited.
_BEGIN_NS = 10 * 10**9

# Cells per port of the counters of include/switch.p4, by cause.
_CAUSES = 8


class _Written(Model):
    """A burst in the file."""

    scheme: str
    also: str = ""
    queue: Literal["filled", "empty"] = "filled"


class _File(Model):
    """All bursts of the file."""

    bursts: tuple[_Written, ...]
    # Schemes without a burst, and why.
    left_out: dict[str, str]


@dataclass(frozen=True)
class Burst:
    """A scheme with parameters, and the queue at which the packets arrive."""

    scheme: str
    # Statements of packet tests.
    also: str = ""
    filled: bool = True

    @cached_property
    def fitted(self) -> FittedScheme:
        """The scheme's parameters for the line of the burst."""
        choice = parse_choice(self.scheme)
        frame_bytes = len(packets()[0].frame)
        setup = Setup(RATE_PPS * 8 * MTU_BYTES, parse_rtt(RTT), 1.0, DEPTH_PACKETS, frame_bytes=frame_bytes)
        return find_scheme(choice).fit(choice, setup)

    @property
    def program(self) -> Path:
        """The scheme's program."""
        return self.fitted.scheme.program

    @property
    def step_s(self) -> float:
        """Time between two departures; 0 without a rate."""
        return STEP_S if self.filled else 0.0

    @property
    def statements(self) -> list[Statement]:
        """Configuration of both switches besides the scheme's entries."""
        return [*(each for each in _packet_test() if not isinstance(each, Packet)), *read(self.also)]

    @property
    def causes(self) -> dict[int, str]:
        """Numbers and names of the causes that the scheme's file declares."""
        spec = self.fitted.scheme.spec
        return dict(spec.causes) if spec is not None else {}


def _file() -> _File:
    path = FOLDER / "schemes.yaml"
    return validate(_File, read_yaml(path), str(path))


def bursts() -> list[Burst]:
    """All bursts of the file."""
    return [Burst(each.scheme, each.also, each.queue == "filled") for each in _file().bursts]


def left_out() -> dict[str, str]:
    """Schemes of which BMv2 receives no burst, and why."""
    return _file().left_out


def packets() -> list[Packet]:
    """The burst."""
    return [each for each in _packet_test() if isinstance(each, Packet)]


def _packet_test() -> list[Statement]:
    return read_file(FOLDER / "packets.stf")


def run_here(burst: Burst, *, interpret: bool, late_s: Sequence[float] = ()) -> Outcome:
    """Run the lab's side. Departures after the first may be late, by these times in turn."""
    program = compiled(burst.program, interpret)
    limit: dict[str, Any] = {"limit": {"packets": DEPTH_PACKETS}, "level": 0, "quantum_bytes": MTU_BYTES}
    device = Device(program, entries=burst.fitted.entries, queueing=json.dumps({"queues": [limit]}))
    for statement in burst.statements:
        device.configure(statement)
    sent = {port: list(frames) for port, frames in _through(device, burst.step_s, late_s)}
    return Outcome({port: sent.get(port, []) for port in bmv2.PORTS}, device.memory(compared(_parts(burst))))


def _through(device: Device, step_s: float, late_s: Sequence[float]) -> Iterator[tuple[int, list[bytes]]]:
    """Ports and their packets, which leave at the times of BMv2's."""
    sent: defaultdict[int, list[bytes]] = defaultdict(list)
    due: list[tuple[int, int]] = []
    last_ns: dict[int, int] = {}

    def leave(until_ns: float) -> None:
        while due and due[0][0] <= until_ns:
            at_ns, port = heapq.heappop(due)
            frame = device.transmit(port, at_ns)
            if frame is not None:
                sent[port].append(frame)

    now_ns = _BEGIN_NS
    for number, (packet, gap_s) in enumerate(zip(packets(), _gaps_s(), strict=False)):
        leave(now_ns)
        port = device.receive(packet, now_ns)
        if port is not None:
            free_ns = last_ns[port] + round(1e9 * step_s) if port in last_ns else 0
            last_ns[port] = max(now_ns, free_ns)
            late_ns = round(1e9 * late_s[number % len(late_s)]) if late_s and number else 0
            heapq.heappush(due, (last_ns[port] + late_ns, port))
        now_ns += round(1e9 * gap_s)
    leave(float("inf"))
    yield from sent.items()


def _gaps_s() -> Iterator[float]:
    """Time from each packet to the next."""
    yield _FIRST_GAP_S
    yield from itertools.repeat(_GAP_S)


def _parts(burst: Burst) -> dict[str, Any]:
    return engine.describe(compiled(burst.program, True))


def run_bmv2(burst: Burst) -> Outcome:
    """Run BMv2's side. Raises RunFailed if the machine does not keep up even with such a slow queue."""
    for _ in range(_TRIES):
        outcome, kept_up = _run_bmv2(burst)
        if kept_up:
            return outcome
    raise RunFailed(
        f"in {_TRIES} tries, packets left simple_switch {1e3 * LATE_S:g} ms late or more, or before the burst was sent",
        "again when the machine has less to do",
    )


def _run_bmv2(burst: Burst) -> tuple[Outcome, bool]:
    parts = _parts(burst)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with bmv2.SimpleSwitch(p4c.compile_program(burst.program, folder), folder) as switch:
            entries = [names.spelled_out(entry, parts["tables"]) for entry in burst.fitted.entries]
            said = [bmv2.table_command(entry, parts["tables"]) for entry in entries]
            said += [bmv2.command(statement, parts) for statement in burst.statements]
            if burst.filled:
                said += _slow_queues()
            switch.command(said)
            time.sleep(burst.step_s)
            frames = [(packet.port, packet.frame) for packet in packets()]
            sent = switch.exchange(frames, gaps_s=_gaps_s(), drain_s=(DEPTH_PACKETS + 1) * burst.step_s)
            kept_up = not burst.filled or all(
                in_time(switch.departures_s(port), switch.first_s, switch.sent_s) for port in bmv2.PORTS
            )
            return Outcome(sent, switch.memory(compared(parts))), kept_up


def _slow_queues() -> Iterator[str]:
    """Commands for the queues of all ports.

    The first packet of a queue waits one packet time after the queue was made. These commands make the queues early. A
    single command for all ports would let BMv2 make a queue only when its first packet arrives.
    """
    for port in bmv2.PORTS:
        yield f"set_queue_depth {DEPTH_PACKETS} {port}"
        yield f"set_queue_rate {RATE_PPS} {port}"


def in_time(departures_s: Sequence[float], first_s: float, sent_s: float) -> bool:
    """Whether the burst arrived between its first two departures, and each packet left in time."""
    if not departures_s:
        return True
    after_s = [departure_s - first_s for departure_s in departures_s]
    late_s = [(each + _FIRST_GAP_S) % STEP_S - _FIRST_GAP_S for each in after_s]
    return after_s[0] < _FIRST_GAP_S and sent_s - first_s < STEP_S - LATE_S and all(each < LATE_S for each in late_s)


def differences(ours: Outcome, theirs: Outcome) -> Iterator[str]:
    """Lines that describe the differences."""
    for port in bmv2.PORTS:
        yield from counts_differ(port, ours.sent[port], theirs.sent[port])
        for number, (one, other) in enumerate(zip(ours.sent[port], theirs.sent[port], strict=False), 1):
            if one != other:
                yield f"port {port}, packet {number}: {one.hex()} here, {other.hex()} of BMv2"
    yield from different_cells(ours.memory, theirs.memory)


@dataclass(frozen=True)
class Count:
    """Packets that a cause chose: marked, not capable and passed, dropped."""

    marks: int
    not_capable: int
    drops: int

    @property
    def total(self) -> int:
        """All packets that the cause chose."""
        return self.marks + self.not_capable + self.drops


def count(memory: Memory, cause: int) -> Count:
    """The packets that a switch counted for a cause, on all ports."""

    def packets_of(counter: str) -> int:
        return sum(packets for packets, _ in cells_of(counter, memory)[cause::_CAUSES])

    return Count(*map(packets_of, ("marks", "not_capable", "drops")))


# Offset of the IPv4 payload, which no switch changes, and of the header's byte with the ECN code point; value of CE.
_PAYLOAD, _ECN_BYTE, _CE = 34, 15, 0b11


def fates(outcome: Outcome) -> str:
    """The fate of each packet as a letter: M marked, . not marked, x lost or dropped."""
    came = {frame[_PAYLOAD:]: frame for frames in outcome.sent.values() for frame in frames}

    def fate(frame: bytes) -> str:
        left = came.get(frame[_PAYLOAD:])
        if left is None:
            return "x"
        return "M" if _is_ce(left) and not _is_ce(frame) else "."

    return "".join(fate(packet.frame) for packet in packets())


def _is_ce(frame: bytes) -> bool:
    return frame[_ECN_BYTE] & _CE == _CE


@dataclass(frozen=True)
class Side:
    """Decisions of a switch: the packets' fates, and its counts by the causes that the scheme declares."""

    fates: str
    counts: Mapping[int, Count]

    @property
    def refused(self) -> int:
        """Packets that found the queue full."""
        return self.fates.count("x") - sum(each.drops for each in self.counts.values())

    @property
    def reached(self) -> set[int]:
        """Causes that chose a packet."""
        return {cause for cause, each in self.counts.items() if each.total}


@dataclass(frozen=True)
class Decisions:
    """The result of a burst: both sides, with BMv2's only if it succeeded, and the differences."""

    burst: Burst
    here: Side
    there: Side | None
    differences: Sequence[str]


def side(burst: Burst, outcome: Outcome) -> Side:
    """The decisions of a switch."""
    return Side(fates(outcome), {cause: count(outcome.memory, cause) for cause in burst.causes})


def compare(burst: Burst) -> Decisions:
    """Send the burst through both switches."""
    here, jit = (run_here(burst, interpret=interpret) for interpret in (True, False))
    found = [] if here == jit else ["interpreter and JIT disagree"]
    try:
        there = run_bmv2(burst)
    except MarklabError as error:
        return Decisions(burst, side(burst, here), None, [*found, not_compared(error)])
    return Decisions(burst, side(burst, here), side(burst, there), [*found, *differences(here, there)])
