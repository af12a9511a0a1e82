"""Marklab's orchestrator: what to run, and what came out. It never touches a packet.

An arrow means "uses"; nothing uses anything to its left.

    cli -> reproduce, compare -> runs -> fabrics -> control -> catalog, traffic, topology -> spec -> units, errors
           report, results    -> metrics
"""

__version__ = "0.1.0"
