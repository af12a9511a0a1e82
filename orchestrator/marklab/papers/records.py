# SPDX-License-Identifier: MIT OR Apache-2.0
"""The lab's findings on the papers' claims, kept beside the experiments in `experiments/found/ID.json`.

A record belongs to one experiment, and has a run for each column. A run names what made it: the commit, its size, the
digest of its plan, and the fingerprint of the lab. The text of a claim identifies it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from marklab.errors import BadInput
from marklab.model import Model, line_of, validate
from marklab.papers.claims import Claim, Label, Settings
from marklab.papers.experiment import Column, Effort, PaperExperiment, Size, known_experiments, runs_of
from marklab.papers.findings import Finding
from marklab.papers.fingerprint import fingerprint
from marklab.papers.reproduction import Reproduction
from marklab.papers.variations import Tried, digests_of_variations, varied_experiment
from marklab.paths import EXPERIMENTS
from marklab.prepare.versions import commit
from marklab.results.doubts import Doubt
from marklab.results.folders import write_json

FOUND = EXPERIMENTS / "found"

# Of numbers in a record, so that a file changes where a result does.
_DIGITS = 6


class Found(Model):
    """The lab's result for a claim, in the claim's unit: as in `Finding`."""

    says: str
    lab: float
    ci95: tuple[float, float] | None = None
    seeds: int
    means: tuple[float, ...] = ()
    point: Settings | None = None
    rows: tuple[Found, ...] = ()


class RecordedRun(Model):
    """The results of one run, and what made them.

    `flows`, `part` and `seeds` are None where the experiment's own were run.
    `decide` has the points with more seeds, for claims that were undetermined.
    """

    flows: int | None = None
    part: float | None = None
    seeds: int | None = None
    decide: tuple[Size, ...] = ()
    date: str
    commit: str | None = None
    cpu_s: float
    plan: str
    fingerprint: dict[Label, str]
    claims: tuple[Found, ...]
    # Reasons to doubt its numbers, each kind once.
    warnings: tuple[str, ...] = ()

    @property
    def effort(self) -> Effort:
        """The size of the run."""
        return Effort(flows=self.flows, part=self.part, seeds=self.seeds)

    def sized(self, paper: PaperExperiment) -> PaperExperiment:
        """The experiment in the size that was run."""
        return paper.with_effort(self.effort).with_seeds(self.decide)


class RecordedVariation(Model):
    """Claims that disagree, under a change: see `variations`."""

    says: str
    settings: str
    claims: tuple[Found, ...]


class RecordedVariations(Model):
    """The variations of an experiment, and the same claims without any. All have the same size, which may be small.

    `settings` are digests of what was run.
    """

    flows: int | None = None
    part: float | None = None
    seeds: int | None = None
    date: str
    commit: str | None = None
    cpu_s: float
    settings: str
    as_it_is: tuple[Found, ...]
    varied: tuple[RecordedVariation, ...]

    @property
    def effort(self) -> Effort:
        """The size of each run."""
        return Effort(flows=self.flows, part=self.part, seeds=self.seeds)


class Record(Model):
    """All findings of an experiment, by columns. Without a reading of its own it has one column."""

    runs: dict[Column, RecordedRun]
    variations: RecordedVariations | None = None


def read_record(name: str) -> Record:
    """Read the findings of an experiment; none if nothing was recorded. Raises BadInput if the file cannot be read."""
    path = _path(name)
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Record(runs={})
    except (OSError, ValueError) as error:
        raise BadInput(f"{path} cannot be read: {error}", f"`reproduce {name} --record` writes it anew") from error
    return validate(Record, plain, str(path))


def recorded_findings(name: str, paper: PaperExperiment, run: RecordedRun | None) -> list[Finding]:
    """Findings of all claims of an experiment, in its order. Claims that are not in the record were not run.

    Raises BadInput for a run whose grid is another one.
    """
    if run is None:
        return [Finding(claim) for claim in paper.claims]
    found = {each.says: each for each in run.claims}
    for each in run.claims:
        strange = (each.point or {}).keys() - paper.grid.keys()
        if strange:
            path, of = known_experiments()[name], ", ".join(sorted(strange))
            said = f"{_path(name)}: `{each.says}` was found at another grid's {of}"
            grid = f"{path}, line {line_of(path, ('grid',))}"
            raise BadInput(f"{said}; the grid is in {grid}", f"`reproduce {name} --record`")
    return [_finding(claim, found.get(claim.says)) for claim in paper.claims]


def _finding(claim: Claim, each: Found | None) -> Finding:
    if each is None:
        return Finding(claim)
    rows = {row.says: row for row in each.rows}
    below = tuple(_finding(row, rows.get(row.says)) for row in claim.rows)
    return Finding(claim, each.lab, each.ci95, each.point, each.means, each.seeds, below)


def keep_record(done: Reproduction, size: Effort, decide: tuple[Size, ...] = ()) -> Path:
    """Record the findings of a run in place of those of its column."""
    run = RecordedRun(
        flows=size.flows,
        part=size.part,
        seeds=size.seeds,
        decide=decide,
        date=datetime.now(UTC).date().isoformat(),
        commit=commit(),
        cpu_s=_rounded(done.cpu_s),
        plan=plan_digest(done.paper),
        fingerprint=fingerprint(done.paper),
        claims=_all_found(done),
        warnings=tuple(_warnings(done)),
    )
    before = read_record(done.name)
    return _write(done.name, before.model_copy(update={"runs": {**before.runs, done.paper.column: run}}))


def keep_variations(name: str, as_it_is: Reproduction, varied: Mapping[str, Reproduction], size: Effort) -> Path:
    """Record what changes did, by what they say, in place of what was recorded before."""
    digests = digests_of_variations(name)
    kept = RecordedVariations(
        flows=size.flows,
        part=size.part,
        seeds=size.seeds,
        date=datetime.now(UTC).date().isoformat(),
        commit=commit(),
        cpu_s=_rounded(sum(done.cpu_s for done in (as_it_is, *varied.values()))),
        settings=digests[""],
        as_it_is=_all_found(as_it_is),
        varied=tuple(
            RecordedVariation(says=says, settings=digests[says], claims=_all_found(done))
            for says, done in varied.items()
        ),
    )
    return _write(name, read_record(name).model_copy(update={"variations": kept}))


def recorded_variations(name: str) -> dict[str, list[Tried]]:
    """What was varied for each claim, by what it says. A change of other settings than today's is left out."""
    kept, paper = read_record(name).variations, varied_experiment(name)
    if kept is None:
        return {}
    now = digests_of_variations(name)
    if kept.settings != now[""]:
        return {}
    claims = {claim.says: claim for claim in paper.claims}
    as_it_is = {each.says: _finding(claims[each.says], each) for each in kept.as_it_is if each.says in claims}
    tried: dict[str, list[Tried]] = {}
    for change in kept.varied:
        if now.get(change.says) != change.settings:
            continue
        numbers = {each.says: each for each in change.claims}
        for says, finding in as_it_is.items():
            found = Tried(change.says, _finding(claims[says], numbers.get(says)), finding)
            tried.setdefault(says, []).append(found)
    return tried


def _write(name: str, record: Record) -> Path:
    FOUND.mkdir(exist_ok=True)
    write_json(_path(name), record.model_dump(mode="json", exclude_none=True, exclude_defaults=True))
    return _path(name)


def _warnings(done: Reproduction) -> Iterator[str]:
    """Each kind of doubt once, as the first result has it, with the number of results that have this kind."""
    results = [result for summary in done.summaries if summary for result in summary.schemes.values()]
    kinds: dict[str, list[Doubt]] = {}
    for result in results:
        for doubt in {doubt.kind: doubt for doubt in reversed(result.doubts)}.values():
            kinds.setdefault(doubt.kind, []).append(doubt)
    for doubts in kinds.values():
        yield f"{doubts[0]} ({len(doubts)} of {len(results)} results)"


def _all_found(done: Reproduction) -> tuple[Found, ...]:
    return tuple(_found(finding) for finding in done.findings if finding.value is not None)


def staleness(paper: PaperExperiment, run: RecordedRun | None) -> str | None:
    """Why a record is out of date: it is missing, the experiment has changed, or the lab computes otherwise."""
    if run is None:
        return "nothing is recorded"
    if run.plan != plan_digest(run.sized(paper)):
        return "the experiment has changed"
    now = fingerprint(paper)
    other = [label for label in now if now[label] != run.fingerprint.get(label)]
    return f"{', '.join(other)}: other bytes than on {run.date}" if other else None


def plan_digest(paper: PaperExperiment) -> str:
    """Digest of all runs of an experiment, as they are described."""
    runs = [[point, spec.to_plain(), labels] for point, spec, labels in runs_of(paper)]
    return hashlib.sha256(json.dumps(runs, sort_keys=True).encode()).hexdigest()[:16]


def _found(finding: Finding) -> Found:
    claim = finding.claim
    return Found(
        says=claim.says,
        lab=_rounded(finding.value or 0.0),
        ci95=(_rounded(finding.interval[0]), _rounded(finding.interval[1])) if finding.interval else None,
        seeds=finding.seeds,
        means=tuple(map(_rounded, finding.means)) if claim.over else (),
        point=finding.point if claim.take != "only" else None,
        rows=tuple(_found(row) for row in finding.rows if row.value is not None),
    )


def _rounded(number: float) -> float:
    return float(f"{number:.{_DIGITS}g}")


def _path(name: str) -> Path:
    return FOUND / f"{name}.json"


def texts_about(name: str) -> Iterator[str]:
    """The text about something that was written by hand, `experiments/found/NAME.md`, if there is one."""
    path = FOUND / f"{name}.md"
    if not path.exists():
        return
    try:
        yield path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read {path}: {error}") from error
