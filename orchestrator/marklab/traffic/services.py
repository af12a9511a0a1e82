# SPDX-License-Identifier: MIT OR Apache-2.0
"""Services that share the network, each with its own queues, as users write them."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import yaml
from pydantic import BeforeValidator, ConfigDict, Field, field_validator, model_validator

from marklab import units
from marklab.errors import BadInput
from marklab.model import Model, short_form
from marklab.traffic.description import Distribution
from marklab.traffic.workload import Workload

# The number of DSCP code points.
MAX_SERVICES = 64


def _as_list(value: Any) -> Any:
    return re.split("[/,]", value) if isinstance(value, str) else value


class Services(Model):
    """Services with separate queues: service i has code point i and queue i.

    Each flow, or each pair of hosts, belongs to one service. Flows choose by `weights`, which sum to 1 or to 100
    percent; by default they are equal. With `share: load` the weights are those of the load, not of the number of
    flows. Services take `workloads` in turn; by default all have the workload of the run.
    In short: `4:weights=10/20/30/40`.
    """

    model_config = ConfigDict(
        json_schema_extra=short_form(
            {"type": ["integer", "string"], "minimum": 1, "examples": [4, "4:weights=10/20/30/40", "8:by=pair"]}
        )
    )

    count: int = Field(ge=1, le=MAX_SERVICES)
    weights: tuple[float, ...] = ()
    by: Literal["flow", "pair"] = "flow"
    share: Literal["load"] | None = None
    workloads: Annotated[
        tuple[Distribution, ...], BeforeValidator(_as_list, json_schema_input_type=str | tuple[Distribution, ...])
    ] = ()

    @model_validator(mode="before")
    @classmethod
    def _by_text(cls, value: Any) -> Any:
        if not isinstance(value, (int, str)):
            return value
        count, settings = units.ShortForm.settings_of(str(value))
        return {"count": count, **settings}

    @field_validator("weights", mode="before", json_schema_input_type=str | tuple[float, ...])
    @classmethod
    def _percents(cls, weights: Any) -> Any:
        if isinstance(weights, str):
            weights = [yaml.safe_load(part) for part in re.split("[/,]", weights)]
        total = sum(weights) if isinstance(weights, (list, tuple)) and weights else None
        return [weight / 100 for weight in weights] if total is not None and abs(total - 100) < 1e-6 else weights

    @model_validator(mode="after")
    def _consistent(self) -> Services:
        if self.weights and len(self.weights) != self.count:
            raise BadInput(f"{len(self.weights)} weights for {self.count} services", "give one weight for each service")
        if any(weight <= 0 for weight in self.weights):
            raise BadInput("the weight of a service must be above 0", "leave the service out, or give it a share")
        if self.weights and abs(sum(self.weights) - 1) > 1e-6:
            raise BadInput(
                f"the weights of the services sum to {sum(self.weights):g}", "they must sum to 1, or to 100 percent"
            )
        if self.by == "pair" and self.weights and self.share is None:
            remedy = "leave out `weights`, choose `by: flow`, or share the load (`share: load`)"
            raise BadInput("pairs of hosts are shared equally by services", remedy)
        return self

    def workload(self, service: int) -> Workload | None:
        """The workload of a service; None if it is that of the run."""
        return self.workloads[service % len(self.workloads)] if self.workloads else None

    @property
    def shares(self) -> tuple[float, ...]:
        """Fraction of flows, or of pairs of hosts, of each service."""
        return self.weights or (1 / self.count,) * self.count
