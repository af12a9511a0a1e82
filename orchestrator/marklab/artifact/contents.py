# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes an artifact: what was run, what came out, what it says to the claims, what made it, and how to repeat it."""

from __future__ import annotations

import csv
import importlib.metadata
import io
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from marklab.artifact import packing, source
from marklab.artifact.machine import machine
from marklab.artifact.stored import EXPERIMENTS, Stored, chosen, read_stored
from marklab.errors import BadInput
from marklab.papers.experiment import PaperExperiment, runs_of
from marklab.papers.reproduction import Reproduction
from marklab.papers.table import effort, tally, verdicts_table
from marklab.papers.verdicts import Verdict
from marklab.paths import IN_TREE, REPOSITORY
from marklab.prepare.versions import lab_versions
from marklab.report.chart import Form
from marklab.report.claims import FILE_NAME as CLAIMS_FILE
from marklab.report.files import REPORT, write_report
from marklab.results.collection import Collection
from marklab.results.folders import new_file, new_folder, write_json
from marklab.results.sweep import CELLS, PLAN, SWEEP, open_sweep
from marklab.results.traces import FOLDER as TRACES
from marklab.template import filled

CLAIMS, VERSIONS = "claims", "versions.json"
_SPECS = "specs"
_REPEAT = "repeat.sh"
_HERE = Path(__file__).parent

# Numbers of cells whose time the README gives, beside that of all cells.
_FEW = (10, 100)


@dataclass(frozen=True)
class Artifact:
    """A folder, and its archive."""

    folder: Path
    archive: Path
    # Why the lab's source is not in it; None if it is.
    no_source: str | None


def check(name: str, paper: PaperExperiment) -> None:
    """Refuse an experiment that could not be repeated; raises BadInput that says why."""
    for _, spec, _ in runs_of(paper):
        if spec.mininet is not None:
            switch = {"marklab": "the lab's switch", "bmv2": "BMv2"}[spec.mininet.switch]
            raise BadInput(
                f"`{name}` runs on real hosts (Mininet, {switch}): its numbers differ from run to run, and no "
                "repetition could show that they are the same",
                f"`reproduce {name}` runs it; artifacts are of what is simulated",
            )
        if spec.flow_list is not None:
            raise BadInput(f"`{name}` takes its flows from a file, {spec.flow_list.path}", "flows that a seed decides")
        for choice in spec.choices:
            if choice.is_path:
                raise BadInput(
                    f"`{name}` names a program by its path, {choice.program}",
                    "put it among the lab's, where schemes have names: p4src/v1model",
                )


def write_artifact(target: Path, done: Sequence[Reproduction], form: Form, on_part: Callable[[str], None]) -> Artifact:
    """Write the artifact of experiments that were run, and its archive beside it, in place of older ones.

    `on_part` gets what is being written. Whatever ends this leaves no archive, or a whole one of a whole folder.
    """
    archive = target.with_name(f"{target.name}.tar.gz")
    if target.exists() and not (target / packing.SUMS).exists():
        raise BadInput(f"{target} is there, and is no artifact", "choose another folder with --out")
    # The folder takes its place first, and has no archive until its own is there.
    with new_file(archive) as packed, new_folder(target) as staging:
        stored = [_write_experiment(each, staging / EXPERIMENTS / each.name, form, on_part) for each in done]
        on_part("archive")
        missing = source.missing_source()
        if missing is None:
            source.write_source(staging / source.FILE_NAME)
        for path in _licences():
            shutil.copyfile(path, staging / path.name)
        versions = {**lab_versions(), "programs": _programs(stored)}
        write_json(staging / VERSIONS, versions)
        write_json(staging / f"{CLAIMS}.json", [row for each in done for row in claim_rows(each)])
        (staging / f"{CLAIMS}.md").write_text(_claims_text(done), encoding="utf-8")
        (staging / "README.md").write_text(_readme(target.name, done, stored, versions, missing), encoding="utf-8")
        shutil.copyfile(_HERE / _REPEAT, staging / _REPEAT)
        (staging / _REPEAT).chmod(0o755)
        packing.write_sums(staging)
        with packed.open("wb") as file:
            packing.pack(staging, target.name, file)
        archive.unlink(missing_ok=True)
    return Artifact(target, archive, missing)


def claim_rows(done: Reproduction) -> Iterator[dict[str, Any]]:
    """The claims of an experiment, each with what the lab finds and the verdict, as plain data."""
    for finding in done.findings:
        yield {"experiment": done.name, **finding.to_json()}


def _claims_text(done: Sequence[Reproduction]) -> str:
    lines = ["# Claims", ""]
    for each in done:
        remarks = [f"- {remark}" for remark in each.paper.remarks]
        lines += [f"## {each.name}", "", each.paper.title, "", each.paper.paper, "", effort(each.paper), ""]
        lines += [*verdicts_table(each.findings), "", *([*remarks, ""] if remarks else [])]
    return "\n".join(lines)


def _write_experiment(done: Reproduction, into: Path, form: Form, on_part: Callable[[str], None]) -> Stored:
    """Write the folder of an experiment, which is that of a reproduction with more beside it."""
    on_part(done.name)
    into.mkdir(parents=True)
    (into / SWEEP).write_text(_with_files(done.paper, into).to_yaml(), encoding="utf-8")
    for name in (PLAN, VERSIONS, CLAIMS_FILE):
        shutil.copyfile(done.folder / name, into / name)
    for tables in (CELLS, TRACES):
        for path in sorted((done.folder / tables).glob("*.parquet")):
            (into / tables).mkdir(exist_ok=True)
            shutil.copyfile(path, into / tables / path.name)
    collection = open_sweep(into)
    (into / _SPECS).mkdir()
    for point in collection.points:
        text = yaml.safe_dump(point.summary.spec, sort_keys=False, allow_unicode=True)
        (into / _SPECS / f"{point.number}.yaml").write_text(text, encoding="utf-8")
    (into / "seeds.csv").write_text(_seeds(collection), encoding="utf-8")
    write_report(collection, into / REPORT, form)
    return read_stored(into)


def _with_files(paper: PaperExperiment, into: Path) -> PaperExperiment:
    """The experiment with the files that its setup names, topologies and workloads, beside it."""
    setup = dict(paper.setup)
    for key, value in setup.items():
        # Of a file that was read the setup has the whole path.
        if isinstance(value, str) and Path(value).is_absolute():
            shutil.copyfile(value, into / Path(value).name)
            setup[key] = Path(value).name
    return paper.model_copy(update={"setup": setup})


def _seeds(collection: Collection) -> str:
    """The seeds at each point, each with the digest of the flows that it makes."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["point", "settings", "seed", "flows_digest"])
    for point in collection.points:
        digests = {seed.seed: seed.flow_list for one in point.summary.schemes.values() for seed in one.seeds}
        table.writerows([point.number, point.label, seed, digest] for seed, digest in sorted(digests.items()))
    return text.getvalue()


def _programs(stored: Sequence[Stored]) -> dict[str, str]:
    """Digests of the programs by the names of the schemes."""
    return dict(sorted((cell.scheme, cell.program) for each in stored for cell in each.cells.values()))


def _licences() -> list[Path]:
    """The lab's licences, as files."""
    if IN_TREE:
        return sorted(REPOSITORY.glob("LICENSE-*"))
    files = importlib.metadata.files("marklab") or []
    return sorted(
        Path(str(file.locate())) for file in files if file.name.startswith("LICENSE") and "licenses" in file.parts
    )


def _readme(
    name: str, done: Sequence[Reproduction], stored: Sequence[Stored], versions: Mapping[str, Any], missing: str | None
) -> str:
    total = sum(len(each.cells) for each in stored)
    text = filled(
        _HERE / "README.md.in",
        duration=_duration,
        name=name,
        experiments=[_row(one, cells) for one, cells in zip(done, stored, strict=True)],
        efforts=[(each.name, effort(each.paper)) for each in done],
        agreements=[str(each) for each in Verdict],
        times=[(count, _seconds(stored, count)) for count in (*(few for few in _FEW if few < total), total)],
        has_traces=any((each.folder / TRACES).exists() for each in stored),
        versions=versions,
        machine=machine(),
        source=None if missing else source.FILE_NAME,
        missing=missing,
        licence=importlib.metadata.metadata("marklab")["License-Expression"],
    )
    return text + "\n"


def _row(done: Reproduction, stored: Stored) -> dict[str, Any]:
    """What the README's table has of an experiment."""
    claims, *counts = tally(done.findings)
    return {"name": done.name, "title": done.paper.title, "paper": done.paper.paper, "points": len(done.summaries)} | {
        "cells": len(stored.cells),
        "claims": claims,
        "counts": counts,
    }


def _seconds(stored: Sequence[Stored], count: int) -> float:
    """Seconds that so many cells took, one after the other."""
    taken = chosen(stored, count)
    return sum(each.cells[place].wall_s for each in stored for place in taken.get(each.name, ()))


def _duration(seconds: float) -> str:
    """A time with two digits."""
    for unit, size_s in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 1.5 * size_s:
            return f"{seconds / size_s:.2g} {unit}"
    return f"{seconds:.2g} s"
