# SPDX-License-Identifier: MIT OR Apache-2.0
"""Numbers with units, as people write them: rates in bit/s, times in ns, sizes in bytes.

Every `format_*` returns the shortest text that its `parse_*` reads back as the same number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from marklab.errors import BadInput

_RATES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_TIMES = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
_SIZES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}

# The engine counts in 64 bits.
_TOO_LARGE = 2**63

_DIGITS = r"[0-9]+(?:\.[0-9]+)?(?:[eE][0-9]+)?"
_NUMBER = re.compile(rf"\s*({_DIGITS})\s*(.*?)\s*")

# The texts that `parse_*` accepts, as regular expressions for both Python and JSON Schema (ECMAScript). They do not
# refuse numbers that are too large, or too fine for their unit.
RATE_PATTERN = rf"^\s*{_DIGITS}\s*[kKMGT]?(bps|b/s|bit/s)?\s*$"
TIME_PATTERN = rf"^\s*({_DIGITS}\s*([num\u00b5\u03bc]?s)|0+(\.0+)?([eE][0-9]+)?)\s*$"
SIZE_PATTERN = rf"^\s*{_DIGITS}\s*([kKMG]?B|[KMG]iB)?\s*$"
PART_PATTERN = r"^\s*[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?\s*%\s*$"


def _split(text: str | int | float, what: str, example: str) -> tuple[Decimal, str]:
    match = _NUMBER.fullmatch(str(text))
    if match is None or isinstance(text, bool):
        raise BadInput(f"`{text}` is not a {what}", f"write it like {example}")
    return Decimal(match[1]), match[2]


def _whole(value: Decimal, factor: int, text: object, what: str, unit: str) -> int:
    # Before any arithmetic, because Decimal cannot compute with 1e999999999.
    if value >= _TOO_LARGE:
        raise BadInput(f"a {what} of `{text}` is too large")
    value *= factor
    if value >= _TOO_LARGE:
        raise BadInput(f"a {what} of `{text}` is too large")
    if value != value.to_integral_value():
        raise BadInput(f"`{text}` is not a whole number of {unit}", f"a {what} cannot be finer than that")
    return int(value)


def parse_rate(text: str | int | float) -> int:
    """Read a rate in bit/s: `10G`, `2.5Gb/s`, `100Mbps`, `1000000`."""
    value, unit = _split(text, "rate", "10G or 100M")
    prefix = re.sub(r"(bps|b/s|bit/s)$", "", unit)
    prefix = "k" if prefix == "K" else prefix
    if prefix not in _RATES:
        raise BadInput(f"`{text}` is not a rate", "write it like 10G or 100M")
    return _whole(value, _RATES[prefix], text, "rate", "bit/s")


def parse_time(text: str | int | float) -> int:
    """Read a time in ns: `70us`, `10ms`, `1.5s`. The unit is required unless the time is 0."""
    value, unit = _split(text, "time", "70us or 10ms")
    unit = unit.replace("µ", "u").replace("μ", "u")
    if unit not in _TIMES and not (unit == "" and value == 0):
        raise BadInput(f"`{text}` is not a time", "write it with its unit: ns, us, ms or s")
    return _whole(value, _TIMES.get(unit, 1), text, "time", "ns")


def parse_size(text: str | int | float) -> int:
    """Read a size in bytes: `250KB` (250,000), `64KiB`, `1500`."""
    value, unit = _split(text, "size", "250KB or 64KiB")
    unit = {"": "B", "kB": "KB"}.get(unit, unit)
    if unit not in _SIZES:
        raise BadInput(f"`{text}` is not a size", f"known units: {', '.join(_SIZES)}")
    return _whole(value, _SIZES[unit], text, "size", "bytes")


def _shortest(value: int, units: dict[str, int]) -> str:
    best = str(value) + next(iter(units))
    for name, factor in units.items():
        text = f"{(Decimal(value) / factor).normalize():f}{name}"
        if len(text) < len(best) and Decimal(text.removesuffix(name)) * factor == value:
            best = text
    return best


def format_rate(bps: int) -> str:
    """Write a rate."""
    return _shortest(bps, _RATES)


def format_time(ns: int) -> str:
    """Write a time."""
    return _shortest(ns, _TIMES)


def format_size(size: int) -> str:
    """Write a size."""
    return _shortest(size, _SIZES)


def parse_part(value: object) -> float:
    """Read a fraction: `5%`, or 0.05 as a number."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    number, percent, rest = str(value).strip().partition("%")
    try:
        return float(number if percent and not rest else "") / 100
    except ValueError as error:
        raise BadInput(f"`{value}` is not a percentage", "write 5%") from error


@dataclass(frozen=True)
class ShortForm:
    """A description in one argument of a command line, `name:word,key=value,...`, with its parts as text."""

    name: str
    words: tuple[str, ...]
    settings: dict[str, str]

    @classmethod
    def read(cls, text: str) -> ShortForm:
        """Split a text into its parts. If a key is repeated, its last value counts."""
        name, _, rest = text.partition(":")
        parts = [part.strip() for part in rest.split(",")] if rest else []
        settings = dict(parse_setting(part) for part in parts if "=" in part)
        return cls(name.strip(), tuple(part for part in parts if "=" not in part), settings)

    @classmethod
    def settings_of(cls, text: str) -> tuple[str, dict[str, str]]:
        """Name and settings of a text. Raises BadInput if it has words that are not settings."""
        form = cls.read(text)
        for word in form.words:
            parse_setting(word)
        return form.name, form.settings


def parse_setting(text: str) -> tuple[str, str]:
    """Read `name=value`."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise BadInput(f"`{text}` is not a setting", "write it as name=value")
    return name.strip(), value.strip()
