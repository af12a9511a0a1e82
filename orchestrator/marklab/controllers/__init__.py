# SPDX-License-Identifier: MIT OR Apache-2.0
"""Control loops: programs that read switches at regular times during a run, and write into their tables.

`controller` is the class that such programs derive from, and `network` what they see; `loading` finds one in a file and
tries it before the run; `loop` runs a network with it; `limits` ends a call that takes too long.
"""

from marklab.controllers.controller import Controller
from marklab.controllers.network import Network, Port, RoundTrips, Switch

__all__ = ["Controller", "Network", "Port", "RoundTrips", "Switch"]
