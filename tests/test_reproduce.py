# SPDX-License-Identifier: MIT OR Apache-2.0
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from comparisons import scheme, seed
from comparisons import summary as summary_of
from conftest import Finished
from marklab.errors import BadInput
from marklab.model import validate
from marklab.papers.experiment import (
    Effort,
    PaperExperiment,
    known_experiments,
    load_experiment,
    read_experiment,
    runs_of,
)
from marklab.papers.findings import examine
from marklab.papers.table import cells, effort, tally, to_markdown
from marklab.papers.verdicts import Verdict
from marklab.prepare.experiment import Experiment
from marklab.results.summary import Summary
from marklab.spec.description import make_spec
from marklab.sweeps.plan import plan_of


def planned(paper: PaperExperiment) -> list[Experiment]:
    return [point.experiment for point in plan_of(runs_of(paper)).points]


@pytest.mark.parametrize("name", known_experiments())
def test_every_experiment_can_be_run(name: str) -> None:
    paper = load_experiment(name)
    for form in (paper, paper.with_effort(paper.quick)):
        points = planned(form)
        assert len(points) == len(list(form.points())) > 0
        flows = sorted({point.spec.flows for point in points})
        said = f"{flows[0]:,} to {flows[-1]:,} flows, " if len(flows) > 1 else f"{flows[0]:,} flows, "
        assert effort(form).startswith(said if flows[-1] else "Long flows only, ")
    assert paper.claims


def test_the_testbeds_setup_is_the_papers() -> None:
    """ECN# paper section 5.2: K 250 KB and 80 KB, loads 10 to 90 %, RTT 70 to 210 us."""
    points = planned(load_experiment("ecnsharp-testbed"))
    assert sorted({point.spec.load for point in points}) == [number / 10 for number in range(1, 10)]
    assert {point.spec.workload.name for point in points} == {"web_search", "data_mining"}
    schemes = [scheme for point in points for scheme in point.schemes]
    assert {s.fitted.settings["k"].value for s in schemes if "k" in s.fitted.settings} == {167, 53}
    assert len(points[0].network.pairs) == 7


WHERE = {"where": "5.2", "weight": "figure"}

PAPER = {
    "title": "t",
    "paper": "p",
    "schemes": ["tcn", "red"],
    "grid": {"load": [0.1, 0.9]},
    "claims": [
        WHERE
        | {
            "says": "at one load",
            "metric": "short.mean",
            "of": "tcn",
            "over": "red",
            "at": {"load": 0.9},
            "paper": -20,
        },
        WHERE
        | {"says": "at the worst", "metric": "short.mean", "of": "tcn", "over": "red", "take": "highest", "paper": 5},
        WHERE | {"says": "itself", "metric": "short.p99", "of": "tcn", "at": {"load": 0.1}, "paper": 100},
    ],
}


def summary(*values: float, label: str = "tcn") -> Summary:
    """A run whose every time is the value of its seed."""
    return summary_of([scheme(label, [seed(at, value, f"flows {at}") for at, value in enumerate(values)])])


def point(tcn: tuple[float, ...], red: tuple[float, ...]) -> Summary:
    one, other = summary(*tcn), summary(*red, label="red")
    return one.model_copy(update={"schemes": one.schemes | other.schemes})


PAPER_AT_90 = WHERE | {
    "says": "so",
    "metric": "short.mean",
    "of": "tcn",
    "over": "red",
    "at": {"load": 0.9},
    "paper": 1,
}

POINTS = [point((100, 120), (100, 110)), point((80, 160), (100, 200))]


def test_claims_are_computed_from_their_points() -> None:
    paper = validate(PaperExperiment, PAPER, "")
    one, worst, itself = examine(paper, POINTS)
    assert one.value == pytest.approx(-20)
    assert one.interval == pytest.approx((-20, -20))
    assert one.difference == pytest.approx(0)
    assert worst.value == pytest.approx(100 * (220 / 210 - 1))
    assert worst.point == {"load": 0.1}
    assert itself.value == pytest.approx(110)
    assert cells(itself)[2].startswith("110 ±")
    assert "| at one load | 5.2 | -20.0 % | -20.0 %<br>120 : 150 µs | agrees |" in to_markdown(paper, [one])


@pytest.mark.parametrize(("bound", "difference"), [(49.9, "+0.1 points"), (50, "within"), (50.1, "within")])
@pytest.mark.parametrize(("first", "second"), [((150, 100), (60, 100)), ((50, 100), (140, 100))])
def test_a_bound_is_about_the_change_that_is_farthest_from_none(
    bound: float, difference: str, first: tuple[float, float], second: tuple[float, float]
) -> None:
    claim = WHERE | {"says": "so", "metric": "short.mean", "of": "tcn", "over": "red", "take": "farthest"}
    claim |= {"bound": "within"}
    paper = validate(PaperExperiment, PAPER | {"claims": [claim | {"paper": bound}]}, "")
    (finding,) = examine(paper, [point((tcn,), (red,)) for tcn, red in (first, second)])
    assert finding.point == {"load": 0.1}
    assert (cells(finding)[1], cells(finding)[3]) == (f"within {bound:g} %", difference)


def test_counts_have_no_unit() -> None:
    claim = WHERE | {"says": "so", "metric": "timeouts", "of": "tcn", "at": {"load": 0.1}, "paper": 45}
    (finding,) = examine(validate(PaperExperiment, PAPER | {"claims": [claim]}, ""), POINTS[:1])
    assert cells(finding) == ("so", "45", "0", "-45.0", "disagrees")


def test_fractions_are_shown_in_percent() -> None:
    claim = WHERE | {"says": "so", "metric": "utilisation", "of": "tcn", "at": {"load": 0.1}, "paper": 0.9}
    change = claim | {"says": "more", "over": "red", "paper": 5}
    found = examine(validate(PaperExperiment, PAPER | {"claims": [claim, change]}, ""), POINTS[:1])
    assert [cells(finding)[1:4] for finding in found] == [
        ("90.0 %", "50.0 %", "-40.0 points"),
        ("+5.0 %", "+0.0 %\n50.0 : 50.0 %", "-5.0 points"),
    ]


def test_only_points_that_a_claim_is_about_are_run() -> None:
    grid = {"workload": ["web_search", "data_mining"], "load": [0.1, 0.8]}
    claim = WHERE | {"says": "so", "metric": "short.mean", "of": "tcn", "take": "highest", "paper": 1}
    claims = [
        claim | {"at": {"workload": "web_search"}},
        claim | {"says": "more", "at": {"workload": "data_mining", "load": 0.8}},
    ]
    paper = validate(PaperExperiment, PAPER | {"grid": grid, "claims": claims}, "")
    points = [(point["workload"], point["load"]) for point in paper.points()]
    assert points == [("web_search", 0.1), ("web_search", 0.8), ("data_mining", 0.8)]


def test_a_grid_is_narrowed_to_values_as_they_are_written() -> None:
    grid = {"queues": ["fifo", "dwrr:count=4"], "transport.ecn_plus": [False, True], "load": [0.1, 0.5, 0.9]}
    paper = validate(PaperExperiment, PAPER | {"grid": grid, "claims": [PAPER_AT_90]}, "")
    narrow = paper.narrowed({"load": ["0.9", "0.1"], "queues": ["fifo"], "transport.ecn_plus": ["true"]})
    assert narrow.grid == {"queues": ("fifo",), "transport.ecn_plus": (True,), "load": (0.1, 0.9)}
    assert list(narrow.points()) == [{"queues": "fifo", "transport.ecn_plus": True, "load": 0.9}]


@pytest.mark.parametrize(
    ("at", "why"),
    [
        ({"lood": ["0.9"]}, "unknown setting of the grid `lood`: did you mean `load`"),
        ({"load": ["0.8"]}, "unknown load of the grid `0.8`: did you mean `0.9`? known: 0.1, 0.9"),
        ({"load": ["0.1"]}, "no claim of the experiment is about these points"),
    ],
)
def test_a_grid_is_not_narrowed_to_what_it_has_not(at: dict[str, list[str]], why: str) -> None:
    settings = {"grid": {"load": [0.1, 0.9]}, "claims": [PAPER_AT_90]}
    with pytest.raises(BadInput) as refused:
        validate(PaperExperiment, PAPER | settings, "").narrowed(at)
    assert why in f"{refused.value}: {refused.value.remedy}"


def test_effort_names_a_topology_without_its_folder() -> None:
    paper = load_experiment("diffecn-fair")
    assert "`diffecn-unit.yaml`" in effort(paper)
    assert "leaves=12" in effort(load_experiment("mqecn-leafspine"))


def test_a_point_runs_the_schemes_that_its_claims_compare() -> None:
    """mq-ecn needs a scheduler, which the other point does not have."""
    grid = {"queues": ["fifo", "dwrr:count=4"], "load": [0.5]}
    claim = WHERE | {"says": "so", "metric": "short.mean", "over": "tcn", "paper": 1}
    claims = [
        claim | {"of": "codel", "at": {"queues": "fifo"}},
        claim | {"says": "more", "of": "mq-ecn", "at": {"queues": "dwrr:count=4"}},
    ]
    schemes = ["tcn", "codel", "mq-ecn", "red"]
    paper = validate(PaperExperiment, PAPER | {"grid": grid, "claims": claims, "schemes": schemes}, "")
    points = [[scheme.label for scheme in point.schemes] for point in planned(paper)]
    assert points == [["tcn", "codel"], ["tcn", "mq-ecn"]]


def test_points_that_were_not_run_are_said_to_be_so() -> None:
    paper = validate(PaperExperiment, PAPER, "").with_effort(Effort(grid={"load": (0.1,)}))
    missing, *_ = examine(paper, POINTS[:1])
    assert missing.value is None
    assert cells(missing)[2] == "not run"


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        ({"metric": "short.p98"}, "unknown metric"),
        ({"of": "codel"}, "unknown scheme of a claim"),
        ({"at": {"laod": 0.9}}, "unknown setting of a claim"),
        ({"over": None, "bound": "within"}, "only a change can be within"),
        ({"bound": "within"}, "which is not below 0"),
        ({"over": None, "paper": "lower"}, "only a change can be lower"),
        ({"paper": "lower", "bound": "at most"}, "a bound is a number, not `lower`"),
        ({"also": [{"says": "another", "of": "codel"}]}, "unknown scheme of a claim"),
        ({"metric": "query.mean"}, "without `queries` have no query.mean"),
        ({"metric": "rtt.mean"}, "without `probes` have no rtt.mean"),
        ({"metric": "queue.mean@1ms..2ms"}, "unknown window of a claim"),
    ],
)
def test_claims_that_cannot_be_computed_are_refused(claim: dict[str, object], why: str) -> None:
    with pytest.raises(BadInput, match=why):
        validate(PaperExperiment, PAPER | {"claims": [PAPER["claims"][0] | claim]}, "")


@pytest.mark.parametrize(
    ("metric", "recorded", "other"),
    [("queue.mean@1ms..2ms", "trace_queue", "trace_flows"), ("rate.flow0@1ms..2ms", "trace_flows", "trace_queue")],
)
def test_a_claim_about_a_window_needs_what_is_recorded_of_it(metric: str, recorded: str, other: str) -> None:
    about = PAPER | {"claims": [PAPER["claims"][0] | {"metric": metric}]}
    setup = {"windows": "1ms..2ms"}
    validate(PaperExperiment, about | {"setup": setup | {recorded: "10us"}}, "")
    with pytest.raises(BadInput, match=f"without `{recorded}`"):
        validate(PaperExperiment, about | {"setup": setup | {other: "10us"}}, "")


def test_claims_are_known_by_what_they_say() -> None:
    claim = PAPER["claims"][0]
    with pytest.raises(BadInput, match="two claims say `at one load`"):
        validate(PaperExperiment, PAPER | {"claims": [claim, claim | {"paper": -30}]}, "")


def test_a_claim_that_fits_several_points_must_choose() -> None:
    paper = validate(PaperExperiment, PAPER | {"claims": [PAPER["claims"][0] | {"at": {}}]}, "")
    with pytest.raises(BadInput, match="fits 2 points"):
        examine(paper, POINTS)


ELSEWHERE = PAPER | {
    "grid": {"transport.control": ["ear", "dctcp"], "load": [0.1, 0.9]},
    "claims": [
        {
            "where": "4.2",
            "weight": "headline",
            "says": "EAR against DCTCP",
            "metric": "short.mean",
            "of": "tcn",
            "over": "red",
            "at": {"transport.control": "ear", "load": 0.9},
            "over_at": {"transport.control": "dctcp"},
            "paper": -20,
        }
    ],
}


def test_a_claim_may_compare_points() -> None:
    paper = validate(PaperExperiment, ELSEWHERE, "")
    ear, dctcp = ({"transport.control": control, "load": 0.9} for control in ("ear", "dctcp"))
    assert [(at, paper.schemes_at(at)) for at in paper.points()] == [(ear, ["tcn"]), (dctcp, ["red"])]
    experiments = planned(paper)
    assert [experiment.spec.transport.control for experiment in experiments] == ["ear", "dctcp"]
    (finding,) = examine(paper, [summary(60, 90), summary(100, 100, label="red")])
    assert finding.value == pytest.approx(-25)
    assert finding.point == ear
    (finding,) = examine(paper, [summary(60, 90), None])
    assert finding.value is None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"over": None}, "`over_at` is about `over`"),
        ({"over_at": {"load": 0.1, "queue": 5}}, "`over_at` changes `queue`"),
        ({"over_at": {}, "over": None, "minus": {"load": 0.1}}, "`minus` is about `over`"),
        ({"minus": {"queue": 5}}, "`minus` changes `queue`"),
    ],
)
def test_points_that_cannot_be_compared_are_refused(change: dict[str, object], says: str) -> None:
    claim = {key: value for key, value in (ELSEWHERE["claims"][0] | change).items() if value is not None}  # type: ignore[index, operator]
    with pytest.raises(BadInput, match=says):
        validate(PaperExperiment, ELSEWHERE | {"claims": [claim]}, "")


def test_a_claim_may_subtract_another_change() -> None:
    """-25 % at 90 % load and -10 % at 10 %: the first is 15 points below the second, by seeds that both have."""
    plain = {
        **WHERE,
        "says": "more",
        "metric": "short.mean",
        "of": "tcn",
        "over": "red",
        "at": {"load": 0.9},
        "minus": {"load": 0.1},
    }
    paper = validate(PaperExperiment, PAPER | {"claims": [plain | {"paper": "lower"}]}, "")
    assert [at["load"] for at in paper.points()] == [0.1, 0.9]
    low, high = point((90, 90, 90), (100, 100, 100)), point((70, 75, 80, 1), (100, 100, 100, 100))
    (finding,) = examine(paper, [low, high])
    half = 4.302653 * 5 / 3**0.5
    assert finding.value == pytest.approx(-15)
    assert finding.interval == pytest.approx((-15 - half, -15 + half))
    assert (finding.means, finding.seeds) == (pytest.approx((-25, -10)), 3)
    assert finding.verdict() is Verdict.AGREES
    assert cells(finding)[:3] == ("more", "lower", f"-15.0 ±{half:.1f} points\n-25.0 % and -10.0 %")
    (finding,) = examine(paper, [None, high])
    assert finding.value is None


def test_the_subtracted_change_has_its_own_point_of_over() -> None:
    at, controls = {"load": 0.9, "transport.control": "ear"}, ["dctcp", "ear"]
    claim = {
        **WHERE,
        "says": "more",
        "metric": "short.mean",
        "of": "tcn",
        "over": "red",
        "at": at,
        "over_at": {"transport.control": "dctcp"},
        "minus": {"load": 0.1},
        "paper": "lower",
    }
    grid = {"load": [0.1, 0.9], "transport.control": controls}
    paper = validate(PaperExperiment, PAPER | {"grid": grid, "claims": [claim]}, "")
    assert [(p["load"], p["transport.control"], paper.schemes_at(p)) for p in paper.points()] == [
        (0.1, "dctcp", ["red"]),
        (0.1, "ear", ["tcn"]),
        (0.9, "dctcp", ["red"]),
        (0.9, "ear", ["tcn"]),
    ]
    red, tcn = summary(100, 100, label="red"), summary(80, 80)
    (finding,) = examine(paper, [red, tcn, red, summary(50, 50)])
    assert finding.value == pytest.approx(-30)


def test_the_interval_of_an_extreme_is_that_of_all_points_that_may_be_it() -> None:
    """Changes of 0 and 10 % with intervals that overlap: the largest is between the larger ends of both."""
    claim = WHERE | {"says": "so", "metric": "short.mean", "of": "tcn", "over": "red", "take": "highest", "paper": 5}
    paper = validate(PaperExperiment, PAPER | {"claims": [claim]}, "")
    points = [point((90, 110, 100), (100, 100, 100)), point((105, 110, 115), (100, 100, 100))]
    (finding,) = examine(paper, points)
    wide, narrow = 4.302653 * 10 / 3**0.5, 4.302653 * 5 / 3**0.5
    assert finding.value == pytest.approx(10)
    assert finding.interval == pytest.approx((10 - narrow, max(10 + narrow, wide)))


def test_rows_below_a_claim_are_evaluated_and_not_counted() -> None:
    row = {"says": "at 10 %", "at": {"load": 0.1}}
    paper = validate(PaperExperiment, PAPER | {"claims": [PAPER["claims"][0] | {"also": [row]}]}, "")
    assert [point["load"] for point in paper.points()] == [0.1, 0.9]
    (finding,) = examine(paper, POINTS)
    assert [below.value for below in finding.rows] == [pytest.approx(100 * (220 / 210 - 1))]
    assert tally([finding])[0] == 1
    assert "| – at 10 % | | | +4.8" in to_markdown(paper, [finding])


def test_a_size_is_that_of_its_points() -> None:
    sizes = [{"at": {"load": 0.9}, "flows": 700, "seeds": 9}]
    paper = validate(PaperExperiment, PAPER | {"setup": {"flows": 100, "seeds": 3}, "sizes": sizes}, "")
    assert [(spec.load, spec.flows, spec.seeds) for _, spec, _ in runs_of(paper)] == [(0.1, 100, 3), (0.9, 700, 9)]
    asked = [
        (Effort(), [(100, 3), (700, 9)]),
        (Effort(seeds=2), [(100, 2), (700, 2)]),
        (Effort(flows=5), [(5, 3), (5, 9)]),
        (Effort(part=0.0099), [(1, 3), (7, 9)]),
        (Effort(part=1), [(100, 3), (700, 9)]),
    ]
    for size, found in asked:
        assert [(spec.flows, spec.seeds) for _, spec, _ in runs_of(paper.with_effort(size))] == found
    assert effort(paper).startswith("100 to 700 flows, 3 seeds, up to 9 where a claim needs them")


def test_a_part_is_of_the_default_where_an_experiment_has_no_number_of_flows() -> None:
    paper = validate(PaperExperiment, PAPER | {"setup": {}}, "").with_effort(Effort(part=0.01))
    assert {spec.flows for _, spec, _ in runs_of(paper)} == {make_spec({"schemes": "tcn"}).flows // 100}
    alone = load_experiment("diffecn-fair").with_effort(Effort(part=0.5))
    assert {spec.flows for _, spec, _ in runs_of(alone)} == {0}


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--part", "0"], "--part 0 is no part"),
        (["--part", "1.5"], r"--part 1\.5 is no part"),
        (["--part", "0.5", "--flows", "9"], "--flows is the number of flows"),
    ],
)
def test_a_size_that_is_none_is_refused(options: list[str], why: str, cli: Callable[..., Finished]) -> None:
    for command in (["reproduce", "diffecn-fair"], ["vary", "ecnsharp-threshold"], ["artifact", "diffecn-fair"]):
        refused = cli(*command, *options)
        assert refused.code == 2
        assert re.search(why, refused.err)


def test_flows_that_no_seed_draws_are_the_same_for_every_seed() -> None:
    claims = [PAPER["claims"][2]]
    paper = validate(PaperExperiment, PAPER | {"setup": {"flows": 0}, "claims": claims}, "")
    (finding,) = examine(paper, [summary(100)])
    assert finding.interval == (100, 100)
    (finding,) = examine(validate(PaperExperiment, PAPER | {"claims": claims}, ""), [summary(100)])
    assert (finding.interval, finding.verdict()) == (None, Verdict.UNDETERMINED)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("    paper: 1\n", ""), r"x\.yaml: line 6: claims\.0\.paper: it is missing"),
        (("of: tcn", "of: tcm"), r"x\.yaml: line 6: unknown scheme of a claim: `tcm`"),
        (("weight: figure", "weight: heavy"), r"x\.yaml: line 8: claims\.0\.weight"),
    ],
)
def test_a_wrong_claim_is_refused_with_its_line(change: tuple[str, str], why: str, tmp_path: Path) -> None:
    text = """\
title: t
paper: p
schemes: [tcn]
grid: {load: [0.5]}
claims:
  - says: so
    where: "1"
    weight: figure
    metric: short.mean
    of: tcn
    paper: 1
"""
    path = tmp_path / "x.yaml"
    path.write_text(text)
    read_experiment(path)
    path.write_text(text.replace(*change))
    with pytest.raises(BadInput, match=why):
        read_experiment(path)
