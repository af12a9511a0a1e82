"""The switch as the server sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol


class Control(Protocol):
    """The control methods of a switch, those of `marklab_engine.Harness`; what one refuses raises EngineError.

    Objects have their full control-plane names. Entries and operations are JSON, as engine/bindings/src/entries.rs and
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

    def set_register(self, name: str, index: int, value: int) -> None:
        """Sets a cell."""

    def reset_register(self, name: str) -> None:
        """Sets all cells to 0."""

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


class CpuPort(Protocol):
    """The port between switch and controller."""

    number: int

    def send(self, frame: bytes) -> None:
        """Lets a frame come in at this port."""

    def listen(self, receive: Callable[[bytes], None]) -> None:
        """Has `receive` called, from any thread, with each frame that leaves by this port from now on."""
