# SPDX-License-Identifier: MIT OR Apache-2.0
"""The same random packets through the lab's switch and BMv2's.

Programs come from p4src/ and tests/p4, entries from their packet tests. Packets are the packets of these tests with
random changes. They arrive one at a time at empty queues; `bursts` compares marks.
"""

from __future__ import annotations

import random
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from marklab.catalog.choice import SchemeChoice
from marklab.catalog.description import Differential
from marklab.catalog.scheme import find_scheme, known_schemes
from marklab.engine import binding as engine
from marklab.engine import p4c
from marklab.errors import BadInput, MarklabError, RunFailed
from marklab.p4tools.peers import bmv2
from marklab.p4tools.stf import trace
from marklab.p4tools.stf.device import Device, Exchange, Memory
from marklab.p4tools.stf.outcome import Outcome, cells_of, compared, counts_differ, different_cells, not_compared
from marklab.p4tools.stf.reader import read, read_file
from marklab.p4tools.stf.runner import compiled
from marklab.p4tools.stf.statements import Add, Command, Packet, SetDefault, Statement
from marklab.paths import PROGRAMS, REPOSITORY

_TESTS = REPOSITORY / "tests"

# Programs whose output depends on the clock, so no two switches agree on it.
TIMED = {"queue": "it copies timestamps into the packet"}

# Programs that p4c-bm2-ss refuses although p4c's front end supports them.
REFUSED = {"for_in": "p4c-bm2-ss has no for-in loops"}

# Programs that p4c-bm2-ss refuses only if it also writes P4Info, which BMv2 does not need.
WITHOUT_P4INFO = {
    "value_sets": "P4_16 has value sets of tuples, but P4Runtime cannot describe them ([conformance](conformance.md))"
}

PACKETS = 300

# All packets arrive at one port, as packets of different ports have no order.
_IN_PORT = 0


@dataclass(frozen=True)
class Case:
    """A program, with the configuration and the packets of its packet tests."""

    program: Path
    configuration: Sequence[Statement]
    seeds: Sequence[bytes]


def left_out() -> dict[str, str]:
    """Schemes that are not compared, and why."""
    return {name: said.left_out for name, said in _described().items() if said.left_out}


def _described() -> dict[str, Differential]:
    specs = {name: find_scheme(SchemeChoice(name)).spec for name in sorted(known_schemes())}
    return {name: spec.differential if spec else Differential() for name, spec in specs.items()}


def cases() -> Iterator[Case]:
    """All programs that have packet tests."""
    for name, said in _described().items():
        if said.left_out:
            continue
        tests = sorted((_TESTS / "schemes" / "stf" / name).glob("*.stf"))[:1]
        yield _case(known_schemes()[name], tests, keep=Add, extra=read(said.configuration))
    for program in sorted((_TESTS / "p4").glob("*.p4")):
        if program.stem not in TIMED | REFUSED:
            yield _case(program, [program.with_suffix(".stf")], keep=(Add, SetDefault, Command))


def _case(
    program: Path,
    tests: Sequence[Path],
    keep: type[Statement] | tuple[type[Statement], ...],
    extra: Sequence[Statement] = (),
) -> Case:
    """A case. A scheme gets only routes, as a test's thresholds would mark by the delays of BMv2's threads."""
    statements = [statement for test in tests for statement in read_file(test)]
    packets = [statement.frame for statement in statements if isinstance(statement, Packet)]
    chosen = [statement for statement in statements if isinstance(statement, keep)]
    return Case(program, [*(each for each in chosen if not _reads(each)), *extra], packets)


def _reads(statement: Statement) -> bool:
    return isinstance(statement, Command) and statement.name.endswith(("_read", "_get", "_get_rates"))


def random_frames(seeds: Sequence[bytes], count: int, stream: random.Random) -> list[bytes]:
    """Packets of tests, as they are or with some bytes changed, cut or added."""
    frames = []
    for _ in range(count):
        frame = bytearray(stream.choice(seeds))
        for _ in range(stream.choice((0, 1, 1, 2, 4))):
            frame[stream.randrange(len(frame))] = stream.choice((0, 1, 0x7F, 0x80, 0xFF, stream.randrange(256)))
        if stream.random() < 0.1:
            del frame[stream.randrange(1, len(frame) + 1) :]
        if stream.random() < 0.1:
            frame += stream.randbytes(stream.randrange(1, 9))
        frames.append(bytes(frame))
    return frames


@dataclass(frozen=True)
class Result:
    """The packets that the lab's switch accepted, and its outcome."""

    exchanges: list[Exchange]
    memory: Memory


def run_here(case: Case, frames: Sequence[bytes], *, interpret: bool) -> Result:
    """Run the lab's side. Packets that end a run, such as by a failed assertion, are left out."""
    program = compiled(case.program, interpret)
    parts = compared(engine.describe(program))
    left = list(frames)
    while True:
        device = Device(program, trace=interpret)
        for statement in case.configuration:
            device.configure(statement)
        exchanges = []
        for number, frame in enumerate(left):
            try:
                exchanges.append(device.send(Packet(number, _IN_PORT, frame)))
            except BadInput:
                # This packet ended the switch, so a new switch runs without it.
                del left[number]
                break
        else:
            return Result(exchanges, device.memory(parts))


def run_bmv2(case: Case, frames: Sequence[bytes]) -> Outcome:
    """BMv2's side."""
    parts = _parts(case)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with bmv2.SimpleSwitch(p4c.compile_program(case.program, folder), folder) as switch:
            switch.command([bmv2.command(statement, parts) for statement in case.configuration])
            sent = switch.exchange([(_IN_PORT, frame) for frame in frames])
            return Outcome(sent, switch.memory(compared(parts)))


def _parts(case: Case) -> dict[str, Any]:
    return engine.describe(compiled(case.program, True))


def differences(here: Result, there: Outcome) -> Iterator[str]:
    """Lines that describe the differences."""
    yield from _different_packets(here, there.sent)
    yield from different_cells(here.memory, there.memory)


def _different_packets(here: Result, sent: Mapping[int, Sequence[bytes]]) -> Iterator[str]:
    expected: defaultdict[int, list[tuple[bytes, Exchange]]] = defaultdict(list)
    for exchange in here.exchanges:
        for port, frame in exchange.frames:
            expected[port].append((frame, exchange))
    for port in bmv2.PORTS:
        ours, theirs = expected[port], sent[port]
        yield from counts_differ(port, [frame for frame, _ in ours], theirs)
        for (frame, exchange), other in zip(ours, theirs, strict=False):
            if frame != other:
                yield f"port {port}: {frame.hex()} here, {other.hex()} of BMv2\n" + "\n".join(trace.lines(exchange))
                break


@dataclass(frozen=True)
class SwitchComparison:
    """The result of one program."""

    program: str
    packets: int
    # Packets that left, on all ports.
    sent: int
    registers: int
    counters: int
    differences: Sequence[str]
    # Packets that a scheme marked, in the lab and in BMv2; None for other programs.
    marks: tuple[int, int] | None = None
    # Packets that were left out because simple_switch crashed on an index beyond an array.
    beyond: int = 0

    @property
    def verdict(self) -> str:
        """The result in a word."""
        return "differs" if self.differences else "same"


def compare(case: Case, seed: int) -> SwitchComparison:
    """Send random packets through both switches."""
    name = str(case.program.relative_to(REPOSITORY))
    stream = random.Random(f"{seed} {name}")  # noqa: S311 - reproducible on purpose
    frames = random_frames(case.seeds, PACKETS, stream)
    beyond = 0
    try:
        here = _run_both_engines(case, frames)
        try:
            there = run_bmv2(case, frames_of(here))
        except bmv2.SwitchDied:
            inside = [each.packet.frame for each in here.exchanges if not reaches_beyond(each, _parts(case))]
            beyond = len(here.exchanges) - len(inside)
            if not beyond:
                raise
            here = _run_both_engines(case, inside)
            there = run_bmv2(case, frames_of(here))
    except MarklabError as error:
        return SwitchComparison(name, len(frames), 0, 0, 0, [not_compared(error)])
    return SwitchComparison(
        name,
        len(here.exchanges),
        sum(len(exchange.frames) for exchange in here.exchanges),
        *there.cells,
        list(differences(here, there)),
        _marks(here.memory, there.memory) if case.program.parent == PROGRAMS else None,
        beyond,
    )


def _run_both_engines(case: Case, frames: Sequence[bytes]) -> Result:
    here, jit = (run_here(case, frames, interpret=interpret) for interpret in (True, False))
    if [each.frames for each in here.exchanges] != [each.frames for each in jit.exchanges] or here.memory != jit.memory:
        raise RunFailed("interpreter and JIT disagree")
    return here


def frames_of(result: Result) -> list[bytes]:
    """The packets that the lab's switch accepted."""
    return [exchange.packet.frame for exchange in result.exchanges]


def reaches_beyond(exchange: Exchange, parts: Mapping[str, Any]) -> bool:
    """Whether the program accessed an array beyond its end.

    By v1model.p4 nothing happens then, but simple_switch checks an index only if it was built with assertions.
    """
    arrays = (each for kind in ("registers", "counters", "meters") for each in parts[kind])
    sizes = {each["name"]: each["size"] for each in arrays}
    return any("index" in event and event["index"] >= sizes[event["object"]] for event in exchange.events)


def _marks(here: Memory, there: Memory) -> tuple[int, int]:
    ours, theirs = (sum(packets for packets, _ in cells_of("marks", memory)) for memory in (here, there))
    return ours, theirs
