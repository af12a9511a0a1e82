# SPDX-License-Identifier: MIT OR Apache-2.0
"""Integers as P4Runtime sends them (specification, section 8.3): big-endian, shortest form out, any length in."""

from __future__ import annotations

from collections.abc import Callable

from marklab.p4runtime.server.refusal import Refusal, invalid


def encode(value: int) -> bytes:
    """The shortest string of an unsigned number; 0 has one byte."""
    return value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")


def decode(string: bytes, bits: int, what: str, refuse: Callable[[str, str], Refusal] = invalid) -> int:
    """The unsigned number of a string, which must fit a width; `what` names the field in a refusal."""
    _check_given(string, bits, what, refuse)
    value = int.from_bytes(string, "big")
    if value.bit_length() > bits:
        raise refuse(f"{what}: {value:#x} does not fit its {bits} bits", "send a smaller value")
    return value


def encode_signed(value: int) -> bytes:
    """The shortest two's complement of a number."""
    bits = (value if value >= 0 else ~value).bit_length() + 1
    return value.to_bytes((bits + 7) // 8, "big", signed=True)


def decode_signed(string: bytes, bits: int, what: str, refuse: Callable[[str, str], Refusal] = invalid) -> int:
    """The number of a string in two's complement, which must fit a width."""
    _check_given(string, bits, what, refuse)
    value = int.from_bytes(string, "big", signed=True)
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise refuse(f"{what}: {value} does not fit its {bits} signed bits", "send a value nearer to 0")
    return value


def _check_given(string: bytes, bits: int, what: str, refuse: Callable[[str, str], Refusal]) -> None:
    if not string:
        raise refuse(f"{what}: the value is empty", f"send its {bits} bits in network order; 0 is one zero byte")
