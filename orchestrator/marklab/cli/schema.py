# SPDX-License-Identifier: MIT OR Apache-2.0
"""`schema`: JSON Schemas of the YAML files that users write."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from marklab.api.schemas import KINDS, to_json
from marklab.errors import BadInput


def schema(
    name: Annotated[str, typer.Argument(metavar="KIND", help=f"Kind of file: {', '.join(KINDS)}.")] = "spec",
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write the schemas of all kinds to this folder, as KIND.json.")
    ] = None,
) -> None:
    """Print the JSON Schema of a kind of YAML file, for editors and other programs."""
    if out is None:
        sys.stdout.write(to_json(name))
        return
    try:
        out.mkdir(parents=True, exist_ok=True)
        for each in KINDS:
            (out / f"{each}.json").write_text(to_json(each), encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{out}: {error.strerror}", "choose another folder with --out") from error
