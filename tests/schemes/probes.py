# SPDX-License-Identifier: MIT OR Apache-2.0
"""A switch whose decision the test chooses, and which records the inputs of the decision."""

from __future__ import annotations

import json
from pathlib import Path

from switches import Switch, compiled, routes

from marklab import _engine

PROGRAM = Path(__file__).with_name("probe.p4")
PASS, MARK, DROP, MARK_OR_DROP = range(4)


class Probe(Switch):
    """Runs probe.p4. With the same seed, its packets draw the same random numbers as those of any scheme."""

    def __init__(self, decision: int = PASS, cause: int = 0, seed: int = 0) -> None:
        answer = {"decision_code": decision, "cause_code": cause}
        entries = [{"table": "marking.params", "action": "set_answer", "params": answer}, *routes()]
        self.harness = _engine.Harness(compiled(PROGRAM), json.dumps(entries), seed)

    def seen(self, signal: str) -> int:
        """A signal, as the decision for the last packet got it."""
        return self.state(signal, 0)

    def draw(self) -> int:
        """The random number of the next packet."""
        self.send()
        return self.seen("draw")
