# SPDX-License-Identifier: MIT OR Apache-2.0
"""Who may write: client arbitration for the default role (P4Runtime specification, section 5)."""

from __future__ import annotations

import queue
import threading
from dataclasses import dataclass, field
from typing import Any

from marklab.p4runtime.messages import code_pb2, p4runtime_pb2
from marklab.p4runtime.server.refusal import absent, denied, full, invalid, unsupported, untimely

# Most open streams. Each has its own thread.
MAX_STREAMS = 16

_NO_ROLES = "there is the default role only, since nothing here divides a pipeline among controllers"


@dataclass(eq=False)
class Session:
    """A controller's stream. `outgoing` has messages to the controller; a refusal or None in it ends the stream."""

    outgoing: queue.SimpleQueue[Any] = field(default_factory=queue.SimpleQueue)
    election_id: int | None = None
    is_live: bool = False


class Arbitration:
    """The connected controllers of a device. The primary is the one that has the highest election id ever seen."""

    def __init__(self, device_id: int) -> None:
        self._device_id = device_id
        self._lock = threading.RLock()
        self._sessions: list[Session] = []
        self._highest: int | None = None

    def update(self, session: Session, message: Any) -> None:
        """Add a controller, or change its election id, and notify the controllers that it affects."""
        with self._lock:
            self._check(session, message)
            before = self._primary()
            self._admit(session)
            session.election_id = number_of(message.election_id) if message.HasField("election_id") else None
            if session.election_id is not None and (self._highest is None or session.election_id >= self._highest):
                self._highest = session.election_id
            self._notify(session, before)

    def leave(self, session: Session) -> None:
        """Remove a controller whose stream has ended."""
        with self._lock:
            if not session.is_live:
                return
            was_primary = session is self._primary()
            session.is_live = False
            self._sessions.remove(session)
            if was_primary:
                self._tell(self._sessions)

    def end(self) -> None:
        """End all streams."""
        with self._lock:
            for session in self._sessions:
                session.outgoing.put(None)

    def check_writer(self, election_id: int) -> None:
        """Refuse a client that is not the primary."""
        with self._lock:
            primary = self._primary()
            if primary is None:
                raise denied("there is no primary controller", "open a StreamChannel and send the highest election id")
            if primary.election_id != election_id:
                raise denied(
                    f"election id {election_id} is not that of the primary, {primary.election_id}",
                    "become primary by a higher election id on the StreamChannel",
                )

    def check_sender(self, session: Session) -> None:
        """Refuse packets from a stream that is not the primary's."""
        with self._lock:
            if session is not self._primary():
                raise denied("packets come from the primary controller only", "become primary by a higher election id")

    def to_primary(self, message: Any) -> bool:
        """Send a message to the primary, and return whether there is one."""
        with self._lock:
            primary = self._primary()
            if primary is not None:
                primary.outgoing.put(message)
            return primary is not None

    def _check(self, session: Session, message: Any) -> None:
        if message.device_id != self._device_id:
            refuse = untimely if session.is_live else absent
            raise refuse(f"there is no device {message.device_id} here", f"use device id {self._device_id}")
        if message.HasField("role"):
            check_role(message.role.name)
            if message.role.HasField("config"):
                raise unsupported("the default role has no config here", "leave `role.config` out")
        wanted = number_of(message.election_id) if message.HasField("election_id") else None
        others = (each.election_id for each in self._sessions if each is not session)
        if wanted is not None and wanted in others:
            raise invalid(f"another controller has election id {wanted}", "use one of your own")

    def _admit(self, session: Session) -> None:
        if session.is_live:
            return
        if len(self._sessions) >= MAX_STREAMS:
            raise full(f"{MAX_STREAMS} controllers are connected, which is the most", "close a stream")
        session.is_live = True
        self._sessions.append(session)

    def _primary(self) -> Session | None:
        if self._highest is None:
            return None
        return next((each for each in self._sessions if each.election_id == self._highest), None)

    def _notify(self, session: Session, before: Session | None) -> None:
        primary = self._primary()
        if primary is None and before is None:
            self._tell([session])
        elif primary is session or before is not primary:
            # The new primary is notified last (section 5.3).
            self._tell([each for each in self._sessions if each is not primary])
            self._tell([primary] if primary else [])
        else:
            self._tell([session])

    def _tell(self, sessions: list[Session]) -> None:
        primary = self._primary()
        for session in sessions:
            response = p4runtime_pb2.StreamMessageResponse()
            response.arbitration.device_id = self._device_id
            if self._highest is not None:
                response.arbitration.election_id.high = self._highest >> 64
                response.arbitration.election_id.low = self._highest & (1 << 64) - 1
            code, text = _status(session, primary)
            response.arbitration.status.code = code
            response.arbitration.status.message = text
            session.outgoing.put(response)


def _status(session: Session, primary: Session | None) -> tuple[int, str]:
    if primary is None:
        return code_pb2.NOT_FOUND, "there is no primary controller"
    if session is primary:
        return code_pb2.OK, "this controller is primary"
    return code_pb2.ALREADY_EXISTS, "another controller is primary"


def number_of(election_id: Any) -> int:
    """An election id as a number of 128 bits."""
    return int(election_id.high) << 64 | int(election_id.low)


def check_role(name: str) -> None:
    """Refuse all roles but the default one."""
    if name:
        raise unsupported(f"role `{name}`: {_NO_ROLES}", "leave the role out")
