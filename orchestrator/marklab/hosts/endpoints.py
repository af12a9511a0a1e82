# SPDX-License-Identifier: MIT OR Apache-2.0
"""The process of a batch's hosts: sends and receives real flows in the namespaces of their hosts, and looks at windows.

`python -m marklab.hosts.endpoints PLAN RESULT` reads flows as JSON, waits for a line on its standard input, runs until
all flows have ended or their time is up, and writes what it saw as JSON. One process has the sockets of all hosts: a
socket stays in the namespace in which it was made.

A call on a socket locks it, and Linux joins segments that come in the meantime (`tcp_add_backlog`), so that there are
fewer acknowledgements. So nothing is read from a receiving socket, whose buffer has room for the whole flow, and
windows are looked at seldom.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import socket
import struct
import sys
import time
from pathlib import Path
from typing import Any

_CLONE_NEWNET = 0x40000000
_TICK_S = 0.004
_BUFFER_BYTES = 16 << 20
_CHUNK_BYTES = 1 << 20
# A flow is watched for so much longer, since acknowledgements of it may be under way.
_AFTERWARDS_NS = 200 * 10**6

_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33

# struct tcp_info (linux/tcp.h): state, ca_state; unacked; snd_ssthresh, snd_cwnd; notsent_bytes.
_INFO_BYTES = 148
_STATES = struct.Struct("BB")
_NUMBER = struct.Struct("@I")
_UNACKED_AT, _SSTHRESH_AT, _CWND_AT, _NOTSENT_AT = 24, 76, 80, 144
_CLOSED_STATES = (5, 6, 7)  # FIN_WAIT2, TIME_WAIT, CLOSE: the FIN has been acknowledged


def enter(namespace: str) -> None:
    """Make the sockets of this thread in a namespace from now on."""
    with open(namespace, "rb") as file:  # noqa: PTH123 - not a path of the file system
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns", namespace)


class Sender:
    """A flow's sending end."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan = plan
        self.samples: list[tuple[int, int, int, int]] = []
        self.done_ns: int | None = None
        self.error: str | None = None
        self._last: tuple[int, int, int] | None = None
        self._due = [(at_ns, size) for at_ns, size in plan["writes"]]
        self._unsent = 0
        self._written_all = False
        enter(plan["client_namespace"])
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, _BUFFER_BYTES)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.bind((plan["client"], plan["client_port"]))
        self.start_ns = 0
        self.connected = False

    @property
    def due_ns(self) -> int:
        """When it writes again."""
        return self.start_ns + self._due[0][0] if self._due else sys.maxsize

    def start(self, now_ns: int) -> None:
        """Send the SYN."""
        self.start_ns = now_ns
        try:
            self.socket.connect((self.plan["server"], self.plan["server_port"]))
        except BlockingIOError:
            pass
        except OSError as error:
            self.fail(error)

    def fail(self, error: OSError) -> None:
        """Give up."""
        self.error, self.done_ns = str(error), time.time_ns()

    def go_on(self, now_ns: int) -> None:
        """Write what is due."""
        while self._due and self.start_ns + self._due[0][0] <= now_ns:
            self._unsent += self._due.pop(0)[1]
        if not self.connected or self._written_all:
            return
        # A part of a segment waits for the close, and goes with its FIN.
        flags = socket.MSG_MORE if self.plan["close"] else 0
        while self._unsent:
            try:
                self._unsent -= self.socket.send(bytes(min(self._unsent, _CHUNK_BYTES)), flags)
            except BlockingIOError:
                return
        if not self._due:
            self._written_all = True
            if self.plan["close"]:
                self.socket.shutdown(socket.SHUT_WR)

    def look(self, now_ns: int) -> None:
        """Record the window, if it has changed, and whether everything has been acknowledged; write what is due."""
        info = self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
        state, ca_state = _STATES.unpack_from(info)
        if not self.connected and state == 1:
            self.connected = True
        was_written = self._written_all
        self.go_on(now_ns)
        seen = (_number(info, _CWND_AT), _number(info, _SSTHRESH_AT), ca_state)
        if seen != self._last:
            self._last = seen
            self.samples.append((now_ns, *seen))
        if was_written and self.done_ns is None:
            acked = _number(info, _UNACKED_AT) == 0 and _number(info, _NOTSENT_AT) == 0
            if (state in _CLOSED_STATES) if self.plan["close"] else acked:
                self.done_ns = now_ns


def _number(info: bytes, at: int) -> int:
    number: int = _NUMBER.unpack_from(info, at)[0]
    return number


def listener(plan: dict[str, Any]) -> socket.socket:
    """A flow's receiving end."""
    enter(plan["server_namespace"])
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    found.bind((plan["server"], plan["server_port"]))
    found.listen()
    found.setblocking(False)
    return found


class Batch:
    """All flows, and the sockets of both ends."""

    def __init__(self, plans: list[dict[str, Any]]) -> None:
        self._poll = select.epoll()
        self._by_fd: dict[int, socket.socket] = {}
        self._listeners: set[int] = set()
        for plan in plans:
            self._add(listener(plan), is_listener=True)
        self.senders = [Sender(plan) for plan in plans]
        self._connecting = {sender.socket.fileno(): sender for sender in self.senders}

    def _add(self, found: socket.socket, *, is_listener: bool = False) -> None:
        self._by_fd[found.fileno()] = found
        if is_listener:
            self._listeners.add(found.fileno())
        self._poll.register(found.fileno(), select.EPOLLIN if is_listener else select.EPOLLRDHUP)

    def run(self) -> None:
        """Run all flows to their ends."""
        begin_ns = time.time_ns()
        waiting = sorted(self.senders, key=lambda sender: sender.plan["start_ns"])
        active: list[Sender] = []
        while waiting or active:
            now_ns = time.time_ns()
            while waiting and begin_ns + waiting[0].plan["start_ns"] <= now_ns:
                sender = waiting.pop(0)
                sender.start(now_ns)
                active.append(sender)
                self._poll.register(sender.socket.fileno(), select.EPOLLOUT | select.EPOLLONESHOT)
            for sender in active:
                if sender.error is None:
                    self._look(sender, now_ns)
            active = [sender for sender in active if not self._over(sender, now_ns)]
            due_ns = min((sender.due_ns for sender in active), default=now_ns + 10**9)
            for fd, _ in self._poll.poll(min(_TICK_S, max(0, due_ns - now_ns) / 1e9)):
                if fd in self._connecting:
                    self._look(self._connecting[fd], time.time_ns())
                else:
                    self._receive(fd)

    @staticmethod
    def _look(sender: Sender, now_ns: int) -> None:
        try:
            sender.look(now_ns)
        except OSError as error:
            sender.fail(error)

    @staticmethod
    def _over(sender: Sender, now_ns: int) -> bool:
        until_ns: int = sender.start_ns + sender.plan["until_ns"]
        return now_ns > (until_ns if sender.done_ns is None else sender.done_ns + _AFTERWARDS_NS)

    def _receive(self, fd: int) -> None:
        found = self._by_fd[fd]
        try:
            if fd in self._listeners:
                accepted, _ = found.accept()
                accepted.setblocking(False)
                accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self._add(accepted)
                return
            # The end of the stream is answered by the end of the other one.
            self._poll.unregister(fd)
            found.shutdown(socket.SHUT_WR)
        except BlockingIOError:
            pass
        except OSError:
            # The sender has given up.
            pass


def main(plan: Path, result: Path) -> None:
    """Run a batch."""
    batch = Batch(json.loads(plan.read_text(encoding="utf-8")))
    print("ready", flush=True)  # noqa: T201 - to the parent
    if not sys.stdin.readline():
        return
    batch.run()
    seen = [
        {"samples": sender.samples, "done": sender.done_ns is not None, "error": sender.error}
        for sender in batch.senders
    ]
    unfinished = result.with_suffix(".part")
    unfinished.write_text(json.dumps(seen), encoding="utf-8")
    os.replace(unfinished, result)  # noqa: PTH105


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
