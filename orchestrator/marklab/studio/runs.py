# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs that a page starts: each is a child process, the command line itself, with limits of memory and time.

So a program that never ends, or fills the memory, ends its child and not the server. What the page does is a command
that a user can type.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import resource
import shlex
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from marklab.errors import BadInput
from marklab.paths import COMMAND

# A run of a page that takes longer belongs on the command line.
_LONGEST_S = 600
_MEMORY_BYTES = 8 << 30

# A run that was interrupted has so long to end, each time: one on real hosts takes its network down. Python loses an
# interrupt that comes in a finaliser.
_TO_END_S = 15.0
_INTERRUPTS = 2

# A picture of the largest network, and a time line.
_LONGEST_LINE = 256 << 20

# Linux: the child gets a signal when its parent dies (prctl(2)).
_PR_SET_PDEATHSIG = 1


class State(StrEnum):
    """What became of a run."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass
class Run:
    """A run: its command as a user would type it, and what became of it. `pictures` is the end of a pipe."""

    command: str
    process: asyncio.subprocess.Process
    pictures: int
    # Called when it has ended.
    ended: Callable[[], None]
    state: State = State.RUNNING
    # How the network stands: what the pictures show, and the last one.
    network: Mapping[str, Any] | None = None
    picture: Mapping[str, Any] | None = None
    # The result, as `run --json` prints it.
    result: Mapping[str, Any] | None = None
    # Why there is none.
    error: str = ""

    def __post_init__(self) -> None:
        self._watcher = asyncio.create_task(self._watch())
        self._looker = asyncio.create_task(self._look())

    def to_plain(self) -> dict[str, Any]:
        """For the page."""
        plain = {"command": self.command, "state": self.state, "result": self.result, "error": self.error}
        return plain | {"picture": self.picture}

    async def cancel(self) -> None:
        """End it, as Ctrl-C does, and if that does not end it, by force."""
        if self.state is State.RUNNING:
            self.state = State.CANCELLED
            for _ in range(_INTERRUPTS):
                with suppress(ProcessLookupError):
                    self.process.send_signal(signal.SIGINT)
                if (await asyncio.wait({self._watcher}, timeout=_TO_END_S))[0]:
                    break
            else:
                with suppress(ProcessLookupError):
                    self.process.kill()
        await self._watcher

    async def _look(self) -> None:
        """Keep the last picture."""
        async for line in lines_of(self.pictures):
            if self.network is None:
                self.network = line
            else:
                self.picture = line

    async def _watch(self) -> None:
        await self._wait()
        self.ended()

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(_LONGEST_S):
                said, errors = await self.process.communicate()
        except TimeoutError:
            self.process.kill()
            await self.process.wait()
            self.state = State.FAILED
            self.error = f"the run took more than {_LONGEST_S} s; run its command in a terminal"
            return
        if self.state is State.CANCELLED:
            return
        if self.process.returncode == 0:
            self.state, self.result = State.DONE, json.loads(said)
        else:
            self.state, self.error = State.FAILED, errors.decode(errors="replace").strip()


class Runs:
    """The runs of a server, of which one runs at a time.

    The process of the next one is started before it is wanted: loading the lab takes longer than a short run.
    """

    def __init__(self, out: Path) -> None:
        self._out = out
        self._all: dict[int, Run] = {}
        self._spare: asyncio.Task[_Spare] | None = None
        self._ending = False

    def prepare(self) -> None:
        """Start the process of the next run, if there is none."""
        if self._spare is None and not self._ending:
            self._spare = asyncio.create_task(_Spare.started())

    async def start(self, arguments: Sequence[str], *, watched: bool = True) -> int:
        """Start `run` with arguments; returns its number. Raises BadInput while another one runs.

        If it is `watched`, it tells how its network stands, which only a simulated run can.
        """
        if any(run.state is State.RUNNING for run in self._all.values()):
            raise BadInput("another run has not ended", "wait for it, or cancel it")
        words = ["run", *arguments, "--out", str(self._out)]
        spare = await self._taken()
        pictures = ["--pictures", f"/dev/fd/{spare.told_to}"] if watched else []
        spare.become([*words, "--json", *pictures])
        number = len(self._all) + 1
        self._all[number] = Run(f"{COMMAND} {shlex.join(words)}", spare.process, spare.pictures, self.prepare)
        return number

    async def _taken(self) -> _Spare:
        """The process that is ready, or another one if it has ended meanwhile."""
        taken, self._spare = self._spare or asyncio.create_task(_Spare.started()), None
        spare = await taken
        if spare.process.returncode is not None:
            os.close(spare.pictures)
            spare = await _Spare.started()
        return spare

    def find(self, number: int) -> Run:
        """A run by its number. Raises BadInput if there is none."""
        if number not in self._all:
            raise BadInput(f"there is no run {number}", "reload the page")
        return self._all[number]

    async def end(self) -> None:
        """Cancel what runs, and end the process that waits."""
        self._ending = True
        for run in self._all.values():
            await run.cancel()
        if self._spare is not None:
            spare = await self._spare
            spare.become(None)
            await spare.process.wait()
            os.close(spare.pictures)


@dataclass(frozen=True)
class _Spare:
    """A process that waits to become a run, the end of a pipe with its pictures, and its number of the other end."""

    process: asyncio.subprocess.Process
    pictures: int
    told_to: int

    @classmethod
    async def started(cls) -> _Spare:
        ours, theirs = os.pipe()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "marklab.cli.writing.spare"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            preexec_fn=limited,
            pass_fds=(theirs,),
        )
        os.close(theirs)
        return cls(process, ours, theirs)

    def become(self, words: Sequence[str] | None) -> None:
        """Run a command, or none and end."""
        if (stdin := self.process.stdin) is not None:
            stdin.write(b"" if words is None else json.dumps(list(words)).encode() + b"\n")
            stdin.close()


async def lines_of(pipe: int) -> AsyncIterator[Any]:
    """Lines of JSON from a pipe, until it ends; then it is closed."""
    reader = asyncio.StreamReader(limit=_LONGEST_LINE)
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(pipe, "rb"))
    try:
        while line := await reader.readline():
            yield json.loads(line)
    finally:
        transport.close()


def limited() -> None:
    """In the child, before it runs: it dies with the server, and has limits."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
