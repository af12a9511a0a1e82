# SPDX-License-Identifier: MIT OR Apache-2.0
"""An end to calls that take too long, and to those that run when the user ends the run.

A thread of Python ends at its own will only. So another thread watches it, and raises an exception in it.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from types import TracebackType

from marklab.engine import binding as engine

# Between two looks.
_TICK_S = 0.1


class _Stopped(BaseException):
    """Raised in a call from outside. No `except Exception` of the call stops it."""


class TookTooLong(Exception):  # noqa: N818 - reads as what it is
    """A call did not end in its time."""


class Limit:
    """Watches over calls of the thread that made it.

    None may take longer than `most_s`, or go on in a run that was cancelled.
    """

    def __init__(self, watch: engine.Watch, most_s: float) -> None:
        self._watch, self._most_s = watch, most_s
        self._thread_id = threading.get_ident()
        self._lock = threading.Lock()
        self._began_s: float | None = None
        self._over = threading.Event()
        self._watcher = threading.Thread(target=self._look, name="limit", daemon=True)

    def __enter__(self) -> Limit:
        self._watcher.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._watcher.join()

    def call(self, function: Callable[[], None]) -> None:
        """Call a function. Raises TookTooLong, or Cancelled if the run was cancelled meanwhile."""
        try:
            try:
                self._began_s = time.monotonic()
                function()
            finally:
                with self._lock:
                    self._began_s = None
                    _raise_in(self._thread_id, None)
        except _Stopped:
            if self._watch.cancelled:
                raise engine.Cancelled from None
            raise TookTooLong from None

    def _look(self) -> None:
        while not self._over.wait(_TICK_S):
            with self._lock:
                began_s = self._began_s
                if began_s is not None and (self._watch.cancelled or time.monotonic() - began_s > self._most_s):
                    _raise_in(self._thread_id, _Stopped)


def _raise_in(thread_id: int, kind: type[BaseException] | None) -> None:
    """Raise an exception in a thread at its next step; None takes back one that it has not seen yet."""
    what = ctypes.py_object() if kind is None else ctypes.py_object(kind)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread_id), what)
