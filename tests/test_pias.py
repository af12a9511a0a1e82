# SPDX-License-Identifier: MIT OR Apache-2.0
"""Priorities by bytes sent: settings, the engine's input, and results of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from marklab.catalog.choice import parse_choice
from marklab.devices.pias import Pias
from marklab.errors import BadInput
from marklab.fabrics.sim import configuration
from marklab.prepare.experiment import prepare
from marklab.promotion.candidate import candidate
from marklab.promotion.policy import FctRules
from marklab.spec.description import Spec, make_spec
from marklab.traffic.workload import load_workload
from runs import run

STRICT = "strict:count=8"


def spec(**settings: Any) -> Spec:
    return make_spec({"schemes": ["tcn"], "queues": STRICT, **settings})


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("published", {}),
        ("equal", {"thresholds": "equal"}),
        ("equal:levels=4", {"thresholds": "equal", "levels": 4}),
        ("20KB/1MB", {"thresholds": [20_000, "1000KB"]}),
        ("20KB", {"thresholds": "20KB"}),
    ],
)
def test_what_is_written_is_read_back(text: str, same: dict[str, Any]) -> None:
    described = spec(pias=text)
    assert described.pias == Pias.model_validate(same)
    assert make_spec(yaml.safe_load(described.to_yaml())) == described
    assert "pias" not in spec().to_plain()


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"pias": "20KB/20KB"}, "a threshold of 20KB after one of 20KB: they must rise"),
        ({"pias": "1MB/20KB"}, "a threshold of 20KB after one of 1MB"),
        ({"pias": "0/20KB"}, "a threshold of 0"),
        ({"pias": "many"}, "`many` are no thresholds"),
        ({"pias": {"thresholds": 7}}, "`7` are no thresholds"),
        ({"pias": "20KB/x"}, "`x` is not a size"),
        ({"pias": {"limits": []}}, "unknown key `pias.limits`"),
        ({"pias": "published:levels=8"}, "`levels` are those of `equal` thresholds"),
        ({"pias": {"thresholds": "equal", "levels": 0}}, "pias.levels"),
        (
            {"pias": {"thresholds": [1000 * n for n in range(1, 65)]}},
            "65 priorities are more than there are code points",
        ),
        ({"pias": "equal:levels=9"}, "9 priorities, and ports have strict:count=8"),
        ({"pias": "published", "queues": "strict:count=7"}, "8 priorities, and ports have strict:count=7"),
        ({"pias": "20KB", "queues": "fifo"}, "2 priorities, and ports have fifo"),
        ({"pias": "20KB", "queues": "dwrr:count=8"}, "each priority needs its own strict queue"),
        ({"pias": "published", "workload": "cache"}, "workload with published thresholds: `cache`"),
        ({"pias": "equal", "added_flows": [{"from": 0, "to": 7}], "flows": 0}, "this run has none"),
        ({"pias": "20KB", "services": 2}, "services and pias cannot be combined"),
        ({"pias": "20KB", "transport": "dcqcn"}, "pias is for TCP"),
        ({"pias": "20KB", "mininet": {}}, "pias is simulated only"),
        ({"pias": "20KB", "schemes": ["pftcn"], "queues": STRICT}, "pftcn"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(BadInput) as refused:
        prepare(spec(**settings))
    assert says in f"{refused.value}"
    assert refused.value.remedy or "code points" in says


def test_as_many_queues_as_priorities_are_enough() -> None:
    for pias, queues in (("published", "strict:count=8"), ("20KB", "strict:count=2"), ("equal:levels=1", "fifo")):
        prepare(spec(pias=pias, queues=queues))


def test_flows_with_code_points_of_their_own_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "flows.csv"
    path.write_text("start_ns,src,dst,size_bytes,dscp\n0,h0,h7,1000,3\n")
    experiment = prepare(spec(pias="20KB", flow_list=str(path)))
    with pytest.raises(BadInput, match="flows have code points"):
        _ = experiment.flow_lists


def test_a_promotion_under_priorities_is_refused() -> None:
    rules = FctRules.model_validate({"settings": {"pias": "20KB", "queues": "strict:count=2"}})
    with pytest.raises(BadInput, match="pias gives each packet its own"):
        candidate(parse_choice("tcn"), rules)


def test_equal_parts_are_equal() -> None:
    """The same number of drawn flows ends in each level: only flows of the last exceed all thresholds."""
    described = spec(pias="equal", flows=40_000)
    thresholds = described.pias_thresholds_bytes
    assert thresholds is not None
    sizes = prepare(described).flow_lists[1].size_bytes
    parts = np.bincount(np.searchsorted(thresholds, sizes, side="left"), minlength=8) / len(sizes)
    assert np.abs(parts - 1 / 8).max() < 0.01
    workload = load_workload("web_search")
    assert [float(workload.part_up_to(np.array(float(size)))) for size in thresholds] == pytest.approx(
        np.arange(1, 8) / 8, abs=1e-4
    )


def test_published_thresholds_are_those_of_the_nearest_load() -> None:
    first_packets = {0.1: 1059, 0.5: 1059, 0.54: 1059, 0.56: 956, 0.8: 909, 0.9: 759, 1.0: 759}
    for load, packets in first_packets.items():
        thresholds = spec(pias="published", load=load).pias_thresholds_bytes
        assert thresholds is not None
        assert (thresholds[0], len(thresholds)) == (1460 * packets, 7)


def test_all_published_thresholds_can_be_used() -> None:
    for workload in ("web_search", "data_mining"):
        for load in (0.5, 0.6, 0.7, 0.8, 0.9):
            published = spec(pias="published", workload=workload, load=load).pias_thresholds_bytes
            assert published is not None
            assert spec(pias={"thresholds": list(published)}).pias_thresholds_bytes == published


def test_the_engine_gets_thresholds() -> None:
    experiment = prepare(spec(pias="20KB/1MB", flows=5, seeds=1))
    config = configuration(experiment, experiment.schemes[0], 0, [], None)
    assert config["pias"] == {"thresholds_bytes": [20_000, 1_000_000]}
    plain = prepare(spec(flows=5, seeds=1))
    assert "pias" not in configuration(plain, plain.schemes[0], 0, [], None)


def test_packets_are_counted_by_priority() -> None:
    """Without losses a host sends each segment once, with the priority of its offset in the flow."""
    thresholds = (20_000, 1_000_000)
    _, observations, summary = run(
        schemes=["tcn"], baseline="none", pias="20KB/1MB", queues="strict:count=3,buffer=100MB", seeds=2, flows=100
    )
    result = summary.main
    assert (result.retransmissions, result.drops.total) == (0, 0)
    assert result.priorities is not None
    expected = np.zeros(3, dtype=np.int64)
    for seen in observations:
        for size in seen.flows.size_bytes.tolist():
            offsets = np.arange(0, size, 1460)
            expected += np.bincount(np.searchsorted(thresholds, offsets, side="left"), minlength=3)
    assert [priority.sent for priority in result.priorities] == expected.tolist()
    assert [priority.above_bytes for priority in result.priorities] == [0, *thresholds]
    assert sum(priority.marked for priority in result.priorities) == result.marks.total > 0
    assert result.seeds[0].priorities != result.seeds[1].priorities


def test_short_flows_gain() -> None:
    """In a single FIFO they wait behind long flows."""
    settings: dict[str, Any] = {"schemes": ["tcn"], "baseline": "none", "load": 0.9, "flows": 500, "seeds": 1}
    means = {}
    for pias, queues in (("100KB/1MB", "strict:count=3"), ("equal:levels=1", "fifo")):
        _, _, summary = run(**settings, pias=pias, queues=queues)
        means[pias] = summary.main.fct_us["short"].mean
    assert means["100KB/1MB"] < 0.7 * means["equal:levels=1"]


def test_one_level_is_a_run_without_priorities() -> None:
    settings: dict[str, Any] = {"schemes": ["ecn-sharp"], "baseline": "none", "flows": 100, "seeds": 1}
    _, (plain,), _ = run(**settings)
    _, (one,), summary = run(**settings, pias="equal:levels=1")
    assert (plain.fct_ns == one.fct_ns).all()
    assert {name: value for name, value in one.report.items() if name != "priorities"} == plain.report
    assert not any("priority" in warning for warning in summary.warnings)


@pytest.mark.parametrize(("pias", "doubted"), [("1B", True), ("100KB", False), ("29MB", True)])
def test_thresholds_that_schedule_nothing_are_told(pias: str, doubted: bool) -> None:
    _, _, summary = run(schemes=["tcn"], baseline="none", pias=pias, queues="strict:count=2", seeds=1)
    assert any("of the data packets had priority P" in warning for warning in summary.warnings) is doubted
