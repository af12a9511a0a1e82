# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is kept of a run: its folder."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from marklab.prepare.experiment import Experiment
from marklab.results.folders import write_json
from marklab.results.observation import Observation
from marklab.results.summary import Summary

_log = logging.getLogger(__name__)


def write_run(folder: Path, experiment: Experiment, observations: Sequence[Observation], summary: Summary) -> None:
    """Write everything that is known of a run."""
    # Polars takes long to load, which commands that write no table need not wait for.
    from marklab.execution.flows import flow_table  # noqa: PLC0415
    from marklab.results import traces  # noqa: PLC0415
    from marklab.tables import parquet  # noqa: PLC0415

    (folder / "spec.yaml").write_text(experiment.spec.to_yaml(), encoding="utf-8")
    write_json(folder / "versions.json", summary.versions)
    write_json(folder / "summary.json", summary.to_json())
    parquet.write_table(folder / "flows.parquet", flow_table(experiment, observations))
    traced = folder / traces.FOLDER
    for seen in observations:
        for what, table in traces.recorded(experiment.spec, seen).items():
            traced.mkdir(exist_ok=True)
            parquet.write_table(traced / traces.file_name(seen.scheme, seen.seed, what), table)
        if seen.packet_trace is not None and seen.packet_trace.dropped:
            kept, dropped = len(seen.packet_trace.columns["time_ns"]), seen.packet_trace.dropped
            _log.warning(
                "the record of packets of %s, seed %d, has the last %s packets, and not the %s before: for more, take "
                "--trace-packets last=%d or other conditions",
                *(seen.scheme, seen.seed, f"{kept:,}", f"{dropped:,}", kept + dropped),
            )
