# SPDX-License-Identifier: MIT OR Apache-2.0
"""A Mininet network that lives as long as its standard input is open. For the system's Python, which has Mininet.

It reads one line of JSON, see `network.Wiring`, builds the network, and answers with one line: the PID of each node's
shell, whose namespaces are the node's. Each node has a network namespace of its own, switches too, and all of it is
gone when this process is, however it ended: the shells lose their terminals, and with them go namespaces and
interfaces.
"""

import json
import logging
import sys
from typing import Any

try:
    from mininet.link import Link
    from mininet.net import Mininet
    from mininet.node import Node, Switch
except ImportError as error:
    sys.exit(f"Mininet is not there for {sys.executable}: {error}")


class P4Switch(Switch):  # type: ignore[misc] # of no known type
    """A place for a switch process, which the lab starts in it."""

    def start(self, controllers: Any) -> None:
        """Nothing to do: there is no controller."""


def build(wiring: Any) -> tuple[Any, list[int]]:
    """Build a network."""
    # Mininet would change limits of the whole machine.
    Mininet.inited = True
    net = Mininet(topo=None, build=False, host=Node, switch=P4Switch, link=Link, controller=None)
    nodes: list[Any] = []
    for node in wiring["nodes"]:
        if node["ip"] is None:
            nodes.append(net.addSwitch(node["name"], inNamespace=True, dpid=format(len(nodes), "x")))
        else:
            nodes.append(net.addHost(node["name"], ip=node["ip"], mac=node["mac"]))
    for a, b in wiring["links"]:
        net.addLink(
            nodes[a["node"]],
            nodes[b["node"]],
            port1=a["port"],
            port2=b["port"],
            intfName1=a["interface"],
            intfName2=b["interface"],
        )
    net.build()
    net.start()
    return net, [node.pid for node in nodes]


def main() -> None:
    """Keep a network until the end of the input."""
    logging.disable()
    net, pids = build(json.loads(sys.stdin.readline()))
    print(json.dumps({"pids": pids}), flush=True)  # noqa: T201 - to the parent
    try:
        sys.stdin.read()
    finally:
        net.stop()


if __name__ == "__main__":
    main()
