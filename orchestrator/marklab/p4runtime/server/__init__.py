# SPDX-License-Identifier: MIT OR Apache-2.0
"""P4Runtime over any switch: a gRPC server that keeps what clients write and carries it out.

`Server` is all that others need, with a `Running` program and a switch behind `Control`, and `CpuPort` for packets.
Inside, arrows go one way: `service` (gRPC, sessions) -> `arbitration`, `pipeline`, `packets`, `entities` -> `tables`,
`profiles`, `cells`, `direct`, `replication` -> `calls`, `matches`, `values` -> `objects`, `refusal`.
Requests are checked by P4Info and the specification before the switch hears of them; what the switch itself refuses is
FAILED_PRECONDITION. docs/p4runtime.md says what is supported.
"""

from marklab.engine.binding import Control
from marklab.p4runtime.server.packets import CpuPort
from marklab.p4runtime.server.pipeline import Running
from marklab.p4runtime.server.service import Server

__all__ = ["Control", "CpuPort", "Running", "Server"]
