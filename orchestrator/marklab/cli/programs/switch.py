# SPDX-License-Identifier: MIT OR Apache-2.0
"""`switch`: the real-time switch as a separate process."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from marklab.engine import binding as engine
from marklab.errors import BadInput, Interrupted
from marklab.lab import live
from marklab.model import read_yaml, validate

# Interval at which the program's log messages are fetched.
_TICK_S = 0.2

# Exit codes of the signals that stop a switch regularly.
_STOPS = (128 + signal.SIGTERM, 128 + signal.SIGINT)


def switch(
    program: Annotated[Path, typer.Argument(help="A P4 program.")],
    interface: Annotated[
        list[str] | None,
        typer.Option("--interface", "-i", metavar="PORT@NAME", help="Linux interface of a port; repeatable."),
    ] = None,
    description: Annotated[
        Path | None,
        typer.Option(metavar="FILE.yaml", help="Description of the switch (docs/lab.md); other options override it."),
    ] = None,
    rate: Annotated[str | None, typer.Option(help="Rate of each port: 100M. Default: unlimited, no queueing.")] = None,
    delay: Annotated[str | None, typer.Option(help="Delay of the line behind each port. Default: 0.")] = None,
    queue: Annotated[
        str | None, typer.Option(help="Limit of each port's queue: 600 (packets) or 900KB. Default: 600.")
    ] = None,
    queues: Annotated[
        str | None, typer.Option(help="Queues of each port, such as dwrr:count=4. Default: fifo.")
    ] = None,
    cpu_port: Annotated[int | None, typer.Option(help="Port of the control plane.")] = None,
    entries: Annotated[
        Path | None,
        typer.Option(metavar="FILE.json", help="Table entries, as a list (engine/bindings/src/entries.rs)."),
    ] = None,
    grpc: Annotated[
        str | None,
        typer.Option("--grpc-server-addr", metavar="ADDRESS", help="Serve P4Runtime at HOST:PORT or unix:PATH."),
    ] = None,
    device_id: Annotated[int, typer.Option(min=0, help="The switch's device ID in P4Runtime.")] = 0,
    log: Annotated[bool, typer.Option("--log", help="Print what the program logs.")] = False,
    pcap: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Capture interfaces in both directions.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Report and traces. Default: stdout.")] = None,
) -> None:
    """Run a program between interfaces of this machine in real time; SIGTERM or Ctrl-C ends it with a report."""
    settings = {"rate": rate, "delay": delay, "queue": queue, "queues": queues, "cpu_port": cpu_port}
    described = _describe(description, interface, {key: value for key, value in settings.items() if value is not None})
    if pcap is not None:
        described = _captured(described, pcap)
    table_entries = _read(entries, grpc)
    if out is not None:
        live.prepare_folder(out)
    compiled = engine.compile_program(program)
    with live.running(described, compiled, table_entries) as running:
        console = Console(stderr=True, highlight=False, soft_wrap=True)
        ports = ", ".join(f"{port} {name}" for port, name in described.ports().items())
        try:
            with _served(running, described, program, compiled, grpc, device_id) as served:
                console.print(f"{program.name} runs on ports {ports}{served}; Ctrl-C stops it")
                _watch(running, log)
        except Interrupted as interrupted:
            if interrupted.exit_code not in _STOPS:
                raise
        observed = live.stop(running)
    _doubt_offloads(observed, described, console)
    if out is None:
        sys.stdout.write(json.dumps(observed.report, indent=2) + "\n")
    else:
        live.write(out, observed)


def _doubt_offloads(observed: live.Observed, described: live.SwitchDescription, console: Console) -> None:
    for port in observed.report["ports"]:
        if port["offloaded"]:
            name = described.ports()[port["port"]]
            console.print(
                f"! offloads left {port['offloaded']} frames from {name} unfinished: turn offloads off at the "
                "other end (ethtool -K INTERFACE tx off tso off gso off)"
            )


def _describe(file: Path | None, interfaces: list[str] | None, given: dict[str, Any]) -> live.SwitchDescription:
    written = dict(read_yaml(file)) if file is not None else {}
    if interfaces and "interfaces" in written:
        raise BadInput(f"--interface contradicts the interfaces in {file}", "give all interfaces in one place")
    if interfaces:
        given["interfaces"] = interfaces
    return validate(live.SwitchDescription, written | given, str(file) if file is not None else "")


def _captured(described: live.SwitchDescription, folder: Path) -> live.SwitchDescription:
    """Capture each interface to a file with its name."""
    if described.captures:
        raise BadInput("--pcap contradicts the captures in the description", "give all captures in one place")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{folder}: {error.strerror}", "choose another folder with --pcap") from error
    captures = [live.Capture(port=each.port, path=folder / f"{each.name}.pcap") for each in described.interfaces]
    return described.model_copy(update={"captures": tuple(captures)})


@contextmanager
def _served(
    running: engine.LiveSwitch,
    description: live.SwitchDescription,
    program: Path,
    compiled: engine.CompiledProgram,
    address: str | None,
    device_id: int,
) -> Iterator[str]:
    """Serve P4Runtime during the context if there is an address; yields the text about it for the start message."""
    if address is None:
        yield ""
        return
    # gRPC loads slowly, so other commands do not import it.
    from marklab.p4runtime import server  # noqa: PLC0415

    cpu = None if description.cpu_port is None else live.CpuPort(description.cpu_port, running)
    served = server.Running.load(program, compiled)
    with server.Server(served, running, address=address, device_id=device_id, cpu=cpu) as serving:
        yield f", P4Runtime at {serving.address}"


def _watch(running: engine.LiveSwitch, log: bool) -> None:
    while True:
        time.sleep(_TICK_S)
        with engine.failures():
            running.check()
            messages = running.log()
        if log and messages:
            sys.stdout.writelines(f"{message}\n" for message in messages)
            sys.stdout.flush()


def _read(path: Path | None, grpc: str | None) -> list[dict[str, Any]]:
    if path is None:
        return []
    if grpc is not None:
        raise BadInput(
            "--entries with --grpc-server-addr: controllers would not know of these entries", "write them by P4Runtime"
        )
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: {error}", "write a list of entries in JSON") from error
    if not isinstance(entries, list):
        raise BadInput(f"{path} is not a list", "write a list of entries in JSON")
    return entries
