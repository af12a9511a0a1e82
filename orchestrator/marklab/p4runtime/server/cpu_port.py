# SPDX-License-Identifier: MIT OR Apache-2.0
"""The port between a switch and its controller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class CpuPort(Protocol):
    """The port between switch and controller."""

    number: int

    def send(self, frame: bytes) -> None:
        """Lets a frame come in at this port."""

    def listen(self, receive: Callable[[bytes], None]) -> None:
        """Has `receive` called, from any thread, with each frame that leaves by this port from now on."""
