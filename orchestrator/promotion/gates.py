"""What a scheme must pass to be promoted, gate by gate: rules, what was found, and the evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from orchestrator import engine
from orchestrator.catalog.choice import SchemeChoice
from orchestrator.catalog.twin import TwinSpec, twin_spec
from orchestrator.errors import BadInput, unknown
from orchestrator.experiment import Experiment, ReadyScheme, prepare
from orchestrator.fabrics import Cell, fabric_of
from orchestrator.metrics import seed_result
from orchestrator.progress import progress_bar
from orchestrator.promotion.equivalence import Agreement, Difference, agreement
from orchestrator.promotion.policy import EquivalenceRules, FctRules, Policy, TofinoRules
from orchestrator.promotion.sequence import recorded
from orchestrator.promotion.vendor import compile_twin, compiler
from orchestrator.quantities import find_metric
from orchestrator.results import load_run
from orchestrator.runs import run_cells, total_flows
from orchestrator.spec import make_spec, read_spec
from orchestrator.statistics import mean
from orchestrator.summary import SeedResult
from orchestrator.tofino import examine


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


@dataclass(frozen=True)
class Place:
    """One description of the policy, run with the scheme, its baseline and its twin."""

    workload: str
    load: float
    plain: Experiment  # scheme and baseline
    twin: Experiment  # the scheme's twin


@dataclass(frozen=True)
class Runs:
    """Seeds of all places: of the scheme, the baseline and the twin, in the same order."""

    places: tuple[Place, ...]
    scheme: tuple[SeedResult, ...]
    baseline: tuple[SeedResult, ...]
    twin: tuple[SeedResult, ...]


def places(choice: SchemeChoice, rules: FctRules) -> tuple[Place, ...]:
    """What has to be run."""
    found = []
    for workload, load in product(rules.workloads, rules.loads):
        settings = {
            "schemes": [choice], "baseline": rules.baseline, "workload": workload, "load": load, "flows": rules.flows,
            "seeds": rules.seeds, **rules.settings,
        }  # fmt: skip
        plain = make_spec(settings, "settings of the policy")
        twin = make_spec(settings | {"baseline": "none", "arch": "tna"}, "settings of the policy")
        found.append(Place(workload, load, prepare(plain), prepare(twin)))
    return tuple(found)


def places_of_results(folders: Sequence[Path], choice: SchemeChoice) -> tuple[Place, ...]:
    """What folders of results were about; one that the present programs and rules would not give is refused."""
    found = []
    for folder in folders:
        settings = read_spec(folder / "spec.yaml")
        plain = prepare(make_spec(settings, str(folder / "spec.yaml")))
        labels = [scheme.label for scheme in plain.schemes]
        if choice.label not in labels:
            raise unknown(f"scheme in {folder}:", choice.label, labels)
        if plain.spec.baseline is None or plain.spec.arch is not None or plain.spec.mininet is not None:
            raise BadInput(f"{folder} is no simulated run of v1model programs with a baseline", "run it without --arch")
        if not folder.resolve().name.endswith(plain.digest()[:8]):
            raise BadInput(
                f"{folder} is stale: its programs, entries or settings are not the present ones, which give "
                f"{plain.digest()[:8]}",
                f"python orchestrator.py run --spec {folder / 'spec.yaml'}",
            )
        alone = settings | {"schemes": [choice]}
        twin = make_spec(alone | {"baseline": "none", "arch": "tna"})
        found.append(Place(plain.spec.workload.name, plain.spec.load, prepare(make_spec(alone)), prepare(twin)))
    return tuple(found)


def runs_of_results(folders: Sequence[Path], found: Sequence[Place], choice: SchemeChoice, workers: int) -> Runs:
    """Results as they are, and the twin on the same flows."""
    summaries = [load_run(folder) for folder in folders]
    twins = run_places(found, workers, only_twins=True).twin
    of = [(summary.schemes[choice.label].seeds, place) for summary, place in zip(summaries, found, strict=True)]
    baseline = [
        seed
        for summary, (_, place) in zip(summaries, of, strict=True)
        for seed in summary.schemes[str(place.plain.baseline)].seeds
    ]
    return Runs(tuple(found), tuple(seed for seeds, _ in of for seed in seeds), tuple(baseline), twins)


def run_places(found: Sequence[Place], workers: int, *, only_twins: bool = False) -> Runs:
    """Run all cells."""
    cells = [
        Cell(experiment, scheme, seed)
        for place in found
        for experiment in ([] if only_twins else [place.plain]) + [place.twin]
        for scheme in experiment.schemes
        for seed in experiment.spec.seed_numbers
    ]
    for experiment in {id(cell.experiment): cell.experiment for cell in cells}.values():
        fabric_of(experiment.spec).check(experiment)
    with progress_bar("running", total_flows(cells)) as on_progress:
        seen = run_cells(fabric_of(cells[0].experiment.spec), cells, workers, on_progress)
    results: dict[str, list[SeedResult]] = {"scheme": [], "baseline": [], "twin": []}
    for cell, observation in zip(cells, seen, strict=True):
        experiment = cell.experiment
        is_scheme = cell.scheme.label == experiment.spec.schemes[0].label
        role = "twin" if experiment.spec.arch else "scheme" if is_scheme else "baseline"
        results[role].append(seed_result(experiment, cell.scheme, observation))
    # A scheme that is its own baseline is run once.
    same = results["baseline"] or results["scheme"]
    return Runs(tuple(found), tuple(results["scheme"]), tuple(same), tuple(results["twin"]))


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
    for place in runs.places:
        for _ in place.plain.spec.seed_numbers:
            cells = next(numbers)
            row: dict[str, Any] = {"workload": place.workload, "load": place.load, "seed": cells[0].seed}
            for role, cell in zip(("scheme", "baseline", "twin"), cells, strict=True):
                row[role] = {
                    name: find_metric(name).of(cell)
                    for name in ("overall.mean", "short.mean", "short.p99", "large.mean")
                }
            yield row


def equivalence_gate(rules: EquivalenceRules, twin: TwinSpec, runs: Runs) -> Gate:
    """Decisions on the packets of a run of the largest load, and flow completion times of both twins."""
    place = max(runs.places, key=lambda place: place.load)
    found = _agreement(place, twin, rules.packets)
    bound = max(twin.agreement, rules.agreement or 0)
    text = f"{100 * found.part:.4f} % of {found.packets:,}"
    enough = Finding(
        f"a run with {rules.packets:,} packets, so as to know", f"{found.packets:,}", found.packets >= rules.packets
    )
    findings = [Finding(f"at least {100 * bound:g} % of decisions equal", text, found.part >= bound), enough]
    for cause, (marks, of_twin) in found.by_cause.items():
        rule = f"marks for `{cause}` within {100 * twin.marks_within:g} %"
        near = abs(of_twin - marks) <= twin.marks_within * marks
        findings.append(Finding(rule, f"{marks:,}, and {of_twin:,} of the twin", near))
    for name, part in rules.fct_within.items():
        change = mean_change(name, runs.scheme, runs.twin)
        rule = f"{name} of the twin within {100 * part:g} %"
        findings.append(_finding(rule, change, _within(part)))
    return Gate("equivalence", tuple(findings), {"bound": bound, **_plain(found)})


def _agreement(place: Place, twin: TwinSpec, packets: int) -> Agreement:
    """At the port before the receiver, with as many flows as bring so many packets."""
    experiment = place.plain
    spec, line = experiment.spec, experiment.network.bottleneck[0]
    mean_packets = spec.workload.mean_bytes() / spec.transport.mss_bytes
    flows = max(spec.flows, round(1.3 * packets / mean_packets))
    settings = spec.to_plain() | {"flows": flows, "seeds": 1, "baseline": "none"}
    # What records packets one by one.
    settings |= {"trace_queue": "1s", "trace_flows": "1s"}
    larger, both = prepare(make_spec(settings)), prepare(make_spec(settings | {"arch": "tna"}))
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
        "marked": {"v1model": found.marked[0], "tna": found.marked[1]},
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


def vendor_gate(scheme: ReadyScheme, twin: TwinSpec) -> Gate:
    """p4c's Tofino back end, where it is."""
    path = compiler()
    if path is None:
        return Gate("p4c", skipped="no p4c with a Tofino back end on PATH")
    found = compile_twin(path, scheme, twin)
    said = found.message or f"{found.stages} stages"
    evidence = {"compiler": found.compiler, "stages": found.stages, "used": dict(found.used or {})}
    return Gate("p4c", (Finding("p4c compiles it for the chip", said, found.message is None),), evidence)


def twin_description(choice: SchemeChoice) -> TwinSpec:
    """What is said of the scheme's twin."""
    if choice.is_path:
        raise BadInput(
            f"`{choice}` is a file: only schemes of the catalog have twins", "docs/tofino.md, One's own scheme"
        )
    return twin_spec(choice.program)


def ready_twin(choice: SchemeChoice, policy: Policy) -> ReadyScheme:
    """The scheme's twin, as it runs in the policy's first place."""
    return places(choice, policy.fct)[0].twin.schemes[0]


def gates(choice: SchemeChoice, policy: Policy, workers: int, results: Sequence[Path] = ()) -> Iterator[Gate]:
    """The gates in order; whoever asks may stop at one. Without folders of results, what the policy asks for is run."""
    twin = twin_description(choice)
    if results:
        found = places_of_results(results, choice)
        runs = runs_of_results(results, found, choice, workers)
    else:
        found = places(choice, policy.fct)
        runs = run_places(found, workers)
    yield fct_gate(policy.fct, runs)
    yield equivalence_gate(policy.equivalence, twin, runs)
    ready = found[0].twin.schemes[0]
    yield tofino_gate(policy.tofino, ready)
    yield vendor_gate(ready, twin)
