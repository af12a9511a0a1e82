# SPDX-License-Identifier: MIT OR Apache-2.0
"""Templates of HTML and Markdown, filled in by Jinja2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape


def filled(template: Path, **values: Any) -> str:
    """A template with values, and functions that it calls. Values are escaped if the template is HTML."""
    environment = Environment(
        loader=FileSystemLoader(template.parent),
        autoescape=select_autoescape(["html"], default=False),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template.name).render(values)
