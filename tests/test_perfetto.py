# SPDX-License-Identifier: MIT OR Apache-2.0
"""Traces for ui.perfetto.dev: the numbers of the run, in Perfetto's messages.

The official classes (the package `perfetto` of PyPI) read these traces alike; their numbers of fields are in the test.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import Finished
from marklab.playback import perfetto

Cli = Callable[..., Finished]
RUN = ("run", "--scheme", "tcn", "--baseline", "none", "--load", "0.8", "--seeds", "1", "--no-report")


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data: bytes) -> dict[int, list[Any]]:
    """Fields of a message by number: whole numbers, and bytes (the encoding of protocol buffers)."""
    found: dict[int, list[Any]] = defaultdict(list)
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at : at + value], at + value
        found[key >> 3].append(value)
    return found


def test_a_trace_has_the_flows_and_counters_of_its_run(cli: Cli, tmp_path: Path) -> None:
    assert cli(*RUN, "--flows", "300", "--out", str(tmp_path), "--trace", "perfetto").code == 0
    (folder,) = tmp_path.iterdir()
    tracks: dict[int, tuple[str, int | None, bool]] = {}
    slices: dict[int, list[int]] = defaultdict(list)
    counters: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for packet in map(fields, fields((folder / "trace.pftrace").read_bytes())[1]):
        assert packet[10] == [1]
        if 60 in packet:
            track = fields(packet[60][0])
            tracks[track[1][0]] = (track[2][0].decode(), (track[5] or [None])[0], 8 in track)
            continue
        event = fields(packet[11][0])
        assert event[11][0] in tracks
        match event[9][0]:
            case 1 | 2:
                slices[event[11][0]].append(packet[8][0])
            case 4:
                counters[event[11][0]].append((packet[8][0], event[30][0]))
    rows = pl.read_parquet(folder / "flows.parquet").sort("flow")
    flows = {name: number for number, (name, _, _) in tracks.items() if name.startswith("flow ")}
    assert len(flows) == len(rows) == 300
    for (name, track), row in zip(
        flows.items(), sorted(rows.iter_rows(named=True), key=lambda row: row["start_ns"]), strict=True
    ):
        assert name == f"flow {row['flow']}: h{row['src']} to h{row['dst']}, {row['size_bytes']:,} bytes"
        assert slices[track] == [row["start_ns"], row["start_ns"] + row["fct_ns"]]
    by_name = {name: counters[number] for number, (name, _, counts) in tracks.items() if counts and name != "cwnd"}
    marks = json.loads((folder / "summary.json").read_text())["schemes"]["tcn"]["marks"]
    assert by_name["s0:7 marks"][-1][1] == marks["total"] > 0
    assert by_name["s0:7 queue"][-1][1] == 0 < max(value for _, value in by_name["s0:7 queue"])
    windows = [counters[number] for number, (name, _, _) in tracks.items() if name == "cwnd"]
    assert sum(len({value for _, value in each}) > 2 for each in windows) > 10
    for each in counters.values():
        assert [time for time, _ in each] == sorted({time for time, _ in each})


def test_too_many_flows_are_refused(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perfetto, "MOST_FLOWS", 20)
    done = cli(*RUN, "--flows", "30", "--out", str(tmp_path), "--trace", "perfetto")
    assert (done.code, "30 flows are too many for a trace" in done.err) == (2, True)
    assert (next(tmp_path.iterdir()) / "summary.json").exists()


def test_a_trace_is_of_a_simulated_run(cli: Cli, tmp_path: Path) -> None:
    done = cli(*RUN, "--fabric", "mininet", "--out", str(tmp_path), "--trace", "perfetto")
    assert (done.code, "simulated cells" in done.err) == (2, True)
