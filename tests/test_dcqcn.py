# SPDX-License-Identifier: MIT OR Apache-2.0
"""DCQCN, the transport of RDMA: settings, and results of runs."""

import numpy as np
import pytest

from marklab.devices.hosts import Dcqcn
from marklab.errors import BadInput
from marklab.fabrics.sim import configuration
from marklab.prepare.ideal import ideal_ns
from marklab.spec.description import make_spec
from runs import run


def test_the_rates_are_those_of_the_paper_unless_they_are_given() -> None:
    """DCQCN paper, section 5."""
    spec = make_spec({"schemes": ["droptail"], "transport": "dcqcn"})
    rates = spec.transport.dcqcn
    assert rates == Dcqcn()
    assert (rates.cnp_interval_ns, rates.alpha_timer_ns, rates.rate_timer_ns) == (50_000, 55_000, 55_000)
    assert (rates.gain_shift, rates.byte_counter_bytes, rates.additive_bps) == (8, 10_000_000, 40_000_000)
    assert make_spec(spec.to_plain()) == spec
    given = make_spec({"schemes": ["droptail"], "transport": {"control": "dcqcn", "dcqcn": {"rate_timer": "1.5ms"}}})
    assert given.transport.dcqcn == Dcqcn(rate_timer="1.5ms")
    assert spec.transport.uses_ecn
    assert make_spec({"schemes": ["droptail"]}).transport.dcqcn is None


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"transport": {"control": "dctcp", "dcqcn": {}}}, "`dctcp` sends by windows"),
        ({"transport": {"control": "dcqcn", "dcqcn": {"min_rate": "1M"}}}, "acknowledgements are 37.4 ms apart"),
        ({"transport": {"control": "dcqcn", "dcqcn": {"alpha_timer": 0}}}, "transport.dcqcn.alpha_timer"),
        ({"transport": {"control": "dcqcn", "dcqcn": {"alpha": "1us"}}}, "unknown key `transport.dcqcn.alpha`"),
        ({"transport": "dcqcn", "mininet": {}}, "real hosts here do not have"),
    ],
)
def test_what_has_no_rates_is_refused(settings: dict[str, object], says: str) -> None:
    with pytest.raises(BadInput) as error:
        make_spec({"schemes": ["droptail"]} | settings)
    assert says in f"{error.value} {error.value.remedy}"


def test_the_engine_gets_rates_and_pauses() -> None:
    experiment, _, _ = run(schemes=["droptail"], baseline="none", transport="dcqcn", pfc="on", flows=5, seeds=1)
    config = configuration(experiment, experiment.schemes[0], 0, [], None)
    assert config["transport"]["dcqcn"]["hyper_bps"] == 400_000_000
    assert config["pfc"] == {"xoff_bytes": 20_000, "xon_bytes": 10_000}
    switches = [node for node in config["nodes"] if node["kind"] == "switch"]
    assert [queue["limit"] for queue in switches[0]["queueing"]["queues"]] == [{"bytes": 12_000_000}]


@pytest.mark.parametrize("connections", ["new", "persistent"])
def test_a_flow_alone_takes_the_ideal_time(connections: str) -> None:
    """Line rate from the first packet on, and no handshake: the time equals the ideal."""
    flows = [
        {"from": "h0", "to": "h7", "size": size, "start": f"{at}ms"} for at, size in enumerate(("1B", "20KB", "1MB"))
    ]
    experiment, observations, summary = run(
        schemes=["droptail"], baseline="none", transport="dcqcn", flows=0, added_flows=flows, connections=connections,
        seeds=1, rtt="20us",
    )  # fmt: skip
    ideal = ideal_ns(experiment.spec, experiment.network, observations[0].flows)
    assert np.abs(observations[0].fct_ns - ideal).max() <= 2
    assert summary.main.retransmissions == 0


def test_hosts_send_at_the_rates_that_marks_allow() -> None:
    """Notifications reduce rates, and queues of a scheme that marks early are shorter than without marks."""
    longest = {}
    for scheme in ("dctcp-red:k=5", "droptail"):
        _, observations, summary = run(
            schemes=[scheme], baseline="none", transport="dcqcn", flows=100, seeds=1, load=0.7, queue="20MB"
        )
        notified = int(observations[0].per_flow["ecn_reductions"].sum())
        assert (notified > 0) is (summary.main.marks.total > 0) is (scheme != "droptail")
        longest[scheme] = max(port["max_packets"] for port in observations[0].report["ports"])
    assert longest["dctcp-red:k=5"] < longest["droptail"] / 2
