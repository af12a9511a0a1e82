# SPDX-License-Identifier: MIT OR Apache-2.0
"""Whether a real run counts: each bound, one below, equal and one above; and the drain test."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from marklab.devices.frames import Framing
from marklab.devices.hosts import Limit
from marklab.engine import binding as engine
from marklab.errors import RunFailed
from marklab.lab.burst import MIXED_BYTES
from marklab.lab.health import Health, watched
from marklab.lab.network import interface_name
from marklab.lab.preflight import burst_size, rate_ratio
from marklab.lab.switches import SwitchSeen
from marklab.lab.validity import Figures, check_run, needed_fps
from marklab.prepare.experiment import Experiment, prepare
from marklab.spec.description import make_spec
from marklab.topology import Graph, Line, Link, Port

FRAME_NS = 123_040.0
DONE = engine.flow_statuses().index("done")
UNFINISHED = engine.flow_statuses().index("unfinished")
REFUSED = engine.flow_statuses().index("refused")


@pytest.fixture(scope="module")
def experiment() -> Experiment:
    return prepare(make_spec({"schemes": ["tcn"], "baseline": "none", "flows": 10, "mininet": {"dilation": 100}}))


def seen(late_p99_ns: int | None = 50_000, **port: int) -> SwitchSeen:
    none = {"missed": 0, "unsent": 0, "offloaded": 0}
    report: Any = {"ports": [{"port": 3, **none, **port}], "lateness_ns": {"p50": 9, "p99": late_p99_ns}}
    return SwitchSeen("s0", report, {}, 0.0)


def figures(
    switch: SwitchSeen | None = None,
    status: tuple[int, ...] = (DONE, DONE),
    late_ns: int = 0,
    softirq_drops: int = 0,
    host_drops: int = 0,
) -> Figures:
    health = Health(duration_s=1.0, cpu_busy=0.5, softirq_drops=softirq_drops)
    late = np.full(len(status), late_ns, np.uint64)
    return Figures([switch or seen()], health, np.array(status, np.uint8), late, {0: host_drops}, {})


@pytest.mark.parametrize(("late", "p99_ns"), [(1, 0), (2, 10**7)])
def test_of_a_hundred_flows_the_99th_percentile_is_the_99th(late: int, p99_ns: int) -> None:
    found = figures(status=(DONE,) * 100)
    found.late_ns[:late] = 10**7
    assert found.late_start_p99_ns == p99_ns


# The smallest RTT is 70 us, 7 ms in dilated time; a twentieth of it is more than a frame's time.
@pytest.mark.parametrize("late_ns", [0, 349_999, 350_000, None])
def test_a_run_that_kept_up_counts(experiment: Experiment, late_ns: int | None) -> None:
    check_run(experiment, "tcn", figures(seen(late_ns)), FRAME_NS)
    # If a frame takes longer, its dequeue may, too.
    check_run(experiment, "tcn", figures(seen(1_230_400)), 10 * FRAME_NS)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (figures(seen(350_001)), "left more than 350 us late"),
        (figures(seen(missed=1)), "1 frames came faster than the switch could take them .s0 port 3."),
        (figures(seen(unsent=2)), "2 frames could not be sent"),
        (figures(seen(offloaded=3)), "3 frames were larger than a line carries"),
        (figures(late_ns=3_500_001), "started more than 3.5 ms late"),
        (figures(softirq_drops=7), "the kernel dropped 7 packets"),
        (figures(host_drops=4), "hosts lost 4 packets"),
        (figures(status=(DONE, REFUSED)), "1 flows had no connection .refused."),
    ],
)
def test_a_run_that_did_not_is_an_error_with_a_remedy(experiment: Experiment, bad: Figures, said: str) -> None:
    with pytest.raises(RunFailed, match=said) as caught:
        check_run(experiment, "tcn", bad, FRAME_NS)
    assert "not counted" in str(caught.value)
    assert "--dilation 200" in str(caught.value.remedy)


def test_flows_may_be_unfinished_and_start_as_late_as_half_a_round_trip(experiment: Experiment) -> None:
    check_run(experiment, "tcn", figures(late_ns=3_500_000, status=(DONE, UNFINISHED)), FRAME_NS)


def test_frames_that_a_full_bottleneck_needs() -> None:
    """Incast: the line's full frames, half as many acknowledgements, one switch."""
    incast = prepare(make_spec({"schemes": ["tcn"], "baseline": "none", "topology": "incast:senders=4", "flows": 10}))
    assert needed_fps(incast.network, 100) == pytest.approx(1.5 * 10**8 / (8 * 1538))
    # Leaf-spine: three switches on each path, and all uplinks are the bottleneck.
    leaf_spine = {"builder": "leaf-spine", "leaves": 2, "spines": 2, "hosts": 2}
    wide = prepare(make_spec({"schemes": ["tcn"], "baseline": "none", "topology": leaf_spine, "flows": 10}))
    assert needed_fps(wide.network, 100) == pytest.approx(4 * 3 * 1.5 * 10**8 / (8 * 1538))


def datagrams(rate_bps: int, count: int, every: int = 1) -> np.ndarray[Any, Any]:
    """Datagrams from a line whose queue is never empty: time, bytes, sender, number."""
    sizes = [60, 342, 1514] * (count // 3)
    ends = np.cumsum([(size + 24) * 8 * 10**9 // rate_bps for size in sizes])
    rows = [(int(end) + 10**18, size, 0, number) for number, (end, size) in enumerate(zip(ends, sizes, strict=True))]
    return np.array(rows[::every], np.int64)


def test_the_rate_of_a_drain_is_that_of_its_bytes() -> None:
    line, framing = Line(Port(1, 0), Port(0, 0), 10**8, 0), Framing()
    assert rate_ratio(datagrams(10**8, 900), line, framing) == pytest.approx(1.0, abs=1e-4)
    assert rate_ratio(datagrams(97_000_000, 900), line, framing) == pytest.approx(0.97, abs=1e-3)
    # A line with a rate in packets, as in BMv2, is not one with a rate in bytes.
    slots = datagrams(10**8, 900)
    slots[:, 0] = 123_040 * np.arange(len(slots))
    assert rate_ratio(slots, line, framing) < 0.5
    # A single datagram that is recorded 1 ms late does not change the verdict.
    late = datagrams(10**8, 900)
    late[450, 0] += 10**6
    assert rate_ratio(late, line, framing) == pytest.approx(1.0, abs=0.01)
    assert rate_ratio(late[:9], line, framing) == 0


def test_a_burst_fills_the_queue_whatever_its_limit_counts() -> None:
    assert burst_size(Limit(packets=600), MIXED_BYTES) > 2 * 600
    assert burst_size(Limit(bytes=900_000), MIXED_BYTES) * 638 > 2 * 900_000


def test_interfaces_are_called_as_linux_can_call_them() -> None:
    links = (Link(Port(0, 0), Port(2, 7), 1, 0), Link(Port(1, 0), Port(2, 1), 1, 0))
    graph = Graph(("h0", "a host"), ("a-very-long-switch",), links)
    names = [interface_name(graph, at) for at in (Port(0, 0), Port(1, 0), Port(2, 7))]
    assert names == ["h0-eth0", "n1-eth0", "n2-eth7"]


def test_health_is_that_of_the_time_in_between() -> None:
    with watched() as health:
        # The kernel counts a processor's time in hundredths of a second.
        began_s = time.process_time()
        while time.process_time() - began_s < 0.2:
            sum(range(10**4))
    assert 0 < health.duration_s < 60
    assert 0 < health.cpu_busy <= 1
    assert health.softirq_drops >= 0
