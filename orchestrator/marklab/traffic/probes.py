# SPDX-License-Identifier: MIT OR Apache-2.0
"""Probes of round-trip times, as users write them."""

from __future__ import annotations

from typing import Any

import yaml
from pydantic import ConfigDict, Field, model_validator

from marklab import units
from marklab.errors import BadInput
from marklab.model import Model, Size, Time, short_form


class Probe(Model):
    """A host that pings another: ICMP echoes, which are not flows and not ECN capable.

    In short: `h0:h8,every=1ms,dscp=1`.
    """

    model_config = ConfigDict(
        json_schema_extra=short_form({"type": "string", "examples": ["h0:h8", "h0:h8,every=1ms,dscp=1"]})
    )

    src: str | int = Field(alias="from")
    dst: str | int = Field(alias="to")
    every_ns: Time = Field(default=1_000_000, alias="every", gt=0)
    # Size of a frame without its checksum: headers and the 56 bytes that ping sends.
    size_bytes: Size = Field(default=98, alias="size", ge=42, le=65_000)
    dscp: int = Field(default=0, ge=0, le=63)
    start_ns: Time = Field(default=0, alias="start")

    @model_validator(mode="before")
    @classmethod
    def _by_text(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        form = units.ShortForm.read(value)
        if not form.name or len(form.words) != 1 or not form.words[0]:
            raise BadInput(f"`{value}` is not a probe", "write it like h0:h8,every=1ms,dscp=1")
        numbers = {key: yaml.safe_load(text) for key, text in form.settings.items()}
        return {"from": form.name, "to": form.words[0], **numbers}

    @property
    def label(self) -> str:
        """The name in tables."""
        return f"{self.src}:{self.dst}" + (f",dscp={self.dscp}" if self.dscp else "")
