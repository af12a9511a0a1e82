# SPDX-License-Identifier: MIT OR Apache-2.0
"""The switches of a network, whatever they are."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from marklab.lab.bmv2.network import bmv2_switches
from marklab.lab.network import Net
from marklab.lab.switches import Plan, Switches, our_switches


def running_switches(net: Net, plan: Plan, folder: Path) -> AbstractContextManager[Switches]:
    """Start the switches that a plan asks for; they run as long as the context at most."""
    return bmv2_switches(net, plan, folder) if plan.kind == "bmv2" else our_switches(net, plan, folder)
