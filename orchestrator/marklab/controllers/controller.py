# SPDX-License-Identifier: MIT OR Apache-2.0
"""The class that control loops derive from."""

from __future__ import annotations

from abc import ABC, abstractmethod

from marklab.controllers.network import Network


class Controller(ABC):
    """A control loop. A file has one class that derives from this one.

        class Steady(Controller):
            period = "1ms"
            most = 65

            def step(self, network):
                for switch in network.switches:
                    switch.write("marking.params", "set_params", k_pkts=self.most)

    All attributes of the class that are numbers or texts are settings: `--controller FILE.py:period=500us,most=40`.
    """

    # Time between two calls of `step`. The first one is at time 0, before the first packet.
    period: str = "1ms"
    # Time from a call until what it writes holds: what a control plane takes to read, decide and write.
    delay: str = "0us"

    def start(self, network: Network) -> None:  # noqa: B027 - most have nothing to do
        """Called once, before the first `step`."""

    @abstractmethod
    def step(self, network: Network) -> None:
        """Called once per period: read `network`, and write into its switches."""
