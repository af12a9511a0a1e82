"""Where experiments run. A fabric runs one cell at a time, in any thread."""

from orchestrator.fabrics.fabric import Cell, Fabric
from orchestrator.fabrics.sim import Sim

__all__ = ["Cell", "Fabric", "Sim"]
