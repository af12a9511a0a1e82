"""Priority flow control (IEEE 802.1Qbb), as users write it."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from orchestrator import units
from orchestrator.errors import BadInput
from orchestrator.model import Model, Size


class Pfc(Model):
    """Lines that lead to switches lose nothing: whose packets wait in too large a number is asked to pause.

    What waits is counted by the port of the switch that it came by. `on` has the defaults, `xoff=20KB,xon=10KB` says
    more.
    """

    xoff_bytes: Size = Field(default=20_000, alias="xoff", ge=1, description="more than this asks for a pause")
    xon_bytes: Size = Field(default=10_000, alias="xon", description="as little as this ends it")
    # 12 MB are those of the DCQCN paper's switches (section 5).
    buffer_bytes: Size = Field(default=12_000_000, alias="buffer", ge=1, description="memory of a switch")

    @model_validator(mode="before")
    @classmethod
    def _by_text(cls, value: Any) -> Any:
        if value is True or value == "on":  # YAML reads `on` as true
            return {}
        return dict(units.parse_setting(part) for part in value.split(",")) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _ends_below(self) -> Pfc:
        if self.xon_bytes >= self.xoff_bytes:
            raise BadInput(
                f"a pause cannot end at {units.format_size(self.xon_bytes)} and begin above "
                f"{units.format_size(self.xoff_bytes)}",
                "an xon below xoff",
            )
        return self
