# SPDX-License-Identifier: MIT OR Apache-2.0
"""A look at a cell of a run that is over: a child process that has run it again, and answers questions about it.

There is one at a time: it holds copies of the run, which take memory.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from marklab.errors import BadInput, RunFailed
from marklab.studio.runs import limited, lines_of

# An answer that takes longer does not come.
_LONGEST_S = 120


class Look:
    """A cell that is run again. `to_plain` tells how far it is."""

    def __init__(
        self, cell: tuple[Path, str, int], process: asyncio.subprocess.Process, lines: AsyncIterator[Any]
    ) -> None:
        self.folder, self.scheme, self.seed = cell
        self._process, self._lines = process, lines
        self._asking = asyncio.Lock()
        self.ready: Mapping[str, Any] | None = None
        self.error = ""
        self._progress: Mapping[str, Any] = {"now_ns": 0, "finished": 0}
        self._player = asyncio.create_task(self._play())

    @classmethod
    async def at(cls, folder: Path, scheme: str, seed: int) -> Look:
        """Begin to run a cell of a run again."""
        ours, theirs = os.pipe()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "marklab.playback.serve", str(folder), scheme, str(seed)),
            stdin=asyncio.subprocess.PIPE,
            stdout=theirs,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=limited,
        )
        os.close(theirs)
        return cls((folder, scheme, seed), process, lines_of(ours))

    def to_plain(self) -> dict[str, Any]:
        """For the page."""
        return {"ready": self.ready is not None, "error": self.error, **self._progress}

    async def ask(self, question: Mapping[str, Any]) -> Any:
        """The answer. Raises BadInput with what the child refuses, and RunFailed if it is gone."""
        if self.ready is None or self._process.stdin is None:
            raise BadInput(self.error or "the run is still being run again", "wait for it")
        async with self._asking:
            self._process.stdin.write(json.dumps(question).encode() + b"\n")
            try:
                async with asyncio.timeout(_LONGEST_S):
                    said = await anext(self._lines)
            except (StopAsyncIteration, TimeoutError, ConnectionError) as error:
                raise RunFailed("the look at the run has ended", "open it again") from error
        if "error" in said:
            raise BadInput(said["error"], said["remedy"])
        return said["answer"]

    async def end(self) -> None:
        """End the child, and with it its copies of the run."""
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()
        await self._player

    async def _play(self) -> None:
        async for said in self._lines:
            if "ready" in said:
                self.ready = said["ready"]
                return
            if "error" in said:
                self.error = said["error"]
            else:
                self._progress = said
        self.error = self.error or "the run could not be run again"
