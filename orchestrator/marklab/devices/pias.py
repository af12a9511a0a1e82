# SPDX-License-Identifier: MIT OR Apache-2.0
"""PIAS (Bai et al., NSDI 2015): sending hosts lower the priority of a flow's packets as it sends."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, ConfigDict, Field, PlainSerializer, model_validator

from marklab import units
from marklab.errors import BadInput, unknown
from marklab.model import SIZE, Model, read_yaml, short_form, written
from marklab.paths import TRAFFIC
from marklab.traffic.workload import Workload

# Code points of IPv4.
MAX_LEVELS = 64

# The paper's, and of 8 queues, which switches have.
_LEVELS = 8

PUBLISHED, EQUAL = "published", "equal"
_PUBLISHED_FILE = TRAFFIC / "pias.yaml"
_PUBLISHED_PACKET_BYTES = 1460


def _read_thresholds(value: Any) -> Any:
    if value in (PUBLISHED, EQUAL):
        return value
    texts = value.split("/") if isinstance(value, str) and value[:1].isdigit() else value
    if not isinstance(texts, (list, tuple)):
        raise BadInput(
            f"`{value}` are no thresholds",
            f"`{PUBLISHED}`, `{EQUAL}`, or sizes in bytes, each above the one before: 20KB/1MB",
        )
    sizes = tuple(units.parse_size(text) for text in texts)
    if sizes and sizes[0] == 0:
        raise BadInput("a threshold of 0 leaves its priority the first packet alone", "thresholds above 0")
    for smaller, larger in pairwise(sizes):
        if larger <= smaller:
            raise BadInput(
                f"a threshold of {units.format_size(larger)} after one of {units.format_size(smaller)}: they must rise",
                "each threshold above the one before",
            )
    return sizes


def _write_thresholds(value: str | tuple[int, ...]) -> Any:
    return value if isinstance(value, str) else [units.format_size(size) for size in value]


class Pias(Model):
    """A packet has the priority of what its flow has sent before: P0 up to the first threshold, P1 up to the second.

    `published` thresholds are those of the authors for the run's workload, at the load that is nearest. `equal` ones
    split the workload's flows into `levels` parts that are equally many (the paper's equal split). In short:
    `published`, `equal:levels=4`, `20KB/1MB`.
    """

    model_config = ConfigDict(
        json_schema_extra=short_form({"type": "string", "examples": [PUBLISHED, f"{EQUAL}:levels=4", "20KB/1MB"]})
    )

    thresholds: Annotated[
        str | tuple[int, ...],
        BeforeValidator(_read_thresholds, json_schema_input_type=str | tuple[written(SIZE), ...]),
        PlainSerializer(_write_thresholds),
    ] = PUBLISHED
    levels: int | None = Field(default=None, ge=1, le=MAX_LEVELS)

    @model_validator(mode="before")
    @classmethod
    def _by_text(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        thresholds, settings = units.ShortForm.settings_of(value)
        return {"thresholds": thresholds, **settings}

    @model_validator(mode="after")
    def _levels_of_an_equal_split(self) -> Pias:
        if self.levels is not None and self.thresholds != EQUAL:
            raise BadInput(f"`levels` are those of `{EQUAL}` thresholds: others have one more than they are", EQUAL)
        if self.count > MAX_LEVELS:
            raise BadInput(f"{self.count} priorities are more than there are code points, {MAX_LEVELS}")
        return self

    @property
    def count(self) -> int:
        """How many priorities there are."""
        return len(self.thresholds) + 1 if isinstance(self.thresholds, tuple) else self.levels or _LEVELS

    def thresholds_bytes(self, workload: Workload, load: float) -> tuple[int, ...]:
        """The thresholds, under a workload."""
        if isinstance(self.thresholds, tuple):
            return self.thresholds
        return _equal(workload, self.count) if self.thresholds == EQUAL else _published(workload, load)


def _equal(workload: Workload, levels: int) -> tuple[int, ...]:
    """Sizes that so many equal parts of the flows do not exceed."""
    sizes = tuple(workload.sizes(np.arange(1, levels) / levels).tolist())
    if len(set(sizes)) < len(sizes):
        raise BadInput(
            f"flows of {workload} cannot be split into {levels} parts by their size: too many have the same one",
            f"fewer levels, {EQUAL}:levels={len(set(sizes)) + 1}",
        )
    return sizes


def _published(workload: Workload, load: float) -> tuple[int, ...]:
    known = _published_packets()
    if workload.name not in known:
        error = unknown("workload with published thresholds:", workload.name, known)
        error.remedy = f"--pias {EQUAL}, or thresholds of your own, 20KB/1MB"
        raise error
    of_loads = known[workload.name]
    nearest = min(of_loads, key=lambda given: abs(given - load))
    return tuple(packets * _PUBLISHED_PACKET_BYTES for packets in of_loads[nearest])


@cache
def _published_packets() -> dict[str, dict[float, list[int]]]:
    return dict(read_yaml(_PUBLISHED_FILE))
