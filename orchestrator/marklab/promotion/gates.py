# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a scheme must pass to be promoted, gate by gate: rules, what was found, and the evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from marklab import engine
from marklab.catalog.twin import TwinSpec
from marklab.experiment import ReadyScheme, prepare
from marklab.fabrics import Cell
from marklab.promotion.candidate import Candidate, Place, Runs, run_candidate
from marklab.promotion.equivalence import Agreement, Difference, agreement
from marklab.promotion.policy import EquivalenceRules, FctRules, Policy, TofinoRules
from marklab.promotion.sequence import recorded
from marklab.promotion.vendor import compile_twin, compiler
from marklab.quantities import find_metric
from marklab.spec import make_spec
from marklab.statistics import mean
from marklab.summary import SeedResult
from marklab.tofino import examine


@dataclass(frozen=True)
class Finding:
    """A rule, the number that was found, and whether it fulfils the rule."""

    rule: str
    found: str
    passed: bool


@dataclass(frozen=True)
class Gate:
    """What came of a gate. `evidence` is plain data; a gate that could not be tried says why in `skipped`."""

    name: str
    findings: tuple[Finding, ...] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)
    skipped: str | None = None

    @property
    def passed(self) -> bool:
        """Whether all rules are fulfilled; so are those of a gate that could not be tried."""
        return all(finding.passed for finding in self.findings)


def fct_gate(rules: FctRules, runs: Runs) -> Gate:
    """Flow completion times against the baseline's."""
    findings, changes = [], {}
    for name in dict.fromkeys([*rules.better, *rules.not_worse]):
        change = mean_change(name, runs.baseline, runs.scheme)
        changes[name] = change
        if name in rules.better:
            findings.append(_finding(f"{name} better than that of {rules.baseline}", change, lambda part: part < 0))
        if name in rules.not_worse:
            bound = rules.not_worse[name]
            findings.append(_finding(f"{name} worse by {100 * bound:g} % at most", change, _at_most(bound)))
    return Gate("FCT", tuple(findings), {"changes": changes, "cells": list(_table(runs))})


def mean_change(name: str, before: Sequence[SeedResult], after: Sequence[SeedResult]) -> float | None:
    """Mean over cells of the relative change of a metric; None if no cell has it."""
    metric = find_metric(name)
    pairs = [(metric.of(a), metric.of(b)) for a, b in zip(before, after, strict=True)]
    changes = [b / a - 1 for a, b in pairs if a and b is not None]
    return mean(changes) if changes else None


def _finding(rule: str, change: float | None, holds: Callable[[float], bool]) -> Finding:
    if change is None:
        return Finding(rule, "no such flow in any run", passed=False)
    return Finding(rule, f"{100 * change:+.2f} %", holds(change))


def _at_most(bound: float) -> Callable[[float], bool]:
    return lambda change: change <= bound


def _within(bound: float) -> Callable[[float], bool]:
    return lambda change: abs(change) <= bound


def _table(runs: Runs) -> Iterator[dict[str, Any]]:
    """FCT means of each cell, in us."""
    numbers = iter(zip(runs.scheme, runs.baseline, runs.twin, strict=True))
    for spec in (place.plain.spec for place in runs.places):
        for _ in spec.seed_numbers:
            cells = next(numbers)
            row: dict[str, Any] = {"workload": spec.workload.name, "load": spec.load, "seed": cells[0].seed}
            for role, cell in zip(("scheme", "baseline", "twin"), cells, strict=True):
                row[role] = {
                    name: find_metric(name).of(cell)
                    for name in ("overall.mean", "short.mean", "short.p99", "large.mean")
                }
            yield row


def equivalence_gate(rules: EquivalenceRules, twin: TwinSpec, runs: Runs) -> Gate:
    """Decisions on the packets of a run of the largest load, and flow completion times of both twins."""
    place = max(runs.places, key=lambda place: place.plain.spec.load)
    found = _agreement(place, twin, rules.packets)
    bound = max(twin.agreement, rules.agreement or 0)
    same, *marks = decisions(found, bound, twin.marks_within)
    enough = Finding(
        f"a run with {rules.packets:,} packets, so as to know", f"{found.packets:,}", found.packets >= rules.packets
    )
    findings = [same, enough, *marks]
    for name, part in rules.fct_within.items():
        change = mean_change(name, runs.scheme, runs.twin)
        rule = f"{name} of the twin within {100 * part:g} %"
        findings.append(_finding(rule, change, _within(part)))
    return Gate("equivalence", tuple(findings), {"bound": bound, **_plain(found)})


def decisions(found: Agreement, bound: float, marks_within: float) -> Iterator[Finding]:
    """Whether enough decisions are equal, and whether each cause has about as many marks."""
    text = f"{100 * found.part:.4f} % of {found.packets:,}"
    yield Finding(f"at least {100 * bound:g} % of decisions equal", text, found.part >= bound)
    for cause, (marks, of_twin) in found.by_cause.items():
        rule = f"marks for `{cause}` within {100 * marks_within:g} %"
        near = abs(of_twin - marks) <= marks_within * marks
        yield Finding(rule, f"{marks:,}, and {of_twin:,} of the twin", near)


def _agreement(place: Place, twin: TwinSpec, packets: int) -> Agreement:
    """At the port before the receiver, with as many flows as bring so many packets."""
    experiment = place.plain
    spec, line = experiment.spec, experiment.network.bottleneck[0]
    mean_packets = spec.workload.mean_bytes() / spec.transport.mss_bytes
    flows = max(spec.flows, round(1.3 * packets / mean_packets))
    settings = spec.to_plain() | {"flows": flows, "seeds": 1, "baseline": "none"}
    # What records packets one by one.
    settings |= {"trace_queue": "1s", "trace_flows": "1s"}
    larger, both = prepare(make_spec(settings)), prepare(make_spec(settings | {"arch": place.twin.spec.arch}))
    cell = Cell(larger, larger.schemes[0], spec.first_seed)
    sequence = recorded(cell, line.source, packets, engine.new_watch())
    return agreement(larger, larger.schemes[0], both.schemes[0], twin, sequence)


def _plain(found: Agreement) -> dict[str, Any]:
    return {
        "packets": found.packets,
        "equal": found.equal,
        "agreement": found.part,
        "marks": {"v1model": found.marks[0], "tna": found.marks[1]},
        "marks_by_cause": {cause: {"v1model": a, "tna": b} for cause, (a, b) in found.by_cause.items()},
        "first_difference": None if found.first is None else _difference(found.first),
    }


def _difference(found: Difference) -> dict[str, Any]:
    return {
        "packet": found.place,
        "signals": dict(found.signals),
        "decision": {"v1model": found.decided[0], "tna": found.decided[1]},
        "state": {"v1model": dict(found.states[0]), "tna": dict(found.states[1])},
    }


def tofino_gate(rules: TofinoRules, scheme: ReadyScheme) -> Gate:
    """Limits of the chip and its stages, by our own checks and estimate."""
    found = examine(scheme.fitted.scheme.program, scheme.fitted.defines)
    said = "none"
    if found.errors:
        first = found.errors[0]
        said = f"{first.text} ({Path(first.path).name}:{first.line})"
    used, most = found.estimate.stages_used, rules.stages or found.estimate.stages
    findings = (
        Finding("no limit of the chip is broken", said, not found.errors),
        Finding(f"at most {most} stages, by estimate", f"{used}", used <= most),
    )
    messages = [message.rendering for message in found.messages]
    return Gate("Tofino", findings, {"messages": messages, "estimate": asdict(found.estimate)})


# Units of the compiler's report, by their names in the estimate.
_ESTIMATED = {
    "logical tables": "logical_tables",
    "SRAM": "sram",
    "TCAM": "tcam",
    "map RAM": "map_ram",
    "gateways": "gateways",
    "stateful ALUs": "stateful_alus",
}


def vendor_gate(scheme: ReadyScheme, twin: TwinSpec) -> Gate:
    """p4c's Tofino back end, where it is."""
    path = compiler()
    if path is None:
        return Gate("p4c", skipped="no p4c with a Tofino back end on PATH")
    found = compile_twin(path, scheme, twin)
    estimate = examine(scheme.fitted.scheme.program, scheme.fitted.defines).estimate
    said = found.message or f"{found.stages} stages, estimated as {estimate.stages_used}"
    estimated = {
        "stages": estimate.stages_used,
        **{name: getattr(estimate.total, of) for name, of in _ESTIMATED.items()},
    }
    evidence = {
        "compiler": found.compiler,
        "p4c": {"stages": found.stages, **(found.used or {})},
        "estimate": estimated,
    }
    return Gate("p4c", (Finding("p4c compiles it for the chip", said, found.message is None),), evidence)


def gates(candidate: Candidate, policy: Policy, workers: int) -> Iterator[Gate]:
    """The gates in order; whoever asks may stop at one."""
    runs = run_candidate(candidate, workers)
    yield fct_gate(policy.fct, runs)
    yield equivalence_gate(policy.equivalence, candidate.twin, runs)
    yield tofino_gate(policy.tofino, candidate.ready)
    yield vendor_gate(candidate.ready, candidate.twin)
