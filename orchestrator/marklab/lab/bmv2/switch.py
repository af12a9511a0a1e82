# SPDX-License-Identifier: MIT OR Apache-2.0
"""BMv2 as a switch of the lab: compiled by p4c, set up by P4Runtime, its queues by Thrift.

It runs what our switch runs, but its ports are simpler: see bmv2_limits. P4Info is p4c's, since it belongs to the JSON
that the switch loads; the client takes ids from whichever it is given.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from marklab.catalog.scheme import Entry
from marklab.engine import p4c
from marklab.errors import RunFailed, SetupError
from marklab.lab.bmv2 import thrift
from marklab.lab.bmv2.limits import REMEDY, TOOLS
from marklab.lab.commands import free_port, missing, run
from marklab.p4runtime.client import Client, connected
from marklab.p4runtime.messages import p4info_pb2
from marklab.paths import PACKAGE

_STOP_S = 5.0
# Names of Unix sockets have no room for more (sun_path).
_SOCKET_BYTES = 107


def require() -> None:
    """Refuse to begin without BMv2."""
    absent = missing(TOOLS)
    if absent:
        raise SetupError(f"not on PATH: {', '.join(absent)}", f"{REMEDY}; or --switch marklab, which needs neither")


@dataclass(frozen=True)
class Compiled:
    """A program for BMv2."""

    json: bytes
    info: p4info_pb2.P4Info


def compile_program(program: Path, folder: Path) -> Compiled:
    """Compile a program; a folder is for the files in between."""
    require()
    p4info = folder / f"{program.stem}.p4info.bin"
    json = p4c.compile_program(program, folder, p4info=p4info)
    return Compiled(json.read_bytes(), p4info_pb2.P4Info.FromString(p4info.read_bytes()))


@dataclass(frozen=True)
class SwitchPort:
    """A port: its interface, and its queue. Without a rate it sends as fast as it can."""

    number: int
    interface: str
    packets_per_s: int | None
    limit_packets: int


class Bmv2:
    """A running switch, with its controller."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], log: Path, client: Client) -> None:
        self.client = client
        self.pid = process.pid
        self._name, self._process, self._log = name, process, log

    def check_alive(self) -> None:
        """Raise RunFailed with its last words if it has ended."""
        _check_alive(self._name, self._process, self._log)


@contextmanager
def running(
    inside: Sequence[str],
    name: str,
    ports: Sequence[SwitchPort],
    compiled: Compiled,
    entries: Sequence[Entry],
    folder: Path,
) -> Iterator[Bmv2]:
    """Run a switch in a namespace (`inside` runs a command there) as long as the context.

    It serves when the context begins: its entries are there, and its queues have their limits. Its sockets and its log
    are in the folder.
    """
    require()
    server, notifications, log = folder / f"{name}.grpc", folder / f"{name}.ipc", folder / f"{name}.log"
    if len(str(server)) > _SOCKET_BYTES:
        raise SetupError(f"{server} is too long for a socket", "a folder with a shorter path")
    if inside:
        # Namespaces begin without it, and Thrift has no other address.
        run(*inside, "ip", "link", "set", "lo", "up")
    thrift_port = free_port()
    command = [
        *inside, "simple_switch_grpc", "--no-p4", "--device-id", "0", "--thrift-port", str(thrift_port),
        "--notifications-addr", f"ipc://{notifications}",
        *(word for port in ports for word in ("-i", f"{port.number}@{port.interface}")),
        "--", "--grpc-server-addr", f"unix:{server}",
    ]  # fmt: skip
    with (
        log.open("wb") as said,
        # Ctrl-C is for us; we end it.
        subprocess.Popen(  # noqa: S603 - no shell
            command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True
        ) as process,
    ):
        try:
            with connected(f"unix:{server}", check=lambda: _check_alive(name, process, log)) as client:
                client.set_pipeline(compiled.info, compiled.json)
                client.write(entries)
                _set_queues(inside, thrift_port, ports)
                yield Bmv2(name, process, log, client)
        finally:
            _stop(process)
            for socket_path in (server, notifications):
                socket_path.unlink(missing_ok=True)


def _set_queues(inside: Sequence[str], thrift_port: int, ports: Sequence[SwitchPort]) -> None:
    calls = [thrift.queue_depth(port.number, port.limit_packets) for port in ports]
    calls += [thrift.queue_rate(port.number, port.packets_per_s) for port in ports if port.packets_per_s is not None]
    program = ("env", f"--chdir={PACKAGE.parent}", sys.executable, "-m", thrift.__name__, str(thrift_port))
    run(*inside, *program, text=thrift.to_json(calls))


def _check_alive(name: str, process: subprocess.Popen[bytes], log: Path) -> None:
    status = process.poll()
    if status is not None:
        said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        raise RunFailed(f"BMv2 as switch {name} ended with status {status}: {said[-1] if said else 'it said nothing'}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
