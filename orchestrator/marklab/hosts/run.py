# SPDX-License-Identifier: MIT OR Apache-2.0
"""Cases through both kinds of hosts, or through simulated ones only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from marklab.hosts import linux
from marklab.hosts.comparison import CaseCompared, compare
from marklab.hosts.script import Case, transport_of
from marklab.hosts.simulated import CaseSeen, compiled, simulate

# Where nothing ended, a run lasts for its whole time.
_NS = 1e9


def in_sim(cases: Sequence[Case], settings: Mapping[str, Any] | None = None) -> dict[Case, CaseSeen]:
    """Run cases through simulated hosts, whose settings may differ from those that are Linux's."""
    program = compiled()
    return {case: simulate(case, transport_of(case, settings), program) for case in cases}


def through_both(
    cases: Sequence[Case], settings: Mapping[str, Any] | None = None, told: Callable[[str], None] = lambda _: None
) -> list[CaseCompared]:
    """Run cases through both, and compare."""
    sim = in_sim(cases, settings)
    seconds = {case: _seconds(seen) for case, seen in sim.items()}
    transports = {case: transport_of(case) for case in cases}
    compared = []
    with linux.lab() as here:
        batches = linux.batches(cases, seconds)
        for number, batch in enumerate(batches, start=1):
            told(f"batch {number} of {len(batches)}: {len(batch)} scripts")
            compared += [compare(sim[seen.case], seen) for seen in linux.run_batch(here, batch, transports, seconds)]
    order = {case: place for place, case in enumerate(cases)}
    return sorted(compared, key=lambda each: order[each.case])


def _seconds(seen: CaseSeen) -> float:
    ends = [flow.end_ns for flow in seen.flows]
    starts = [flow.start_ns for flow in seen.case.script.all_flows]
    known = [start + end for start, end in zip(starts, ends, strict=True) if end is not None]
    return (max(known) if len(known) == len(ends) else seen.case.script.until_ns) / _NS
