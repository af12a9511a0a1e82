# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rules give the papers' numbers, entries carry them, and impossible choices are refused."""

import itertools
import math
from pathlib import Path

import pytest

from marklab.catalog.choice import parse_choice
from marklab.catalog.expressions import Expression
from marklab.catalog.parameters import Setup
from marklab.catalog.scheme import FittedScheme, find_scheme, known_schemes
from marklab.errors import BadInput
from marklab.traffic.rtt import parse_rtt


def fit(text: str, setup: Setup) -> FittedScheme:
    choice = parse_choice(text)
    return find_scheme(choice).fit(choice, setup)


def values(text: str, setup: Setup) -> dict[str, object]:
    return {name: setting.value for name, setting in fit(text, setup).settings.items()}


@pytest.mark.parametrize(
    ("scheme", "expected"),
    [
        ("dctcp-red", {"k": 167, "drop_not_ect": 0}),  # 250 KB, ECN# paper section 5.2
        ("dctcp-red:tail", {"k": 167, "drop_not_ect": 0}),
        ("dctcp-red:k=80KB", {"k": 53, "drop_not_ect": 0}),
        ("tcn", {"t": 200}),
        ("codel", {"target": 85, "interval": 200}),
        (
            "ecn-sharp",
            {"signal": "sojourn", "ins_target": 200, "pst_interval": 200, "pst_target": 85, "control_law": "paper"}
            | {"k_min": 200, "k_max": 200, "p_max": 1},
        ),
    ],
)
def test_the_rules_give_the_papers_testbed(scheme: str, expected: dict[str, object], testbed: Setup) -> None:
    assert values(scheme, testbed) == expected


def test_the_rules_give_the_papers_simulation() -> None:
    # Section 5.3: RTT 80..240 us, mean 137, 90th percentile 220.
    setup = Setup(10**10, parse_rtt("80us..240us,mean=137us,p90=220us"), 1.0, 600)
    assert values("ecn-sharp", setup)["ins_target"] == 220
    assert values("dctcp-red:avg", setup)["k"] == 114  # 137 us * 10 Gb/s = 171 KB


def test_pi_by_rule_is_that_of_its_paper_at_the_papers_line() -> None:
    """Hollot et al. 2001: 3,750 packets/s, 246 ms, a = 1.822e-5, b = 1.816e-5 at 160 Hz; then with both doubled."""
    found = values("pi", Setup(3750 * 12_000, parse_rtt("246ms"), 1.0, 800))
    assert (found["period"], found["a"]) == (6250, pytest.approx(1.822e-5))
    assert found["b"] == pytest.approx(1.816e-5, rel=1e-4)
    twice = values("pi", Setup(2 * 3750 * 12_000, parse_rtt("492ms"), 1.0, 800))
    assert (twice["period"], twice["a"]) == (12_500, pytest.approx(1.822e-5 / 4))
    assert twice["b"] == pytest.approx(1.816e-5 / 4, rel=1e-4)


def test_rem_by_rule_moves_its_probability_as_pi_does(testbed: Setup) -> None:
    """With small prices: one more packet changes it by a, and a standing excess packet by a - b in PI's period."""
    pi, rem = values("pi", testbed), values("rem", testbed)
    per_price = math.log(float(rem["phi"]))
    assert rem["gamma"] * per_price == pytest.approx(pi["a"])
    by_time = rem["gamma"] * rem["alpha"] * per_price / rem["period"]
    assert by_time == pytest.approx((pi["a"] - pi["b"]) / pi["period"], rel=0.01)


def test_pi_and_rem_of_ns_2() -> None:
    """tcl/lib/ns-default.tcl, and the settings of ECN+, for any line: 62 KB are 41.3 packets."""
    setup = Setup(10**8, parse_rtt("10ms..150ms"), 1.0, 600)
    assert values("pi:ns2,q_ref=62KB", setup) == {
        "q_ref": 41, "period": 5882, "a": 0.00001822, "b": 0.00001816, "drop_not_ect": 0
    }  # fmt: skip
    assert values("rem:ns2,b_star=62KB", setup) == {
        "b_star": 41, "phi": 1.001, "alpha": 0.1, "period": 2000, "gamma": 0.001, "mean_pktsize": 1000,
        "drop_not_ect": 0,
    }  # fmt: skip


def test_a_packet_of_thresholds_may_have_another_length() -> None:
    """ECN+, section 4.2, with the packets of ns-2: 62 KB are 62 packets, or 4.96 ms."""
    setup = Setup(10**8, parse_rtt("10ms..150ms"), 1.0, 600, packet_bytes=1000)
    assert values("pi:ns2,q_ref=62KB", setup)["q_ref"] == 62
    assert values("dctcp-red:k=4960us", setup)["k"] == 62
    found = values("red:adaptive", setup)
    assert (found["min"], found["max"]) == (31, 94)
    assert fit("dctcp-red:k=62KB", setup).reported["k"].text(setup) == "62 packets = 62 KB = 4960 us"


def test_rem_counts_the_capacity_in_full_packets() -> None:
    """On Ethernet, one of 1,500 bytes takes 1,538 of the line; ns-2's REM has `mean_pktsize_ 1000`."""
    setup = Setup(10**8, parse_rtt("10ms..150ms"), 1.0, 600)
    per_period = {}
    for label in ("rem:ns2,mean_pktsize=1538", "rem:ns2"):
        (params,) = (entry for entry in fit(label, setup).entries if entry["table"] == "marking.params")
        per_period[label] = params["params"]["per_period_q40"] / params["params"]["per_arrived_q40"]
    assert values("rem", setup)["mean_pktsize"] == 1538
    # Packets in 2 ms at 100 Mb/s.
    assert per_period["rem:ns2"] == pytest.approx(25, rel=1e-6)
    assert per_period["rem:ns2,mean_pktsize=1538"] == pytest.approx(25 * 1000 / 1538, rel=1e-6)


@pytest.mark.parametrize(
    ("rate_bps", "low", "high"),
    [
        (10**8, 21, 63),  # ECN+, section 4.2: half of 41.7 packets, and three times that
        (10**7, 5, 15),  # 5 packets are the least
    ],
)
def test_adaptive_red_follows_its_target_delay(rate_bps: int, low: int, high: int) -> None:
    """Floyd, Gummadi and Shenker 2001: the weight is 1 - exp(-1 / C)."""
    found = values("red:adaptive", Setup(rate_bps, parse_rtt("10ms..150ms"), 1.0, 600))
    assert (found["min"], found["max"]) == (low, high)
    assert found["weight"] == pytest.approx(1 - math.exp(-12_000 / rate_bps))
    assert (found["adapt"], found["interval"], found["p_max"], found["mark_above_max"]) == (1, 500_000, 0.1, 0)
    assert values("red:adaptive-star", Setup(rate_bps, parse_rtt("10ms..150ms"), 1.0, 600))["mark_above_max"] == 1


def test_limits_may_follow_parameters(testbed: Setup, tmp_path: Path) -> None:
    (tmp_path / "mine.p4").write_text("")
    (tmp_path / "mine.yaml").write_text(
        "title: Mine\n"
        "parameters:\n"
        "  a: {kind: number, doc: the larger one, rule: 2}\n"
        "  b: {kind: number, doc: the smaller one, rule: a / 2, range: [0, a]}\n"
    )
    assert values(f"{tmp_path}/mine.p4:a=9,b=8", testbed) == {"a": 9, "b": 8}
    with pytest.raises(BadInput, match=r"parameter `b` is 8.0, it must be 0 to 2 \(given as 8\)") as caught:
        fit(f"{tmp_path}/mine.p4:b=8", testbed)
    assert caught.value.remedy == "--param b=VALUE in this range, or leave it to its rule, `a / 2`"


@pytest.mark.parametrize("scheme", known_schemes())
def test_rules_scale_with_the_setup(scheme: str, testbed: Setup) -> None:
    faster = Setup(4 * 10**10, testbed.rtt, 0.5, 10_000)
    for name, setting in fit(scheme, testbed).settings.items():
        other = fit(scheme, faster).settings[name]
        if setting.parameter.threshold and setting.parameter.kind == "queue_length":
            assert float(other.exact) == pytest.approx(2 * float(setting.exact)), name


def test_every_program_is_described_and_shows_its_values(testbed: Setup) -> None:
    for name in known_schemes():
        fitted = fit(name, testbed)
        assert fitted.scheme.spec is not None, name
        for setting in fitted.settings.values():
            assert setting.text(testbed)


@pytest.mark.parametrize("given", ["167", "167packets", "250KB", "200us"])
def test_a_length_is_given_in_any_unit(given: str, testbed: Setup) -> None:
    assert values(f"dctcp-red:k={given}", testbed)["k"] == 167


@pytest.mark.parametrize("given", ["0.2ms", "250KB", "166.67packets"])
def test_a_time_is_given_in_any_unit(given: str, testbed: Setup) -> None:
    assert values(f"tcn:t={given}", testbed) == {"t": 200}


def test_values_show_all_units(testbed: Setup) -> None:
    assert fit("dctcp-red:k=100", testbed).settings["k"].text(testbed) == "100 packets = 150 KB = 120 us"
    assert fit("tcn:t=120us", testbed).settings["t"].text(testbed) == "120 us = 150 KB = 100 packets"


@pytest.mark.parametrize(
    ("text", "reported"), [("ecn-sharp", False), ("ecn-sharp:ins_target=9us", False), ("ecn-sharp:k_max=300us", True)]
)
def test_a_variant_is_reported_if_it_is_on(text: str, reported: bool, testbed: Setup) -> None:
    found = set(fit(text, testbed).reported)
    assert {"signal", "ins_target", "pst_interval", "pst_target", "control_law"} <= found
    assert ({"k_min", "k_max", "p_max"} <= found) == reported == (not found.isdisjoint({"k_min", "k_max", "p_max"}))


@pytest.mark.parametrize(("text", "reported"), [("", ["t"]), (":soft", ["t", "low"]), (":low=3us", ["t", "low"])])
def test_a_preset_turns_a_variant_on_as_well(text: str, reported: list[str], testbed: Setup, tmp_path: Path) -> None:
    (tmp_path / "mine.p4").write_text("")
    (tmp_path / "mine.yaml").write_text(
        "title: Mine\n"
        "parameters:\n"
        "  t: {kind: time, doc: marks begin above it, rule: 20}\n"
        "  low: {kind: time, doc: where marks begin, rule: t, variant: true}\n"
        "presets: {soft: {low: 10}}\n"
    )
    assert list(fit(f"{tmp_path}/mine.p4{text}", testbed).reported) == reported


def entries(text: str, setup: Setup, table: str) -> list[dict[str, object]]:
    return [entry for entry in fit(text, setup).entries if entry["table"] == table]


def test_the_parameters_of_ecn_sharp_reach_the_switch(testbed: Setup) -> None:
    (entry,) = entries("ecn-sharp:control_law=sqrt", testbed, "marking.params")
    assert entry["params"] == {"by_queue_length": 0, "ins": 200, "pst": 85, "pst_interval_us": 200, "next_from_now": 1}
    (entry,) = entries("ecn-sharp:signal=qlen", testbed, "marking.params")
    assert entry["params"] == {"by_queue_length": 1, "ins": 167, "pst": 71, "pst_interval_us": 200, "next_from_now": 0}


@pytest.mark.parametrize(
    ("text", "ins", "drawn"),
    [
        ("k_min=50us,k_max=150us,p_max=0.5", 50, {"max": 150, "slope_q32": 2**32 // 200}),
        ("k_max=300us", 200, {"max": 300, "slope_q32": round(2**32 / 100)}),
        ("signal=qlen,k_min=60packets,p_max=0.1", 60, {"max": 167, "slope_q32": round(2**32 * 0.1 / 107)}),
        ("k_min=199us", 199, {"max": 200, "slope_q32": 2**32 - 1}),
    ],
)
def test_probabilistic_thresholds_are_in_order(text: str, ins: int, drawn: dict[str, int], testbed: Setup) -> None:
    (entry,) = entries(f"ecn-sharp:{text}", testbed, "marking.params")
    assert isinstance(entry["params"], dict)
    assert entry["params"]["ins"] == ins
    (entry,) = entries(f"ecn-sharp:{text}", testbed, "marking.probabilities")
    assert entry["params"] == drawn


@pytest.mark.parametrize(
    ("scheme", "first", "step"),
    [
        ("ecn-sharp:pst_interval=333us", 2, lambda n: 333 / n),
        ("ecn-sharp:pst_interval=333us,control_law=sqrt", 2, lambda n: 333 / math.sqrt(n)),
        ("codel:interval=333us", 1, lambda n: 333 / math.sqrt(n)),
    ],
)
def test_step_tables_are_within_half_a_256th_of_division(scheme: str, first: int, step: object, testbed: Setup) -> None:
    *table, default = entries(scheme, testbed, "marking.interval_by_count")
    by_count = {entry["match"]["count"]["exact"]: entry["params"]["step_q8"] for entry in table}
    assert sorted(by_count) == list(range(first, 1025))
    assert all(abs(value / 256 - step(count)) <= 0.5 / 256 for count, value in by_count.items())
    assert "match" not in default
    assert default["params"]["step_q8"] == by_count[1024]


@pytest.mark.parametrize("weight", ["0.002", "0.03", "0.5"])
def test_reds_average_decays_as_the_formula_says(weight: str, testbed: Setup) -> None:
    """Every idle time matches at most one entry, whose value is within 1/62 of (1 - w) ^ packets."""
    table = entries(f"red:weight={weight}", testbed, "marking.decay")
    (params,) = entries(f"red:weight={weight}", testbed, "marking.params")
    shrink = 1 - 2.0 ** -params["params"]["weight_shift"]
    spans = sorted(entry["match"]["idle_us"]["range"] + [entry["params"]["left_q16"]] for entry in table)
    assert spans[0][0] == 0
    assert all(one[1] + 1 == next_one[0] for one, next_one in itertools.pairwise(spans))
    assert len(spans) <= 64
    for idle_us in range(2 * spans[-1][1]):
        exact = shrink ** (idle_us * testbed.packets_per_us)
        left = next((left for low, high, left in spans if low <= idle_us <= high), 0)
        assert abs(left / 65536 - exact) <= 1 / 62, (idle_us, left / 65536, exact)


def test_red_star_marks_above_max(testbed: Setup) -> None:
    (red,) = entries("red", testbed, "marking.params")
    (star,) = entries("red:star", testbed, "marking.params")
    assert (red["params"]["mark_above"], star["params"]["mark_above"]) == (0, 1)
    slope = red["params"]["slope_q32"] / 2**32 * (red["params"]["max_pkts"] - red["params"]["min_pkts"])
    assert slope == pytest.approx(0.1, rel=1e-6)


@pytest.mark.parametrize(
    ("scheme", "why"),
    [
        ("ecn-shrp", "unknown scheme `ecn-shrp`"),
        ("dctcp-red:tial", "unknown preset of dctcp-red: `tial`"),
        ("dctcp-red:kk=3", "unknown parameter of dctcp-red: `kk`"),
        ("dctcp-red:k=600000", "must be 0 to 524287"),
        ("dctcp-red:k=many", "`many` is not a"),
        ("tcn:t=85", "`85` has no unit"),
        ("ecn-sharp:signal=length", "unknown value of `signal`"),
        ("red:p_max=2", "must be 1e-06 to 1"),
        ("red:p_max=few", "must be a number"),
        ("red:mark_above_max=maybe", "on or off"),
        ("codel:interval=0us", "must be 1 to"),
        ("pi:period=0us", "parameter `period` is 0, it must be 1 to"),
        ("pi:a=0.001,b=0.002", "parameter `b` is 0.002, it must be 0 to 0.001"),
        ("pi:q_ref=-1", "`q_ref`"),
        ("rem:phi=1", "parameter `phi` is 1.0, it must be 1"),
        ("rem:phi=2,gamma=1", "parameter `gamma` is 1.0, it must be 1e-08 to 0.999"),
        ("rem:alpha=0", "parameter `alpha` is 0.0"),
        ("red:adapt=on,p_max=0.9", "must be 0.01 to 0.5"),
        ("red:target_delay=fast", "`target_delay`"),
        ("pi:drop_not_ect=maybe", "`drop_not_ect` must be on or off"),
        ("no/such.p4", "no P4 program"),
        ("tcn:t=", "not a setting"),
        ("red:star,tail", "is not a scheme"),
    ],
)
def test_wrong_choices_are_refused(scheme: str, why: str, testbed: Setup) -> None:
    with pytest.raises(BadInput, match=why):
        fit(scheme, testbed)


def test_a_choice_is_written_as_it_was_read() -> None:
    for text in ("ecn-sharp", "dctcp-red:avg", "red:star,max=200,min=50", "tcn:t=30us"):
        assert str(parse_choice(text)) == text


def test_a_program_is_named_for_its_file(tmp_path: Path) -> None:
    (tmp_path / "mine.p4").write_text("")
    choice = parse_choice(f"{tmp_path}/mine.p4:t=3us")
    assert (choice.label, choice.is_path) == ("mine:t=3us", True)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3 ** 2 / 4 - 5 % 3", 3.5),
        ("7 // 2 - -1", 4),
        ("round(2.5) + round(-0.4) + floor(1.9) + ceil(1.1)", 6),
        ("max(sqrt(16), min(2, 3)) + log2(8) + exp(0)", 8),
        ("a if a > b else b", 5),
        ("'x' if signal == 'qlen' else 'y'", "y"),
    ],
)
def test_formulas(text: str, value: object) -> None:
    assert Expression(text)({"a": 2, "b": 5, "signal": "sojourn"}) == value


@pytest.mark.parametrize(
    "text",
    ["__import__('os')", "a.b", "[1]", "lambda: 1", "f'{a}'", "1 +", "(1).real", "a < b < c", "open('x')", "None"],
)
def test_formulas_hold_arithmetic_only(text: str) -> None:
    with pytest.raises(BadInput):
        Expression(text)


@pytest.mark.parametrize(
    ("text", "why"), [("a + c", "unknown name"), ("1 / (a - 2)", "division by zero"), ("log2(0)", "no value")]
)
def test_formulas_without_value_say_so(text: str, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        Expression(text)({"a": 2})
