# SPDX-License-Identifier: MIT OR Apache-2.0
"""Host processes: the part of a flow list that a client gets, and the results that a parent gets from its hosts."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from marklab.engine import binding as engine
from marklab.errors import BadInput, RunFailed
from marklab.lab.hosts.host import Host, Seen, client_columns, host_process, joined
from marklab.traffic.flows import FlowList
from servers import free_port

MS = 10**6


def flow_list(pairs: list[tuple[int, int]], **others: Any) -> FlowList:
    n = len(pairs)
    columns: dict[str, Any] = {
        "start_ns": np.arange(n, dtype=np.uint64) * MS,
        "src": np.array([src for src, _ in pairs], dtype=np.uint32),
        "dst": np.array([dst for _, dst in pairs], dtype=np.uint32),
        "size_bytes": np.full(n, 5000, dtype=np.uint64),
        "dscp": np.zeros(n, dtype=np.uint8),
        "extra_delay_ns": np.zeros(n, dtype=np.uint64),
        "rate_bps": np.zeros(n, dtype=np.uint64),
        "query": np.zeros(n, dtype=np.bool_),
        "ecn": np.ones(n, dtype=np.bool_),
        "after": np.full(n, -1),
        "same_connection": np.zeros(n, dtype=np.bool_),
        "control": np.zeros(n, dtype=np.uint8),
        "after_join": np.full(n, -1),
        "iteration": np.full(n, -1),
    }
    return FlowList(**columns | others)


def start(stack: ExitStack, folder: Path, flows: FlowList, addresses: list[str], **options: Any) -> list[Host]:
    hosts = []
    for host, listen in enumerate(addresses):
        plan = (client_columns(flows, host, **options), addresses, 1)
        hosts.append(stack.enter_context(host_process((), f"h{host}", listen, folder / f"h{host}", plan)))
    return hosts


def run(hosts: list[Host], for_ms: int = 10_000) -> list[Seen]:
    start_at_ns = time.monotonic_ns() + 50 * MS
    for host in hosts:
        host.begin(start_at_ns, start_at_ns + for_ms * MS)
    for host in hosts:
        host.expect("ended")
    return [host.finish() for host in hosts]


def free_addresses(n: int) -> list[str]:
    return [f"127.0.0.1:{free_port()}" for _ in range(n)]


def test_each_flow_is_started_by_its_sender_or_by_who_asks_for_it() -> None:
    flows = flow_list([(0, 1), (1, 2), (2, 0), (0, 2)], query=np.array([False, True, False, True]))
    pushed = [client_columns(flows, host) for host in range(3)]
    assert [columns["id"].tolist() for columns in pushed] == [[0, 3], [1], [2]]
    assert [columns["peer"].tolist() for columns in pushed] == [[1, 2], [2], [0]]
    by_host = [client_columns(flows, host, pull=flows.query) for host in range(3)]
    assert [columns["id"].tolist() for columns in by_host] == [[0], [], [1, 2, 3]]
    assert by_host[2]["peer"].tolist() == [1, 0, 0]
    assert by_host[2]["pull"].tolist() == [True, False, True]


def test_a_rate_of_an_application_is_refused() -> None:
    with pytest.raises(BadInput, match="as fast as TCP takes them"):
        client_columns(flow_list([(0, 1)], rate_bps=np.array([1], np.uint64)), 0)


@pytest.mark.parametrize("pulled", [[False] * 3, [False, False, True], [True] * 3])
def test_flows_between_processes_are_put_together(tmp_path: Path, pulled: list[bool]) -> None:
    flows = flow_list([(0, 1), (1, 0), (0, 1)])
    with ExitStack() as stack:
        seen = run(start(stack, tmp_path, flows, free_addresses(2), pull=np.array(pulled)))
    found = joined(len(flows), seen)
    assert found.status.tolist() == [0, 0, 0]
    assert (found.fct_ns > 0).all()
    assert found.delivered_bytes.tolist() == [5000] * 3


def test_a_flow_without_end_has_what_arrived(tmp_path: Path) -> None:
    flows = flow_list([(0, 1)], size_bytes=np.array([2**50], np.uint64))
    with ExitStack() as stack:
        seen = run(start(stack, tmp_path, flows, free_addresses(2)), for_ms=50)
    found = joined(1, seen)
    assert [engine.flow_statuses()[code] for code in found.status] == ["unfinished"]
    assert found.fct_ns.tolist() == [-1]
    assert 0 < found.delivered_bytes[0] <= seen[0].records["bytes"][0]


def test_a_host_that_cannot_listen_says_why(tmp_path: Path) -> None:
    taken = engine.listen("127.0.0.1:0")
    with pytest.raises(RunFailed, match=f"the process of host h0 ended: cannot listen on {taken.address}"):
        start(ExitStack(), tmp_path, flow_list([(0, 1)]), [taken.address])


def test_a_host_that_dies_is_named(tmp_path: Path) -> None:
    with ExitStack() as stack:
        (host,) = start(stack, tmp_path, flow_list([(1, 0)]), free_addresses(1))
        host._process.kill()
        host._process.wait()
        with pytest.raises(RunFailed, match="the process of host h0 ended: it said nothing"):
            run([host])


def test_a_host_ends_with_its_parent(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "marklab.lab.hosts.host", "127.0.0.1:0", str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "listening\n"
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(5) == 0


def test_a_host_that_fails_tells_why(tmp_path: Path) -> None:
    columns = client_columns(flow_list([(0, 1)]), 0)
    del columns["ttl"]
    with ExitStack() as stack:
        listen = free_addresses(1)[0]
        host = stack.enter_context(host_process((), "h0", listen, tmp_path / "h0", (columns, [listen], 1)))
        host.begin(time.monotonic_ns(), time.monotonic_ns() + 10_000 * MS)
        with pytest.raises(RunFailed, match=r"the process of host h0 ended: .*ttl"):
            host.expect("ended")
