# SPDX-License-Identifier: MIT OR Apache-2.0
"""Synthetic results to compare: every time of a cell is the same number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from marklab.comparison.policy import Policy
from marklab.comparison.side_by_side import Comparison, compare
from marklab.results.collection import Collection, FailedCell, Point
from marklab.results.summary import (
    CLASSES,
    Distribution,
    Drops,
    Estimate,
    Marks,
    Sample,
    SchemeResult,
    SeedResult,
    Summary,
)

VERSIONS = {"marklab": "1.0.0", "engine": "1.0.0"}


def seed(number: int, value: float, flows: str, unfinished: int = 0, timeouts: int = 0) -> SeedResult:
    samples = {name: Sample(n=100, mean=value, p50=value, p99=value, p999=value) for name in CLASSES}
    rtts = Distribution(n=100, mean=value, p50=value, p99=value, p999=value)
    return SeedResult(
        seed=number, flow_list=flows, fct_us=samples, slowdown=samples, unfinished=unfinished, drops=Drops(),
        marks=Marks(), timeouts=timeouts, retransmissions=0, utilisation=0.5, link_transmissions=1, events=1,
        engine_cpu_s=0.0, tcp_rtt_us=rtts, flow_rtt_us=100.0,
    )  # fmt: skip


def scheme(label: str, seeds: Sequence[SeedResult], program: str = "") -> SchemeResult:
    nothing = {name: Estimate(n=0) for name in CLASSES}
    return SchemeResult(
        label=label, program=program, parameters={}, fct_us=nothing, slowdown=nothing, unfinished=0, drops=Drops(),
        timeouts=0, retransmissions=0, marks=Marks(), utilisation=0.5, link_transmissions=1, events=1,
        engine_cpu_s=0.0, seeds=tuple(seeds),
    )  # fmt: skip


def summary(schemes: Sequence[SchemeResult], **spec: object) -> Summary:
    by_label = {each.label: each for each in schemes}
    return Summary(spec=spec, scheme=schemes[0].label, baseline=None, schemes=by_label, versions=VERSIONS)


def collection(kind: Any, points: Sequence[Point], **more: Any) -> Collection:
    return Collection(Path(kind), kind, kind, "", tuple(points), **{"versions": VERSIONS, **more})


def run(
    *values: float, label: str = "tcn", flows: str = "same", unfinished: int = 0, timeouts: int = 0, **spec: object
) -> Collection:
    """A run of one scheme, one value for each seed."""
    seeds = [seed(at, value, f"{flows} {at}", unfinished, timeouts) for at, value in enumerate(values)]
    return collection("run", [Point({}, summary([scheme(label, seeds)], **spec), {})])


def sweep(
    values: Mapping[str, Mapping[float, Sequence[float]]], flows: str = "same", first_seed: int = 1, **more: Any
) -> Collection:
    """A sweep over loads: by scheme and load, one value for each seed."""
    loads = list(dict.fromkeys(load for of_scheme in values.values() for load in of_scheme))
    points = []
    for load in loads:
        of_load = [
            scheme(
                label, [seed(first_seed + at, value, f"{flows} {load} {at}") for at, value in enumerate(found[load])]
            )
            for label, found in values.items()
            if load in found
        ]
        points.append(Point({"load": load}, summary(of_load, load=load), {}))
    return collection("sweep", points, **more)


def failed(label: str, load: float, number: int) -> FailedCell:
    return FailedCell({"load": load}, label, number, "an assert failed")


def compared(base: Collection, new: Collection, *rules: str, force: bool = False, **policy: Any) -> Comparison:
    return compare(base, new, Policy(**policy).with_rules(list(rules)), force=force)
