# SPDX-License-Identifier: MIT OR Apache-2.0
"""The engine's Python module, typed, and its errors as ours."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from marklab.errors import BadInput, RunFailed, SetupError
from marklab.paths import PROGRAMS, TWINS

# What a test can say about the queue that a packet went through.
QUEUE_SIGNALS = ("now_ns", "sojourn_ns", "enq_qdepth", "deq_qdepth")

_WORD_BITS = 64


class CompiledProgram(Protocol):
    """A compiled P4 program."""

    jit_declined: str | None
    warnings: str
    digest: str
    foreign: list[str]
    arch: str
    needs: list[tuple[str, str]]  # beside table entries: the setting that fulfils it, and why

    def describe(self) -> str:
        """Tables, registers, counters, meters, filters, action profiles and value sets, as JSON."""


class Control(Protocol):
    """What a control plane does to a switch; what one refuses raises EngineError.

    Names are those of simple_switch_CLI. Entries and operations are JSON, as engine/bindings/src/entries.rs and
    objects.rs describe them; the smallest priority wins.
    """

    def add_entry(self, entry: str) -> int | None:
        """Adds an entry and gives its handle, or sets a default action."""

    def modify_entry(self, handle: int, entry: str) -> None:
        """Gives an entry the action of another."""

    def delete_entry(self, table: str, handle: int) -> None:
        """Removes an entry."""

    def clear_table(self, table: str) -> None:
        """Removes all entries of a table."""

    def control(self, operation: str) -> str:
        """Does something to a meter, an action profile or a value set; gives what came of it as JSON."""

    def counter(self, name: str, index: int) -> tuple[int, int]:
        """Packets and bytes of a cell, or of the entry with this handle."""

    def set_counter(self, name: str, index: int, packets: int, bytes: int) -> None:  # noqa: A002
        """Sets a cell."""

    def register(self, name: str, index: int) -> int:
        """Value of a cell."""

    def register_values(self, name: str) -> list[tuple[int, int]]:
        """Indices and values of the cells that are not 0."""

    def set_register(self, name: str, index: int, value: int) -> None:
        """Sets a cell."""

    def reset_register(self, name: str) -> None:
        """Sets all cells to what they hold at first."""

    def mirroring_add_mc(self, session: int, group: int) -> None:
        """Lets clones of a session go to a multicast group."""

    def mirroring_delete(self, session: int) -> None:
        """Ends a session."""

    def mc_mgrp_create(self, group: int) -> None:
        """Makes a multicast group."""

    def mc_mgrp_destroy(self, group: int) -> None:
        """Removes a multicast group."""

    def mc_node_create(self, rid: int, ports: Sequence[int]) -> int:
        """Makes a node of a replication id with ports; gives its handle."""

    def mc_node_destroy(self, handle: int) -> None:
        """Removes a node, from its group as well."""

    def mc_node_associate(self, group: int, handle: int) -> None:
        """Puts a node into a group."""


class LiveSwitch(Control, Protocol):
    """A switch between interfaces of this machine, in a thread of its own."""

    def inject(self, port: int, frame: bytes) -> None:
        """Lets a frame come in by a port."""

    def packets_in(self, seconds: float) -> list[bytes]:
        """Frames sent to the CPU port since the last call; waits for the first one."""

    def log(self) -> list[str]:
        """What the program logged since the last call."""

    def report(self) -> str:
        """What happened so far, as JSON."""

    def check(self) -> None:
        """Raises OSError for a capture that could not be written, and EngineError for an interface that is gone."""

    def stop(self) -> dict[str, Any]:
        """Stops it; gives the last `report`, as JSON, and `traces`, by port, as `simulate` gives them."""

    def end(self) -> None:
        """Stops it, if it has not stopped."""


class Harness(Control, Protocol):
    """One switch without a network, whose queue is what the test says."""

    def process(
        self, port: int, frame: bytes, now_ns: int, sojourn_ns: int, enq_qdepth: int, deq_qdepth: int
    ) -> tuple[int | None, bytes | None, str | None]:
        """One packet in, one out; or the reason of its loss."""

    def inject(self, port: int, frame: bytes, now_ns: int = 0) -> list[tuple[int, bytes]]:
        """A packet and everything that it causes: all that leaves the switch."""

    def mirroring_add(self, session: int, port: int) -> None:
        """Lets copies of a session go to a port."""

    def receive(self, port: int, frame: bytes, now_ns: int) -> tuple[int, int] | None:
        """Takes a frame in; the port and queue in which it waits for `transmit`, or None if it was lost."""

    def transmit(self, port: int, now_ns: int) -> tuple[bytes | None, int, int, int, int, bool] | None:
        """The next frame of a port: bytes unless dropped, queue, packets found and left, ns in it, end of turn."""

    losses: list[tuple[str, int | None]]

    def log(self) -> list[str]:
        """What the program logged since the last call."""

    def trace(self, on: bool) -> None:
        """Whether what the program does is written down; the interpreter's only."""

    def take_trace(self) -> str:
        """What was written down since, as JSON."""


# Arrival of a packet from its host: time in ns, switch, port.
Arrival = tuple[int, int, int]


class Session(Protocol):
    """A run in steps; what the engine refuses raises EngineError."""

    now_ns: int  # time of the last event
    events: int
    finished: int
    ended: bool

    def lines(self) -> list[tuple[int, int, int, int]]:
        """Node and port of both ends of each line."""

    def run(self, until_ns: int, most: int) -> bool:
        """Handles the events up to a time, at most so many; gives whether it has handled all."""

    def view(self) -> dict[str, NDArray[np.uint64]]:
        """How the lines stand: `frames`, `wire_bytes`, `marked`, `lost` since the start; `packets`, `bytes` wait."""

    def record(self, flow: int, last: int) -> None:
        """Records the packets of a flow at switches from now on, the last ones, for `packets`."""

    def packets(self) -> dict[str, Any] | None:
        """What was recorded so far, as `simulate` gives it."""

    def sender(self, flow: int) -> dict[str, Any] | None:
        """The sender of a flow: windows in bytes, times in ns, counts."""

    def find(self, node: int, port: int, from_ns: int, wanted: str) -> tuple[int, Arrival | None] | None:
        """Runs on to a packet's `departure`, `mark` or `loss`; gives its time, and its arrival if the session saw it."""

    def follow(self, arrival: Arrival) -> str | None:
        """Runs on through all that happens to a packet, and gives it as JSON."""


class ControlledRun(Protocol):
    """A run in steps, between which switches are read and written; what the engine refuses raises EngineError."""

    ended: bool

    def lines(self) -> list[tuple[int, int, int, int]]:
        """Node and port of both ends of each line."""

    def run(self, until_ns: int, watch: Watch) -> None:
        """Handles all events up to a time."""

    def view(self) -> dict[str, NDArray[np.uint64]]:
        """How the lines stand, as `Session.view` gives it."""

    def rtts(self) -> dict[str, NDArray[np.uint64]]:
        """Round-trip times measured so far, to one part in a hundred: `rtt_ns`, and `packets` of each."""

    def switch(self, node: int) -> Control:
        """The control plane of a switch."""

    def outcome(self) -> dict[str, Any]:
        """What `simulate` gives, of a run that has ended; nothing is left of it afterwards."""


class Watch(Protocol):
    """How far a run is, and the wish to end it."""

    finished: int
    now_ns: int
    cancelled: bool

    def add(self, flows: int) -> None:
        """Count flows that have finished where the engine does not see them."""

    def cancel(self) -> None:
        """End the run soon."""

    def picture(self) -> tuple[int, int, dict[str, NDArray[np.uint64]]] | None:
        """The last picture, and the wish for another: time in ns, flows finished, lines as in `Session.view`."""


class FlowServer(Protocol):
    """The end of real TCP flows that listens."""

    address: str

    def serve(self, watch: Watch) -> dict[str, NDArray[Any]]:
        """Serve until cancelled, once. Gives `flow`, `end_ns` (CLOCK_MONOTONIC, or -1) and `bytes` of what came.

        Of the flows that it was asked for there are `asked`, and what became of their segments, `asked_...`.
        """


Ack = tuple[int, bool, list[tuple[int, int]]]  # next expected byte, echo, selectively acknowledged ranges


class TcpSender(Protocol):
    """The sending end of a connection, without a network. Offsets count the bytes of the stream."""

    deadline_ns: int | None  # when `on_timeout` is due
    cwnd: int
    ssthresh: int | None  # None before the first reduction
    snd_una: int
    snd_nxt: int
    pipe: int
    state: str  # open, disorder, cwr, recovery or loss
    alpha: float | None

    def write(self, bytes: int) -> None:  # noqa: A002
        """The application writes more bytes."""

    def next_segment(self, now_ns: int) -> tuple[int, int, bool, bool, bool] | None:
        """Offset and length of the next segment, whether it is a retransmission, carries CWR, ends what was written."""

    def on_ack(
        self, now_ns: int, ack: int, sacks: Sequence[tuple[int, int]], ece: bool, one_way_ns: int | None = None
    ) -> None:
        """An acknowledgement arrives."""

    def on_timeout(self, now_ns: int) -> None:
        """The deadline has passed."""


class TcpReceiver(Protocol):
    """The receiving end of a connection, without a network."""

    deadline_ns: int | None  # when `on_ack_timer` is due
    rcv_nxt: int

    def on_segment(self, now_ns: int, offset: int, len: int, ce: bool, cwr: bool) -> list[Ack]:  # noqa: A002
        """A segment arrives; gives the acknowledgements to send now."""

    def on_ack_timer(self, now_ns: int) -> Ack:
        """The deadline has passed; gives the acknowledgement to send."""


class _Module(Protocol):
    __version__: str
    FLOW_STATUSES: list[str]
    EngineError: type[Exception]
    CompileError: type[Exception]
    CancelledError: type[Exception]

    def Program(  # noqa: N802
        self,
        path: Path,
        include_dirs: Sequence[Path] = (),
        defines: Sequence[tuple[str, str]] = (),
        *,
        interpret: bool = False,
    ) -> CompiledProgram: ...

    def Harness(  # noqa: N802
        self, program: CompiledProgram, entries: str = "[]", seed: int = 0, queueing: str | None = None
    ) -> Harness: ...

    def LiveSwitch(self, program: CompiledProgram, config: str, entries: str = "[]") -> LiveSwitch: ...  # noqa: N802

    def Progress(self) -> Watch: ...  # noqa: N802

    def TcpSender(self, transport: str) -> TcpSender: ...  # noqa: N802

    def TcpReceiver(self, transport: str) -> TcpReceiver: ...  # noqa: N802

    def Session(  # noqa: N802
        self,
        config: str,
        program: CompiledProgram,
        shared_entries: str,
        entries: Sequence[str],
        flows: Mapping[str, Any],
        seed: int,
    ) -> Session: ...

    def ControlledRun(  # noqa: N802
        self,
        config: str,
        program: CompiledProgram,
        shared_entries: str,
        entries: Sequence[str],
        flows: Mapping[str, Any],
        seed: int,
    ) -> ControlledRun: ...

    def simulate(
        self,
        config: str,
        program: CompiledProgram,
        shared_entries: str,
        entries: Sequence[str],
        flows: Mapping[str, Any],
        seed: int,
        watch: Watch,
        threads: int,
        measured: Sequence[int],
    ) -> dict[str, Any]: ...

    def write_comments(
        self, path: Path, interfaces: Sequence[str], packets: Sequence[tuple[int, int, bytes, int, str]]
    ) -> None: ...

    def FlowServer(self, listen: str) -> FlowServer: ...  # noqa: N802

    def replay_flows(
        self,
        flows: Mapping[str, NDArray[Any]],
        peers: Sequence[str],
        start_at_ns: int,
        stop_at_ns: int,
        per_pair: int | None,
        progress: Watch,
    ) -> dict[str, NDArray[Any]]: ...

    def control_plane(self, path: Path, include_dirs: Sequence[Path] = ()) -> tuple[str, str]: ...

    def diagnostics(
        self,
        path: Path,
        include_dirs: Sequence[Path] = (),
        defines: Sequence[tuple[str, str]] = (),
        text: str | None = None,
        within: Sequence[Path] | None = None,
    ) -> str: ...

    def names_of(
        self,
        path: Path,
        text: str,
        include_dirs: Sequence[Path] = (),
        defines: Sequence[tuple[str, str]] = (),
        within: Sequence[Path] | None = None,
    ) -> str: ...

    def candidates_at(
        self,
        path: Path,
        text: str,
        offset: int,
        include_dirs: Sequence[Path] = (),
        defines: Sequence[tuple[str, str]] = (),
        within: Sequence[Path] | None = None,
    ) -> str: ...

    def declared(self, text: str, start: int, end: int) -> tuple[str, str]: ...

    def interface(self, path: Path) -> str | None: ...

    def tofino_check(
        self, path: Path, include_dirs: Sequence[Path] = (), defines: Sequence[tuple[str, str]] = ()
    ) -> str: ...


def _module() -> _Module:
    try:
        return cast("_Module", importlib.import_module("marklab._engine"))
    except ImportError as error:
        raise SetupError(f"the engine is not there ({error})", "run `make setup`") from error


def version() -> str:
    """The engine's version."""
    return _module().__version__


def files() -> list[Path]:
    """The files of the engine's module."""
    return sorted(Path(str(importlib.import_module("marklab._engine").__file__)).parent.glob("*.so"))


class Cancelled(Exception):  # noqa: N818 - not an error
    """A run was cancelled."""


def new_watch() -> Watch:
    """Watch over a run to come."""
    return _module().Progress()


# Programs by path, defines and whether they are interpreted.
Programs = dict[tuple[Path, tuple[tuple[str, str], ...], bool], CompiledProgram]
_kept: ContextVar[Programs | None] = ContextVar("programs", default=None)


@contextmanager
def keeping(programs: Programs) -> Iterator[None]:
    """Compile each program once while the block runs, and take what is in `programs`, although files may change."""
    token = _kept.set(programs)
    try:
        yield
    finally:
        _kept.reset(token)


def compile_program(path: Path, defines: Sequence[tuple[str, str]] = (), *, interpret: bool = False) -> CompiledProgram:
    """Compile a P4 program, to machine code unless the interpreter is asked for; all its errors come as one."""
    kept, key = _kept.get(), (Path(path), tuple(defines), interpret)
    if kept is None:
        return _compile(path, defines, interpret=interpret)
    if key not in kept:
        kept[key] = _compile(path, defines, interpret=interpret)
    return kept[key]


def _compile(path: Path, defines: Sequence[tuple[str, str]], *, interpret: bool) -> CompiledProgram:
    module = _module()
    with _compiling(module, path):
        # So that `#include "include/switch.p4"` finds the lab's from any folder, unless one lies beside the program.
        return module.Program(path, [PROGRAMS], defines, interpret=interpret)


@contextmanager
def _compiling(module: _Module, path: Path) -> Iterator[None]:
    try:
        yield
    except module.CompileError as error:
        raise BadInput(f"{path} does not compile:\n{str(error).rstrip()}") from error
    except (module.EngineError, OSError) as error:
        raise BadInput(f"{path}: {error}") from error


def describe(program: CompiledProgram) -> dict[str, Any]:
    """Tables, registers and counters of a program."""
    return cast("dict[str, Any]", json.loads(program.describe()))


def new_harness(
    program: CompiledProgram,
    seed: int = 0,
    entries: Sequence[Mapping[str, Any]] = (),
    queueing: str | None = None,
) -> Harness:
    """A switch for packet tests; without a description of queues (JSON) there is room for everything."""
    return _module().Harness(program, json.dumps(entries), seed, queueing)


def start_switch(config: Mapping[str, Any], program: CompiledProgram, entries: str) -> LiveSwitch:
    """A switch in real time, which runs from now on."""
    return _module().LiveSwitch(program, json.dumps(config), entries)


def json_number(value: int) -> int | str:
    """A number of an entry or an operation in JSON: the engine reads those beyond 64 bits from text."""
    return value if value.bit_length() <= _WORD_BITS else hex(value)


@contextmanager
def failures() -> Iterator[None]:
    """Explain what stops a running switch."""
    try:
        yield
    except OSError as error:
        # Files that the engine writes itself are captures.
        raise RunFailed(f"the capture is not whole: {error}", "free some space, or do without --pcap") from error
    except _module().EngineError as error:
        raise RunFailed(f"the switch failed: {error}") from error


@contextmanager
def refusals() -> Iterator[None]:
    """What the engine refuses is what the user asked for."""
    try:
        yield
    except _module().EngineError as error:
        raise BadInput(str(error)) from error


def describe_control_plane(path: Path) -> tuple[dict[str, Any], str]:
    """All that a control plane can name in a program, as its author declared it, and the compiler's warnings."""
    module = _module()
    with _compiling(module, path):
        described, warnings = module.control_plane(path, [PROGRAMS])
        return json.loads(described), warnings


def diagnose(
    path: Path, text: str | None = None, includes: Path = PROGRAMS, within: Sequence[Path] | None = None
) -> list[dict[str, Any]]:
    """The compiler's messages on a program: id, category, text, help, place, and labels at other places.

    `text` replaces the file's, as an editor has it before it is saved; `within` are the only folders from which such a
    program may include files, without links in their paths.
    """
    return cast("list[dict[str, Any]]", json.loads(_module().diagnostics(path, [includes], [], text, within)))


def names_of(path: Path, text: str, includes: Path, within: Sequence[Path] | None) -> list[dict[str, Any]]:
    """All names of a program: place, declaration (None for the language's own), and role (`field`, `table`)."""
    return cast("list[dict[str, Any]]", json.loads(_module().names_of(path, text, [includes], [], within)))


def candidates_at(
    path: Path, text: str, offset: int, includes: Path, within: Sequence[Path] | None
) -> list[dict[str, Any]]:
    """The names that may stand at character `offset` of a text: name, role, text and comment of the declaration."""
    found = _module().candidates_at(path, text, offset, [includes], [], within)
    return cast("list[dict[str, Any]]", json.loads(found))


def declared(text: str, start: int, end: int) -> tuple[str, str]:
    """The declaration of the name at characters `start` to `end`: its words on one line, and its comment."""
    return _module().declared(text, start, end)


def interface(path: Path) -> str | None:
    """The text of an interface that comes with the front end (`p4include/v1model.p4`); None for other files."""
    return _module().interface(path)


def tofino_check(path: Path, defines: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
    """What Tofino cannot do of a program: arch, warnings of the compiler, messages as `diagnose` has them."""
    module = _module()
    with _compiling(module, path):
        return cast("dict[str, Any]", json.loads(module.tofino_check(path, [TWINS], defines)))


@contextmanager
def _explained() -> Iterator[None]:
    module = _module()
    try:
        yield
    except module.CancelledError as error:
        raise Cancelled from error
    except OSError as error:
        # Files that the engine writes itself are captures.
        remedy = "free some space, choose another folder with --out, or do without --pcap"
        raise RunFailed(f"the run was given up: {error}", remedy) from error
    except module.EngineError as error:
        raise RunFailed(f"the engine refused or gave up: {error}") from error


@dataclass(frozen=True)
class Inputs:
    """All that decides a simulated run.

    `shared_entries` go into the tables of all switches, and each of `entries`, a JSON list of them, into those of one.
    """

    config: Mapping[str, Any]
    program: CompiledProgram
    shared_entries: Sequence[Mapping[str, Any]]
    entries: Sequence[str]
    flows: Mapping[str, Any]
    seed: int

    @property
    def arguments(self) -> tuple[str, CompiledProgram, str, Sequence[str], Mapping[str, Any], int]:
        """As the engine takes them."""
        shared = json.dumps(self.shared_entries)
        return json.dumps(self.config), self.program, shared, self.entries, self.flows, self.seed


def simulate(inputs: Inputs, watch: Watch, threads: int = 1, measured: Sequence[int] = ()) -> dict[str, Any]:
    """Run a network; gives the report as plain data and columns as arrays. They are the same for any number of threads.

    With `measured`, it runs on one, and `parallelism` has what each of these numbers of threads would have to do.
    """
    with _explained():
        result = _module().simulate(*inputs.arguments, watch, threads, list(measured))
    return result | {"report": json.loads(result["report"])}


def write_comments(
    path: Path, interfaces: Sequence[str], packets: Sequence[tuple[int, int, bytes, int, str]]
) -> None:
    """Write packets as pcapng: time in ns, number of the interface, stored bytes, length on the line, and comment.

    Raises BadInput if the file cannot be written.
    """
    try:
        _module().write_comments(path, interfaces, packets)
    except OSError as error:
        raise BadInput(f"cannot write {error}", "another file") from error


def new_session(inputs: Inputs) -> Session:
    """A simulated run in steps, before its first event."""
    with _explained():
        return _module().Session(*inputs.arguments)


def new_controlled_run(inputs: Inputs) -> ControlledRun:
    """A simulated run in steps, before its first event, whose switches can be changed."""
    with _explained():
        return _module().ControlledRun(*inputs.arguments)


def run_until(run: ControlledRun, until_ns: int, watch: Watch) -> None:
    """Handle all events of a controlled run up to a time. Raises Cancelled."""
    with _explained():
        run.run(until_ns, watch)


def outcome_of(run: ControlledRun) -> dict[str, Any]:
    """What a controlled run that has ended gives, as `simulate` does."""
    with _explained():
        result = run.outcome()
    return result | {"report": json.loads(result["report"])}


def new_tcp_sender(transport: Mapping[str, Any]) -> TcpSender:
    """The sending end of an established connection; `transport` is that of the engine's configuration."""
    with refusals():
        return _module().TcpSender(json.dumps(transport))


def new_tcp_receiver(transport: Mapping[str, Any]) -> TcpReceiver:
    """The receiving end of an established connection."""
    with refusals():
        return _module().TcpReceiver(json.dumps(transport))


def flow_statuses() -> list[str]:
    """Names of what becomes of a real flow; column `status` has their indices."""
    return _module().FLOW_STATUSES


def listen(address: str) -> FlowServer:
    """Make a server of real TCP flows at `address:port`, which listens from now on; port 0 is a free one."""
    with refusals():
        try:
            return _module().FlowServer(address)
        except OSError as error:
            raise RunFailed(str(error), "free the port, or give the host its address first") from error


def replay_flows(
    flows: Mapping[str, NDArray[Any]],
    peers: Sequence[str],
    start_at_ns: int,
    stop_at_ns: int,
    per_pair: int | None,
    watch: Watch,
) -> dict[str, NDArray[Any]]:
    """Replay real TCP flows; engine/bindings/src/replay.rs has the columns. If cancelled, gives what is known."""
    with refusals():
        try:
            return _module().replay_flows(flows, peers, start_at_ns, stop_at_ns, per_pair, watch)
        except OSError as error:
            raise RunFailed(f"the flows could not be replayed: {error}") from error
