# SPDX-License-Identifier: MIT OR Apache-2.0
"""Claims of a paper beside what the lab finds, as its reproduction left them in its folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from marklab.errors import BadInput

FILE_NAME = "reproduction.json"


@dataclass(frozen=True)
class ClaimRow:
    """A claim and what the lab says to it, as text; a second line of a number is what it comes from."""

    claim: str
    paper: str
    lab: str
    difference: str
    ratio: str


@dataclass(frozen=True)
class Claims:
    """All claims of an experiment, the paper that makes them, and what is to be known of how the lab ran it."""

    rows: tuple[ClaimRow, ...] = ()
    paper: str = ""
    remarks: tuple[str, ...] = ()


def read_claims(folder: Path) -> Claims:
    """Claims in the folder of a reproduction; none in that of anything else. Raises BadInput for a damaged file."""
    path = folder / FILE_NAME
    if not path.exists():
        return Claims()
    # Takes a while to load, which reports of runs need not wait for.
    from marklab.papers.table import cells  # noqa: PLC0415

    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        rows = tuple(ClaimRow(*cells(_finding(claim))) for claim in plain["claims"])
        return Claims(rows, plain["paper"], tuple(plain["remarks"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{path} cannot be read, or is of another version of the lab") from error


def _finding(plain: dict[str, Any]) -> Any:
    """What `Finding.to_json` wrote."""
    from marklab.papers.claims import Claim, Finding  # noqa: PLC0415

    claim = Claim.model_validate({name: plain[name] for name in Claim.model_fields if name in plain})
    interval = tuple(plain["ci95"]) if plain["ci95"] else None
    return Finding(claim, plain["lab"], interval, plain["point"], tuple(plain["lab_means"]))
