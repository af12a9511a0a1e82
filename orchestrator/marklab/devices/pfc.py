# SPDX-License-Identifier: MIT OR Apache-2.0
"""Priority flow control (IEEE 802.1Qbb), as users write it, and what pauses less than a line."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, WithJsonSchema, model_validator

from marklab import units
from marklab.errors import BadInput, unknown
from marklab.model import Model, Size, short_form

# What a pause holds back.
PER = ("port", "flow", "destination")

# Where a pause begins and ends, as bytes that wait.
_THRESHOLDS = {"xoff": 20_000, "xon": 10_000}


class Pfc(Model):
    """Lines that lead to switches lose nothing: whose packets wait in too large a number is asked to pause.

    What waits is counted by the port of the switch that it came by; per `destination` by the host that it goes to as
    well, and per `flow` in the flow's queue, whose shares `xoff` and `xon` are. `on` has the defaults,
    `xoff=20KB,xon=10KB` says more.
    """

    # YAML's older versions read `on` as true.
    model_config = ConfigDict(
        json_schema_extra=short_form(
            {"anyOf": [{"const": True}, {"type": "string", "examples": ["on", "xoff=20KB,xon=10KB", "per=flow"]}]}
        )
    )

    # None is a port: what is not said is not part of what describes a run.
    per: Annotated[Literal["flow", "destination"] | None, WithJsonSchema({"enum": [*PER, None]})] = None
    # Per flow the default is what a line brings in a round trip, which the network says.
    xoff_bytes: Size | None = Field(default=None, alias="xoff", ge=1, description="more than this asks for a pause")
    xon_bytes: Size | None = Field(default=None, alias="xon", description="as little as this ends it")
    # 12 MB are those of the DCQCN paper's switches (section 5).
    buffer_bytes: Size = Field(default=12_000_000, alias="buffer", ge=1, description="memory of a switch")

    @model_validator(mode="before")
    @classmethod
    def _by_text(cls, value: Any) -> Any:
        if value is True or value == "on":
            value = {}
        if isinstance(value, str):
            _, value = units.ShortForm.settings_of(f"on:{value}")
        if not isinstance(value, dict):
            return value
        per = value.get("per") or "port"
        if per not in PER:
            raise unknown("pauses per", str(per), PER)
        given = value | {"per": None if per == "port" else per}
        own = {} if per == "flow" else {name: b for name, b in _THRESHOLDS.items() if f"{name}_bytes" not in given}
        return own | given

    @model_validator(mode="after")
    def _ends_below(self) -> Pfc:
        if self.xon_bytes is None:
            return self
        if self.xoff_bytes is None:
            raise BadInput(
                f"a pause ends at {units.format_size(self.xon_bytes)}, and where it begins is not said", "xoff as well"
            )
        if self.xon_bytes >= self.xoff_bytes + (self.per == "flow"):
            raise BadInput(
                f"a pause cannot end at {units.format_size(self.xon_bytes)} and begin above "
                f"{units.format_size(self.xoff_bytes)}",
                "an xon of at most xoff" if self.per == "flow" else "an xon below xoff",
            )
        return self
