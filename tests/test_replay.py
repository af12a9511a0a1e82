# SPDX-License-Identifier: MIT OR Apache-2.0
"""Real TCP flows through the engine's module, over loopback. engine/replay tests the protocol."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from marklab.engine import binding as engine
from marklab.errors import BadInput, RunFailed

MS = 10**6
Columns = dict[str, NDArray[Any]]


def flow_columns(size_bytes: list[int], **others: Any) -> Columns:
    n = len(size_bytes)
    columns = {
        "id": np.arange(n, dtype=np.uint32),
        "start_ns": np.zeros(n, dtype=np.uint64),
        "peer": np.zeros(n, dtype=np.uint32),
        "size_bytes": np.array(size_bytes, dtype=np.uint64),
        "dscp": np.zeros(n, dtype=np.uint8),
        "ttl": np.zeros(n, dtype=np.uint8),
        "pull": np.zeros(n, dtype=np.bool_),
    }
    return columns | others


def run(flows: Columns, *peers: str, per_pair: int | None = 1, for_ms: int = 10_000) -> Columns:
    start_ns = time.monotonic_ns() + 20 * MS
    return engine.replay_flows(flows, peers, start_ns, start_ns + for_ms * MS, per_pair, engine.new_watch())


@contextmanager
def serving() -> Iterator[tuple[str, Columns]]:
    """Serve flows. The columns of received flows are filled in at the end."""
    server, watch, arrived = engine.listen("127.0.0.1:0"), engine.new_watch(), {}
    with ThreadPoolExecutor() as pool:
        # The client would wait for the server forever if either of them held the interpreter lock.
        future = pool.submit(server.serve, watch)
        try:
            yield server.address, arrived
        finally:
            watch.cancel()
            arrived.update(future.result(timeout=5))


def names(records: Columns) -> list[str]:
    return [engine.flow_statuses()[code] for code in records["status"]]


@pytest.mark.parametrize("per_pair", [None, 0, 3])
def test_flows_of_both_directions_have_records_at_both_ends(per_pair: int | None) -> None:
    flows = flow_columns([1, 16, 100_000], pull=np.array([False, True, False]), dscp=np.array([0, 1, 63], np.uint8))
    with serving() as (address, arrived):
        records = run(flows, address, per_pair=per_pair)
    assert names(records) == ["done"] * 3
    assert records["bytes"].tolist() == [16, 16, 100_000]
    assert (records["end_ns"] > records["start_ns"]).all()
    assert (records["start_ns"] == records["late_ns"].astype(np.int64)).all()
    pushed = dict(zip(arrived["flow"].tolist(), arrived["end_ns"].tolist(), strict=True))
    assert set(pushed) == {0, 2}
    # Both ends refer to the same instant: the origins of their clocks differ only by the common start.
    assert pushed[0] - records["end_ns"][0] == pushed[2] - records["end_ns"][2]


def test_a_flow_that_fails_says_how() -> None:
    with serving() as (gone, _):
        pass
    records = run(flow_columns([9]), gone)
    assert (names(records), records["end_ns"].tolist()) == (["refused"], [-1])


def test_a_process_without_descriptors_says_so() -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with serving() as (address, _):
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
            with pytest.raises(RunFailed, match=r"the flows could not be replayed: .*open files"):
                run(flow_columns([9]), address, per_pair=None)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_what_is_cancelled_gives_what_is_known() -> None:
    watch = engine.new_watch()
    watch.cancel()
    records = engine.replay_flows(flow_columns([9]), ["127.0.0.1:1"], 0, 2**62, None, watch)
    assert (names(records), records["start_ns"].tolist()) == (["not-started"], [-1])


def test_a_port_in_use_is_named() -> None:
    with serving() as (address, _), pytest.raises(RunFailed, match=f"cannot listen on {address}.*in use"):
        engine.listen(address)


def test_a_server_serves_once() -> None:
    server, watch = engine.listen("127.0.0.1:0"), engine.new_watch()
    watch.cancel()
    server.serve(watch)
    with engine.refusals(), pytest.raises(Exception, match="served already"):
        server.serve(watch)


@pytest.mark.parametrize(
    ("flows", "peers", "message"),
    [
        (flow_columns([9], peer=np.array([1], np.uint32)), ["127.0.0.1:1"], "flow 0: there is no server 1"),
        (flow_columns([9], dscp=np.zeros(2, np.uint8)), ["127.0.0.1:1"], "differ in length"),
        (flow_columns([9]), ["localhost:1"], "`localhost:1` is not an IPv4 address and port"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(flows: Columns, peers: list[str], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        run(flows, *peers)
