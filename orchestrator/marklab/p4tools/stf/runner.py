# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs a test on a program, in the interpreter and in machine code, and compares the packets that leave.

The rules are the same as in p4c's runner for BMv2: packets are compared port by port, in order; their number must be
exact; a port without expectations must send nothing.
"""

from __future__ import annotations

import functools
import operator
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from marklab.engine.binding import CompiledProgram, compile_program
from marklab.errors import BadInput
from marklab.p4tools.stf.device import Device, Exchange, Unsupported
from marklab.p4tools.stf.reader import read_file
from marklab.p4tools.stf.statements import CheckCounter, Expect, Number, Packet, Statement

_COMPARISONS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Complaint:
    """Something that is not as expected, and the packet that it concerns, if any."""

    line: int
    text: str
    expected: Expect | None = None
    frame: bytes | None = None
    exchange: Exchange | None = None


@dataclass
class Report:
    """The result of a test on one engine."""

    exchanges: list[Exchange] = field(default_factory=list)
    complaints: list[Complaint] = field(default_factory=list)


def run(statements: Sequence[Statement], device: Device) -> Report:
    """Carry out a test."""
    report = Report()
    for statement in statements:
        try:
            if isinstance(statement, Packet):
                report.exchanges.append(device.send(statement))
            elif isinstance(statement, CheckCounter):
                report.complaints += _check_counter(statement, device)
            else:
                device.configure(statement)
        except BadInput as error:
            raise type(error)(f"line {statement.line}: {error}", error.remedy) from error
    report.complaints += _compare(statements, report.exchanges)
    report.complaints.sort(key=lambda complaint: complaint.line)
    return report


def _check_counter(check: CheckCounter, device: Device) -> list[Complaint]:
    cell = check.cell.value if isinstance(check.cell, Number) else check.cell
    packets, bytes_ = device.count(check.counter, cell)
    found = packets if check.unit == "packets" else bytes_
    if _COMPARISONS[check.operator](found, check.value):
        return []
    text = f"counter {check.counter}({cell}): want {check.unit} {check.operator} {check.value}, it has {found}"
    return [Complaint(check.line, text)]


def _compare(statements: Sequence[Statement], exchanges: Sequence[Exchange]) -> list[Complaint]:
    expected: defaultdict[int, list[Expect]] = defaultdict(list)
    for statement in statements:
        if isinstance(statement, Expect):
            expected[statement.port].append(statement)
    complaints = []
    for exchange in exchanges:
        for port, frame in exchange.frames:
            if not expected[port]:
                text = f"unexpected packet on port {port}"
                complaints.append(Complaint(exchange.packet.line, text, None, frame, exchange))
                continue
            want = expected[port].pop(0)
            if not want.matches(frame):
                text = f"another packet came out of port {port}"
                complaints.append(Complaint(want.line, text, want, frame, exchange))
    for port, left in expected.items():
        complaints += [Complaint(want.line, f"nothing came out of port {port}", want) for want in left]
    return complaints


class Verdict(Enum):
    """The verdict on a test."""

    PASSED = "passed"
    FAILED = "failed"
    # Always with a message.
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True)
class Outcome:
    """The outcome of a program and its test, on both engines."""

    program: Path
    test: Path
    verdict: Verdict
    message: str = ""
    # The interpreter's report, as the interpreter can trace.
    report: Report | None = None


ENGINES = {"interpreter": True, "JIT": False}


@functools.lru_cache(maxsize=16)
def compiled(program: Path, interpret: bool) -> CompiledProgram:
    """A program compiled for one of the engines; its tests share it."""
    return compile_program(program, interpret=interpret)


def run_pair(program: Path, test: Path, *, trace: bool = False) -> Outcome:
    """Run a test on a program, on both engines.

    Raises BadInput if the test cannot be read, the program does not compile, or the test does not suit the program.
    """
    statements = read_file(test)
    reports: dict[str, Report] = {}
    declined = None
    try:
        for name, interpret in ENGINES.items():
            loaded = compiled(program, interpret)
            if loaded.jit_declined and not interpret:
                declined = f"the interpreter only: {loaded.jit_declined}"
            else:
                reports[name] = run(statements, Device(loaded, trace=trace and interpret))
    except Unsupported as error:
        return Outcome(program, test, Verdict.UNSUPPORTED, str(error))
    except BadInput as error:
        raise type(error)(f"{test}: {error}", error.remedy) from error
    report = reports["interpreter"]
    difference = _difference(reports)
    if not difference and report.complaints and not trace:
        # Repeat with a trace that shows what the program did.
        return run_pair(program, test, trace=True)
    if difference:
        return Outcome(program, test, Verdict.FAILED, difference, report)
    if report.complaints:
        first = report.complaints[0]
        return Outcome(program, test, Verdict.FAILED, f"line {first.line}: {first.text}", report)
    if declined:
        return Outcome(program, test, Verdict.UNSUPPORTED, declined, report)
    return Outcome(program, test, Verdict.PASSED, "", report)


def _difference(reports: dict[str, Report]) -> str | None:
    """Where the engines disagree, which is a bug in one of them."""
    if len(reports) < len(ENGINES):
        return None
    (name, report), (other_name, other) = reports.items()
    for one, two in zip(report.exchanges, other.exchanges, strict=True):
        if (one.frames, one.losses) != (two.frames, two.losses):
            return f"line {one.packet.line}: {name} and {other_name} disagree: {_shown(one)} against {_shown(two)}"
    if [each.text for each in report.complaints] != [each.text for each in other.complaints]:
        return f"{name} and {other_name} disagree on counters"
    return None


def _shown(exchange: Exchange) -> str:
    frames = "; ".join(f"port {port}: {frame.hex()}" for port, frame in exchange.frames)
    return frames or ", ".join(exchange.losses) or "nothing"
