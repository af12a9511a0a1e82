# SPDX-License-Identifier: MIT OR Apache-2.0
"""Claims of a paper beside the lab's findings, read from the folder of a reproduction."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from marklab.errors import BadInput

FILE_NAME = "reproduction.json"


@dataclass(frozen=True)
class ClaimRow:
    """A claim and its finding, as text. The second line of a number has the means behind it."""

    claim: str
    paper: str
    lab: str
    difference: str
    verdict: str


@dataclass(frozen=True)
class Claims:
    """All claims of an experiment, the paper that makes them, and remarks about the lab's run."""

    rows: tuple[ClaimRow, ...] = ()
    paper: str = ""
    remarks: tuple[str, ...] = ()


def read_claims(folder: Path) -> Claims:
    """Read the claims in the folder of a reproduction. Other folders have none. Raises BadInput for a damaged file."""
    path = folder / FILE_NAME
    if not path.exists():
        return Claims()
    # It loads slowly, so reports of runs do not import it.
    from marklab.papers.table import cells  # noqa: PLC0415

    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        rows = tuple(ClaimRow(*cells(_finding(claim))) for claim in plain["claims"])
        return Claims(rows, plain["paper"], tuple(plain["remarks"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{path} cannot be read, or another version of the lab wrote it") from error


def _finding(plain: dict[str, Any]) -> Any:
    """Read a finding that `Finding.to_json` wrote."""
    from marklab.papers.claims import Claim  # noqa: PLC0415
    from marklab.papers.findings import Finding  # noqa: PLC0415

    claim = Claim.model_validate({name: plain[name] for name in Claim.model_fields if name in plain})
    interval = tuple(plain["ci95"]) if plain["ci95"] else None
    return Finding(claim, plain["lab"], interval, plain["point"], tuple(plain["lab_means"]), plain["seeds"])
