# SPDX-License-Identifier: MIT OR Apache-2.0
"""Scripts of marks, losses and delays: what may be written, what the bottleneck makes of it, and round trips."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from marklab.engine import binding as engine
from marklab.errors import BadInput
from marklab.hosts import ns2, page
from marklab.hosts.__main__ import main
from marklab.hosts.bottleneck import PROGRAM, SEGMENT_NS, Bottleneck, alone
from marklab.hosts.causes import known_differences, unexplained
from marklab.hosts.comparison import compare
from marklab.hosts.generation import random_cases
from marklab.hosts.recording import Recording, write_recording
from marklab.hosts.rounds import FlowSeen
from marklab.hosts.run import against, in_sim
from marklab.hosts.script import CONTROLS, Case, Script, cases, transport_of, written_scripts
from marklab.hosts.simulated import CaseSeen, simulate
from marklab.model import validate

MSS = 1280
DIFFERENCES = known_differences()


def script(**written: Any) -> Script:
    return validate(Script, {"title": "Test", "rtt": "60ms", "segments": 40} | written, "script")


def seen(control: str = "reno", **written: Any) -> CaseSeen:
    case = Case("test/test", script(**written), control)  # type: ignore[arg-type]
    return in_sim([case])[case]


def flow(control: str = "reno", **written: Any) -> FlowSeen:
    (only,) = seen(control, **written).flows
    return only


# What may be written


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({"drop": "data"}, "`drop: data` with nothing"),
        ({"drop": "data", "mark": "data", "segment": 1}, "one of `drop`, `mark` and `delay`"),
        ({"segment": 1}, "one of `drop`, `mark` and `delay`"),
        ({"delay": "data", "segment": 1}, "`delay` and `by` belong together"),
        ({"drop": "data", "segment": 1, "by": "1ms"}, "`delay` and `by` belong together"),
        ({"mark": "acks", "packet": 1}, "acknowledgements are not ECN capable"),
        ({"drop": "acks", "segment": 1}, "`drop: acks` with segment"),
        ({"drop": "data", "segment": 1, "packet": 2}, "`drop: data` with packet, segment"),
        ({"drop": "data", "packet": 1, "transmission": 2}, "`transmission` means nothing beside `packet`"),
        ({"drop": "acks", "covering": 1, "place": 2}, "`place` means nothing beside `covering`"),
        ({"drop": "data", "segment": 0}, "greater than or equal to 1"),
        ({"drop": "data", "segment": "9-3"}, "`9-3` is no range"),
        ({"drop": "data", "segment": 41}, "segment 41 of flow 1, which has 40"),
        ({"drop": "data", "segment": 1, "flow": 2}, "about flow 2, and the script has 1"),
        ({"drop": "dta", "segment": 1}, "dta"),
        ({"drop": "data", "segmnt": 1}, "unknown key `events.0.segmnt`"),
    ],
)
def test_an_event_that_means_nothing_is_refused(event: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput) as refused:
        script(events=[event])
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"rtt": "10ms"}, "`rtt` of 20 ms or more"),
        ({"transports": "cubic"}, "cubic"),
        ({"segments": 0}, "greater than or equal to 1"),
        ({"writes": [{"at": "1s", "segments": 1}, {"segments": 1}], "segments": None}, "writes"),
        ({"flows": [{"segments": 1, "start": "1s"}, {"segments": 1}], "segments": None}, "in the order of `start`"),
    ],
)
def test_a_script_that_cannot_be_run_is_refused(written: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput) as refused:
        script(**written)
    assert message in str(refused.value)


def test_several_packets_are_several_matches() -> None:
    (event,) = script(events=[{"drop": "data", "segment": ["3-5", 9], "transmission": "1-2"}]).events
    assert [str(match) for match in event.matches()] == [
        f"segment {segment}, transmission {copy}" for segment in (3, 4, 5, 9) for copy in (1, 2)
    ]


def test_the_written_scripts_are_what_the_lab_promises() -> None:
    written = written_scripts()
    assert len(written) >= 60
    titles = [each.title for each in written.values()]
    assert len(set(titles)) == len(titles)
    assert {each.control for each in cases(written.items())} == set(CONTROLS)


def test_random_scripts_are_the_same_for_a_seed() -> None:
    first, again, other = random_cases(200, 1), random_cases(200, 1), random_cases(200, 2)
    assert first == again
    assert first != other
    assert len({case.name for case in first}) == 200
    assert all(case.script.events for case in first)


# What happens


def test_without_events_slow_start_doubles_the_window() -> None:
    found = flow(segments=70)
    assert [(each.segments, each.retransmissions) for each in found.rounds] == [(10, 0), (20, 0), (40, 0)]
    # A round trip for the handshake, two for windows; the acknowledgement of the third passes half of one later.
    assert found.end_ns == pytest.approx(3.5 * 60e6 + 3 * SEGMENT_NS, abs=1e5)


@pytest.mark.parametrize("segment", [1, 10, 11, 30])
def test_a_lost_segment_is_sent_again(segment: int) -> None:
    found = flow(events=[{"drop": "data", "segment": segment}])
    again = [packet for packet in found.captured.packets if packet.is_data and packet.begin == (segment - 1) * MSS]
    assert [packet.end - packet.begin for packet in again if packet.end > packet.begin] == [MSS, MSS]


def test_transmissions_of_a_segment_are_counted() -> None:
    found = flow(segments=2, events=[{"drop": "data", "segment": 1, "transmission": "1-3"}])
    sent = [packet for packet in found.captured.packets if packet.is_data and (packet.begin, packet.end) == (0, MSS)]
    assert len(sent) == 4
    assert found.end_ns is not None


def test_marks_are_echoed_and_answered() -> None:
    packets = flow("ecn-star", events=[{"mark": "data", "segment": 15}]).captured.packets
    assert any(packet.ece for packet in packets if not packet.is_data and not packet.syn)
    assert sum(packet.cwr for packet in packets if packet.is_data and not packet.syn) == 1
    plain = flow("ecn-star").captured.packets
    assert not any(packet.ece for packet in plain if not packet.is_data and not packet.syn)


def test_a_lost_answer_to_an_echo_is_followed_by_more_echoes() -> None:
    mark = {"mark": "data", "segment": 15}
    echoes = [
        sum(packet.ece for packet in flow("ecn-star", events=events).captured.packets if not packet.is_data)
        for events in ([mark], [mark, {"drop": "data", "cwr": 1}])
    ]
    assert echoes[0] < echoes[1]


def test_a_delayed_segment_arrives_behind_others() -> None:
    found = flow(events=[{"delay": "data", "segment": 15, "by": "5ms"}])
    acks = [packet for packet in found.captured.packets if not packet.is_data and packet.sacks]
    assert acks
    assert acks[0].sacks == ((15 * MSS, 16 * MSS),)
    # All others of its window are there before it.
    first, last = acks[0].time_ns, max(packet.time_ns for packet in acks if packet.sacks[0][0] >= 15 * MSS)
    assert last - first < 5e6


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ({"drop": "data", "syn": 1}, "SYN"),
        ({"drop": "acks", "syn": 1}, "SYN-ACK"),
        ({"drop": "data", "packet": 1}, "SYN"),
        ({"drop": "acks", "packet": 1}, "SYN-ACK"),
    ],
)
def test_a_lost_handshake_lasts_for_a_timeout(event: dict[str, Any], kind: str) -> None:
    found = flow(segments=5, events=[event])
    openings = [packet for packet in found.captured.packets if packet.syn and packet.is_data]
    assert len(openings) == 2, kind
    assert openings[1].time_ns == pytest.approx(1e9, abs=1e6)


def test_a_window_of_the_receiver_limits_round_trips() -> None:
    found = flow(receive_window=4)
    assert {each.segments for each in found.rounds} == {4}


def test_a_flow_that_closes_has_its_fin_on_the_last_segment() -> None:
    packets = flow(segments=5, close=True).captured.packets
    (fin,) = [packet for packet in packets if packet.is_data and packet.fin]
    assert (fin.begin, fin.end) == (4 * MSS, 5 * MSS - 1)


def test_round_trips_of_the_program_are_those_of_the_capture() -> None:
    plain = flow(segments=70)
    for number in range(1, len(plain.rounds) + 1):
        found = flow(segments=70, events=[{"drop": "data", "round": number, "place": 2}])
        second = sum(each.segments for each in plain.rounds[: number - 1]) + 1
        sent = [packet.begin for packet in found.captured.packets if packet.is_data and packet.end > packet.begin]
        assert [begin // MSS for begin in sent if sent.count(begin) > 1] == [second, second]


def test_flows_of_a_script_have_events_of_their_own() -> None:
    flows = [{"segments": 20}, {"segments": 20, "start": "5ms"}]
    found = validate(
        Script,
        {"title": "Two", "rtt": "60ms", "flows": flows, "events": [{"drop": "data", "flow": 2, "segment": 5}]},
        "script",
    )
    case = Case("test/two", found, "reno")
    first, second = in_sim([case])[case].flows
    assert [sum(each.retransmissions for each in one.rounds) for one in (first, second)] == [0, 1]


# What does not happen


@pytest.mark.parametrize(
    ("event", "absent"),
    [
        (
            {"drop": "data", "segment": 3, "transmission": 2},
            "event 1 (drop data): there was no segment 3, transmission 2",
        ),
        ({"drop": "data", "packet": [2, 900]}, "event 1 (drop data): there was no packet 900"),
        ({"mark": "data", "round": 50}, "event 1 (mark data): there was no round 50"),
        ({"drop": "data", "cwr": 1}, "event 1 (drop data): there was no cwr 1"),
        ({"drop": "acks", "covering": 3, "copy": 7}, "event 1 (drop acks): there was no covering 3, copy 7"),
    ],
)
def test_a_packet_that_never_comes_is_told_and_does_not_pass(event: dict[str, Any], absent: str) -> None:
    found = seen(events=[event])
    assert found.never == (absent,)
    compared = compare(found, found)
    assert not compared.same
    assert compared.never == (f"sim: {absent}", f"Linux: {absent}")


# The bottleneck


def test_a_network_with_more_pairs_has_the_same_events() -> None:
    """Entries differ in nothing but hosts and ports of flows, wherever a case runs."""
    case = Case("test/test", script(events=[{"delay": "data", "segment": 4, "by": "5ms"}]), "dctcp")
    small = alone(case, MSS)
    large = Bottleneck((case,), MSS, 6, 3, {"dctcp": (4, 5)}, 2000)

    def events(network: Bottleneck) -> list[Any]:
        found = [entry for entry in network.entries() if entry["table"] == "script"]
        return [entry["match"] | {"flow": None} for entry in found]

    assert events(small) == events(large)
    assert [placed.pair for placed in large.placed] == [4]
    detour = next(entry for entry in large.entries() if entry["table"] == "returning")
    assert detour["match"]["port"]["exact"] == 2 * 6 + 1


def test_the_program_is_portable() -> None:
    program = engine.compile_program(PROGRAM)
    assert program.warnings == ""
    assert program.foreign == []
    assert program.jit_declined is None


def test_the_interpreter_agrees_with_the_machine_code() -> None:
    case = Case("test/test", script(events=[{"drop": "data", "segment": 15}, {"mark": "data", "round": 3}]), "dctcp")
    both = [
        simulate(case, transport_of(case), engine.compile_program(PROGRAM, interpret=interpret))
        for interpret in (False, True)
    ]
    assert both[0] == both[1]


# Named differences


def test_differences_name_scripts_that_exist() -> None:
    known = [*cases(written_scripts().items()), *random_cases(200, 1)]
    for difference in known_differences():
        assert any(difference.explains(case) for case in known), difference.name
        for pattern in difference.scripts:
            assert any(replace(case) for case in known if difference.explains(case)), pattern


def test_a_difference_without_a_cause_is_counted() -> None:
    ours, theirs = seen(), seen(events=[{"drop": "data", "segment": 15}])
    compared = compare(ours, replace(theirs, case=ours.case))
    assert not compared.same
    assert unexplained([compared], ()) == [compared]


# What Linux did


def test_the_tables_of_the_page_are_those_of_the_recording() -> None:
    """`make hosts` writes both; what changes simulated hosts changes the page: `python -m marklab.hosts --offline`."""
    chosen = [*cases(written_scripts().items()), *random_cases(200, 1)]
    compared = against(Recording(), chosen).compared
    text = page.PAGE.read_text(encoding="utf-8")
    for table in (page.by_quantity(compared), page.by_kind(compared), page.of_differences(compared, DIFFERENCES)):
        assert table in text
    # On Linux, all events happen.
    assert [each.case for each in compared if any(text.startswith("Linux") for text in each.never)] == []


def test_a_recording_gives_back_what_was_seen(tmp_path: Path) -> None:
    found = seen(events=[{"drop": "data", "segment": 15}])
    file = tmp_path / "recording.json"
    write_recording([found], [found.case], file)
    read = Recording(file)
    again = read.seen([found.case])[found.case]
    assert read.is_unsteady(found.case)
    assert compare(found, again).same
    assert [each.window and each.window.state for each in again.flows[0].rounds] == [
        each.window and each.window.state for each in found.flows[0].rounds
    ]


def test_a_recording_of_another_script_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "recording.json"
    write_recording([seen(segments=20)], [], file)
    with pytest.raises(BadInput, match="recorded with another script"):
        Recording(file).seen([seen(segments=21).case])
    with pytest.raises(BadInput, match="is not recorded"):
        Recording(file).seen([replace(seen(segments=20).case, name="test/other")])


# ns-2


def test_the_tables_of_ns_2_are_those_of_its_recording() -> None:
    """`python -m marklab.hosts --against ns-2 --record` writes both."""
    chosen = [case for case in cases(written_scripts().items()) if ns2.can_run(case)]
    compared = against(Recording(ns2.RECORDING), chosen, ns2.SETTINGS).compared
    differences = known_differences(ns2.DIFFERENCES)
    text = page.PAGE.read_text(encoding="utf-8")
    for table in (page.by_kind(compared), page.of_differences(compared, differences)):
        assert table in text
    assert [str(each.case) for each in unexplained(compared, differences)] == []


@pytest.mark.parametrize(
    ("runs", "written"),
    [
        (
            True,
            {"events": [{"drop": "data", "segment": 3}, {"drop": "acks", "covering": 4}, {"mark": "data", "cwr": 1}]},
        ),
        (False, {"events": [{"delay": "data", "segment": 3, "by": "1ms"}]}),
        (False, {"events": [{"drop": "data", "syn": 1}]}),
        (False, {"close": True}),
        (False, {"rate": 1_000_000}),
    ],
)
def test_scripts_of_losses_and_marks_run_through_ns_2(runs: bool, written: dict[str, Any]) -> None:
    assert ns2.can_run(Case("test/test", script(**written), "reno")) is runs
    assert not ns2.can_run(Case("test/test", script(**written), "dctcp"))


@pytest.mark.needs("ns-2")
@pytest.mark.parametrize("name", ["single-loss/second-window-10", "mark/first-of-window", "lost-acks/one"])
def test_ns_2_does_what_was_recorded(name: str) -> None:
    case = Case(name, written_scripts()[name], "ecn-star")
    found, recorded = ns2.run(case), Recording(ns2.RECORDING).seen([case])[case]
    assert compare(found, recorded).same


# The command


def test_unknown_names_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (["single-los/late"], "unknown script `single-los/late`"),
        (["--transport", "cubic"], "unknown transport `cubic`"),
        (["--set", "min_rto"], "`min_rto` is no setting"),
        (["--record", "single-loss/late"], "`--record` is of all scripts and transports"),
    ):
        assert main(arguments) == 2
        assert message in capsys.readouterr().err


def test_without_privileges_it_says_why_it_is_skipped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert main(["single-loss/late"]) == 0
    assert "skipped: network namespaces need root" in capsys.readouterr().out
