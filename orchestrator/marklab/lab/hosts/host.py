# SPDX-License-Identifier: MIT OR Apache-2.0
"""The process of a host: the server and the client of real TCP flows, in the host's network namespace.

`python -m marklab.lab.hosts.host LISTEN FOLDER` speaks with its parent by lines: it says `listening`, reads the
common start and stop (ns of CLOCK_MONOTONIC), says now and then how many of its flows have ended, and `ended` when all
have. Its server goes on, for the other hosts, until the parent closes the pipe; then it writes what both ends saw. So
none of them outlives its parent.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from marklab.engine import binding as engine
from marklab.errors import BadInput, MarklabError, RunFailed
from marklab.paths import PACKAGE
from marklab.traffic.flows import FlowList

Columns = dict[str, NDArray[Any]]

PORT = 5000

_END_S = 20.0
_TELL_S = 0.5
# Stands for a connection per flow, where an array cannot hold None.
_NEW = -1


def client_columns(
    flows: FlowList, host: int, *, ttl: NDArray[np.uint8] | None = None, pull: NDArray[np.bool_] | None = None
) -> Columns:
    """Flows that a host's client starts: those that it sends, of `pull` those that it gets. `peer` is the other host.

    `ttl` is that of each flow's packets, by which switches know its extra delay (see lab.delays); else the kernel's.

    A flow of `pull` is asked for by the host that gets it, on a connection that it opens; its time begins with that.
    """
    if flows.rate_bps.any():
        raise BadInput("real flows are written as fast as TCP takes them", "leave out the column rate_bps")
    pull = np.zeros(len(flows), np.bool_) if pull is None else pull
    rows = np.flatnonzero(np.where(pull, flows.dst, flows.src) == host)
    return {
        "id": rows.astype(np.uint32),
        "start_ns": flows.start_ns[rows],
        "peer": np.where(pull, flows.src, flows.dst)[rows].astype(np.uint32),
        "size_bytes": flows.size_bytes[rows],
        "dscp": flows.dscp[rows],
        "ttl": np.zeros(len(rows), np.uint8) if ttl is None else ttl[rows],
        "pull": pull[rows],
    }


@dataclass(frozen=True)
class Seen:
    """What a host's client (see engine.replay_flows) and server (engine.FlowServer) saw."""

    records: Columns
    arrivals: Columns


@dataclass(frozen=True)
class RealFlows:
    """What became of each flow of a list; -1 ns is what did not happen."""

    fct_ns: NDArray[np.int64]
    late_ns: NDArray[np.uint64]  # start, against the list
    status: NDArray[np.uint8]  # see engine.flow_statuses
    delivered_bytes: NDArray[np.uint64]  # to the receiver's application
    # Of the segments that the flow's sender sent, as Linux counts them.
    retransmissions: NDArray[np.uint64]
    timeouts: NDArray[np.uint64]
    marked: NDArray[np.uint64]


def joined(flows: int, seen: Sequence[Seen]) -> RealFlows:
    """Put the flows of all hosts in the order of the list."""
    found = RealFlows(
        np.full(flows, -1, np.int64),
        np.zeros(flows, np.uint64),
        np.full(flows, engine.flow_statuses().index("not-started"), np.uint8),
        *(np.zeros(flows, np.uint64) for _ in range(4)),
    )
    counts = ("retransmissions", "timeouts", "marked")
    for host in seen:
        records, rows = host.records, host.records["id"]
        pushed, pulled = ~records["pull"], records["pull"]
        done = records["end_ns"] >= 0
        found.fct_ns[rows[done]] = (records["end_ns"] - records["start_ns"])[done]
        found.late_ns[rows] = records["late_ns"]
        found.status[rows] = records["status"]
        for name in counts:
            getattr(found, name)[rows[pushed]] = records[name][pushed]
            getattr(found, name)[host.arrivals["asked"]] = host.arrivals[f"asked_{name}"]
        found.delivered_bytes[rows[pulled]] = records["bytes"][pulled]
        found.delivered_bytes[host.arrivals["flow"]] = host.arrivals["bytes"]
    return found


class Host:
    """A host's process, seen from its parent."""

    def __init__(self, process: subprocess.Popen[str], name: str, folder: Path) -> None:
        self._process = process
        self._name = name
        self._folder = folder
        self._said = b""
        self.flows_ended = 0

    def fileno(self) -> int:
        """Readable when `look` has something to find."""
        return _pipe(self._process.stdout).fileno()

    def begin(self, start_at_ns: int, stop_at_ns: int) -> None:
        """Have it replay its flows."""
        try:
            # Past the buffer: what cannot be written now must not be written when the pipe is closed.
            os.write(_pipe(self._process.stdin).fileno(), f"{start_at_ns} {stop_at_ns}\n".encode())
        except BrokenPipeError as error:
            raise self._failed() from error

    def expect(self, word: str) -> None:
        """Wait until it says so."""
        while True:
            line = _pipe(self._process.stdout).readline().strip()
            if line == word:
                return
            if not line.isdecimal():
                raise self._failed()

    def look(self) -> bool:
        """Read what it says of its flows, after `begin`; true when all have ended."""
        said = os.read(self.fileno(), 4096)
        *lines, self._said = (self._said + said).split(b"\n")
        for line in lines:
            if line == b"ended":
                return True
            if not line.isdigit():
                raise self._failed()
            self.flows_ended = int(line)
        if not said:
            raise self._failed()
        return False

    def finish(self) -> Seen:
        """End its server too, and take what it saw."""
        _pipe(self._process.stdin).close()
        try:
            if self._process.wait(_END_S) != 0:
                raise self._failed()
        except subprocess.TimeoutExpired as error:
            raise RunFailed(f"the process of host {self._name} does not end") from error
        return Seen(_load(self._folder / "records.npz"), _load(self._folder / "arrivals.npz"))

    def _failed(self) -> RunFailed:
        self._process.kill()
        self._process.wait()
        said = (self._folder / "errors").read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return RunFailed(f"the process of host {self._name} ended: {said[-1] if said else 'it said nothing'}")


@contextmanager
def host_process(
    inside: Sequence[str], name: str, listen: str, folder: Path, plan: tuple[Columns, Sequence[str], int | None]
) -> Iterator[Host]:
    """Start a host's process in a namespace (`inside` runs a command there); it listens, at `address:port`.

    The plan is the columns of its client's flows, addresses of all peers, and connections per pair (None: new ones).
    """
    columns, peers, per_pair = plan
    folder.mkdir()
    _save(
        folder / "flows.npz",
        columns | {"peers": np.array(peers), "per_pair": np.array(_NEW if per_pair is None else per_pair)},
    )
    command = [*inside, sys.executable, "-m", __name__, listen, str(folder)]
    with (
        (folder / "errors").open("w", encoding="utf-8") as errors,
        subprocess.Popen(  # noqa: S603 - no shell
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=PACKAGE.parent
        ) as process,
    ):
        try:
            host = Host(process, name, folder)
            host.expect("listening")
            yield host
        finally:
            process.kill()


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None  # noqa: S101 - all processes here have them
    return pipe


def _save(path: Path, columns: Columns) -> None:
    arrays: dict[str, Any] = columns
    np.savez(path, **arrays)


def _load(path: Path) -> Columns:
    with np.load(path) as columns:
        return dict(columns)


# The child


def main(listen: str, folder: Path) -> None:
    """Serve, and replay what the folder says when the parent says so."""
    # Ctrl-C goes to the whole group; it is the parent that ends us.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    server, serving, replaying = engine.listen(listen), engine.new_watch(), engine.new_watch()
    with ThreadPoolExecutor(2) as pool:
        arrivals = pool.submit(server.serve, serving)
        _say("listening")
        replays = [pool.submit(_replay, folder, line, replaying) for line in sys.stdin]
        serving.cancel()
        replaying.cancel()
        _save(folder / "arrivals.npz", arrivals.result())
        for records in replays:
            _save(folder / "records.npz", records.result())


def _replay(folder: Path, line: str, watch: engine.Watch) -> Columns:
    columns = _load(folder / "flows.npz")
    peers, per_pair = columns.pop("peers").tolist(), int(columns.pop("per_pair"))
    start_at_ns, stop_at_ns = (int(word) for word in line.split())
    over = threading.Event()
    teller = threading.Thread(target=_tell, args=(watch, over), daemon=True)
    teller.start()
    try:
        pairs = None if per_pair == _NEW else per_pair
        records = engine.replay_flows(columns, peers, start_at_ns, stop_at_ns, pairs, watch)
    except Exception as error:
        # Whatever it is, the parent waits for a word.
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        _say("failed")
        raise
    finally:
        over.set()
        teller.join()
    _say("ended")
    return records | {"pull": columns["pull"]}


def _tell(watch: engine.Watch, over: threading.Event) -> None:
    """Say how many flows have ended, whenever there are more."""
    told = 0
    while not over.wait(_TELL_S):
        if watch.finished != told:
            told = watch.finished
            _say(str(told))


def _say(word: str) -> None:
    print(word, flush=True)  # noqa: T201 - to the parent


if __name__ == "__main__":
    try:
        main(sys.argv[1], Path(sys.argv[2]))
    except MarklabError as error:
        sys.exit(f"{error}" + (f" ({error.remedy})" if error.remedy else ""))
    except BrokenPipeError:
        os._exit(1)
