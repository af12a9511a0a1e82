# SPDX-License-Identifier: MIT OR Apache-2.0
"""Readers of the web: flows that their receivers request."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import Finished
from marklab.errors import BadInput
from marklab.prepare.experiment import prepare
from marklab.prepare.ideal import ideal_ns
from marklab.prepare.receive_windows import receive_windows
from marklab.prepare.web import _left_of_think, _numbers, _think
from marklab.spec.description import make_spec
from marklab.statistics.randomness import exp, uniform
from marklab.traffic.description import Sessions
from marklab.traffic.flows import FlowList
from marklab.traffic.workload import load_workload
from runs import run

WEB = {
    "rate": "100M",
    "rtt": "10ms..150ms,mean=80ms,p90=136ms",
    "workload": "web_objects",
    "sessions": {},
    "connections": "asked",
    "transport": {"control": "ecn-star", "initial_window": 2, "initial_rto": "3s", "min_rto": "200ms"},
    "baseline": "none",
}


def flows_of(**settings: object) -> FlowList:
    spec = make_spec({"schemes": ["droptail"], "flows": 20_000, "load": 0.9, "seeds": 1} | WEB | settings)
    return prepare(spec).flow_lists[1]


def test_objects_are_those_of_the_paper() -> None:
    """ECN+ paper, section 4.2: the mean is 7.2 kB, and the largest 15 % have 80 % of the bytes."""
    objects = load_workload("web_objects")
    sizes, parts = (np.array(column) for column in zip(*objects.points, strict=True))
    middles, weights = (sizes[1:] + sizes[:-1]) / 2, np.diff(parts)
    assert objects.mean_bytes() == pytest.approx(7200, rel=0.005)
    # Points are so dense that the one nearest to 85 % will do.
    largest = parts[:-1] >= 0.85
    part = weights[largest].sum()
    assert part == pytest.approx(0.15, abs=0.015)
    assert (weights * middles)[largest].sum() / objects.mean_bytes() == pytest.approx(0.8, abs=0.015)
    assert sizes[-1] == 10**9


def test_the_load_is_that_of_the_objects_that_are_drawn() -> None:
    for load in (0.5, 0.9):
        flows = flows_of(load=load)
        wire = flows.size_bytes + np.ceil(flows.size_bytes / 1460) * 78
        span_s = (int(flows.start_ns[-1]) - int(flows.start_ns[0])) / 1e9
        assert wire.sum() * 8 / 1e8 / span_s == pytest.approx(load, rel=0.05)


def test_flows_of_a_session_have_the_same_hosts_and_delay() -> None:
    flows = flows_of(flows=3000, load=0.1, sessions={"think": "1s", "gap": "10ms", "objects": 8})
    kinds = {(int(s), int(d), int(e)) for s, d, e in zip(flows.src, flows.dst, flows.extra_delay_ns, strict=True)}
    assert len(kinds) < len(flows) / 20
    assert (np.diff(flows.start_ns.astype(np.int64)) >= 0).all()


def test_sessions_are_as_busy_at_the_end_as_in_the_beginning() -> None:
    """Sessions begin at random times within their think time: each of 20 intervals has a twentieth of the flows."""
    flows = flows_of(load=1.0, until="3600s", sessions={"think": "2s", "gap": "20ms"})
    counts = np.histogram(flows.start_ns.astype(np.float64), bins=20)[0]
    assert counts.max() / counts.min() < 1.5


@given(st.floats(1.1, 10), st.integers(10**6, 10**11))
def test_think_times_have_their_mean_and_what_is_left_of_them_begins_evenly(shape: float, mean_ns: int) -> None:
    sessions = Sessions(think=f"{mean_ns}ns", think_shape=shape)
    middles = (np.arange(1000) + 0.5) / 1000
    think = _think(sessions, middles).astype(np.float64)
    shortest = mean_ns * (shape - 1) / shape
    # The median has a closed form, and so has the fraction within the shortest time.
    assert np.median(think) == pytest.approx(shortest * 2 ** (1 / shape), rel=0.01, abs=2)
    left = _left_of_think(sessions, middles).astype(np.float64)
    within = left <= shortest + 1
    assert within.mean() == pytest.approx((shape - 1) / shape, abs=0.005)
    assert left[within][-1] == pytest.approx(middles[within][-1] * mean_ns, rel=0.01, abs=2)
    assert (np.diff(left) >= 0).all()


@given(st.floats(-50, 50))
def test_exp_is_that_of_numpy(value: float) -> None:
    assert exp(np.array([value]))[0] == pytest.approx(np.exp(value), rel=1e-14)


def test_pages_have_an_object_at_least_and_their_mean() -> None:
    numbers = _numbers(Sessions(objects=4), uniform(1, "t", 200_000))
    assert numbers.min() == 1
    assert numbers.mean() == pytest.approx(4, rel=0.01)
    assert set(_numbers(Sessions(objects=1), uniform(1, "t", 100))) == {1}


def test_what_is_asked_for_comes_after_a_handshake_and_a_request() -> None:
    """Alone in the network a flow of one segment takes its ideal time, except for rounding of each transmission."""
    flow = {"from": "h0", "to": "h7", "size": 1000, "extra_delay": "5ms"}
    experiment, observations, _ = run(
        schemes=["droptail"],
        baseline="none",
        seeds=1,
        flows=0,
        added_flows=[flow],
        connections="asked",
        transport="reno",
    )
    flows = experiment.flow_lists[1]
    ideal = ideal_ns(experiment.spec, experiment.network, flows)[0]
    assert abs(observations[0].fct_ns[0] - ideal) < 4
    # SYN, SYN-ACK with 5 ms, request, data with 5 ms; the 70 us are a round trip, twice.
    assert ideal == pytest.approx(10_000_000 + 2 * 70_000, rel=0.001)


def test_some_take_part_in_ecn_and_others_do_not() -> None:
    settings = WEB | {"schemes": ["dctcp-red:k=5"], "flows": 1500, "load": 0.8, "seeds": 1, "until": "60s"}
    experiment, observations, summary = run(**settings, ecn_share=0.25)
    flows = experiment.flow_lists[1]
    assert 0.15 < flows.ecn.mean() < 0.35
    marked = observations[0].per_flow["marked_packets"]
    assert marked[~flows.ecn].sum() == 0 < marked[flows.ecn].sum()
    found = summary.main.seeds[0].fct_us
    assert found["ecn"].n + found["not-ecn"].n == found["overall"].n
    assert "ecn" in flows.columns()
    assert "ecn" not in run(**settings, ecn_share=1.0)[0].flow_lists[1].columns()


def test_ecn_plus_lets_answers_to_syns_be_marked() -> None:
    """Behind long flows that fill a queue; without ECN+, only SYN-ACKs and acknowledgements are not ECN capable."""
    long = [{"from": f"h{number}", "to": "h7"} for number in range(6)]
    short = [{"from": "h6", "to": "h7", "size": 1000, "start": f"{5 + number / 20}ms"} for number in range(200)]
    settings = {
        "baseline": "none",
        "seeds": 1,
        "flows": 0,
        "added_flows": [*long, *short],
        "until": "20ms",
        "rtt": "10us",
    }
    marks = []
    for plus in (False, True):
        transport = {"control": "ecn-star", "ecn_plus": plus, "stack": "rfc"}
        summary = run(schemes=["dctcp-red:k=1"], transport=transport, connections="asked", **settings)[2]
        marks.append(summary.main.marks.not_capable)
    without, with_plus = marks
    # Acknowledgements at the end are not ECN capable in either case.
    assert without - with_plus > 90


WINDOWS = {8_000: 0.2, 16_000: 0.35, 64_000: 0.45}


def test_receive_windows_have_their_parts_and_are_those_of_a_seed() -> None:
    spec = make_spec({"schemes": ["tcn"], "transport": {"receive_window": {"8KB": "20%", "64KB": "45%", "16KB": 0.35}}})
    assert spec.transport.receive_windows == WINDOWS
    assert spec.transport.receive_window_bytes == 64_000
    assert make_spec(spec.to_plain()) == spec
    drawn = receive_windows(spec, 1, 100_000)
    for window, part in WINDOWS.items():
        assert (drawn == window).mean() == pytest.approx(part, abs=0.01)
    assert (receive_windows(spec, 1, 1000) == drawn[:1000]).all()
    assert (receive_windows(spec, 2, 1000) != drawn[:1000]).any()
    assert not receive_windows(make_spec({"schemes": ["tcn"]}), 1, 10).any()


def test_a_connection_sends_a_receive_window_per_round_trip() -> None:
    """Flows alone, of 44 segments: 5, 10 or 43 are whole segments of a window, and the initial one is larger."""
    flows = [{"from": "h0", "to": "h7", "size": 44 * 1460, "start": f"{number}s"} for number in range(40)]
    settings = {"schemes": ["droptail"], "baseline": "none", "seeds": 1, "flows": 0, "added_flows": flows}
    windows_text = {"8KB": "20%", "16KB": "35%", "64KB": "45%"}
    transport = {"control": "reno", "initial_window": 100, "initial_rto": "1s", "receive_window": windows_text}
    experiment, observations, _ = run(**settings, rtt="10ms", rate="10G", connections="new", transport=transport)
    windows = receive_windows(experiment.spec, 1, 40)
    # The handshake adds one round.
    rounds = 1 + np.ceil(44 / (windows // 1460))
    assert set(rounds) == {10, 6, 3}
    assert observations[0].fct_ns / 1e7 == pytest.approx(rounds - 0.5, abs=0.02)


def test_a_lost_answer_to_a_syn_is_sent_again_by_its_timer() -> None:
    """Behind a queue that drops packets without ECN during a burst, there are more SYN-ACKs than SYNs."""
    long = [{"from": f"h{number}", "to": "h7", "size": "3MB"} for number in range(6)]
    short = [{"from": "h6", "to": "h7", "size": 1000, "start": f"{2000 + 20 * number}us"} for number in range(60)]
    settings = {"baseline": "none", "seeds": 1, "flows": 0, "added_flows": [*long, *short], "connections": "asked"}
    counts = []
    for timer in (False, True):
        transport = {"control": "ecn-star", "syn_ack_timer": timer}
        seen = run(schemes=["dctcp-red:k=1,drop_not_ect=on"], transport=transport, **settings)[1][0]
        assert (seen.fct_ns > 0).all()
        counts.append(int(seen.per_flow["timeouts"][6:].sum()))
    without, with_timer = counts
    # Each timeout of a SYN whose SYN-ACK was lost comes with a timeout of the SYN-ACK.
    assert without * 1.5 < with_timer


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"transport": {"control": "reno", "receive_window": {"8KB": "20%", "16KB": "70%"}}}, "add up to 0.9"),
        ({"transport": {"control": "reno", "receive_window": {"1KB": "100%"}}}, "1KB is below a segment"),
        ({"transport": {"control": "reno", "ecn_plus": True}}, "`reno` has no ECN, which ECN+ extends"),
        ({"transport": {"control": "dcqcn", "ecn_plus": True}}, "`dcqcn` has no SYNs"),
        ({"transport": {"control": "ear", "ecn_plus": True}}, "with `ear` all packets are ECN capable"),
        ({"transport": "reno", "ecn_share": 0.5}, "ecn_share: reno does not use ECN"),
        ({"ecn_share": 1.5}, "ecn_share"),
        ({"load": 1.05}, "less than or equal to 1 in a run without an end"),
        ({"sessions": {}, "services": 2, "queues": "dwrr:count=2"}, "`sessions` and `services` cannot be combined"),
        ({"sessions": {"think_shape": 1}}, "think_shape"),
        ({"connections": {"mode": "asked", "request": 0}}, "request"),
    ],
)
def test_what_does_not_fit_is_refused(settings: dict[str, object], says: str) -> None:
    with pytest.raises(BadInput) as error:
        make_spec({"schemes": ["tcn"]} | settings)
    assert says in str(error.value)


def test_too_small_a_load_for_one_session_is_refused() -> None:
    with pytest.raises(BadInput, match="less than one session makes"):
        flows_of(load=1e-6, flows=100)


LOOP = {"sessions": {"closed_loop": True, "think": "2s", "gap": "20ms"}, "until": "10s", "seeds": 1, "load": 0.9}


def test_readers_in_a_closed_loop_ask_for_what_others_ask_for() -> None:
    """The list is the same; each object except a session's first waits for the previous one."""
    sessions = dict(LOOP["sessions"], persistent=True)  # type: ignore[call-overload]
    closed = flows_of(until="10s", sessions=sessions)
    opened = flows_of(until="10s", sessions={"think": "2s", "gap": "20ms"})
    assert (closed.start_ns == opened.start_ns).all()
    assert (closed.size_bytes == opened.size_bytes).all()
    later = np.flatnonzero(closed.waiting)
    before = closed.after[later]
    assert (before < later).all()
    assert len(set(before.tolist())) == len(later)
    for column in (closed.src, closed.dst, closed.extra_delay_ns):
        assert (column[before] == column[later]).all()
    # Objects per page: 4 on average, one of which opens the connection.
    assert closed.same_connection.mean() == pytest.approx(3 / 4, abs=0.02)
    waits_ns = closed.for_engine()["start_ns"][later]
    assert (waits_ns == closed.start_ns[later] - closed.start_ns[before]).all()
    assert np.median(waits_ns[closed.same_connection[later]]) == pytest.approx(20e6 * np.log(2), rel=0.1)


def test_readers_may_wait_for_the_objects_of_a_page_only() -> None:
    """Pages begin when those of readers who never wait do, on connections of their own."""
    loops = [{"think": "2s", "gap": "20ms", "persistent": True, "closed_loop": loop} for loop in ("page", True)]
    page, whole = (flows_of(until="10s", sessions=sessions) for sessions in loops)
    assert (page.start_ns == whole.start_ns).all()
    assert (page.same_connection == whole.same_connection).all()
    assert (page.waiting == page.same_connection).all()
    assert (page.after[page.waiting] == whole.after[page.waiting]).all()
    firsts = ~page.waiting
    assert (page.for_engine()["start_ns"][firsts] == page.start_ns[firsts]).all()


def test_some_flows_of_a_list_still_wait_for_each_other() -> None:
    flows = flows_of(**LOOP)
    rows = np.flatnonzero(flows.dst == flows.dst[0])
    taken = flows.taken(rows)
    assert taken.waiting.any()
    for at in np.flatnonzero(taken.waiting):
        assert rows[taken.after[at]] == flows.after[rows[at]]


@pytest.mark.parametrize("persistent", [False, True])
def test_a_reader_waits_for_one_object_before_the_next(persistent: bool) -> None:
    """In a network of any speed, a reader has at most one object under way."""
    settings = WEB | LOOP | {"flows": 6000, "rate": "10M", "load": 2}
    settings["sessions"] = dict(LOOP["sessions"], persistent=persistent)  # type: ignore[call-overload]
    experiment, observations, _ = run(schemes=["droptail"], **settings)
    seen, listed = observations[0], experiment.flow_lists[1]
    begun = len(seen.flows)
    readers = int((listed.after < 0).sum())
    assert readers < begun < len(listed)
    assert (np.diff(seen.flows.start_ns.astype(np.int64)) >= 0).all()
    end_ns = np.where(seen.fct_ns < 0, 2**62, seen.flows.start_ns.astype(np.int64) + seen.fct_ns)
    under_way = [int(((seen.flows.start_ns <= at) & (end_ns > at)).sum()) for at in seen.flows.start_ns[::50]]
    assert 5 < max(under_way) <= readers


def test_alone_in_the_network_objects_take_their_ideal_times() -> None:
    """Later objects of a page need only a request; objects of one segment have not opened the window."""
    settings = WEB | LOOP | {"rate": "1G", "load": 0.0003, "until": "100s", "flows": 1000}
    settings["sessions"] = {"closed_loop": True, "persistent": True, "think": "2s", "gap": "20ms"}
    experiment, observations, _ = run(schemes=["droptail"], **settings)
    seen = observations[0]
    ideal = ideal_ns(experiment.spec, experiment.network, seen.flows)
    short = (seen.flows.size_bytes <= 1460) & (seen.fct_ns >= 0)
    assert seen.flows.same_connection[short].sum() > 10
    assert np.abs(seen.fct_ns[short] - ideal[short]).max() < 4


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"sessions": {"persistent": True}}, "needs readers who wait"),
        ({"until": None}, "may never end"),
        ({"trace_flows": "1ms"}, "and `trace_flows` cannot"),
        ({"added_flows": [{"from": "h0", "to": "h1"}]}, "and `added_flows` cannot"),
        ({"transport": "dcqcn", "connections": "new"}, "sessions use TCP"),
        ({"sessions": {"closed_loop": True, "persistent": True}, "connections": "new"}, "opened by the readers"),
        ({"flows": 100}, "before the run ends"),
        ({"mininet": {}}, "simulated only"),
    ],
)
def test_loops_that_cannot_be_closed_are_refused(settings: dict[str, object], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        flows_of(**(LOOP | settings))


def test_ecn_plus_is_an_option(cli: Callable[..., Finished], tmp_path: Path) -> None:
    words = ("-s", "dctcp-red", "--baseline", "none", "--flows", "60", "--seeds", "1", "--out", str(tmp_path), "--json")
    words += ("--transport", "ecn-star", "--set", "connections=asked", "--set", "transport.initial_rto=1s")
    option, setting, without = (
        json.loads(cli(*words, *more).out)["spec"]
        for more in (["--ecn-plus"], ["--set", "transport.ecn_plus=true"], [])
    )
    assert option["transport"]["ecn_plus"]
    assert option == setting
    assert option["transport"] == without["transport"] | {"ecn_plus": True}
    refused = cli("-s", "tcn", "--transport", "reno", "--ecn-plus")
    assert refused.code == 2
    assert "`reno` has no ECN, which ECN+ extends" in refused.err
