# SPDX-License-Identifier: MIT OR Apache-2.0
"""Copies of a session at several times of a run: what is asked is answered from the last one before it.

A copy is a process made by fork: the kernel shares the memory that has not changed, and nothing of the engine has to
know how to copy itself. A process holds its session still, and forks another one for each question, which runs on to
the answer and ends. All of them end with the process that made them.
"""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import signal
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

from marklab.engine import binding as engine
from marklab.errors import MarklabError, RunFailed
from marklab.playback.questions import Question

# Events between two copies at first, and at most. A transmission is at least one event.
_FIRST_EVENTS = 125_000
MOST_EVENTS = 1_000_000
# Copies beyond which every second one is given up, unless the others would be too far apart.
_MANY = 32
# No run has so many copies: each takes the memory that the run has changed since.
MOST_COPIES = 512

_LENGTH = struct.Struct(">Q")
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class _Copy:
    """A process that holds a session still: what it has handled, and both ways to it."""

    now_ns: int
    pid: int
    asks: int
    answers: int


class Checkpoints:
    """Copies of a session, in order of time.

    The first one is of the session before its first event, so there always is one before what is asked.
    """

    def __init__(self, session: engine.Session) -> None:
        self._session = session
        self._copies: list[_Copy] = []
        self._every = _FIRST_EVENTS
        self._next = 0
        self.note()

    def __enter__(self) -> Checkpoints:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def __len__(self) -> int:
        """The number of copies."""
        return len(self._copies)

    @property
    def room(self) -> int:
        """Events that may be handled before the next copy is due."""
        return self._next - self._session.events

    def note(self) -> None:
        """Copy the session, if that is due."""
        if self.room > 0:
            return
        if len(self._copies) >= _MANY and self._every < MOST_EVENTS:
            for each in self._copies[1::2]:
                _end(each)
            del self._copies[1::2]
            self._every *= 2
        if len(self._copies) < MOST_COPIES:
            self._copies.append(self._copy())
        self._next = self._session.events + self._every

    def ask(self, question: Question, earlier: int = 0) -> Any:
        """The answer from the last copy that has not come too far, or from one that is so many copies earlier.

        Raises what the answer raised.
        """
        before = [each for each in self._copies if each.now_ns < question.before_ns] or self._copies[:1]
        chosen = before[max(0, len(before) - 1 - earlier)]
        _send(chosen.asks, question)
        return _received(chosen.answers)

    def earliest(self, question: Question, earlier: int) -> bool:
        """Whether the first copy answers then."""
        return sum(each.now_ns < question.before_ns for each in self._copies) - 1 - earlier <= 0

    def end(self) -> None:
        """End all copies."""
        for each in self._copies:
            _end(each)
        self._copies.clear()

    def _copy(self) -> _Copy:
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        now_ns = self._session.now_ns if self._session.events else -1
        with _forking():
            pid = os.fork()
        if pid == 0:
            for each in self._copies:
                os.close(each.asks)
                os.close(each.answers)
            os.close(ours_out)
            os.close(ours_in)
            _serve(self._session, theirs_in, theirs_out)
        os.close(theirs_in)
        os.close(theirs_out)
        return _Copy(now_ns, pid, ours_out, ours_in)


def _end(copy: _Copy) -> None:
    # Without a reader it ends by itself; waiting for it leaves no zombie.
    os.close(copy.asks)
    os.close(copy.answers)
    os.waitpid(copy.pid, 0)


@contextmanager
def _forking() -> Iterator[None]:
    """What is printed must not be printed again, and objects that a collection moves would be copied."""
    sys.stdout.flush()
    sys.stderr.flush()
    gc.freeze()
    yield


def _serve(session: engine.Session, asks: int, answers: int) -> NoReturn:
    """A copy's life: a child for each question."""
    _dies_with_parent()
    while True:
        try:
            question = _receive(asks)
        except EOFError:
            os._exit(0)
        pid = os.fork()
        if pid == 0:
            _dies_with_parent()
            _send(answers, _answer(question, session))
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        if status != 0:
            _send(answers, RunFailed(f"a copy of the run ended by itself (status {status})", "run it again"))


def _answer(question: Question, session: engine.Session) -> Any:
    """The answer, or why there is none."""
    try:
        return question.answer(session)
    except (MarklabError, ValueError) as error:
        return error
    except Exception as error:  # noqa: BLE001 - it is raised where the question was asked
        return RunFailed(f"the engine gave up: {error}")


def _dies_with_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _send(pipe: int, plain: Any) -> None:
    """Write an object to a pipe."""
    data = pickle.dumps(plain)
    left = memoryview(_LENGTH.pack(len(data)) + data)
    while left:
        left = left[os.write(pipe, left) :]


def _received(pipe: int) -> Any:
    """What a copy answers; raises it if it is an error."""
    try:
        answer = _receive(pipe)
    except EOFError:
        raise RunFailed("a copy of the run has ended", "run it again") from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def _receive(pipe: int) -> Any:
    """Read an object from a pipe; raises EOFError at its end."""
    length = _LENGTH.unpack(_read(pipe, _LENGTH.size))[0]
    return pickle.loads(_read(pipe, length))  # noqa: S301 - what this process has written


def _read(pipe: int, size: int) -> bytes:
    parts = []
    while size:
        part = os.read(pipe, min(size, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
