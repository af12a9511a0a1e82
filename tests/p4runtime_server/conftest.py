# SPDX-License-Identifier: MIT OR Apache-2.0
"""Servers and controllers that end with the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from p4runtime_server.controller import FEATURES, Client, Switch


@pytest.fixture
def switch_of() -> Iterator[Callable[..., Switch]]:
    """Start servers, and stop them at the end."""
    started: list[Switch] = []

    def start(source: Path, **options: Any) -> Switch:
        started.append(Switch(source, **options))
        return started[-1]

    yield start
    for switch in started:
        switch.server.stop()


@pytest.fixture
def client_of() -> Iterator[Callable[..., Client]]:
    """Connect controllers. A controller with an election id has asked to be primary."""
    started: list[Client] = []

    def start(switch: Switch, election_id: int | None = 1) -> Client:
        client = Client(switch.address)
        started.append(client)
        if election_id is not None:
            client.arbitrate(election_id)
        return client

    yield start
    for client in started:
        client.close()


@pytest.fixture
def switch(switch_of: Callable[..., Switch]) -> Switch:
    """A switch that runs features.p4."""
    return switch_of(FEATURES)


@pytest.fixture
def client(client_of: Callable[..., Client], switch: Switch) -> Client:
    """Its primary controller."""
    return client_of(switch)
