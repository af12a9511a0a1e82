# SPDX-License-Identifier: MIT OR Apache-2.0
"""The gates that a scheme must pass to be promoted, with their rules, findings and evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from marklab.catalog.twin import TwinSpec
from marklab.engine import binding as engine
from marklab.fabrics import Cell
from marklab.p4tools.tofino import examine
from marklab.prepare.experiment import ReadyScheme, prepare
from marklab.promotion.candidate import Candidate, Place, Runs, run_candidate
from marklab.promotion.equivalence import Agreement, Difference, agreement
from marklab.promotion.policy import EquivalenceRules, FctRules, Policy, TofinoRules
from marklab.promotion.rules import Check, Outcome, better, changes, finding, not_worse, shown, within, worst
from marklab.promotion.sequence import recorded
from marklab.promotion.vendor import compile_twin, compiler
from marklab.results.metric import find_metric
from marklab.spec.description import make_spec


@dataclass(frozen=True)
class Gate:
    """The result of a gate. `evidence` is plain data; `skipped` says why a gate could not be tried."""

    name: str
    findings: tuple[Check, ...] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)
    skipped: str | None = None

    @property
    def outcome(self) -> Outcome:
        """Passed only if the gate was tried and every rule is shown to be kept."""
        return worst(self.findings) if self.skipped is None else Outcome.SKIPPED

    @property
    def reason(self) -> str:
        """Why the gate did not pass."""
        if self.skipped is not None:
            return self.skipped
        broken = next((each for each in self.findings if each.outcome is self.outcome), None)
        return "" if broken is None else f"{broken.found}, and the rule is: {broken.rule}"


def fct_gate(rules: FctRules, runs: Runs) -> Gate:
    """Compare flow completion times with the baseline's."""
    metrics = [find_metric(name) for name in dict.fromkeys([*rules.better, *rules.not_worse])]
    found = changes(metrics, runs.baseline, runs.scheme)
    findings = []
    for metric in metrics:
        change = found.get(metric.name)
        if metric.name in rules.better:
            findings.append(shown(better(metric, str(rules.baseline)), change))
        if metric.name in rules.not_worse:
            findings.append(shown(not_worse(metric, rules.not_worse[metric.name]), change))
    plain = {name: {"change": each.relative, "interval": each.interval} for name, each in found.items()}
    return Gate("FCT", tuple(findings), {"changes": plain, "cells": list(_table(runs))})


def _table(runs: Runs) -> Iterator[dict[str, Any]]:
    """FCT means of each cell, in us."""
    for place, *roles in zip(runs.places, runs.scheme, runs.baseline, runs.twin, strict=True):
        spec = place.plain.spec
        for cells in zip(*roles, strict=True):
            row: dict[str, Any] = {"workload": spec.workload.name, "load": spec.load, "seed": cells[0].seed}
            for role, cell in zip(("scheme", "baseline", "twin"), cells, strict=True):
                row[role] = {
                    name: find_metric(name).of(cell)
                    for name in ("overall.mean", "short.mean", "short.p99", "large.mean")
                }
            yield row


def equivalence_gate(rules: EquivalenceRules, twin: TwinSpec, runs: Runs) -> Gate:
    """Compare decisions on the packets of a run at the largest load, and flow completion times of both twins."""
    place = max(runs.places, key=lambda place: place.plain.spec.load)
    found = _agreement(place, twin, rules.packets)
    bound = max(twin.agreement, rules.agreement or 0)
    same, *marks = decisions(found, bound, twin.marks_within)
    enough = finding(
        f"a run with at least {rules.packets:,} packets",
        f"{found.packets:,}",
        holds=found.packets >= rules.packets,
    )
    changed = changes([find_metric(name) for name in rules.fct_within], runs.scheme, runs.twin)
    near = [shown(within(find_metric(name), part), changed.get(name)) for name, part in rules.fct_within.items()]
    findings = [same, enough, *marks, *near]
    return Gate("equivalence", tuple(findings), {"bound": bound, **_plain(found)})


def decisions(found: Agreement, bound: float, marks_within: float) -> Iterator[Check]:
    """Check that enough decisions are equal, and that both twins have about the same number of marks for each cause."""
    text = f"{100 * found.part:.4f} % of {found.packets:,}"
    yield finding(f"at least {100 * bound:g} % of decisions equal", text, holds=found.part >= bound)
    for cause, (marks, of_twin) in found.by_cause.items():
        rule = f"marks for `{cause}` within {100 * marks_within:g} %"
        near = abs(of_twin - marks) <= marks_within * marks
        yield finding(rule, f"{marks:,}, and {of_twin:,} of the twin", holds=near)


def _agreement(place: Place, twin: TwinSpec, packets: int) -> Agreement:
    """Agreement at the port before the receiver, in a run with enough flows for `packets` packets."""
    experiment = place.plain
    spec, line = experiment.spec, experiment.network.bottleneck[0]
    mean_packets = spec.workload.mean_bytes() / spec.transport.mss_bytes
    flows = max(spec.flows, round(1.3 * packets / mean_packets))
    settings = spec.to_plain() | {"flows": flows, "seeds": 1, "baseline": "none"}
    # These settings record single packets.
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
    """Check limits of the chip and its stages with our own checks and estimate."""
    found = examine(scheme.fitted.scheme.program, scheme.fitted.defines)
    said = "none"
    if found.errors:
        first = found.errors[0]
        said = f"{first.text} ({Path(first.path).name}:{first.line})"
    used, most = found.estimate.stages_used, rules.stages or found.estimate.stages
    findings = (
        finding("no limit of the chip is broken", said, holds=not found.errors),
        finding(f"at most {most} stages, by estimate", f"{used}", holds=used <= most),
    )
    messages = [message.rendering for message in found.messages]
    return Gate("Tofino", findings, {"messages": messages, "estimate": asdict(found.estimate)})


# Names of resources in the compiler's report, and in the estimate.
_ESTIMATED = {
    "logical tables": "logical_tables",
    "SRAM": "sram",
    "TCAM": "tcam",
    "map RAM": "map_ram",
    "gateways": "gateways",
    "stateful ALUs": "stateful_alus",
}


def vendor_gate(scheme: ReadyScheme, twin: TwinSpec) -> Gate:
    """Compile the twin with p4c's Tofino back end, if it is installed."""
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
    return Gate("p4c", (finding("p4c compiles it for the chip", said, holds=found.message is None),), evidence)


def in_the_way(gate: Gate, policy: Policy) -> bool:
    """Whether a gate prevents promotion: it failed, or it is required and did not pass."""
    return gate.outcome is Outcome.FAILED or (gate.outcome is not Outcome.PASSED and gate.name in policy.required)


def gates(candidate: Candidate, policy: Policy, workers: int) -> Iterator[Gate]:
    """Try the gates in order; the caller may stop at any of them."""
    runs = run_candidate(candidate, workers)
    yield fct_gate(policy.fct, runs)
    yield equivalence_gate(policy.equivalence, candidate.twin, runs)
    yield tofino_gate(policy.tofino, candidate.ready)
    yield vendor_gate(candidate.ready, candidate.twin)
