# SPDX-License-Identifier: MIT OR Apache-2.0
"""Time dilation, and the levels of flows' delays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marklab.catalog.scheme import known_schemes
from marklab.devices.hosts import Transport
from marklab.lab.hosts.delays import FIRST_TTL, LEVELS, delay_levels
from marklab.prepare.dilation import (
    dilated_flows,
    dilated_graph,
    dilated_scheme,
    dilated_transport,
    undilated,
    undilated_columns,
)
from marklab.prepare.experiment import prepare
from marklab.spec.description import make_spec

FACTOR = 100


@pytest.mark.parametrize("scheme", [*sorted(known_schemes()), "red:adaptive", "pi:ns2", "rem:ns2"])
def test_thresholds_stay_in_packets_and_times_grow(scheme: str) -> None:
    queues = "dwrr:count=4" if scheme == "mq-ecn" else "fifo"
    transport = "prague" if scheme == "dualpi2" else "dctcp"
    plain = {"schemes": [scheme], "baseline": "none", "queues": queues, "flows": 10, "transport": transport}
    experiment = prepare(make_spec(plain))
    ready = experiment.schemes[0]
    slower = dilated_scheme(experiment, ready, FACTOR)
    assert slower.fitted.settings.keys() == ready.fitted.settings.keys()
    assert slower.queues == ready.queues
    for name, setting in ready.fitted.settings.items():
        found = slower.fitted.settings[name]
        if setting.parameter.kind == "time" or setting.parameter.in_us:
            assert float(found.exact) == pytest.approx(FACTOR * float(setting.exact), rel=1e-9), name
        elif setting.parameter.kind == "choice":
            assert found.value == setting.value
        else:
            # DualPI2's gains are per us.
            times = 1 / FACTOR if scheme == "dualpi2" and name in ("alpha", "beta") else 1
            assert float(found.exact) == pytest.approx(times * float(setting.exact), rel=1e-9), name
    # Derived values, such as the table of CoDel's steps, follow.
    assert len(slower.entries) == len(ready.entries)


def test_given_parameters_are_dilated_too() -> None:
    choice = "ecn-sharp:ins_target=150us,pst_target=100KB"
    experiment = prepare(make_spec({"schemes": [choice], "baseline": "none", "flows": 10}))
    settings = dilated_scheme(experiment, experiment.schemes[0], FACTOR).fitted.settings
    assert settings["ins_target"].value == 15_000
    assert settings["pst_target"].value == 8_000  # 100 KB at 10 Gb/s are 80 us


def test_network_flows_and_hosts() -> None:
    experiment = prepare(make_spec({"schemes": ["tcn"], "flows": 50, "seeds": 1}))
    graph = dilated_graph(experiment.network.graph, FACTOR)
    assert {link.rate_bps for link in graph.links} == {10**8}
    pairs = zip(graph.links, experiment.network.graph.links, strict=True)
    assert all(slow.delay_ns == FACTOR * link.delay_ns for slow, link in pairs)
    flows = experiment.flow_lists[1]
    slower = dilated_flows(flows, FACTOR)
    assert (slower.start_ns == FACTOR * flows.start_ns).all()
    assert (slower.extra_delay_ns == FACTOR * flows.extra_delay_ns).all()
    assert (slower.size_bytes == flows.size_bytes).all()
    transport = dilated_transport(Transport(), FACTOR)
    assert (transport.min_rto_ns, transport.initial_window) == (10**9, 10)


def test_results_are_told_in_times_that_are_not_dilated() -> None:
    assert undilated(np.array([-1, 0, 49, 50, 12_345]), FACTOR).tolist() == [-1, 0, 0, 1, 123]
    columns = undilated_columns({"time_ns": np.array([5_000], np.uint64), "packets": np.array([7], np.uint64)}, FACTOR)
    assert (columns["time_ns"].tolist(), columns["packets"].tolist()) == ([50], [7])


@given(st.lists(st.integers(0, 10**8), min_size=1, max_size=600))
def test_levels_are_near_the_delays_and_in_their_order(delays: list[int]) -> None:
    wanted = np.array(delays, np.uint64)
    levels = delay_levels(wanted)
    got = np.array(levels.delays_ns)[levels.ttl - FIRST_TTL]
    assert levels.delays_ns[0] == 0
    assert len(levels.delays_ns) <= LEVELS + 1
    assert ((got == 0) == (wanted == 0)).all()
    assert (np.diff(got[np.argsort(wanted, kind="stable")]) >= 0).all()
    if len(set(delays)) <= LEVELS:
        assert got.tolist() == delays
    # Levels are means, so they keep the overall mean, except for rounding.
    assert got.mean() == pytest.approx(float(wanted.mean()), abs=1)
