# SPDX-License-Identifier: MIT OR Apache-2.0
"""Bursts into a slow queue: tests without BMv2, BMv2's recorded marks, and a real BMv2."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest

from marklab.catalog.scheme import known_schemes
from marklab.errors import RunFailed
from marklab.p4tools.peers import bursts, differential
from marklab.p4tools.peers.bursts import LATE_S, STEP_S, Burst, Decisions
from marklab.p4tools.stf.outcome import Outcome

BURSTS = bursts.bursts()
_ECN, _CE = 15, 3


def _name(burst: Burst) -> str:
    return f"{burst.scheme} {burst.also}".strip()


def _decided(burst: Burst) -> Decisions:
    """Results as if BMv2 made the lab's decisions."""
    side = bursts.side(burst, bursts.run_here(burst, interpret=False))
    return Decisions(burst, side, side, [])


def test_every_scheme_that_is_compared_has_a_burst_and_every_cause_chooses_a_packet() -> None:
    assert {burst.fitted.scheme.name for burst in BURSTS} == set(known_schemes()) - set(bursts.left_out())
    assert differential.unreached([_decided(burst) for burst in BURSTS]) == []


def test_every_scheme_that_marks_does_so_in_a_burst() -> None:
    marking = {burst.fitted.scheme.name for burst in BURSTS if "M" in _decided(burst).here.fates}
    assert marking == set(known_schemes()) - {"droptail", "bfc"} - set(bursts.left_out())


@pytest.mark.parametrize("burst", BURSTS, ids=_name)
def test_decisions_do_not_depend_on_how_late_packets_leave(burst: Burst) -> None:
    in_time = bursts.run_here(burst, interpret=True)
    assert in_time == bursts.run_here(burst, interpret=False)
    stream = random.Random(burst.scheme)  # noqa: S311 - reproducible on purpose
    lates = [[LATE_S], [LATE_S, 0.0], *([stream.uniform(0, LATE_S) for _ in range(20)] for _ in range(5))]
    for late_s in lates if burst.filled else ():
        late = bursts.run_here(burst, interpret=False, late_s=late_s)
        assert (late.sent, late.memory.counters) == (in_time.sent, in_time.memory.counters)


@pytest.mark.parametrize("k", [0, 5, 14, 15])
def test_a_packet_finds_those_that_wait(k: int) -> None:
    # The first leaves at once, 16 wait, 3 find the queue full: packet n finds n - 2. Of five packets the third is not
    # capable, and the fifth was marked before.
    found = [0, *range(16)]
    expected = "".join("M" if depth > k and n % 5 not in (2, 4) else "." for n, depth in enumerate(found)) + "xxx"
    assert bursts.fates(bursts.run_here(Burst(f"dctcp-red:k={k}"), interpret=False)) == expected


def _recorded() -> dict[str, tuple[str, set[str]]]:
    """Packets' fates and counts by cause of the committed page, by the scheme's text."""
    rows = re.findall(r"^\| (`.*) \| same \|$", differential.PAGE.read_text(), re.MULTILINE)
    found: dict[str, tuple[str, set[str]]] = {}
    for setting, packets, cause, *counts in (row.split(" | ") for row in rows):
        found.setdefault(setting, (packets.strip("`"), set()))[1].add(" | ".join([cause, *counts]))
    return found


def _not_yet() -> set[str]:
    """Schemes' texts that the committed page names as not compared yet."""
    section = differential.PAGE.read_text().partition("\n## Not compared yet\n")[2]
    return set(re.findall(r"^- (`.*)$", section, re.MULTILINE))


def test_the_lab_marks_the_packets_that_bmv2_marked() -> None:
    recorded, waiting = _recorded(), _not_yet()
    page = differential.differential_page([], [_decided(burst) for burst in BURSTS], 1, {})
    for burst in BURSTS:
        decided = _decided(burst)
        if differential.setting(decided) in waiting:
            continue
        packets, counts = recorded[differential.setting(decided)]
        assert decided.here.fates == packets, f"{burst.scheme}: run `make differential`"
        for count in counts:
            assert f"| {differential.setting(decided)} | `{packets}` | {count} | same |" in page, burst.scheme
    assert waiting.isdisjoint(recorded)
    assert len(recorded) + len(waiting) == len(BURSTS)


def _with_another_mark(outcome: Outcome) -> Outcome:
    frame = bytearray(outcome.sent[1][3])
    frame[_ECN] ^= _CE
    return replace(outcome, sent={**outcome.sent, 1: [*outcome.sent[1][:3], bytes(frame), *outcome.sent[1][4:]]})


def test_a_mark_that_differs_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    burst = Burst("dctcp-red")
    monkeypatch.setattr(bursts, "run_bmv2", lambda each: bursts.run_here(each, interpret=False))
    assert not bursts.compare(burst).differences
    monkeypatch.setattr(bursts, "run_bmv2", lambda each: _with_another_mark(bursts.run_here(each, interpret=False)))
    decided = bursts.compare(burst)
    assert [text.split(":")[0] for text in decided.differences] == ["port 1, packet 4"]
    page = differential.differential_page([], [decided], 1, {})
    assert "0 of 1 bursts give the same decisions." in page
    assert "| differs |" in page


def test_a_threshold_that_differs_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bursts, "run_bmv2", lambda _: bursts.run_here(Burst("dctcp-red:k=4"), interpret=False))
    decided = bursts.compare(Burst("dctcp-red:k=5"))
    assert [text.split(":")[0] for text in decided.differences] == ["port 1, packet 7", "SwitchEgress.marks[9]"]


def test_a_switch_that_cannot_be_had_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Burst) -> Outcome:
        raise RunFailed("it was late", "again")

    monkeypatch.setattr(bursts, "run_bmv2", fail)
    decided = bursts.compare(Burst("dctcp-red"))
    assert decided.differences == ["not compared: it was late\n  try: again"]
    assert "`dctcp-red`:\n\n```\nnot compared: it was late" in differential.differential_page([], [decided], 1, {})


@pytest.mark.parametrize(
    ("departures_s", "sent_s", "expected"),
    [
        ([0.001, STEP_S, 2 * STEP_S + LATE_S - 0.001], 0.1, True),
        ([0.001, 3 * STEP_S], 0.1, True),
        ([0.001, STEP_S + LATE_S + 0.001], 0.1, False),
        ([0.03, STEP_S], 0.1, False),
        ([0.001, STEP_S], STEP_S - LATE_S + 0.001, False),
    ],
    ids=["in time", "after dropped ones", "late", "first after the second came", "sent too late"],
)
def test_a_burst_counts_if_all_packets_were_in_time(departures_s: list[float], sent_s: float, expected: bool) -> None:
    assert bursts.in_time([100 + each for each in departures_s], 100.0, 100 + sent_s) is expected


def test_a_busy_machine_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = []
    outcome = bursts.run_here(Burst("dctcp-red"), interpret=False)
    monkeypatch.setattr(bursts, "_run_bmv2", lambda each: tries.append(each) or (outcome, len(tries) == 3))
    assert bursts.run_bmv2(Burst("dctcp-red")) is outcome
    tries.clear()
    monkeypatch.setattr(bursts, "_run_bmv2", lambda each: tries.append(each) or (outcome, False))
    with pytest.raises(RunFailed, match="in 3 tries, packets left simple_switch 50 ms late") as raised:
        bursts.run_bmv2(Burst("dctcp-red"))
    assert "less to do" in str(raised.value.remedy)
    assert len(tries) == 3


@pytest.mark.real_time
@pytest.mark.needs("simple_switch")
@pytest.mark.parametrize("scheme", ["dctcp-red:k=0,drop_not_ect=on", "tcn"])
def test_bmv2_marks_the_same_packets(scheme: str) -> None:
    burst = Burst(scheme)
    ours, theirs = bursts.run_here(burst, interpret=True), bursts.run_bmv2(burst)
    assert "M" in bursts.fates(theirs)
    assert list(bursts.differences(ours, theirs)) == []
