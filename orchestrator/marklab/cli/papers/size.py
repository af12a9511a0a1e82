# SPDX-License-Identifier: MIT OR Apache-2.0
"""Options of how much of an experiment is run."""

from __future__ import annotations

from typing import Annotated

import typer

from marklab.errors import BadInput
from marklab.papers.experiment import Effort

Flows = Annotated[
    int | None, typer.Option(min=1, help="Flows of each run, in place of the experiment's number, if it has any.")
]
Part = Annotated[float | None, typer.Option(help="Only this part of each run's flows: 0.1 for a tenth.")]
Seeds = Annotated[int | None, typer.Option(min=1, help="Seeds to average, in place of the experiment's number.")]


def size_of(flows: int | None, part: float | None, seeds: int | None) -> Effort:
    """The size that the options ask for."""
    if part is not None and not 0 < part <= 1:
        raise BadInput(f"--part {part:g} is no part of an experiment's flows", "--part 0.1 for a tenth of them")
    if flows is not None and part is not None:
        raise BadInput("--flows is the number of flows, and --part a part of another number", "one of the two")
    return Effort(flows=flows, part=part, seeds=seeds)
