"""Where experiments run. A fabric runs one cell at a time, in any thread."""

from orchestrator.fabrics.fabric import Cell, Fabric
from orchestrator.fabrics.mininet import Mininet
from orchestrator.fabrics.sim import Sim
from orchestrator.spec import Spec

__all__ = ["Cell", "Fabric", "Mininet", "Sim", "fabric_of"]


def fabric_of(spec: Spec) -> Fabric:
    """The fabric that a description asks for."""
    return Sim() if spec.mininet is None else Mininet()
