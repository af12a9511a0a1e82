# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random numbers that are the same on every machine and with every version of numpy.

numpy promises a stable stream only for the raw bits of a bit generator, and its logarithm differs in the last bit
between processors. So bits become numbers here, by operations that IEEE 754 defines exactly.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def uniform(seed: int, stream: str, count: int) -> Floats:
    """Draw from [0, 1). Streams of different names are independent; a shorter draw is the start of a longer one."""
    key = np.frombuffer(hashlib.sha256(stream.encode()).digest(), dtype="<u4")
    generator = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=tuple(int(word) for word in key)))
    raw = np.asarray(generator.random_raw(count), dtype=np.uint64)
    return np.asarray((raw >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def integers(draws: Floats, below: int) -> NDArray[np.int64]:
    """Turn uniform draws into whole numbers 0 <= n < below."""
    return np.minimum((draws * below).astype(np.int64), below - 1)


def exponential(draws: Floats) -> Floats:
    """Turn uniform draws into exponential ones of mean 1."""
    return -log(1.0 - draws)


def log(values: Floats) -> Floats:
    """Natural logarithm of positive numbers, by sums, products and quotients only.

    values = m * 2^e with m in [sqrt(1/2), sqrt(2)); ln m = 2 artanh((m - 1) / (m + 1)), as a power series.
    """
    mantissa, exponent = np.frexp(values)
    small = mantissa < 0.7071067811865476
    mantissa = np.where(small, mantissa * 2.0, mantissa)
    exponent = np.where(small, exponent - 1, exponent)
    ratio = (mantissa - 1.0) / (mantissa + 1.0)
    square = ratio * ratio
    # |ratio| < 0.1716, so the first term left out, 2 * ratio^25 / 25, is below 1e-20.
    series = np.zeros_like(ratio)
    for odd in range(23, 0, -2):
        series = series * square + 1.0 / odd
    return np.asarray(exponent * 0.6931471805599453 + 2.0 * ratio * series)


def exp(values: Floats) -> Floats:
    """Exponential function, by sums, products and quotients only: e^v = 2^k e^r with |r| <= ln(2) / 2."""
    doublings = np.floor(values * 1.4426950408889634 + 0.5)
    rest = values - doublings * 0.6931471805599453
    series = np.ones_like(rest)
    # |rest| < 0.35, so the first term left out is below 1e-18.
    for number in range(16, 0, -1):
        series = 1.0 + series * rest / number
    return np.ldexp(series, doublings.astype(np.int64))


def interpolate(at: Floats, x: Floats, y: Floats) -> Floats:
    """Follow the line through the points (x, y), x not decreasing; where x stands still y jumps to the last one."""
    right = np.clip(np.searchsorted(x, at, side="right"), 1, len(x) - 1)
    left = right - 1
    width = x[right] - x[left]
    part = np.where(width > 0, (at - x[left]) / np.where(width > 0, width, 1.0), 1.0)
    return np.asarray(y[left] + np.clip(part, 0.0, 1.0) * (y[right] - y[left]))
