# SPDX-License-Identifier: MIT OR Apache-2.0
"""Verdicts on claims, and the reading of a paper (docs/scoring.md)."""

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marklab.errors import BadInput
from marklab.model import validate
from marklab.papers import papers as all_papers
from marklab.papers.claims import Claim
from marklab.papers.experiment import Column, PaperExperiment, known_experiments
from marklab.papers.findings import Finding
from marklab.papers.papers import columns_of, papers
from marklab.papers.reading import Assumption, varied, with_reading
from marklab.papers.table import verdict_text
from marklab.papers.verdicts import Verdict, judge, seeds_needed
from marklab.statistics.samples import t95

NUMBER = {"says": "so", "where": "5", "weight": "figure", "metric": "short.mean", "of": "tcn"}
CHANGE = NUMBER | {"over": "red"}
AGREES, DISAGREES, UNDETERMINED = Verdict.AGREES, Verdict.DISAGREES, Verdict.UNDETERMINED


@pytest.mark.parametrize(
    ("claim", "interval", "verdict"),
    [
        # A change: within 10 points, all of the interval.
        (CHANGE | {"paper": -20}, (-30.0, -10.0), AGREES),
        (CHANGE | {"paper": -20}, (-30.1, -10.0), UNDETERMINED),
        (CHANGE | {"paper": -20}, (-30.0, -9.9), UNDETERMINED),
        (CHANGE | {"paper": -20}, (-9.9, -9.0), DISAGREES),
        (CHANGE | {"paper": -20}, (-40.0, -30.1), DISAGREES),
        # Both ends outside, on both sides: it may be anything.
        (CHANGE | {"paper": -20}, (-90.0, 50.0), UNDETERMINED),
        # An increase is so many times as much, of which a tenth is near.
        (CHANGE | {"paper": 900}, (800.0, 1000.0), AGREES),
        (CHANGE | {"paper": 900}, (799.9, 900.0), UNDETERMINED),
        # And of the paper's sign, unless the paper's is no change.
        (CHANGE | {"paper": -5}, (-3.0, -0.1), AGREES),
        (CHANGE | {"paper": -5}, (-3.0, 0.0), UNDETERMINED),
        (CHANGE | {"paper": -5}, (0.0, 3.0), DISAGREES),
        (CHANGE | {"paper": 2}, (0.1, 12.2), AGREES),
        (CHANGE | {"paper": 2}, (-0.1, 12.2), UNDETERMINED),
        (CHANGE | {"paper": 1.9}, (-0.1, 11.9), AGREES),
        # A bound: 2 points more, but no more than twice itself.
        (CHANGE | {"paper": 5, "bound": "within"}, (-7.0, 7.0), AGREES),
        (CHANGE | {"paper": 5, "bound": "within"}, (-7.1, 0.0), UNDETERMINED),
        (CHANGE | {"paper": 5, "bound": "within"}, (7.1, 8.0), DISAGREES),
        (CHANGE | {"paper": 0.2, "bound": "within"}, (-0.4, 0.4), AGREES),
        (CHANGE | {"paper": 0.2, "bound": "within"}, (0.41, 0.42), DISAGREES),
        (CHANGE | {"paper": -50, "bound": "at most"}, (-90.0, -48.0), AGREES),
        (CHANGE | {"paper": -50, "bound": "at most"}, (-90.0, -47.9), UNDETERMINED),
        (CHANGE | {"paper": -50, "bound": "at most"}, (-47.9, -40.0), DISAGREES),
        (NUMBER | {"metric": "recall", "paper": 90, "bound": "at least"}, (88.0, 100.0), AGREES),
        (NUMBER | {"metric": "recall", "paper": 90, "bound": "at least"}, (80.0, 87.9), DISAGREES),
        # A direction: less than 2 points are no change.
        (CHANGE | {"paper": "lower"}, (-9.0, -2.0), AGREES),
        (CHANGE | {"paper": "lower"}, (-9.0, -1.9), UNDETERMINED),
        (CHANGE | {"paper": "lower"}, (-1.9, 0.1), DISAGREES),
        (CHANGE | {"paper": "lower"}, (-2.1, 0.1), UNDETERMINED),
        (CHANGE | {"paper": "lower"}, (0.1, 9.0), DISAGREES),
        (CHANGE | {"paper": "higher"}, (2.0, 9.0), AGREES),
        # Another number: within 10 % of the paper's.
        (NUMBER | {"paper": 200}, (180.0, 220.0), AGREES),
        (NUMBER | {"paper": 200}, (179.9, 220.0), UNDETERMINED),
        (NUMBER | {"paper": 200}, (220.1, 300.0), DISAGREES),
        (NUMBER | {"paper": 0}, (0.0, 0.0), AGREES),
        (NUMBER | {"paper": 0}, (0.5, 0.5), DISAGREES),
        # A fraction: within 10 points, and not farther than 0 or all is.
        (NUMBER | {"metric": "accuracy", "paper": 60}, (50.0, 70.0), AGREES),
        (NUMBER | {"metric": "accuracy", "paper": 97}, (94.0, 97.0), AGREES),
        (NUMBER | {"metric": "accuracy", "paper": 97}, (93.0, 93.9), DISAGREES),
        (NUMBER | {"metric": "accuracy", "paper": 99.9}, (97.9, 99.0), AGREES),
        (NUMBER | {"metric": "utilisation", "paper": 0.85}, (0.75, 0.95), AGREES),
        (NUMBER | {"metric": "utilisation", "paper": 0.85}, (0.74, 0.749), DISAGREES),
        (NUMBER | {"metric": "utilisation", "paper": 0.9989}, (0.979, 1.0), AGREES),
        (NUMBER | {"metric": "utilisation", "paper": 0.9989}, (0.95, 0.978), DISAGREES),
        # One seed.
        (NUMBER | {"paper": 200}, None, UNDETERMINED),
    ],
)
def test_a_verdict_needs_the_whole_interval(
    claim: dict[str, Any], interval: tuple[float, float] | None, verdict: Verdict
) -> None:
    assert judge(Claim.model_validate(claim), interval) == verdict


CLAIMS = st.one_of(
    st.floats(-99, 300).map(lambda number: CHANGE | {"paper": number}),
    st.floats(0, 50).map(lambda number: CHANGE | {"paper": number, "bound": "within"}),
    st.sampled_from(["lower", "higher"]).map(lambda direction: CHANGE | {"paper": direction}),
    st.floats(0, 1000).map(lambda number: NUMBER | {"paper": number}),
    st.floats(0, 100).map(lambda number: NUMBER | {"metric": "accuracy", "paper": number}),
).map(Claim.model_validate)


@given(CLAIMS, st.floats(-100, 1000), st.floats(0, 100), st.floats(0, 1))
def test_a_narrower_interval_never_turns_a_verdict_round(claim: Claim, value: float, half: float, part: float) -> None:
    wide, narrow = ((value - h, value + h) for h in (half, part * half))
    before, after = judge(claim, wide), judge(claim, narrow)
    assert before in (UNDETERMINED, after)


@given(CLAIMS, st.floats(-100, 1000), st.floats(0, 100))
def test_less_tolerance_never_makes_a_claim_agree(claim: Claim, value: float, half: float) -> None:
    interval = (value - half, value + half)
    assert judge(claim, interval, 0.5) is not AGREES or judge(claim, interval) is AGREES


@given(st.floats(-99, 300))
def test_the_papers_own_number_agrees(number: float) -> None:
    assert judge(Claim.model_validate(CHANGE | {"paper": number}), (number, number)) is AGREES


@given(CLAIMS, st.floats(-100, 1000), st.floats(0.1, 100), st.integers(2, 20))
def test_as_many_seeds_as_are_needed_decide(claim: Claim, value: float, half: float, seeds: int) -> None:
    interval = (value - half, value + half)
    needed = seeds_needed(claim, value, interval, seeds)
    if judge(claim, interval) is not UNDETERMINED or needed is None:
        return
    spread = half * math.sqrt(seeds) / t95(seeds - 1)

    def at(count: int, slack: float) -> Verdict:
        width = (1 + slack) * t95(count - 1) * spread / math.sqrt(count)
        return judge(claim, (value - width, value + width))

    assert at(needed, -1e-9) is not UNDETERMINED
    assert needed == seeds or at(needed - 1, 1e-9) is UNDETERMINED


def test_what_decides_an_undetermined_claim_is_said() -> None:
    claim = Claim.model_validate(CHANGE | {"paper": -20})
    assert verdict_text(Finding(claim, -20.0, (-40.0, 0.0), seeds=3)) == "undetermined: 5 seeds"
    assert verdict_text(Finding(claim, -10.0, (-20.0, 0.0), seeds=3)) == "undetermined: over 1,000 seeds"
    assert verdict_text(Finding(claim, -20.0, None, seeds=1)) == "undetermined: one seed"
    assert verdict_text(Finding(claim, -20.0, (-21.0, -19.0), seeds=3)) == "agrees"
    assert verdict_text(Finding(claim)) == "not run"


PRINTED = {
    "title": "t",
    "paper": "p",
    "setup": {"topology": "incast:senders=4", "rtt": "116us,host=80us", "transport": {"min_rto": "5ms"}},
    "schemes": ["ecn-sharp:pst_target=85us", "tcn"],
    "grid": {"load": [0.5], "queues": ["fifo"]},
    "claims": [CHANGE | {"of": "ecn-sharp:pst_target=85us", "over": "tcn", "paper": -20}],
}


def test_a_setting_can_be_varied() -> None:
    printed = validate(PaperExperiment, PRINTED, "")
    setup = varied(varied(printed, "transport.initial_window", "16"), "topology.marking_nics", "true").setup
    assert setup["transport"] == {"min_rto": "5ms", "initial_window": 16}
    assert setup["topology"] == {"builder": "incast", "senders": "4", "marking_nics": True}
    assert printed.setup["transport"] == {"min_rto": "5ms"}
    with pytest.raises(BadInput, match="load is a setting of the grid"):
        varied(printed, "load", "0.9")
    with pytest.raises(BadInput, match="is not YAML"):
        varied(printed, "queue", "[")


def read_as(**assumption: Any) -> PaperExperiment:
    plain = {"says": "so", "evidence": "there"} | assumption
    printed = validate(PaperExperiment, PRINTED, "")
    return with_reading("x", printed, [validate(Assumption, plain, "")], lambda place: f"papers.yaml {place}")


def test_a_reading_adds_what_the_paper_does_not_print() -> None:
    settings = {"transport.initial_window": 10, "topology.marking_nics": True, "connections": "new"}
    read = read_as(set=settings, schemes={"ecn-sharp": {"ins_target": "200us"}})
    assert read.column is Column.READING
    assert read.setup["transport"] == {"min_rto": "5ms", "initial_window": 10}
    assert read.setup["topology"] == {"builder": "incast", "senders": "4", "marking_nics": True}
    assert read.setup["connections"] == "new"
    assert read.schemes == ("ecn-sharp:ins_target=200us,pst_target=85us", "tcn")
    assert read.claims[0].of == "ecn-sharp:ins_target=200us,pst_target=85us"


@pytest.mark.parametrize(
    ("assumption", "what", "place"),
    [
        ({"set": {"transport.min_rto": "1ms"}}, "transport.min_rto", (0, "set", "transport.min_rto")),
        ({"set": {"topology.senders": 7}}, "topology.senders", (0, "set", "topology.senders")),
        ({"set": {"load": 0.9}}, "load", (0, "set", "load")),
        ({"set": {"queues.buffer": 200}}, "queues.buffer", (0, "set", "queues.buffer")),
        ({"set": {"rtt.host": "70us"}}, "rtt.host", (0, "set", "rtt.host")),
        (
            {"schemes": {"ecn-sharp": {"pst_target": "10us"}}},
            "pst_target of ecn-sharp:pst_target=85us",
            (0, "schemes", "ecn-sharp", "pst_target"),
        ),
    ],
)
def test_a_reading_that_sets_what_the_paper_prints_is_refused(
    assumption: dict[str, Any], what: str, place: tuple[object, ...]
) -> None:
    with pytest.raises(BadInput) as refused:
        read_as(**assumption)
    assert str(refused.value) == f"papers.yaml {place}: the reading sets {what}, which the paper prints in `x`"


@pytest.mark.parametrize("name", known_experiments())
def test_every_reading_can_be_applied(name: str) -> None:
    columns = columns_of(name)
    printed = columns[Column.PRINTED]
    for paper in columns.values():
        assert [claim.says for claim in paper.claims] == [claim.says for claim in printed.claims]


def test_the_line_of_a_reading_that_is_refused_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "papers.yaml"
    path.write_text("""\
mq-ecn:
  title: MQ-ECN
  source: nowhere
  experiments: {mqecn-32q: }
  reading:
    - says: more queues
      evidence: none
      set:
        queues: fifo
""")
    monkeypatch.setattr(all_papers, "PAPERS", path)
    monkeypatch.setattr(all_papers, "papers", papers.__wrapped__)
    monkeypatch.setattr(all_papers, "known_experiments", lambda: {"mqecn-32q": known_experiments()["mqecn-32q"]})
    with pytest.raises(BadInput, match=r"papers\.yaml, line 9: the reading sets queues, which the paper prints"):
        all_papers.columns_of("mqecn-32q")
