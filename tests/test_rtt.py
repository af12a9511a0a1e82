# SPDX-License-Identifier: MIT OR Apache-2.0
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marklab.errors import BadInput
from marklab.spec.settings import put_value
from marklab.statistics.randomness import uniform
from marklab.traffic.rtt import Classes, LongTailed, parse_rtt, read_rtt

# Rows of Table 1 of the ECN# paper: mean, standard deviation, 90th and 99th percentile in us.
TABLE_1 = [
    (39.3, 12.2, 59, 79),
    (63.9, 18.3, 87, 121),
    (69.3, 18.8, 91, 130),
    (99.2, 23.0, 129, 161),
    (105.5, 23.6, 138, 178),
]


@pytest.mark.parametrize(("mean", "std", "p90", "p99"), TABLE_1)
def test_a_shifted_exponential_fits_table_1(mean: float, std: float, p90: float, p99: float) -> None:
    """The residuals are those of docs/workloads.md."""
    assert mean - std + std * math.log(10) == pytest.approx(p90, rel=0.065)
    assert mean - std + std * math.log(100) == pytest.approx(p99, rel=0.135)


def test_an_rtt_by_parts_is_that_of_their_text() -> None:
    assert read_rtt({"range": "116us", "host": "80us"}) == read_rtt("116us,host=80us") == parse_rtt("116us,host=80us")
    assert read_rtt({"host": "10us", "range": "70us..210us,mean=85us"}) == parse_rtt("70us..210us,mean=85us,host=10us")
    with pytest.raises(BadInput, match="has no range"):
        read_rtt({"host": "80us"})
    with pytest.raises(BadInput, match="not an RTT"):
        read_rtt({"range": "80us", "hosts": "8us"})


def test_a_part_of_an_rtt_is_set_beside_the_others() -> None:
    settings = {"rtt": "70us..210us,mean=90us"}
    put_value(settings, "rtt.host", "20us")
    assert read_rtt(settings["rtt"]) == parse_rtt("70us..210us,mean=90us,host=20us")


def test_a_range_alone_is_the_papers_testbed() -> None:
    rtt = parse_rtt("70us..210us")
    assert (rtt.min_ns, rtt.mean_ns, rtt.p90_ns, rtt.max_ns) == (70_000, 85_000, 200_000, 210_000)


@pytest.mark.parametrize(
    "text", ["70us..210us", "80us..240us,mean=137us,p90=220us", "70us..350us", "1ms..2ms,mean=1.6ms"]
)
def test_the_stated_numbers_are_met(text: str) -> None:
    rtt = parse_rtt(text)
    assert isinstance(rtt, LongTailed)
    # The mean of the quantile function by the midpoint rule is the mean of the distribution.
    steps = 1_000_000
    values = rtt.quantile((np.arange(steps) + 0.5) / steps)
    assert values.mean() == pytest.approx(rtt.mean_ns, rel=1e-5)
    assert values[0] == pytest.approx(rtt.min_ns, rel=1e-5)
    assert values[int(0.9 * steps)] == pytest.approx(rtt.p90_ns, rel=1e-5)
    assert values[-1] == pytest.approx(rtt.max_ns, rel=1e-5)
    assert np.all(np.diff(values) >= 0)


@given(
    st.integers(10, 500),
    st.integers(1, 500),
    st.floats(0.05, 0.95),
    st.floats(0.05, 1.0),
    st.floats(0, 1, exclude_max=True),
)
def test_any_consistent_distribution_stays_in_its_range(
    low: int, width: int, mean_at: float, p90_at: float, draw: float
) -> None:
    p90 = (low + width * p90_at) * 1000
    body = low * 1000 + mean_at * (p90 - low * 1000)
    mean = 0.9 * body + 0.1 * (p90 + (low + width) * 1000) / 2
    rtt = LongTailed(low * 1000, round(mean), round(p90), (low + width) * 1000)
    extra = int(rtt.extra_delays(np.array([draw]))[0])
    assert 0 <= extra <= width * 1000


def test_draws_have_the_mean() -> None:
    rtt = parse_rtt("70us..210us")
    extra = rtt.extra_delays(uniform(1, "rtt", 200_000))
    # Standard deviation is about 41 us.
    assert extra.mean() + rtt.base_ns == pytest.approx(rtt.mean_ns, abs=4 * 41_000 / math.sqrt(200_000))


def test_one_value_has_no_variation() -> None:
    rtt = parse_rtt("80us")
    assert not np.any(rtt.extra_delays(uniform(1, "rtt", 100)))


@pytest.mark.parametrize("text", ["116us", "70us..210us", "80us..240us,mean=137us,p90=220us"])
def test_what_hosts_take_is_no_part_of_the_topology(text: str) -> None:
    plain, split = parse_rtt(text), parse_rtt(f"{text},host=30us")
    assert split.base_ns == plain.base_ns - 30_000
    draws = uniform(1, "rtt", 1000)
    assert np.array_equal(split.extra_delays(draws), plain.extra_delays(draws) + np.uint64(30_000))
    for name in ("min_ns", "mean_ns", "p90_ns", "max_ns"):
        assert getattr(split, name) == getattr(plain, name), "thresholds are those of the whole RTT"


def test_classes_are_drawn_evenly_on_top_of_the_base() -> None:
    rtt = parse_rtt("classes:1us,20us,50us,80us,160us")
    assert isinstance(rtt, Classes)
    values, counts = np.unique(rtt.extra_delays(uniform(1, "rtt", 100_000)), return_counts=True)
    assert values.tolist() == [1_000, 20_000, 50_000, 80_000, 160_000]
    assert np.all(np.abs(counts - 20_000) < 5 * math.sqrt(20_000)), counts
    assert (rtt.base_ns, rtt.min_ns, rtt.mean_ns, rtt.p90_ns, rtt.max_ns) == (80_000, 81_000, 142_200, 240_000, 240_000)


@pytest.mark.parametrize(
    "text",
    [
        "70us..210us",
        "80us",
        "80us..240us,mean=137us,p90=220us",
        "116us,host=80us",
        "80us..240us,p90=220us,host=79.5us",
        "classes:1us,20us",
        "classes:5us,base=30us",
    ],
)
def test_the_text_of_a_distribution_gives_it_back(text: str) -> None:
    assert parse_rtt(str(parse_rtt(text))) == parse_rtt(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("210us..70us", "smaller to a larger"),
        ("70us..210us,mean=300us", "contradicts the other numbers"),
        ("70us..210us,p90=75us", "contradicts the other numbers"),
        ("70us..210us,p90=250us", "between the ends"),
        ("70us,mean=80us", "one value"),
        ("70us,mean=80us,host=10us", "one value"),
        ("116us,host=116us", "hosts cannot take 116us of 116us"),
        ("70us..210us,host=80us", "hosts cannot take 80us of 70us"),
        ("classes:1us,host=20us", "not an RTT"),
        ("70us..210us,median=80us", "not an RTT"),
        ("class:1us", "not an RTT"),
        ("70..210", "not a time"),
        ("0us..5us", "above 0"),
    ],
)
def test_impossible_distributions_are_refused(text: str, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        parse_rtt(text)
