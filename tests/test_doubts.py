# SPDX-License-Identifier: MIT OR Apache-2.0
"""Doubts as data: their text, doubts of several seeds combined, and results of older versions."""

from __future__ import annotations

import string

import pytest

from marklab.results.doubts import WORDS, Doubt, doubt, merged


def test_those_of_one_kind_and_subject_are_one() -> None:
    slow = doubt("interpreted", why="it is wide")
    seeds = [[doubt("unfinished", flows=5), slow], [doubt("unfinished", flows=7), slow], [slow]]
    found = list(merged(seeds))
    assert [each.seeds for each in found] == [(2, 3), None]
    text = "5 flows did not finish and are in no mean: the others look better than they are (2 of 3 seeds alike)"
    assert [str(each) for each in found] == [text, "the program was interpreted, which is slow: it is wide"]


def test_subjects_keep_those_of_one_kind_apart() -> None:
    a, b = (doubt("below-clock", name, name=name, us=0.5) for name in "ab")
    assert list(merged([[a, b], [a, b]])) == [a, b]
    assert list(merged([[a, a]])) == [a, a]


@pytest.mark.parametrize("kind", WORDS)
def test_each_kind_has_words_for_its_values(kind: str) -> None:
    """With a value for each placeholder."""
    places = {name for _, name, _, _ in string.Formatter().parse(WORDS[kind]) if name}
    assert "{" not in str(Doubt(kind=kind, values=dict.fromkeys(places, 1)))


def test_results_of_older_versions_have_them_in_words() -> None:
    old = Doubt.model_validate("5 flows did not finish")
    assert str(old) == "5 flows did not finish"
    assert Doubt.model_validate(old.model_dump(mode="json")) == old
