# SPDX-License-Identifier: MIT OR Apache-2.0
"""Renews the numbers of the README's table of claims. Which claims it shows is written there by hand."""

from __future__ import annotations

import re

from marklab.errors import BadInput
from marklab.papers.experiment import Column, known_experiments
from marklab.papers.pages.recorded import findings_of
from marklab.papers.table import lab_text, paper_text, tally
from marklab.paths import REPOSITORY

README = REPOSITORY / "README.md"

# A row: experiment, what the claim says, and three cells that follow from the record.
_ROW = re.compile(r"(?m)^\| `(?P<name>[\w-]+)`: (?P<says>.*) \| [^|]* \| [^|]* \| [^|]* \|$")


def readme() -> str:
    """The README with the recorded numbers of one reading, and with the counts of both columns.

    Raises BadInput for a row of a claim that the experiment does not have.
    """
    text = _ROW.sub(_row, README.read_text(encoding="utf-8"))
    for column in Column:
        found = [each for name in known_experiments() for each in findings_of(name, column)]
        _, agree, disagree, undetermined, _ = tally(found)
        head = column.head.replace(" ", r"\s+")
        counts = rf"({head},\s+)\d+(\s+agree,\s+)\d+(\s+disagree\s+and\s+)\d+(\s+are\s+undetermined)"
        text = re.sub(counts, rf"\g<1>{agree}\g<2>{disagree}\g<3>{undetermined}\g<4>", text)
    return text


def _row(row: re.Match[str]) -> str:
    name, says = row["name"], row["says"]
    found = next((each for each in findings_of(name, Column.READING) if each.claim.says == says), None)
    if found is None:
        raise BadInput(f"{README}: `{name}` has no claim `{says}`", "take what the experiment's file says")
    cells = (paper_text(found.claim), lab_text(found), str(found.verdict()))
    return f"| `{name}`: {says} | {' | '.join(cell.splitlines()[0] for cell in cells)} |"
