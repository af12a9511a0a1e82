# SPDX-License-Identifier: MIT OR Apache-2.0
"""Probes of round-trip times: settings, measurements, output."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from conftest import Finished
from marklab.errors import BadInput
from marklab.fabrics import Sim
from marklab.prepare.experiment import prepare
from marklab.results.traces import PROBE_COLUMNS, probe_table
from marklab.spec.description import make_spec
from runs import run

Cli = Callable[..., Finished]

# Four lines of 10 Gb/s for 98 + 24 bytes, each ns rounded down at most, and the RTT of their delays.
IDLE_US = 4 * 122 * 0.8e-3
LONG = {
    "schemes": ["dctcp-red"], "baseline": "none", "topology": "incast:senders=2", "rtt": "80us", "seeds": 1, "flows": 0,
    "added_flows": [{"from": "h0", "to": "h2", "dscp": 1}], "until": "10ms", "queues": "dwrr:count=2",
}  # fmt: skip


def test_probes_measure_the_queue_that_they_wait_in() -> None:
    probes = ["h1:h2,every=50us,start=2ms", {"from": 1, "to": "h2", "every": "50us", "start": "2ms", "dscp": 1}]
    _, (seen,), summary = run(**LONG, probes=probes)
    rtt = summary.main.rtt_us
    assert list(rtt) == ["all", "h1:h2", "1:h2,dscp=1"]
    idle, busy = rtt["h1:h2"], rtt["1:h2,dscp=1"]
    assert idle.mean is not None
    assert busy.mean is not None
    # The scheduler serves a packet of an idle queue after those that it is sending.
    assert 80 < idle.mean < 80 + IDLE_US + 3 * 1.25
    assert idle.mean + 5 < busy.mean
    assert (rtt["all"].n, rtt["all"].lost) == (idle.n + busy.n, idle.lost + busy.lost)
    # From 2 to 10 ms, both included.
    times = list(range(2_000_000, 10_000_001, 50_000))
    assert idle.n + idle.lost == len(times)
    table = probe_table(seen.probes, list(rtt)[1:])
    assert table.filter(pl.col("probe") == "h1:h2")["time_ns"].to_list() == times
    assert tuple(table.columns) == tuple(PROBE_COLUMNS)
    assert table["rtt_ns"].null_count() == rtt["all"].lost
    assert summary.main.fct_us["overall"].n == 0


def test_runs_without_probes_have_no_round_trips() -> None:
    _, _, summary = run(**LONG)
    assert summary.main.rtt_us == {}


@pytest.mark.parametrize(
    ("probe", "why"),
    [
        ("h0", "is not a probe"),
        ("h0:h0", "from a host to itself"),
        ("h0:h9", "unknown host `h9`"),
        ("h0:h2,every=0us", "every"),
        ("h0:h2,size=41", "size"),
        ("h0:h2,size=65001", "size"),
        ("h0:h2,dscp=64", "dscp"),
        ("h0:h2,evry=1ms", "unknown key"),
        (["h0:h2", "h0:h2,every=3ms"], "two probes"),
    ],
)
def test_what_cannot_be_probed_is_refused(probe: object, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        Sim().check(prepare(make_spec(LONG | {"probes": probe})))


def test_the_command_line_probes(cli: Cli, tmp_path: Path) -> None:
    options = ("-s", "tcn", "--flows", "50", "--seeds", "2", "--baseline", "none", "--probe", "h0:h7,every=100us")
    done = cli(*options, "--json", "--out", str(tmp_path))
    plain = json.loads(done.out)
    assert plain["rtt_us"]["h0:h7"] == plain["rtt_us"]["all"]
    assert plain["rtt_us"]["all"]["ci95"]["mean"] is not None
    assert len(list(tmp_path.glob("*/traces/*-probes.parquet"))) == 2
    text = cli(*options, "--out", str(tmp_path)).out
    assert "round trips of probes" in text
    assert "h0:h7 p99" in text


def test_a_description_is_read_back() -> None:
    spec = make_spec(LONG | {"probes": "h0:h2,every=10us,dscp=3"})
    assert make_spec(spec.to_plain()) == spec
