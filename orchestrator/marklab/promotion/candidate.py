# SPDX-License-Identifier: MIT OR Apache-2.0
"""A scheme to be promoted: its twin, and runs of both with the baseline, made now or read from results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from typing import Any

from marklab.catalog.choice import SchemeChoice
from marklab.catalog.scheme import find_scheme
from marklab.catalog.twin import Arch, TwinSpec, twin_spec
from marklab.errors import BadInput, unknown
from marklab.execution.cells import run_cells, total_flows
from marklab.execution.progress import progress_bar
from marklab.fabrics import Cell, fabric_of
from marklab.metrics.cell import seed_result
from marklab.paths import COMMAND
from marklab.prepare.experiment import Experiment, ReadyScheme, prepare, require_dilation
from marklab.promotion.policy import FctRules
from marklab.results.folders import load_run
from marklab.results.summary import SeedResult, Summary
from marklab.spec.description import Spec, make_spec, read_spec

# Settings in which results may differ from the policy: amounts that may be larger, and settings without effect on FCTs.
_FREE = {
    "name", "schemes", "flows", "seeds", "first_seed", "probes", "trace_queue", "trace_flows", "windows",
    "converge_within", "pcap",
}  # fmt: skip


@dataclass(frozen=True)
class Place:
    """A load and workload of the policy, run with the scheme, its baseline and its twin."""

    plain: Experiment  # scheme and baseline
    twin: Experiment  # the scheme's twin


Seeds = tuple[SeedResult, ...]


@dataclass(frozen=True)
class Runs:
    """Results of the scheme, the baseline and the twin, by place and seed."""

    places: tuple[Place, ...]
    scheme: tuple[Seeds, ...]
    baseline: tuple[Seeds, ...]
    twin: tuple[Seeds, ...]


@dataclass(frozen=True)
class Candidate:
    """A scheme, its twin, and the places where they run. Results, for all places or none, replace the scheme's runs."""

    choice: SchemeChoice
    twin: TwinSpec
    places: tuple[Place, ...]
    results: tuple[Summary, ...] = ()

    @property
    def ready(self) -> ReadyScheme:
        """The twin, whose program and entries are the same in all places."""
        return self.places[0].twin.schemes[0]


def candidate(choice: SchemeChoice, rules: FctRules, results: Sequence[Path] = (), arch: Arch = "tna") -> Candidate:
    """Prepare a scheme for the policy. Raises BadInput for results that are stale, or not what the policy asks for."""
    if choice.is_path:
        raise BadInput(
            f"`{choice}` is a file: only schemes of the catalog have twins", "docs/tofino.md, A scheme of your own"
        )
    twin = twin_spec(choice.program, arch)
    asked = {
        place: make_spec(_settings(choice, rules, *place), "settings of the policy")
        for place in product(rules.workloads, rules.loads)
    }
    if not results:
        return Candidate(choice, twin, tuple(_place(spec, choice, arch) for spec in asked.values()))
    places = []
    for folder in results:
        spec = make_spec(read_spec(folder / "spec.yaml"), str(folder / "spec.yaml"))
        _check_result(folder, spec, choice, asked)
        places.append(_place(spec, choice, arch))
    missing = asked.keys() - {_name(place.plain.spec) for place in places}
    if missing:
        workload, load = min(missing)
        raise BadInput(
            f"the policy also asks for {workload} at load {load:g}, and no result has that",
            "--results FOLDER for each, or a policy with other `loads` and `workloads`",
        )
    return Candidate(choice, twin, tuple(places), tuple(map(load_run, results)))


def _name(spec: Spec) -> tuple[str, float]:
    return spec.workload.name, spec.load


def _settings(choice: SchemeChoice, rules: FctRules, workload: str, load: float) -> dict[str, Any]:
    scheme = find_scheme(choice).spec
    return {
        "schemes": [choice], "baseline": rules.baseline, "workload": workload, "load": load, "flows": rules.flows,
        "seeds": rules.seeds, **rules.settings, **(scheme.promotion if scheme else {}),
        **rules.settings_of.get(choice.program, {}),
    }  # fmt: skip


def _place(spec: Spec, choice: SchemeChoice, arch: Arch) -> Place:
    if spec.pias is not None:
        raise BadInput(
            "packets are compared by the code points of their flows, but pias gives each packet its own",
            "settings of the policy without `pias`",
        )
    alone = spec.to_plain() | {"schemes": [choice]}
    return Place(prepare(make_spec(alone)), prepare(make_spec(alone | {"baseline": "none", "arch": arch})))


def _check_result(folder: Path, spec: Spec, choice: SchemeChoice, asked: Mapping[tuple[str, float], Spec]) -> None:
    """Refuse results that the present programs would not give, and results that the policy does not ask for."""
    present = prepare(spec)
    labels = [scheme.label for scheme in present.schemes]
    if choice.label not in labels:
        raise unknown(f"scheme in {folder}:", choice.label, labels)
    if not folder.resolve().name.endswith(present.digest()[:8]):
        raise BadInput(
            f"{folder} is stale: its programs, entries or settings are not the present ones, which give "
            f"{present.digest()[:8]}",
            f"{COMMAND} run --spec {folder / 'spec.yaml'}",
        )
    # All places share the other settings, so any place will do.
    wanted = asked.get(_name(spec)) or next(iter(asked.values()))
    has, wants = spec.to_plain(), wanted.to_plain()
    differing = [name for name in sorted(has.keys() | wants.keys()) if has.get(name) != wants.get(name)]
    less = [name for name in ("flows", "seeds") if has[name] < wants[name]]
    wrong = [*(name for name in differing if name not in _FREE), *less]
    if wrong:
        said = ", ".join(f"`{name}` {has.get(name, 'left out')}, not {wants.get(name, 'left out')}" for name in wrong)
        raise BadInput(f"{folder} is not what the policy asks for: {said}", "a run as the policy says, or --policy")


def run_candidate(candidate: Candidate, workers: int) -> Runs:
    """Run everything without results: all schemes, or only the twin, on the flows of the results."""
    cells = [
        Cell(experiment, scheme, seed)
        for place in candidate.places
        for experiment in ([] if candidate.results else [place.plain]) + [place.twin]
        for scheme in experiment.schemes
        for seed in experiment.spec.seed_numbers
    ]
    for experiment in {id(cell.experiment): cell.experiment for cell in cells}.values():
        fabric_of(experiment.spec).check(experiment)
        require_dilation(experiment)
    with progress_bar("running", total_flows(cells)) as on_progress:
        seen = run_cells(fabric_of(cells[0].experiment.spec), cells, workers, on_progress)
    label = candidate.choice.label
    baseline = candidate.places[0].plain.baseline or label
    plain: dict[str, list[SeedResult]] = {label: [], baseline: []}
    twin: list[SeedResult] = []
    for cell, observation in zip(cells, seen, strict=True):
        results = twin if cell.experiment.spec.arch else plain[cell.scheme.label]
        results.append(seed_result(cell.experiment, cell.scheme, observation))
    for summary in candidate.results:
        for name, results in plain.items():
            results.extend(summary.schemes[name].seeds)
    by_place = (_by_place(candidate.places, results) for results in (plain[label], plain[baseline], twin))
    return Runs(candidate.places, *by_place)


def _by_place(places: Sequence[Place], results: Sequence[SeedResult]) -> tuple[Seeds, ...]:
    """Group results by place; they come in the order of the places."""
    rest = iter(results)
    return tuple(tuple(islice(rest, place.plain.spec.seeds)) for place in places)
