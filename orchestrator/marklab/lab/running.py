# SPDX-License-Identifier: MIT OR Apache-2.0
"""The switches of a network, whatever they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from marklab.lab.bmv2.network import bmv2_switches
from marklab.lab.network import Net
from marklab.lab.switches import Plan, Switches, our_switches


@contextmanager
def running_switches(net: Net, plan: Plan, folder: Path) -> Iterator[Switches]:
    """Start the switches that a plan asks for; they run as long as the context at most."""
    if plan.kind == "bmv2":
        with bmv2_switches(net, plan, folder) as switches:
            yield switches
    else:
        with our_switches(net, plan, folder) as switches:
            yield switches
