# SPDX-License-Identifier: MIT OR Apache-2.0
"""Integers as byte strings: the specification's tables (section 8.3), and that no bits are lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marklab.p4runtime.server.refusal import Refusal
from marklab.p4runtime.server.values import decode, decode_signed, encode, encode_signed


@pytest.mark.parametrize(
    ("bits", "value", "string", "symmetric"),
    [
        (8, 99, b"\x63", True),
        (16, 99, b"\x00\x63", False),
        (16, 99, b"\x63", True),
        (16, 12388, b"\x30\x64", True),
        (16, 12388, b"\x00\x30\x64", False),
        (12, 99, b"\x00\x63", False),
        (12, 99, b"\x00\x00\x63", False),
    ],
)
def test_unsigned_strings_of_the_specification(bits: int, value: int, string: bytes, symmetric: bool) -> None:
    assert decode(string, bits, "it") == value
    assert (encode(value) == string) is symmetric


@pytest.mark.parametrize(
    ("bits", "value", "string", "symmetric"),
    [
        (8, 99, b"\x63", True),
        (8, -99, b"\x9d", True),
        (8, -99, b"\xff\x9d", False),
        (12, -739, b"\xfd\x1d", True),
        (16, 0, b"\x00\x00", False),
        (16, 0, b"\x00", True),
    ],
)
def test_signed_strings_of_the_specification(bits: int, value: int, string: bytes, symmetric: bool) -> None:
    assert decode_signed(string, bits, "it") == value
    assert (encode_signed(value) == string) is symmetric


@pytest.mark.parametrize(
    ("bits", "string"),
    [
        (8, b"\x01\x63"),
        (8, b""),
        (16, b"\x01\x00\x63"),
        (12, b"\x10\x63"),
        (12, b"\x01\x00\x63"),
        (12, b"\x00\x40\x63"),
    ],
)
def test_unsigned_strings_that_the_specification_refuses(bits: int, string: bytes) -> None:
    with pytest.raises(Refusal, match="it: "):
        decode(string, bits, "it")


@pytest.mark.parametrize(("bits", "string"), [(8, b"\x00\x9d"), (12, b"\x8d\x1d"), (16, b"")])
def test_signed_strings_that_the_specification_refuses(bits: int, string: bytes) -> None:
    with pytest.raises(Refusal, match="it: "):
        decode_signed(string, bits, "it")


@given(st.data(), st.integers(1, 200))
def test_a_number_comes_back(data: st.DataObject, bits: int) -> None:
    value = data.draw(st.integers(0, (1 << bits) - 1))
    assert decode(encode(value), bits, "it") == value
    assert len(encode(value)) == 1 or encode(value)[0] != 0
    signed = data.draw(st.integers(-(1 << bits - 1), (1 << bits - 1) - 1))
    assert decode_signed(encode_signed(signed), bits, "it") == signed
