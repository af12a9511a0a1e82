# SPDX-License-Identifier: MIT OR Apache-2.0
"""Twins make the same decisions as their schemes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from marklab.catalog import twin
from marklab.catalog.choice import SchemeChoice
from marklab.catalog.scheme import find_scheme
from marklab.catalog.twin import Arch, cells_per_packet, known_twins, twin_of, twin_spec
from marklab.engine import binding as engine
from marklab.errors import BadInput
from marklab.fabrics import Cell
from marklab.fabrics.sim import Sim
from marklab.p4tools.tofino import examine
from marklab.paths import TWINS
from marklab.prepare.experiment import _check_real, prepare
from marklab.promotion.sequence import IN_PORT, OUT_PORT, entries_to_port, frame
from marklab.promotion.vendor import compile_twin, compiler
from marklab.spec.description import make_spec
from promotion.pairs import PACKETS, pair_of
from schemes.frames import CE, ECT0, ECT1, NOT_ECT, Frame
from schemes.ports import Arrival, round_robin

# Twins for Tofino 1 and for Tofino 2.
TWO = [name for name in known_twins() if twin_spec(name).also]
ALL: list[tuple[str, Arch]] = [*((name, "tna") for name in known_twins()), *((name, "t2na") for name in TWO)]


@pytest.mark.parametrize(("name", "arch"), ALL)
def test_a_twin_decides_like_its_scheme(name: str, arch: Arch) -> None:
    pair = pair_of(name, arch)
    found = pair.agree()
    assert found.packets == PACKETS
    assert found.part >= pair.spec.agreement, found
    assert min(found.marks) > 0
    for marks, of_twin in found.by_cause.values():
        assert abs(of_twin - marks) <= pair.spec.marks_within * marks, found.by_cause
    # The programs' counts equal their marks.
    assert tuple(map(sum, zip(*found.by_cause.values(), strict=True))) == found.marks


@pytest.mark.parametrize(("name", "arch"), ALL)
def test_a_twin_breaks_no_limit_of_the_chip(name: str, arch: Arch) -> None:
    found = examine(TWINS / f"{name}.p4", pair_of(name, arch).twin.fitted.defines)
    assert (found.arch, found.messages) == (arch, [])
    assert 0 < found.estimate.stages_used <= found.estimate.stages == {"tna": 12, "t2na": 20}[arch]


def test_a_twins_rounds_are_those_of_its_scheme_where_queues_run_empty() -> None:
    """MQ-ECN at 10 Gb/s: queues of a few packets, some of which come while the line sends the last one of their queue.

    Both have T_round within the twin's 8 bytes of a packet's length and v1model's 1/256 us a sample.
    """
    pair, random = pair_of("mq-ecn"), Random(5)  # noqa: S311
    now, traffic = 10**6, []
    for _ in range(2000):
        now += random.choice((700, 1_100, 1_300, 9_000))
        length = random.choice((1514, 1514, 1514, 700))
        traffic += [Arrival(now, random.choice((0, 0, 0, 1)), length)] * random.choice((1, 1, 1, 3))
    quanta, cells = pair.scheme.queues.quanta_bytes(1514), cells_per_packet(1514, pair.spec.chip)
    switches = []
    for ready in (pair.scheme, pair.twin):
        harness = engine.new_harness(ready.program, entries=entries_to_port(ready))
        for session, port in ready.mirrors.items():
            harness.mirroring_add(session, port)
        switches.append(harness)
    rounds_us = []
    for out in round_robin(traffic, quanta, 10**10, carries=False):
        sent = frame(0, out.queue, out.length, 0)
        for harness, unit in zip(switches, (1, cells), strict=True):
            waited_ns = 1000 * (out.now_us - out.enqueued_us)
            harness.process(IN_PORT, sent, 1000 * out.now_us, waited_ns, unit * out.found, unit * out.left)
        scheme, twin = switches
        of_twin = twin.register("marking.round_time.t_round", OUT_PORT)
        rounds_us.append((scheme.register("marking.t_round", OUT_PORT) / 256, of_twin / 4000))
    means = [sum(each) / len(rounds_us) for each in zip(*rounds_us, strict=True)]
    assert means[1] == pytest.approx(means[0], rel=0.01), means


@pytest.mark.needs("p4c for Tofino")
@pytest.mark.parametrize(("name", "arch"), ALL)
def test_p4c_compiles_a_twin_in_as_many_stages_as_estimated(name: str, arch: Arch) -> None:
    path = compiler()
    assert path is not None
    pair = pair_of(name, arch)
    found = compile_twin(path, pair.twin, pair.spec)
    assert found.message is None
    # With the twin's constants, as for p4c.
    estimate = examine(TWINS / f"{name}.p4", pair.twin.fitted.defines).estimate
    assert abs(found.stages - estimate.stages_used) <= 1, found


@pytest.mark.parametrize(("name", "setting"), [("codel", "mirrors"), ("diffecn", "mirrors"), ("red", "filters")])
def test_a_network_sets_up_what_a_twin_asks_for(name: str, setting: str) -> None:
    pair = pair_of(name)
    experiment = prepare(make_spec(pair.experiment.spec.to_plain() | {"arch": "tna"}))
    (twin,) = experiment.schemes
    fitted = twin.fitted
    spec = fitted.scheme.spec
    assert spec is not None
    without = replace(
        twin,
        fitted=replace(
            fitted,
            scheme=replace(fitted.scheme, spec=spec.model_copy(update={setting: type(getattr(spec, setting))()})),
        ),
    )
    runs = [Sim().run(Cell(experiment, each, 1), engine.new_watch()).fct_ns for each in (twin, twin, without)]
    assert (runs[0] == runs[1]).all()
    assert (runs[0] != runs[2]).any()


def test_parameters_that_a_twin_cannot_have_are_refused_with_the_reason() -> None:
    setup = pair_of("ecn-sharp").experiment.setup
    choice = SchemeChoice("ecn-sharp", params=(("control_law", "sqrt"),))
    with pytest.raises(BadInput, match="control_law=sqrt") as caught:
        twin_of(find_scheme(choice).fit(choice, setup))
    assert caught.value.remedy == "leave them as they are"


@pytest.mark.parametrize("name", ["diffecn", "pftcn"])
@pytest.mark.parametrize(("parameter", "value"), [("active", "queued"), ("owner", "period")])
def test_queues_of_flows_that_a_twin_cannot_have_are_refused(name: str, parameter: str, value: str) -> None:
    choice = SchemeChoice(name, params=((parameter, value),))
    with pytest.raises(BadInput, match=f"{parameter}={value}"):
        twin_of(find_scheme(choice).fit(choice, pair_of("tcn").experiment.setup))


@pytest.mark.parametrize("arch", ["tna", "t2na"])
@pytest.mark.parametrize("setting", ["off", "on"])
@pytest.mark.parametrize("choice", ["dctcp-red:k=7", "red:star,min=1,max=7,weight=0.5"])
def test_a_twin_drops_what_its_scheme_drops(choice: str, setting: str, arch: Arch) -> None:
    """Code points around a threshold of 7 packets, with the queue at each length for 2 ms: fates and counters."""
    scheme = f"{choice},drop_not_ect={setting}"
    settings = {"schemes": [scheme], "baseline": "none", "flows": 1, "seeds": 1}
    experiments = [prepare(make_spec(settings | {"arch": each})) for each in ("v1model", arch)]
    cells = cells_per_packet(experiments[0].setup.frame_bytes, twin_spec(choice.partition(":")[0], arch).chip)
    found = []
    for experiment, unit in zip(experiments, (1, cells), strict=True):
        (ready,) = experiment.schemes
        harness = engine.new_harness(ready.program, entries=entries_to_port(ready))
        fates, now = [], 1_000_000
        for queue in (0, 9, 9, 9, 9, 0):
            for ecn in (*(200 * [CE]), NOT_ECT, ECT1, ECT0, CE):
                now += 10_000
                # No random draw decides on a packet that is marked already, or on an average outside of the thresholds.
                sent = Frame(dst=10 << 24, ecn=ecn).build()
                _, out, _ = harness.process(IN_PORT, sent, now, 0, queue * unit, queue * unit)
                fates.append(None if out is None else out[15] & 3)
        counts = {name: sum(harness.counter(name, cell)[0] for cell in range(8, 16)) for name in ("marks", "drops")}
        found.append((fates, counts))
    assert found[0] == found[1]
    # Of 24 packets that are not marked already, 16 find a queue: one of four of them is not capable.
    assert found[0][1] == {"marks": 8, "drops": 4 if setting == "on" else 0}
    assert found[0][0].count(None) == found[0][1]["drops"]


@pytest.mark.parametrize("arch", ["tna", "t2na"])
@pytest.mark.parametrize(("k", "own", "first"), [(3, "off", 4), (3, "on", 3), (0, "off", 1), (0, "on", 0)])
def test_a_packet_counts_itself_on_both_targets(k: int, own: str, first: int, arch: Arch) -> None:
    """One flow, with the queue at lengths 0 to 6 packets: marks begin at the length `first`."""
    settings = {"schemes": [f"diffecn:k={k}packets,own={own}"], "baseline": "none", "flows": 1, "seeds": 1}
    experiments = [prepare(make_spec(settings | {"arch": each})) for each in ("v1model", arch)]
    cells = cells_per_packet(experiments[0].setup.frame_bytes, twin_spec("diffecn", arch).chip)
    for experiment, unit in zip(experiments, (1, cells), strict=True):
        (ready,) = experiment.schemes
        harness = engine.new_harness(ready.program, entries=entries_to_port(ready))
        sent = Frame(dst=10 << 24, ecn=ECT0).build()
        # The first packet begins a period, and counts no flow.
        lengths = [harness.process(IN_PORT, sent, 1_000_000 + 1000 * i, 0, q * unit, q * unit)[1][15] & 3 == CE
                   for i, q in enumerate((0, *range(7)))][1:]  # fmt: skip
        assert lengths == [length >= first for length in range(7)]


def test_red_that_adapts_has_no_twin() -> None:
    setup = pair_of("red").experiment.setup
    choice = SchemeChoice("red", "adaptive")
    with pytest.raises(BadInput, match="cannot multiply two run-time values"):
        twin_of(find_scheme(choice).fit(choice, setup))
    kept = SchemeChoice("red", params=(("target_delay", "5ms"),))
    assert twin_of(find_scheme(kept).fit(kept, setup)).filters


def test_a_twin_for_tofino_1_alone_is_none_for_tofino_2() -> None:
    with pytest.raises(BadInput, match="the twin of `codel` is for Tofino 1, not for Tofino 2") as caught:
        twin_spec("codel", "t2na")
    assert caught.value.remedy == "--arch tna; docs/tofino.md lists the twins for both"


def test_a_twin_for_tofino_2_alone_is_none_for_tofino_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tcn.p4").touch()
    (tmp_path / "tcn.yaml").write_text("{note: n, chip: tofino2, agreement: 1, marks_within: 0}")
    monkeypatch.setattr(twin, "TWINS", tmp_path)
    assert twin_spec("tcn", "t2na").chip == "tofino2"
    with pytest.raises(BadInput, match="is for Tofino 2, not for Tofino 1"):
        twin_spec("tcn")


def test_a_scheme_that_asks_for_copies_is_refused_on_real_switches() -> None:
    experiment = prepare(make_spec({"schemes": ["tcn"], "baseline": "none", "flows": 1, "arch": "tna"}))
    _check_real(experiment.schemes[0])
    with pytest.raises(BadInput, match="`mirrors` of codel are set up in the simulator only"):
        _check_real(pair_of("codel").twin)


def test_a_scheme_without_a_twin_is_refused() -> None:
    setup = pair_of("tcn").experiment.setup
    choice = SchemeChoice("per-pool")
    with pytest.raises(BadInput, match="Tofino has no program of `per-pool`"):
        twin_of(find_scheme(choice).fit(choice, setup))


def test_a_switch_with_ports_that_lead_back_is_refused() -> None:
    settings = {"schemes": ["tcn"], "baseline": "none", "flows": 1, "arch": "tna"}
    prepare(make_spec(settings | {"topology": "incast:senders=67"}))
    with pytest.raises(BadInput, match="s0 has 69 ports"):
        prepare(make_spec(settings | {"topology": "incast:senders=68"}))


# The math unit, by hand


def by_math_unit(interval: int, count: int) -> int:
    """interval / count by the definition of a math unit, with one entry per mantissa."""
    quotients = [interval * 8 / entry for entry in range(8, 16)]
    scale = 0
    while round(quotients[0] / 2**scale) > 255:
        scale += 1
    table = [round(quotient / 2**scale) for quotient in quotients]
    highest = count.bit_length() - 1
    exponent = scale - highest
    entry = table[((count << 3) >> highest) - 8]
    return entry << exponent if exponent >= 0 else entry >> -exponent


def test_division_is_as_near_as_that_of_the_paper() -> None:
    """ECN# paper, Fig. 6: counts 1 to 400. 12.1 and 4.5 % are the errors of its Algorithm 3, with interval 1,000."""
    errors = [abs(by_math_unit(3125, count) / (3125 / count) - 1) for count in range(1, 401)]
    assert max(errors) == pytest.approx(0.1021, abs=1e-4)
    assert sum(errors) / 400 == pytest.approx(0.0336, abs=1e-4)


def test_files_of_twins_belong_together() -> None:
    assert {path.stem for path in TWINS.glob("*.yaml")} == set(known_twins())
    assert all(isinstance(path, Path) and path.is_file() for path in TWINS.glob("*.p4"))
