"""Traffic as users write it, as far as it is more than a name."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from orchestrator.errors import BadInput
from orchestrator.model import Model, Size, Time


class Queries(Model):
    """Bursts on top of the workload: many senders answer one receiver at the same instant."""

    senders: int = Field(ge=1)
    smallest_bytes: Size = Field(default=3_000, alias="smallest", ge=1)
    largest_bytes: Size = Field(default=60_000, alias="largest", ge=1)
    at_ns: tuple[Time, ...] | None = Field(default=None, alias="at")
    load: float | None = Field(default=None, gt=0, le=1)

    @model_validator(mode="after")
    def _consistent(self) -> Queries:
        if (self.at_ns is None) == (self.load is None):
            raise BadInput("queries come either `at` stated times or as a `load`")
        if self.smallest_bytes > self.largest_bytes:
            raise BadInput("the smallest query is larger than the largest")
        return self


class FlowListFile(Model):
    """Flows that are replayed exactly, instead of a workload. The digest shows a file that has changed since."""

    path: str
    sha256: str

    @model_validator(mode="before")
    @classmethod
    def _with_digest(cls, value: Any) -> Any:
        if not isinstance(value, (str, dict)):
            return value
        given = {"path": value} if isinstance(value, str) else value
        path = Path(str(given.get("path")))
        try:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError as error:
            raise BadInput(f"cannot read the flow list {path}: {error.strerror}") from error
        if given.get("sha256", digest) != digest:
            raise BadInput(f"the flow list {path} is not the one of this description any more")
        return {"path": str(path.resolve()), "sha256": digest}
