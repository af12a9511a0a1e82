# SPDX-License-Identifier: MIT OR Apache-2.0
"""The lab's findings on the papers' claims, kept beside the experiments in `experiments/found/ID.json`.

A record belongs to one experiment. It holds runs, which differ in effort, and each claim under the latest run that
evaluated it. The text of a claim identifies it.
"""

from __future__ import annotations

import json
from pathlib import Path

from marklab.errors import BadInput
from marklab.model import Model, validate
from marklab.papers.claims import Finding, PaperExperiment, Settings
from marklab.papers.reproduction import Reproduction
from marklab.papers.table import effort
from marklab.paths import EXPERIMENTS
from marklab.prepare.versions import commit
from marklab.results.folders import write_json

FOUND = EXPERIMENTS / "found"


class Found(Model):
    """The lab's result for a claim, in the claim's unit.

    `half_ci95` is half the width of the 95 % confidence interval, which needs several seeds. `lab_means` are the means
    behind a change, in the metric's unit. `point` is the point of the grid that the claim's `take` chose.
    """

    says: str
    lab: float
    half_ci95: float | None = None
    lab_means: tuple[float, ...] | None = None
    point: Settings | None = None


class RecordedRun(Model):
    """The results of one run, its effort as text, and its commit if that is known."""

    effort: str
    commit: str | None = None
    claims: tuple[Found, ...]


class Record(Model):
    """All findings of an experiment."""

    runs: tuple[RecordedRun, ...]


def read_record(name: str) -> Record:
    """Read the findings of an experiment. Raises BadInput if there are none or the file cannot be read."""
    path = _path(name)
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise BadInput(f"nothing is recorded of {name}", f"`reproduce {name} --record`") from error
    except (OSError, ValueError) as error:
        raise BadInput(f"{path} cannot be read: {error}", f"`reproduce {name} --record` writes it anew") from error
    return validate(Record, plain, str(path))


def recorded_findings(name: str, paper: PaperExperiment, record: Record) -> list[Finding]:
    """Findings of all claims of an experiment, in its order. Claims that are not in the record were not run.

    Raises BadInput for recorded claims that the experiment does not make.
    """
    found = {each.says: each for run in record.runs for each in run.claims}
    gone = found.keys() - {claim.says for claim in paper.claims}
    if gone:
        claims = ", ".join(f"`{says}`" for says in sorted(gone))
        raise BadInput(f"{_path(name)} has claims that {name} does not make: {claims}", f"`reproduce {name} --record`")
    findings = []
    for claim in paper.claims:
        each = found.get(claim.says)
        if each is None:
            findings.append(Finding(claim))
            continue
        half = each.half_ci95
        interval = (each.lab - half, each.lab + half) if half is not None else None
        findings.append(Finding(claim, each.lab, interval, each.point, each.lab_means or ()))
    return findings


def keep_record(done: Reproduction) -> Path:
    """Record the findings of a run, which replace older findings of the same claims."""
    claims = tuple(_found(finding.value, finding) for finding in done.findings if finding.value is not None)
    new = {each.says for each in claims}
    stated = {claim.says for claim in done.paper.claims}
    older = read_record(done.name).runs if _path(done.name).exists() else ()
    runs = [
        run.model_copy(update={"claims": tuple(each for each in run.claims if each.says in stated - new)})
        for run in older
    ]
    runs.append(RecordedRun(effort=effort(done.paper), commit=commit(), claims=claims))
    record = Record(runs=tuple(run for run in runs if run.claims))
    FOUND.mkdir(exist_ok=True)
    write_json(_path(done.name), record.model_dump(mode="json", exclude_none=True))
    return _path(done.name)


def _found(value: float, finding: Finding) -> Found:
    claim = finding.claim
    return Found(
        says=claim.says,
        lab=value,
        half_ci95=(finding.interval[1] - finding.interval[0]) / 2 if finding.interval else None,
        lab_means=finding.means if claim.over else None,
        point=finding.point if claim.take != "only" else None,
    )


def _path(name: str) -> Path:
    return FOUND / f"{name}.json"
