# SPDX-License-Identifier: MIT OR Apache-2.0
"""Packets per CPU second through one switch: compiled P4, the interpreter, and simple_switch if it is installed.

.venv/bin/python bench/packets.py [CASE ...]

A packet has 1,500 bytes of IP and passes the whole pipeline: parser, ingress, queue (behind 100 others, if the scheme
uses the queue), egress, deparser. Frames stay in memory and are not sent to an interface. 256 flows take turns.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console
from rich.table import Table

from marklab import _engine
from marklab.catalog.choice import parse_choice
from marklab.catalog.parameters import Setup
from marklab.catalog.scheme import find_scheme, known_schemes
from marklab.devices.hosts import Limit
from marklab.devices.queueing import Queues
from marklab.engine import p4c
from marklab.engine.binding import compile_program, describe
from marklab.p4tools.peers import bmv2
from marklab.p4tools.stf import names
from marklab.paths import PROGRAMS
from marklab.traffic.rtt import parse_rtt

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "tests/schemes"))

from frames import ECT0, Frame, ip  # noqa: E402

FLOWS = 256
# Ethernet, IPv4 and TCP headers take 54 of the 1,514 bytes of a frame.
PAYLOAD_BYTES = 1_460
FRAME_BYTES = 1_514
BACKLOG_PACKETS = 100
# A full frame at 10 Gb/s.
INTERVAL_NS = 1_230
SETUP = Setup(10**10, parse_rtt("70us..210us"), 1.0, 600)
ROUNDS = {False: 4_000, True: 40}
BMV2_ROUNDS = 100
# Large enough that simple_switch, whose ingress is faster than its egress, loses no packet.
BMV2_QUEUE_PACKETS = 100_000_000
# Aims: dctcp-red per second and core, any program over the interpreter and over simple_switch.
LEAST_PER_S, LEAST_OVER_INTERPRETER, LEAST_OVER_BMV2 = 3_000_000, 10, 30


@dataclass(frozen=True)
class Case:
    """A program with its entries."""

    name: str
    program: Path
    entries: list[dict[str, Any]] = field(default_factory=list)
    backlog: int = 0
    queues: Queues = field(default_factory=Queues)

    def per_second(self, interpret: bool) -> float:
        """Packets per CPU second, the best of three times."""
        program = _engine.Program(self.program, [PROGRAMS], interpret=interpret)
        if program.jit_declined and not interpret:
            raise SystemExit(f"{self.name}: {program.jit_declined}")
        return max(self._time(program, ROUNDS[interpret]) for _ in range(3))

    def per_second_of_bmv2(self) -> float:
        """Packets per CPU second of simple_switch, all threads together; reading and writing pcap files included."""
        tables = describe(compile_program(self.program))["tables"]
        with TemporaryDirectory() as name:
            json_file = p4c.compile_program(self.program, Path(name))
            with bmv2.SimpleSwitch(json_file, Path(name)) as switch:
                commands = [bmv2.table_command(names.spelled_out(entry, tables), tables) for entry in self.entries]
                switch.command([*commands, f"set_queue_depth {BMV2_QUEUE_PACKETS}"])
                packets = [(0, frame) for frame in frames()] * BMV2_ROUNDS
                before_s = switch.cpu_s
                came = sum(map(len, switch.exchange(packets, gaps_s=itertools.repeat(0.0)).values()))
                # `red` drops packets that find too long a queue, and here all packets arrive at once.
                if came == 0:
                    raise SystemExit(f"{self.name}: nothing came out of simple_switch")
                return len(packets) / (switch.cpu_s - before_s)

    def _time(self, program: Any, rounds: int) -> float:
        limit = Limit(packets=BACKLOG_PACKETS + 1)
        queueing = json.dumps(self.queues.to_engine(limit, FRAME_BYTES)) if self.queues.count > 1 else None
        begin = time.process_time()
        out = _engine.forward_rounds(
            program, frames(), rounds, json.dumps(self.entries), self.backlog, INTERVAL_NS, queueing
        )
        elapsed_s = time.process_time() - begin
        if out < (rounds - 1) * FLOWS:
            raise SystemExit(f"{self.name}: of {rounds * FLOWS} packets only {out} came out")
        return rounds * FLOWS / elapsed_s


def frames() -> list[bytes]:
    """One data segment of each flow, to four hosts."""
    payload = bytes(PAYLOAD_BYTES)
    make = (
        Frame(ip(f"10.0.0.{1 + flow % 4}"), ecn=ECT0, src_port=40_000 + flow, payload=payload) for flow in range(FLOWS)
    )
    return [frame.build() for frame in make]


def cases() -> Iterator[Case]:
    """Basic forwarding, ECMP over four ports, and each scheme with the settings of the testbed."""
    macs = {host: (0x02 << 40) + host for host in range(1, 5)}

    def forward(host: int, port: int) -> dict[str, Any]:
        return {"action": "forward", "params": {"port": port, "dst_addr": macs[host]}}

    hosts = {host: {"dst_addr": {"lpm": [ip(f"10.0.0.{host}"), 32]}} for host in macs}
    basic = [{"table": "ipv4_lpm", "match": match, **forward(host, 1)} for host, match in hosts.items()]
    l3 = [entry | {"match": {"hdr.ipv4.dst_addr": entry["match"]["dst_addr"]}} for entry in basic]  # type: ignore[index]
    yield Case("basic L3", ROOT / "bench/programs/l3.p4", l3)
    group = {"action": "hash_to_group", "params": {"group": 0, "members": 4}}
    to_group = [{"table": "ipv4_lpm", "match": match, **group} for match in hosts.values()]
    members = [
        {"table": "ecmp", "match": {"group": {"exact": 0}, "member": {"exact": host - 1}}, **forward(host, host)}
        for host in macs
    ]
    yield Case("ECMP, 4 paths", PROGRAMS / "droptail.p4", [*to_group, *members])
    for name in known_schemes():
        choice = parse_choice(name)
        found = find_scheme(choice)
        turns = found.spec is not None and found.spec.needs.schedulers and "fifo" not in found.spec.needs.schedulers
        scheme = found.fit(choice, replace(SETUP, queues=Queues(scheduler="dwrr", count=4)) if turns else SETUP)
        yield Case(name, found.program, [*basic, *scheme.entries], BACKLOG_PACKETS, scheme.queues)


def main() -> None:
    """Time all cases, or those named; exit code 1 if an aim is missed."""
    chosen = [case for case in cases() if case.name in sys.argv[1:] or not sys.argv[1:]]
    if not chosen:
        raise SystemExit(f"error: no such case\n  try: {', '.join(case.name for case in cases())}")
    missing = bmv2.missing_tools()
    if missing:
        Console(stderr=True).print(f"simple_switch is left out: {', '.join(missing)} not on PATH")
    table = Table("program", "JIT, packets/s", "interpreter, packets/s", "ratio", "simple_switch, packets/s", "ratio")
    missed = False
    for case in chosen:
        jit, interpreter = case.per_second(False), case.per_second(True)
        missed |= jit / interpreter < LEAST_OVER_INTERPRETER
        missed |= case.name == "dctcp-red" and jit < LEAST_PER_S
        row = [case.name, f"{jit:,.0f}", f"{interpreter:,.0f}", f"{jit / interpreter:.0f}"]
        if not missing:
            peer = case.per_second_of_bmv2()
            missed |= jit / peer < LEAST_OVER_BMV2
            row += [f"{peer:,.0f}", f"{jit / peer:.0f}"]
        table.add_row(*row)
    Console(width=max(110, Console().width)).print(table)
    sys.exit(missed)


if __name__ == "__main__":
    main()
