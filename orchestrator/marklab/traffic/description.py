# SPDX-License-Identifier: MIT OR Apache-2.0
"""Descriptions of traffic as users write them: workloads, queries, sessions, added flows, and flow lists."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, PlainSerializer, model_validator
from pydantic.json_schema import JsonSchemaValue

from marklab import units
from marklab.errors import BadInput
from marklab.model import SIZE, Model, Rate, Size, Time, short_form, written
from marklab.traffic.flows import ENDLESS, ENDLESS_BYTES, OwnTransport
from marklab.traffic.workload import Workload, load_workload


def _read_workload(value: Any) -> Any:
    if isinstance(value, str):
        return load_workload(value)
    if isinstance(value, dict) and set(value) == {"name", "points"}:
        try:
            points = tuple((float(size), float(part)) for size, part in value["points"])
        except (TypeError, ValueError) as error:
            raise BadInput("the points of a workload are pairs of numbers", "[[size_bytes, cdf], ...]") from error
        return Workload(str(value["name"]), points)
    if not isinstance(value, Workload):
        raise BadInput(f"`{value}` is not a workload", "write the name of a workload, or the path of a CSV file")
    return value


def _write_workload(workload: Workload) -> object:
    """Write a distribution of the lab as its name, any other one with its points, because its file may change."""
    try:
        if load_workload(workload.name) == workload:
            return workload.name
    except BadInput:
        pass
    return {"name": workload.name, "points": [list(point) for point in workload.points]}


# The written form of a workload, as JSON Schema: a name, the path of a CSV file, or points.
_WRITTEN_WORKLOAD: JsonSchemaValue = {
    "anyOf": [
        {"type": "string", "examples": ["web_search", "data_mining", "mine.csv"]},
        {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "points": {
                    "type": "array",
                    "items": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
                },
            },
            "required": ["name", "points"],
            "additionalProperties": False,
        },
    ]
}

Distribution = Annotated[
    Workload,
    BeforeValidator(_read_workload, json_schema_input_type=written(_WRITTEN_WORKLOAD)),
    PlainSerializer(_write_workload),
]


class Queries(Model):
    """Bursts on top of the workload: many senders answer one receiver at the same instant.

    In short: `40:at=10ms/60ms` or `40:load=0.05`.
    """

    model_config = ConfigDict(
        json_schema_extra=short_form(
            {"type": "string", "pattern": "^[0-9]+:[a-z]+=", "examples": ["40:at=10ms/60ms", "40:load=0.05"]}
        )
    )

    senders: int = Field(ge=1)
    smallest_bytes: Size = Field(default=3_000, alias="smallest", ge=1)
    largest_bytes: Size = Field(default=60_000, alias="largest", ge=1)
    at_ns: tuple[Time, ...] | None = Field(default=None, alias="at")
    load: float | None = Field(default=None, gt=0, le=1)

    @model_validator(mode="before")
    @classmethod
    def _by_text(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        senders, settings = units.ShortForm.settings_of(value)
        at = {"at": settings["at"].split("/")} if "at" in settings else {}
        return {"senders": senders, **settings, **at}

    @model_validator(mode="after")
    def _consistent(self) -> Queries:
        if (self.at_ns is None) == (self.load is None):
            raise BadInput("either `at` or `load` is needed, not both")
        if self.smallest_bytes > self.largest_bytes:
            raise BadInput("the smallest query is larger than the largest")
        return self


class Sessions(Model):
    """Readers of the web (`prepare.web`). Defaults are those of ns-2's examples of Feldmann et al. (SIGCOMM 1999).

    `think` is the mean time from a page's last object to the next page, `gap` the mean time between objects of a page.
    Both begin at the start of an object, or in a closed loop at its end. In a loop of a page, only `gap` does: readers
    wait for the objects of a page, and pages come at their times. `persistent` connections carry all objects of a page.
    """

    think_ns: Time = Field(default=50 * 10**9, alias="think", gt=0)
    think_shape: float = Field(default=2.0, gt=1, le=100)
    objects: float = Field(default=4.0, ge=1, le=10_000, description="per page, mean")
    gap_ns: Time = Field(default=500 * 10**6, alias="gap")
    closed_loop: bool | Literal["page"] = False
    persistent: bool = False

    @model_validator(mode="after")
    def _one_after_the_other(self) -> Sessions:
        if self.persistent and not self.closed_loop:
            raise BadInput(
                "persistent connections carry one object after the other, which needs readers who wait for objects",
                "closed_loop: true",
            )
        return self

    @property
    def cycle_ns(self) -> float:
        """Mean time between pages of a session, in ns."""
        return self.think_ns + (self.objects - 1) * self.gap_ns


def _read_size(value: Any) -> int:
    return ENDLESS_BYTES if value in (ENDLESS, ENDLESS_BYTES) else units.parse_size(value)


def _write_size(size: int) -> str:
    return ENDLESS if size == ENDLESS_BYTES else units.format_size(size)


class AddedFlow(Model):
    """A flow in addition to the workload or the flow list, or `count` equal flows; endless unless it has a `size`.

    The application writes as fast as it can, or at a `rate`, a segment at a time.
    """

    src: str | int = Field(alias="from")
    dst: str | int = Field(alias="to")
    start_ns: Time = Field(default=0, alias="start")
    size_bytes: Annotated[
        int,
        BeforeValidator(_read_size, json_schema_input_type=written({"anyOf": [{"const": ENDLESS}, SIZE]})),
        PlainSerializer(_write_size),
    ] = Field(default=ENDLESS_BYTES, alias="size", ge=1, le=ENDLESS_BYTES)
    rate_bps: Rate | None = Field(default=None, alias="rate", ge=1)
    dscp: int = Field(default=0, ge=0, le=63)
    extra_delay_ns: Time = Field(default=0, alias="extra_delay")
    count: int = Field(default=1, ge=1, le=10_000)
    transport: OwnTransport | None = Field(
        default=None, description="the congestion control of its hosts, if not the run's"
    )


_WRITTEN_FILE: JsonSchemaValue = {"type": "string", "examples": ["flows.csv"]}


class FlowListFile(Model):
    """Flows that are replayed exactly, instead of a workload. The digest shows whether the file has changed."""

    model_config = ConfigDict(json_schema_extra=short_form(_WRITTEN_FILE, required=["path"]))

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
            raise BadInput(f"the flow list {path} has changed since this description was written")
        return {"path": str(path.resolve()), "sha256": digest}
