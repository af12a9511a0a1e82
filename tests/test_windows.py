# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lengths of queues in windows. Rates are in test_sharing."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from marklab.errors import BadInput
from marklab.metrics.window_means import queue_length, sender_windows
from marklab.report.terminal import print_run
from marklab.results.metric import find_metric
from marklab.results.observation import Columns
from marklab.results.summary import TIMES_NS, read_summary
from marklab.results.traces import queue_table
from marklab.spec.description import make_spec
from marklab.spec.windows import TimeWindow
from runs import run

EVERY = 10
# Rows are intervals with an event: 3 packets wait at the end of [20, 30), none at the end of [50, 60).
PORT: Columns = {
    "time_ns": np.array([20, 50, 60], dtype=np.uint64),
    "packets": np.array([3, 0, 5], dtype=np.uint64),
    "bytes": np.array([300, 0, 625], dtype=np.uint64),
    "max_packets": np.array([4, 9, 7], dtype=np.uint64),
}


@pytest.mark.parametrize(
    ("begin", "end", "ends", "most"),
    [
        (0, 20, [0, 0], 0),
        (0, 30, [0, 0, 3], 4),
        (20, 30, [3], 4),
        (30, 50, [3, 3], 3),  # unchanged, because there is no event
        (30, 60, [3, 3, 0], 9),
        (40, 70, [3, 0, 5], 9),
        (60, 70, [5], 7),
        (70, 100, [5, 5, 5], 5),
    ],
)
def test_a_queue_stays_as_it_was_between_rows(begin: int, end: int, ends: list[int], most: int) -> None:
    length = queue_length(PORT, TimeWindow(begin, end), EVERY, 10**9)
    assert (length.mean, length.max) == (pytest.approx(sum(ends) / len(ends)), most)


def test_a_port_where_nothing_happened_is_empty() -> None:
    nothing: Columns = {name: column[:0] for name, column in PORT.items()}
    length = queue_length(nothing, TimeWindow(0, 50), EVERY, 10**9)
    assert length.model_dump() == {"mean": 0, "max": 0, "beyond": (0.0,) * len(TIMES_NS)}


def test_a_queue_is_beyond_a_time_if_its_bytes_take_the_line_longer() -> None:
    """300 bytes take 2.4 us at 1 Gb/s, and 625 bytes 5 us, which is not beyond 5 us."""
    length = queue_length(PORT, TimeWindow(0, 100), EVERY, 10**9)
    # At the ends of ten intervals 0, 0, 3, 3, 3, 0, 5, 5, 5, 5 packets wait.
    assert length.beyond == pytest.approx([0.7, 0.7] + [0] * (len(TIMES_NS) - 2))
    slower = queue_length(PORT, TimeWindow(0, 100), EVERY, 999_999_999)
    assert slower.beyond == pytest.approx([0.7, 0.7, 0.4] + [0] * (len(TIMES_NS) - 3))


TRACED: dict[str, Any] = {"schemes": ["dctcp-red"], "baseline": "none", "load": 0.9, "trace_queue": "10us"}


def test_the_mean_length_is_what_packets_wait_altogether() -> None:
    """Little's law: packets in a queue, over time, are the sojourns of those that pass it."""
    _, observations, summary = run(**TRACED, windows="0ms..4s")
    for seen, seed in zip(observations, summary.main.seeds, strict=True):
        table = queue_table(seen.traces["s0-7"])
        waited_ns = (table["mean_sojourn_ns"] * table["departed"]).sum()
        length = seed.windows["0s..4s"].queue_packets
        assert length is not None
        assert seen.report["end_ns"] < 4e9
        assert length.mean == pytest.approx(waited_ns / 4e9, rel=0.01)
        assert length.max == table["max_packets"].max()


def test_a_window_has_what_is_recorded() -> None:
    _, _, queues = run(**TRACED, windows="10ms..20ms")
    both = run(**TRACED, windows="10ms..20ms", trace_flows="100us")[2]
    (of_queues,), (of_both,) = queues.main.windows.values(), both.main.windows.values()
    assert (of_queues.services_bps, of_queues.flows_bps) == ({}, {})
    assert of_both.queue_packets == of_queues.queue_packets
    assert of_both.services_bps[0] > 0
    assert read_summary(both.to_json()) == both


def test_metric_and_report_have_the_mean_over_the_seeds() -> None:
    _, _, summary = run(**TRACED, windows="10ms..20ms")
    for statistic in ("mean", "max"):
        metric = find_metric(f"queue.{statistic}@10000us..20ms")
        values = [metric.of(seed) for seed in summary.main.seeds]
        length = summary.main.windows["10ms..20ms"].queue_packets
        assert sum(values) > 0
        assert getattr(length, statistic) == pytest.approx(sum(values) / 2)
    assert metric.unit == "packets"
    beyond = find_metric("queue.beyond.20us@10ms..20ms")
    parts = [beyond.of(seed) for seed in summary.main.seeds]
    assert beyond.in_percent
    assert 0 < sum(parts) < 2
    assert summary.main.windows["10ms..20ms"].queue_packets.beyond[TIMES_NS.index(20_000)] == pytest.approx(
        sum(parts) / 2
    )
    with pytest.raises(BadInput, match="nothing is counted at 3us"):
        find_metric("queue.beyond.3us@10ms..20ms")
    assert find_metric("queue.mean@10ms..21ms").of(summary.main.seeds[0]) is None
    console = Console(width=120, file=io.StringIO(), record=True)
    print_run(summary, console)
    assert re.search(
        rf"10ms\.\.20ms queue: mean max +{length.mean:,.1f} {length.max:,.0f} packets", console.export_text()
    )


def test_several_ports_have_the_mean_of_their_means_and_the_most_of_one() -> None:
    _, (seen,), summary = run(
        **TRACED | {"topology": "leaf-spine:leaves=2,spines=2,hosts=2", "seeds": 1}, windows="0ms..5ms"
    )
    window = TimeWindow(0, 5 * 10**6)
    ports = [queue_length(queues[0], window, 10_000, 10**10) for queues in seen.traces.values()]
    length = summary.main.windows["0s..5ms"].queue_packets
    assert len(ports) == 4
    assert length is not None
    assert (length.mean, length.max) == (
        pytest.approx(sum(each.mean for each in ports) / 4),
        max(each.max for each in ports),
    )


def test_a_sender_s_window_stays_as_it_was_between_changes() -> None:
    """By hand, with intervals of 10 ns and segments of 1,000 bytes; flow 1 ends after 45 ns."""
    experiment, (seen,), _ = run(
        schemes=["droptail"], baseline="none", flows=3, seeds=1, trace_flows="10ns", transport={"mss": 1000}
    )
    two = replace(
        seen,
        flows=replace(seen.flows, start_ns=np.array([0, 5, 900], dtype=np.uint64)),
        fct_ns=np.array([-1, 40, -1], dtype=np.int64),
        sender_trace={
            "time_ns": np.array([12, 13, 25, 39, 40], dtype=np.uint64),
            "flow": np.array([0, 1, 0, 1, 0], dtype=np.uint32),
            "cwnd_bytes": np.array([4000, 10_000, 7000, 2000, 1000], dtype=np.uint64),
        },
    )
    for (begin, end), expected in {
        (0, 10): {},
        # At 20: 4; at 30: 7; at 40: still 7. Flow 1 at 20 and 30: 10; at 40: 2.
        (0, 40): {0: (4 + 7 + 7) / 3, 1: (10 + 10 + 2) / 3},
        (30, 60): {0: (7 + 1 + 1) / 3, 1: 2},
        (50, 60): {0: 1},
    }.items():
        assert sender_windows(experiment, two, TimeWindow(begin, end)) == pytest.approx(expected), (begin, end)
    assert sender_windows(experiment, replace(two, sender_trace=None), TimeWindow(0, 40)) == {}


def test_the_window_of_a_flow_in_a_window_of_time_is_a_metric() -> None:
    """Alone, without marks and losses, a flow's window in slow start only grows, and its mean is between the ends."""
    _, _, summary = run(
        schemes=["droptail"], baseline="none", flows=0, seeds=1, until="20ms", trace_flows="100us",
        topology="incast:senders=2", added_flows=[{"from": "h0", "to": "h2"}], windows=["0ms..1ms", "5ms..20ms"],
    )  # fmt: skip
    (seed,) = summary.main.seeds
    early, late = (find_metric(f"cwnd.flow0@{window}").of(seed) for window in ("0ms..1000us", "5ms..20ms"))
    assert 10 < early < late
    assert summary.main.windows["5ms..20ms"].cwnd_packets == {0: late}
    assert find_metric("cwnd.flow1@5ms..20ms").of(seed) is None
    assert find_metric("cwnd.flow0@5ms..21ms").of(seed) is None
    assert find_metric("cwnd.flow0@5ms..20ms").needs == ("trace_flows",)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"windows": "1ms..2ms"}, "not recorded"),
        ({"windows": "1ms..2005us", "trace_queue": "10us"}, "whole intervals"),
        ({"windows": "1ms..1050us", "trace_queue": "10us", "trace_flows": "100us"}, "whole intervals"),
        ({"windows": "1ms..2ms", "trace_queue": "10us", "until": "1900us"}, "ends after the run"),
    ],
)
def test_windows_that_are_not_recorded_are_refused(settings: dict[str, object], why: str) -> None:
    with pytest.raises(BadInput, match=why):
        make_spec({"schemes": ["tcn"]} | settings)


def test_intervals_of_both_traces_count() -> None:
    settings = {"windows": "0ms..60us", "trace_queue": "20us", "trace_flows": "30us"}
    assert make_spec({"schemes": ["tcn"]} | settings).windows == (TimeWindow(0, 60_000),)
    with pytest.raises(BadInput) as refused:
        make_spec({"schemes": ["tcn"]} | settings | {"windows": "0ms..30us"})
    assert refused.value.remedy == "multiples of 60us"
