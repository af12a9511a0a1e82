# SPDX-License-Identifier: MIT OR Apache-2.0
"""An experiment with its record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from marklab.papers.claims import Weight
from marklab.papers.experiment import Column, PaperExperiment
from marklab.papers.findings import Finding
from marklab.papers.papers import columns_of
from marklab.papers.records import RecordedRun, read_record, recorded_findings
from marklab.papers.table import tally


@dataclass(frozen=True)
class RecordedExperiment:
    """An experiment with its recorded findings by columns. Where the reading changes nothing, both are the same."""

    name: str
    papers: Mapping[Column, PaperExperiment]
    runs: Mapping[Column, RecordedRun]
    findings: Mapping[Column, Sequence[Finding]]

    @property
    def paper(self) -> PaperExperiment:
        """The experiment as printed."""
        return self.papers[Column.PRINTED]

    def in_column(self, column: Column) -> Sequence[Finding]:
        """The findings that count for a column."""
        return self.findings.get(column, self.findings[Column.PRINTED])

    @classmethod
    def read(cls, name: str) -> RecordedExperiment:
        """Read an experiment. Raises BadInput for a record that cannot be read, or that is of another experiment."""
        columns, runs = columns_of(name), read_record(name).runs
        findings = {column: recorded_findings(name, paper, runs.get(column)) for column, paper in columns.items()}
        return cls(name, columns, runs, findings)


def findings_of(name: str, column: Column) -> Sequence[Finding]:
    """The recorded findings that count for a column of an experiment."""
    return RecordedExperiment.read(name).in_column(column)


def verdict_counts(findings: Sequence[Finding], lacking: int) -> tuple[object, ...]:
    """Claims, verdicts, and the part of the decided ones that agree; `lacking` claims cannot be run."""
    claims, agree, disagree, undetermined, not_run = tally(findings)
    decided = agree + disagree
    part = f"{agree / decided:.0%}" if decided else "–"
    return claims + lacking, agree, disagree, undetermined, not_run + lacking, part


def of_weight(experiments: Sequence[RecordedExperiment], column: Column, weight: Weight) -> list[Finding]:
    """The findings that count for a column, of claims of one weight."""
    return [found for one in experiments for found in one.in_column(column) if found.claim.weight is weight]


def lacking_in(experiments: Sequence[RecordedExperiment], weight: Weight) -> int:
    """How many claims of a weight the lab cannot run."""
    return sum(each.weight is weight for one in experiments for each in one.paper.not_run)
