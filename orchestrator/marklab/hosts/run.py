# SPDX-License-Identifier: MIT OR Apache-2.0
"""Cases through simulated hosts and Linux or ns-2, or through simulated ones only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from marklab.hosts import linux, ns2
from marklab.hosts.comparison import CaseCompared, compare
from marklab.hosts.recording import Recording
from marklab.hosts.script import Case, transport_of
from marklab.hosts.simulated import CaseSeen, compiled, simulate

# Where nothing ended, a run lasts for its whole time.
_NS = 1e9


def in_sim(cases: Sequence[Case], settings: Mapping[str, Any] | None = None) -> dict[Case, CaseSeen]:
    """Run cases through simulated hosts, whose settings may differ from those that are Linux's."""
    program = compiled()
    return {case: simulate(case, transport_of(case, settings), program) for case in cases}


@dataclass(frozen=True)
class Both:
    """Cases through both."""

    compared: tuple[CaseCompared, ...]
    linux: Mapping[Case, CaseSeen]


def through_both(
    cases: Sequence[Case], settings: Mapping[str, Any] | None = None, told: Callable[[str], None] = lambda _: None
) -> Both:
    """Run cases through both, and compare. Linux runs those that differ once more, to see whether it is steady."""
    sim = in_sim(cases, settings)
    seconds = {case: _seconds(seen) for case, seen in sim.items()}
    # A machine without the tools of a transport runs the others.
    with linux.lab({case.control for case in cases}) as here:
        seen = _in_linux(here, cases, seconds, told)
        compared = {case: compare(sim[case], seen[case]) for case in cases}
        different = [case for case in cases if not compared[case].same]
        again = _in_linux(here, different, seconds, told) if different else {}
    unsteady = {case for case, second in again.items() if not compare(seen[case], second).same_but_events}
    return Both(tuple(replace(each, is_unsteady=case in unsteady) for case, each in compared.items()), seen)


def through_ns2(cases: Sequence[Case], settings: Mapping[str, Any]) -> Both:
    """Run cases through simulated hosts and ns-2, and compare. ns-2 always does the same."""
    ns2.check()
    sim = in_sim(cases, settings)
    seen = {case: ns2.run(case) for case in cases}
    return Both(tuple(compare(sim[case], seen[case], ns2.RELEASE) for case in cases), seen)


def against(
    recording: Recording, cases: Sequence[Case], settings: Mapping[str, Any] | None = None, other: str = "Linux"
) -> Both:
    """Run cases through simulated hosts, and compare them with what Linux, or others, did before."""
    seen = recording.seen(cases)
    sim = in_sim(cases, settings)
    compared = (compare(sim[case], seen[case], other) for case in cases)
    return Both(tuple(replace(each, is_unsteady=recording.is_unsteady(each.case)) for each in compared), seen)


def _in_linux(
    here: linux.Lab, cases: Sequence[Case], seconds: Mapping[Case, float], told: Callable[[str], None]
) -> dict[Case, CaseSeen]:
    transports = {case: transport_of(case) for case in cases}
    batches = linux.batches(cases, seconds)
    found: dict[Case, CaseSeen] = {}
    for number, batch in enumerate(batches, start=1):
        told(f"batch {number} of {len(batches)}: {len(batch)} scripts")
        found |= {seen.case: seen for seen in linux.run_batch(here, batch, transports, seconds)}
    return found


def _seconds(seen: CaseSeen) -> float:
    ends = [flow.end_ns for flow in seen.flows]
    starts = [flow.start_ns for flow in seen.case.script.all_flows]
    known = [start + end for start, end in zip(starts, ends, strict=True) if end is not None]
    return (max(known) if len(known) == len(ends) else seen.case.script.until_ns) / _NS
