# SPDX-License-Identifier: MIT OR Apache-2.0
"""What was run, as text: facts that the points of a collection share, or the range of their values if they differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from marklab.devices.stacks import transport_title
from marklab.report.terminal import real_fabric, topology_name
from marklab.results.collection import Collection
from marklab.results.summary import Summary

# More values than this are shown as the first, the last and their number.
_MOST_VALUES = 4


def facts(collection: Collection) -> dict[str, str]:
    """Facts about what was run, by name."""
    found: dict[str, dict[str, None]] = {}
    for point in collection.points:
        for name, value in _of(point.summary):
            found.setdefault(name, {})[value] = None
    return {name: _together(list(values)) for name, values in found.items()}


def _of(summary: Summary) -> Iterator[tuple[str, str]]:
    spec = summary.spec
    yield "topology", topology_name(spec["topology"])
    yield "rate", f"{spec['rate']}b/s"
    yield "RTT", str(spec["rtt"])
    yield "transport", transport_title(spec["transport"])
    if "flow_list" in spec:
        yield "flow list", str(spec["flow_list"]["path"])
    elif spec["flows"]:
        workload = spec["workload"]
        yield "workload", str(workload["name"] if isinstance(workload, Mapping) else workload)
        yield "load", f"{spec['load']:g}"
        yield "flows per seed", f"{spec['flows']:,}"
    if added := sum(flow["count"] for flow in spec.get("added_flows", [])):
        yield "added flows", f"{added:,}"
    yield "seeds", str(spec["seeds"])
    if "controller" in spec:
        yield "controller", Path(spec["controller"]["path"]).stem
    if fabric := real_fabric(summary):
        yield "fabric", fabric


def _together(values: Sequence[str]) -> str:
    if len(values) <= _MOST_VALUES:
        return ", ".join(values)
    return f"{values[0]} … {values[-1]} ({len(values)} values)"
