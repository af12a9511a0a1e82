# SPDX-License-Identifier: MIT OR Apache-2.0
"""Where experiments run: a fabric runs one cell at a time, in any thread.

`fabric` is their common interface, `sim` runs in virtual time (`memory` estimates what that takes), `mininet` on real
hosts and switches; `traced` chooses the recorded ports. Uses `prepare`, `lab` and lower floors. Never interprets an
observation.
"""

from marklab.fabrics.fabric import Cell, Fabric
from marklab.fabrics.sim import Sim
from marklab.spec.description import Spec

__all__ = ["Cell", "Fabric", "Sim", "fabric_of"]


def fabric_of(spec: Spec) -> Fabric:
    """The fabric that a description asks for."""
    if spec.mininet is None:
        return Sim()
    # gRPC takes long to load, which simulated runs need not wait for.
    from marklab.fabrics.mininet import Mininet  # noqa: PLC0415

    return Mininet()
