# SPDX-License-Identifier: MIT OR Apache-2.0
"""Descriptions of jobs: parallel training, whose hosts compute, exchange data by a collective, and begin again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from marklab import units
from marklab.errors import BadInput, unknown
from marklab.model import Model, Size, Time, short_form
from marklab.traffic.chakra import SUFFIX, trace_digest

Collective = Literal["all-reduce", "all-gather", "reduce-scatter", "all-to-all"]
COLLECTIVES: tuple[str, ...] = get_args(Collective)
Placement = Literal["packed", "spread", "random"]


def _read_hosts(value: Any) -> Any:
    """Read a number of hosts, or their names, which a short form separates by `/`."""
    if isinstance(value, str):
        return int(value) if value.isdecimal() else tuple(value.split("/"))
    return value


class Job(Model):
    """A job: on each of its hosts an iteration is a computation, and then a collective.

    In short: `all-reduce:size=16MB,hosts=8,iterations=10,compute=1ms`.

    Of all-reduce and all-to-all, `size` is the buffer of each host; of all-gather and reduce-scatter, the whole buffer,
    of which each host has a part. A host begins its next computation when it has all that the collective gives it. The
    computation takes `compute`, and up to `spread` more, drawn for each host and iteration.
    """

    model_config = ConfigDict(
        json_schema_extra=short_form(
            {
                "type": "string",
                "pattern": f"^({'|'.join(COLLECTIVES)})(:.*)?$",
                "examples": ["all-reduce:size=16MB,hosts=8,iterations=10,compute=1ms"],
            }
        )
    )

    collective: Collective
    name: str | None = Field(default=None, min_length=1, max_length=40)
    # None is a ring; all-to-all has no choice.
    algorithm: Literal["ring", "tree"] | None = None
    size_bytes: Size = Field(default=16_000_000, alias="size", ge=1, le=2**40)
    # None is all hosts.
    hosts: Annotated[int | tuple[str | int, ...] | None, BeforeValidator(_read_hosts)] = None
    placement: Placement = "packed"
    iterations: int = Field(default=3, ge=1, le=100_000)
    compute_ns: Time = Field(default=0, alias="compute")
    spread_ns: Time = Field(default=0, alias="spread")
    start_ns: Time = Field(default=0, alias="start")
    # Parts of the buffer that a tree sends one after the other. None is 1.
    pieces: int | None = Field(default=None, ge=1, le=10_000)

    @model_validator(mode="before")
    @classmethod
    def _by_text(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        name, settings = units.ShortForm.settings_of(value)
        if name not in COLLECTIVES:
            raise unknown("collective", name, COLLECTIVES)
        return {"collective": name, **settings}

    @model_validator(mode="after")
    def _consistent(self) -> Job:
        if self.algorithm == "tree" and self.collective != "all-reduce":
            raise BadInput(f"{self.collective} has no tree", "algorithm: tree is for all-reduce")
        if self.algorithm is not None and self.collective == "all-to-all":
            raise BadInput("all-to-all sends to each host directly, and has no algorithm", "leave it out")
        if self.pieces is not None and self.algorithm != "tree":
            raise BadInput("`pieces` are those of a tree", "algorithm: tree, or leave them out")
        if isinstance(self.hosts, int) and self.hosts < 2:
            raise BadInput("a job needs at least 2 hosts")
        if isinstance(self.hosts, tuple) and self.placement != "packed":
            raise BadInput("hosts that are named are placed", "leave out `placement`, or give a number of hosts")
        return self

    @property
    def label(self) -> str:
        """Its name, or that of its collective."""
        return self.name or self.collective


class TraceJob(Model):
    """A job that an execution trace in Chakra's format describes (`traffic.chakra`): `PREFIX.et`, a file per rank.

    In short: `PREFIX.et:placement=spread`. The digest shows whether the files have changed.
    """

    model_config = ConfigDict(
        json_schema_extra=short_form(
            {"type": "string", "pattern": r"\.et(:.*)?$", "examples": ["traces/gpt.et:placement=spread"]},
            required=["trace"],
        )
    )

    path: str = Field(alias="trace")
    sha256: str
    name: str | None = Field(default=None, min_length=1, max_length=40)
    # None is as many as there are ranks.
    hosts: Annotated[tuple[str | int, ...] | None, BeforeValidator(_read_hosts)] = None
    placement: Placement = "packed"
    start_ns: Time = Field(default=0, alias="start")

    @model_validator(mode="before")
    @classmethod
    def _with_digest(cls, value: Any) -> Any:
        if isinstance(value, str):
            path, settings = units.ShortForm.settings_of(value)
            value = {"trace": path, **settings}
        if not isinstance(value, dict) or "trace" not in value:
            return value
        digest = trace_digest(str(value["trace"]))
        if value.get("sha256", digest) != digest:
            raise BadInput(f"the trace {value['trace']} has changed since this description was written")
        return {**value, "trace": str(Path(value["trace"]).resolve()), "sha256": digest}

    @property
    def iterations(self) -> int:
        """A trace is one."""
        return 1

    @property
    def label(self) -> str:
        """Its name, or that of its files."""
        return self.name or Path(self.path).stem


def read_job(value: Any) -> Any:
    """Read a job: a collective, or an execution trace."""
    if isinstance(value, Job | TraceJob):
        return value
    path = value.partition(":")[0] if isinstance(value, str) else None
    is_trace = path.endswith(SUFFIX) if path is not None else isinstance(value, dict) and "trace" in value
    return (TraceJob if is_trace else Job).model_validate(value)


AnyJob = Annotated[Job | TraceJob, BeforeValidator(read_job)]
