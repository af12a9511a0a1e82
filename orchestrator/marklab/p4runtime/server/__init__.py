# SPDX-License-Identifier: MIT OR Apache-2.0
"""P4Runtime for any switch: a gRPC server that stores what clients write and configures the switch with it.

Other code needs only `Server`, with a `Running` program, a switch behind `Control`, and a `CpuPort` for packets.
Imports go one way: `service` (gRPC, sessions) -> `arbitration`, `pipeline`, `packets`, `entities` -> `tables`,
`profiles`, `cells`, `direct`, `replication` -> `calls`, `matches`, `values` -> `objects`, `refusal`.
Requests are checked against P4Info and the specification before they reach the switch. A refusal by the switch itself
becomes FAILED_PRECONDITION. docs/p4runtime.md says what is supported.
"""

from marklab.engine.binding import Control
from marklab.p4runtime.server.packets import CpuPort
from marklab.p4runtime.server.pipeline import Running
from marklab.p4runtime.server.service import Server

__all__ = ["Control", "CpuPort", "Running", "Server"]
