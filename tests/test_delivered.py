# SPDX-License-Identifier: MIT OR Apache-2.0
"""Loads that an empty line delivers."""

from functools import partial

import numpy as np
import pytest

from marklab.errors import BadInput
from marklab.metrics.burst_queue import bursts_of
from marklab.prepare.arrivals import _all_counted_bytes, generate
from marklab.prepare.delivered import _wire_bytes_until, delivered_part
from marklab.spec.description import make_spec
from marklab.topology import build
from marklab.traffic.flows import FlowList, make_flows
from runs import run

WEB = {
    "schemes": ["droptail"],
    "baseline": "none",
    "topology": "topologies/web.yaml",
    "rate": "1G",
    "rtt": "10ms..150ms,mean=80ms,p90=136ms",
    "workload": "web_objects",
    "load": 0.09,
    "load_by": "delivered",
    "connections": "asked",
    "transport": {
        "control": "reno",
        "initial_window": 2,
        "initial_rto": "3s",
        "min_rto": "1s",
        "receive_window": {"8KB": "20%", "16KB": "35%", "64KB": "45%"},
    },
    "stop": "1s",
    "seeds": 1,
}
SESSIONS = {"sessions": {"think": "5s"}}


def flows_of(seed: int = 1, **settings: object) -> FlowList:
    spec = make_spec(WEB | {"flows": 20_000} | settings)
    return generate(spec, build(spec.topology, spec.rate_bps, spec.rtt.base_ns), seed)


@pytest.mark.parametrize("more", [SESSIONS, {}, {"until": "8s"}, {"connections": "new"}])
def test_an_empty_line_is_as_busy_as_the_load_says(more: dict[str, object]) -> None:
    """Without calibration it is 6 to 18 % less busy, and differs from seed to seed."""
    _, _, summary = run(**WEB | {"flows": 20_000, "seeds": 3} | more)
    for seed in summary.main.seeds:
        assert seed.utilisation == pytest.approx(0.09, abs=0.001)


@pytest.mark.parametrize("extra_ms", [0, 70])
@pytest.mark.parametrize("window", [2, 3, 5, 43])
def test_windows_double_up_to_that_of_the_receiver(window: int, extra_ms: int) -> None:
    """Against the bursts of the formula of the queue, round trip by round trip."""
    settings = {"transport": WEB["transport"] | {"receive_window": window * 1460}, "flows": 1}  # type: ignore[operator]
    spec = make_spec(WEB | settings)
    network = build(spec.topology, spec.rate_bps, spec.rtt.base_ns)
    ends = np.arange(1, 40)
    whole = np.full(1, 500 * 1460 + 1, dtype=np.uint64)
    extra_ns = np.full(1, extra_ms * 10**6, dtype=np.uint64)
    flow = make_flows(np.zeros(1, dtype=np.uint64), network.pairs.take(np.array([0])), whole, extra_ns)
    sent = np.cumsum([0, *bursts_of(501, 2, window)])
    rtt_ns = (10 + extra_ms) * 10**6
    for end in ends.tolist():
        # After a handshake, a request and the way of the first burst, which ends within the second round trip.
        passed = int(sent[min(max(end - 1, 0), len(sent) - 1)])
        expected = 0 if end < 2 else passed * 1538 + 90 if passed < 501 else 500 * 1538 + 79 + 90 + 84
        wire = partial(_all_counted_bytes, spec)
        assert _wire_bytes_until(spec, network, flow, 1, wire, end * rtt_ns + 1000).tolist() == [expected]


def test_a_line_of_another_rate_has_the_same_flows() -> None:
    """The paper puts the flows of 90 Mb/s, as 1 Gb/s delivers them, on a line of 100 Mb/s (section 4.2)."""
    assert flows_of(**SESSIONS).digest() == flows_of(**SESSIONS, rate="100M", load=0.9).digest()
    assert flows_of(**SESSIONS).digest() != flows_of(**SESSIONS, load_by=None).digest()


def test_a_fast_sender_is_bound_by_its_line() -> None:
    """One flow of 1 GB from a line of 1 Gb/s, whose window would carry 2.5 Gb/s."""
    transport = {"control": "reno", "receive_window": "3MiB"}
    sizes = {"name": "one", "points": [[10**9, 0], [10**9, 1]]}
    spec = make_spec(WEB | {"transport": transport, "workload": sizes, "rtt": "10ms", "flows": 2, "load": 1.0})
    network = build(spec.topology, spec.rate_bps, spec.rtt.base_ns)
    start_ns = np.array([0, 2 * 10**9], dtype=np.uint64)
    sizes_bytes = np.full(2, 10**9, dtype=np.uint64)
    flows = make_flows(start_ns, network.pairs.take(np.array([0, 0])), sizes_bytes, np.zeros(2, dtype=np.uint64))
    assert delivered_part(spec, network, flows, 1, partial(_all_counted_bytes, spec)) == pytest.approx(0.96, abs=0.02)


def test_a_run_too_short_for_its_load_is_reported() -> None:
    """Flows are under way for longer than the run, so that no number of readers makes the load up."""
    summary = run(**WEB | {"sessions": {}, "flows": 100, "rate": "622M", "load": 0.95})[2]
    assert "idle" in {doubt.kind for doubt in summary.main.doubts}


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"load_by": "drawn"}, "load_by"),
        ({"connections": "persistent"}, "persistent connections keep theirs"),
        ({"transport": "dcqcn", "connections": "new"}, "dcqcn sends by rates"),
        ({"sessions": {"closed_loop": True}, "until": "5s"}, "in a closed loop cannot be combined"),
    ],
)
def test_loads_that_cannot_be_delivered_are_refused(settings: dict[str, object], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        make_spec(WEB | settings)
