# SPDX-License-Identifier: MIT OR Apache-2.0
"""Drives simple_switch: configures by simple_switch_CLI, sends and receives by pcap files.

Each run is one process. Its ports are named pipes, so packets arrive only after its tables are filled. Nothing needs
root.
"""

from __future__ import annotations

import itertools
import os
import re
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from marklab.errors import RunFailed
from marklab.lab.commands import free_port, missing
from marklab.lab.health import process_cpu_s
from marklab.p4tools.stf import commands, names
from marklab.p4tools.stf.device import Memory
from marklab.p4tools.stf.statements import Add, Command, SetDefault, Statement

TOOLS = ("p4c-bm2-ss", "simple_switch", "simple_switch_CLI")

# Ports through which packets can leave.
PORTS = range(8)

# A packet has left long before the next one arrives, so queues are empty and packets keep their order.
_GAPS_S = itertools.repeat(0.003)

# A switch allocates its registers before it opens its ports, with about 120 bytes per cell: 3 GB and 3 s of a core for
# the 25 million cells of diffecn.p4, and much longer on a machine that is busy or swaps. A switch that uses no CPU time
# for `_STALL_S` waits for something that will not happen.
_STALL_S = 60.0
_START_S = 1800.0
# The exit status of a process is available only a moment after its pipes break.
_STATUS_S = 5.0
# After this time without a packet no more packets are expected.
_SILENCE_S = 1.0

_PCAP_HEADER = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 16, 1)
_RECORD = struct.Struct("<IIII")


def missing_tools() -> list[str]:
    """Tools that are not on PATH."""
    return missing(TOOLS)


def versions() -> dict[str, str]:
    """Versions of the compiler and the switch, as they print them."""
    found = {}
    for tool in TOOLS[:2]:
        run = subprocess.run([tool, "--version"], capture_output=True, text=True, check=False, timeout=20)  # noqa: S603
        number = re.search(r"\d+(\.\d+)+", run.stdout + run.stderr)
        found[tool] = number[0] if number else "of an unknown version"
    return found


def table_command(entry: Mapping[str, Any], tables: Sequence[Mapping[str, Any]]) -> str:
    """The simple_switch_CLI command for an entry in the engine's form."""
    table = next(each for each in tables if each["name"] == entry["table"])
    action = next(each for each in table["actions"] if each["name"] == entry["action"])
    params = " ".join(str(entry["params"][param["name"]]) for param in action["params"])
    if "match" not in entry:
        return f"table_set_default {table['name']} {action['name']} {params}".rstrip()
    words = " ".join(_key(key, entry["match"].get(key["name"])) for key in names.keys_of(table))
    # The arrow stays before the priority even without parameters.
    tail = f" {entry['priority']}" if names.is_ordered(table) else ""
    return f"table_add {table['name']} {action['name']} {words} => {params}{tail}".rstrip()


def command(statement: Statement, parts: Mapping[str, Any]) -> str:
    """The simple_switch_CLI command for a statement about the control plane."""
    match statement:
        case Add():
            return table_command(names.entry(statement, parts["tables"]), parts["tables"])
        case SetDefault():
            return table_command(names.default_action(statement, parts["tables"]), parts["tables"])
        case Command():
            return " ".join([statement.name, *commands.spelled_out(statement, parts).words])
    raise AssertionError(statement)


def _key(key: Mapping[str, Any], match: Mapping[str, Any] | None) -> str:
    every = (1 << key["bits"]) - 1
    kind = key["match"]
    if match is None:
        return {"lpm": "0/0", "range": f"0->{every}"}.get(kind, "0&&&0")
    if "lpm" in match:
        return f"{match['lpm'][0]}/{match['lpm'][1]}"
    if "ternary" in match:
        return "{}&&&{}".format(*match["ternary"])
    if "range" in match:
        return "{}->{}".format(*match["range"])
    return f"{match['exact']}&&&{every}" if kind == "optional" else str(match["exact"])


class SwitchDied(RunFailed):
    """simple_switch ended by itself."""


class SimpleSwitch:
    """A running simple_switch, as a context manager."""

    def __init__(self, json: Path, folder: Path) -> None:
        self._json, self._folder = json, folder
        self._thrift_port = free_port()
        self._pipes: dict[int, IO[bytes]] = {}
        self._process: subprocess.Popen[bytes] | None = None
        # When the first packet had been sent, and the last one, in seconds of the system's clock.
        self.first_s = self.sent_s = 0.0

    def __enter__(self) -> Self:
        for port in PORTS:
            os.mkfifo(self._folder / f"p{port}_in.pcap")
        interfaces = [word for port in PORTS for word in ("-i", f"{port}@p{port}")]
        identity = ["--thrift-port", str(self._thrift_port), "--device-id", str(self._thrift_port)]
        notifications = ["--notifications-addr", f"ipc://{self._folder}/notifications.ipc"]
        command = [
            "simple_switch",
            "--use-files",
            "0",
            *interfaces,
            *identity,
            *notifications,
            str(self._json.resolve()),
        ]
        self._process = subprocess.Popen(command, cwd=self._folder, stdout=subprocess.DEVNULL)  # noqa: S603 - no shell
        try:
            start = _Start(self)
            self._open_pipes(start)
            self._await_control(start)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _open_pipes(self, start: _Start) -> None:
        """Open pipes in the switch's order, as it waits for each; without blocking, as the switch may have died."""
        for port in PORTS:
            while True:
                try:
                    descriptor = os.open(self._folder / f"p{port}_in.pcap", os.O_WRONLY | os.O_NONBLOCK)
                except OSError:
                    start.check()
                    time.sleep(0.01)
                    continue
                os.set_blocking(descriptor, True)
                pipe = os.fdopen(descriptor, "wb", buffering=0)
                pipe.write(_PCAP_HEADER)
                self._pipes[port] = pipe
                break

    def _await_control(self, start: _Start) -> None:
        while True:
            with socket.socket() as probe:
                probe.settimeout(0.5)
                if probe.connect_ex(("localhost", self._thrift_port)) == 0:
                    return
            start.check()
            time.sleep(0.05)

    def check_alive(self, when: str) -> None:
        """Raise SwitchDied if the switch has ended. `when` completes the sentence of the message."""
        if self._process is None or self._process.poll() is not None:
            raise self._died(when)

    def _died(self, when: str) -> SwitchDied:
        status = self._process.wait(_STATUS_S) if self._process is not None else 0
        how = f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
        return SwitchDied(f"simple_switch ended {how} {when}")

    def _stop(self) -> None:
        for pipe in self._pipes.values():
            with suppress(OSError):
                pipe.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def command(self, lines: Sequence[str]) -> str:
        """Carry out commands of simple_switch_CLI. Returns its output."""
        command = ["simple_switch_CLI", "--thrift-port", str(self._thrift_port)]
        found = subprocess.run(  # noqa: S603 - no shell
            command, input="\n".join([*lines, ""]), capture_output=True, text=True, check=False, timeout=120
        )
        if found.returncode != 0 or re.search(r"^(RuntimeCmd: )?(Error|Invalid)", found.stdout, re.MULTILINE):
            raise RunFailed(f"simple_switch_CLI refuses a command: {(found.stderr or found.stdout).strip()}")
        return found.stdout

    @property
    def cpu_s(self) -> float:
        """CPU time that the switch has used, in ticks of the system (10 ms)."""
        return 0.0 if self._process is None else process_cpu_s(self._process.pid)

    def exchange(
        self, packets: Sequence[tuple[int, bytes]], gaps_s: Iterable[float] = _GAPS_S, drain_s: float = 0.0
    ) -> dict[int, list[bytes]]:
        """Send packets with gaps between them. Returns the packets that leave each port, after at least `drain_s`.

        Can be called only once: the switch waits for the first packet of each open file.
        """
        for port in set(PORTS) - {port for port, _ in packets}:
            self._pipes.pop(port).close()
        self.first_s = time.time()
        for (port, frame), gap_s in zip(packets, gaps_s, strict=False):
            try:
                self._pipes[port].write(_RECORD.pack(0, 0, len(frame), len(frame)) + frame)
            except BrokenPipeError as error:
                raise self._died("after a packet") from error
            if gap_s > 0:
                time.sleep(gap_s)
        self.sent_s = time.time()
        time.sleep(drain_s)
        size, changed = -1, time.monotonic()
        while time.monotonic() - changed < _SILENCE_S:
            now = sum(path.stat().st_size for path in self._folder.glob("*_out.pcap"))
            if now != size:
                size, changed = now, time.monotonic()
            time.sleep(0.05)
        self.check_alive("after a packet")
        return {port: [frame for _, frame in self._out(port)] for port in PORTS}

    def departures_s(self, port: int) -> list[float]:
        """When packets left a port, by the clock of `sent_s`."""
        return [time_s for time_s, _ in self._out(port)]

    def _out(self, port: int) -> Iterator[tuple[float, bytes]]:
        return _frames(self._folder / f"p{port}_out.pcap")

    def memory(self, parts: Mapping[str, Any]) -> Memory:
        """Registers and counters, without direct counters, which belong to entries."""
        registers = {}
        for register in parts["registers"]:
            text = self.command([f"register_read {register['name']}"])
            registers[register["name"]] = [int(word) for word in re.findall(r"\d+", text.rpartition("= ")[2])]
        counters = {}
        for counter in parts["counters"]:
            if counter["size"]:
                text = self.command([f"counter_read {counter['name']} {cell}" for cell in range(counter["size"])])
                cells = re.findall(r"\((\d+) bytes, (\d+) packets\)", text)
                counters[counter["name"]] = [(int(packets), int(bytes_)) for bytes_, packets in cells]
        return Memory(registers, counters)


class _Start:
    """The start of a switch: how long it has taken, and when it last used CPU time."""

    def __init__(self, switch: SimpleSwitch) -> None:
        self._switch = switch
        self._began = self._moved = time.monotonic()
        self._cpu_s = 0.0

    def check(self) -> None:
        """Raise RunFailed if the switch has ended, does nothing, or has taken too long."""
        self._switch.check_alive("as it started")
        now, cpu_s = time.monotonic(), self._switch.cpu_s
        if cpu_s > self._cpu_s:
            self._cpu_s, self._moved = cpu_s, now
        if now - self._moved > _STALL_S:
            raise RunFailed(
                f"simple_switch has not started and has used no CPU time for {_STALL_S:g} s",
                "simple_switch with the same program by hand, with --log-console, to see what it waits for",
            )
        if now - self._began > _START_S:
            raise RunFailed(
                f"simple_switch has not started within {_START_S:g} s ({cpu_s:.0f} s of CPU time)",
                "again when the machine has less to do, or more memory: registers take about 120 bytes per cell",
            )


def _frames(path: Path) -> Iterator[tuple[float, bytes]]:
    """Time and bytes of each packet of a file."""
    data = path.read_bytes() if path.exists() else b""
    at = len(_PCAP_HEADER)
    while at + _RECORD.size <= len(data):
        seconds, micros, length, _ = _RECORD.unpack_from(data, at)
        at += _RECORD.size
        yield seconds + micros / 1e6, data[at : at + length]
        at += length
