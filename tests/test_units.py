# SPDX-License-Identifier: MIT OR Apache-2.0
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marklab.errors import BadInput
from marklab.units import (
    ShortForm,
    format_rate,
    format_size,
    format_time,
    parse_rate,
    parse_setting,
    parse_size,
    parse_time,
)

WHOLE = st.integers(min_value=0, max_value=10**15)


@given(WHOLE)
def test_what_is_written_is_read_back(value: int) -> None:
    assert parse_rate(format_rate(value)) == value
    assert parse_time(format_time(value)) == value
    assert parse_size(format_size(value)) == value


@pytest.mark.parametrize(
    ("text", "bps"), [("10G", 10**10), ("2.5Gb/s", 2_500_000_000), ("100Mbps", 10**8), ("1000000", 10**6), (40, 40)]
)
def test_rates(text: str | int, bps: int) -> None:
    assert parse_rate(text) == bps


@pytest.mark.parametrize(
    ("text", "ns"), [("70us", 70_000), ("1.5ms", 1_500_000), ("3µs", 3000), ("2 s", 2 * 10**9), (0, 0)]
)
def test_times(text: str | int, ns: int) -> None:
    assert parse_time(text) == ns


@pytest.mark.parametrize(
    ("text", "size"), [("250KB", 250_000), ("64KiB", 65_536), ("1500", 1500), ("3 MiB", 3 * 2**20)]
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["70", "us", "-3us", "70 furlongs", "", True])
def test_times_without_sense_are_refused(text: str) -> None:
    with pytest.raises(BadInput, match="time"):
        parse_time(text)


def test_nothing_is_finer_than_its_unit() -> None:
    for parse, text in ((parse_time, "0.5ns"), (parse_size, "0.1B"), (parse_rate, "1.5")):
        with pytest.raises(BadInput, match="whole number"):
            parse(text)


@pytest.mark.parametrize("text", ["10X", "fast", "-1G"])
def test_rates_without_sense_are_refused(text: str) -> None:
    with pytest.raises(BadInput, match="rate"):
        parse_rate(text)


def test_a_setting_has_name_and_value() -> None:
    assert parse_setting(" k = 100KB ") == ("k", "100KB")
    for text in ("k", "=3", "k="):
        with pytest.raises(BadInput, match="is not a setting"):
            parse_setting(text)


@pytest.mark.parametrize(
    ("text", "name", "words", "settings"),
    [
        ("tcn", "tcn", (), {}),
        ("tcn:", "tcn", (), {}),
        ("dctcp-red:tail", "dctcp-red", ("tail",), {}),
        ("codel: target = 85us ,interval=200us", "codel", (), {"target": "85us", "interval": "200us"}),
        ("classes:1us,20us,base=80us", "classes", ("1us", "20us"), {"base": "80us"}),
        ("x:,", "x", ("", ""), {}),
        ("x:a=1,a=2", "x", (), {"a": "2"}),
        (":a=b:c", "", (), {"a": "b:c"}),
    ],
)
def test_a_short_form_has_a_name_words_and_settings(
    text: str, name: str, words: tuple[str, ...], settings: dict[str, str]
) -> None:
    assert ShortForm.read(text) == ShortForm(name, words, settings)


def test_where_settings_are_expected_a_word_is_none() -> None:
    assert ShortForm.settings_of("incast:senders=3") == ("incast", {"senders": "3"})
    with pytest.raises(BadInput, match="`3` is not a setting"):
        ShortForm.settings_of("incast:senders=2,3")
