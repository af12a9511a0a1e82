# SPDX-License-Identifier: MIT OR Apache-2.0
"""The engine refuses input beyond its range, and names the value and its place."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from marklab import _engine

DROPTAIL = Path(__file__).parents[1] / "p4src/v1model/droptail.p4"

QUEUE = {"limit": {"packets": 100}, "level": 0, "quantum_bytes": 1500}
LINE = {"rate_bps": 10**9, "delay_ns": 1000}
CONFIG: dict[str, Any] = {
    "nodes": [
        {"kind": "host", "name": "a", "mac": [2, 0, 0, 0, 0, 0], "ip": 1},
        {"kind": "host", "name": "b", "mac": [2, 0, 0, 0, 0, 1], "ip": 2},
        {"kind": "switch", "name": "s", "ports": 2, "queueing": {"queues": [QUEUE]}},
    ],
    "links": [{"a": [0, 0], "b": [2, 0]} | LINE, {"a": [1, 0], "b": [2, 1]} | LINE],
    "framing": {"min_bytes": 60, "overhead_bytes": 24},
    "transport": {
        "control": "dctcp",
        "mss_bytes": 1460,
        "initial_window_segments": 10,
        "min_rto_ns": 10**7,
        "initial_rto_ns": 10**9,
        "ack_every_segments": 2,
        "ack_delay_ns": 0,
        "receive_window_bytes": 10**6,
        "cwnd_validation": True,
        "dctcp_gain_shift": 4,
        "dctcp_loss_after_marks": False,
    },
    "nic": {"discipline": "fair", "limit_packets": 1000, "budget_bytes": 10**6},
    "connections": "new",
    "stop_ns": 10**6,
}


def simulate(
    config: dict[str, Any], joins: Sequence[int] = (), waits: Sequence[int] = (), **columns: list[int]
) -> None:
    """Simulate two flows from `a` to `b`, with these columns replaced.

    There are joins at hosts, and waits of joins for the first flow.
    """
    flows = {
        "start_ns": np.array([0, 0], np.uint64),
        "src": np.array([0, 0], np.uint32),
        "dst": np.array([1, 1], np.uint32),
        "size_bytes": np.array([1, 1], np.uint64),
        "dscp": np.array([0, 0], np.uint8),
        "extra_delay_ns": np.array([0, 0], np.uint64),
        "rate_bps": np.array([0, 0], np.uint64),
        "ecn": np.array([True, True]),
        "receive_window_bytes": np.array([0, 0], np.uint64),
        "base_delay_ns": np.array([0, 0], np.uint64),
        "after": np.array([-1, -1], np.int64),
        "same_connection": np.array([False, False]),
        "control": np.array([0, 0], np.uint8),
    }
    flows |= {name: np.array(values, flows[name].dtype) for name, values in columns.items()}
    numbers = {"host": joins, "wait_join": waits, "wait_number": [0] * len(waits)}
    at_once = {"not_before_ns": joins, "wait_pause_ns": waits}
    made = {name: np.array(values, np.uint32) for name, values in numbers.items()}
    made |= {name: np.array([0] * len(values), np.uint64) for name, values in at_once.items()}
    program = _engine.Program(DROPTAIL, include_dirs=[DROPTAIL.parents[1]])
    _engine.simulate(
        json.dumps(CONFIG | config), program, "[]", ["[]"], {**flows, "joins": made}, 1, _engine.Progress()
    )


def test_flows_that_wait_for_none_or_the_one_above_are_taken() -> None:
    simulate({}, after=[-1, 0])


def test_joins_are_taken_and_those_that_are_not_there_refused() -> None:
    simulate({}, joins=[1], waits=[0], after=[-1, 2])
    with pytest.raises(_engine.EngineError, match="there is no join 1 to wait"):
        simulate({}, joins=[1], waits=[1])
    with pytest.raises(_engine.EngineError, match="join 0: it must be at a host"):
        simulate({}, joins=[2], waits=[0])


def test_a_flow_has_a_transport_of_the_list_or_none() -> None:
    simulate({"own_controls": ["reno"]}, control=[0, 1])
    with pytest.raises(_engine.EngineError, match="flow 1: `control` is 2; it must be 0 for that of all flows, or 1"):
        simulate({"own_controls": ["reno"]}, control=[0, 2])


@pytest.mark.parametrize("after", [-2, -(2**63), 2**32, 2**32 + 1, 2**63 - 1])
def test_a_flow_that_no_number_means_is_not_taken_for_none(after: int) -> None:
    with pytest.raises(_engine.EngineError, match=f"flow 1: `after` is {after}; it must be -1 for none"):
        simulate({}, after=[-1, after])


def test_a_code_point_is_not_cut() -> None:
    with pytest.raises(_engine.EngineError, match=r"flow 1: its code point is 64; a code point is 0\.\.63"):
        simulate({}, dscp=[63, 64])


def test_ports_are_counted_before_they_take_memory() -> None:
    nodes = [*CONFIG["nodes"][:2], CONFIG["nodes"][2] | {"ports": 10**15}]
    with pytest.raises(_engine.EngineError, match=f"switch `s` has {10**15} ports; a switch has at most 512"):
        simulate({"nodes": nodes})
