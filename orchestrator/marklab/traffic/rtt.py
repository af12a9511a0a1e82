# SPDX-License-Identifier: MIT OR Apache-2.0
"""Distributions of base round-trip times (without queueing) over flows.

`base` is the RTT from the topology's own delays: the smallest RTT without the time in hosts. The rest of a flow's RTT
is a delay between its sender's TCP and NIC, as in the testbeds of the ECN# paper, which use netem there. Thresholds are
derived from mean and 90th percentile (see `catalog`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from marklab.errors import BadInput
from marklab.statistics.randomness import Floats, log
from marklab.statistics.samples import rank
from marklab.units import ShortForm, format_time, parse_time

# If only the range is given, mean and 90th percentile have the same place in it as in the testbed of the ECN# paper:
# 70..210 us, with thresholds from a mean of 85 us and a 90th percentile of 200 us (section 5.2).
_MEAN_OF_RANGE = 15 / 140
_P90_OF_RANGE = 130 / 140

# The authors' simulator has links of 10 us, four of them between hosts of different leaves.
_CLASSES_BASE_NS = 80_000

# The written form of an RTT, as JSON Schema.
WRITTEN_RTT = {
    "anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "properties": {part: {"type": "string"} for part in ("range", "mean", "p90", "host")},
            "required": ["range"],
            "additionalProperties": False,
        },
    ],
    "examples": ["80us", "70us..210us", "80us..240us,mean=137us,p90=220us", "classes:1us,20us,50us,base=80us"],
}

# The mean of the exponential part can be anywhere between its ends, but not this close to them.
_NEAREST_TO_END = 0.002


class Rtt(Protocol):
    """A distribution of base round-trip times, all in ns."""

    @property
    def base_ns(self) -> int:
        """Round-trip time of the topology itself."""

    @property
    def min_ns(self) -> int:
        """Smallest value."""

    @property
    def mean_ns(self) -> int:
        """Mean."""

    @property
    def p90_ns(self) -> int:
        """90th percentile."""

    @property
    def max_ns(self) -> int:
        """Largest value."""

    def extra_delays(self, draws: Floats) -> NDArray[np.uint64]:
        """Turn uniform draws into delays beyond the base, in ns."""


@dataclass(frozen=True)
class LongTailed:
    """A truncated exponential up to the 90th percentile, and a uniform distribution from there to the maximum.

    The exponential's scale is chosen to give the mean. Each row of Table 1 of the ECN# paper is close to a shifted
    exponential (docs/workloads.md), and the paper gives these four numbers for its simulations. `host_ns` of each RTT
    are spent in hosts.
    """

    min_ns: int
    mean_ns: int
    p90_ns: int
    max_ns: int
    host_ns: int = 0

    def __post_init__(self) -> None:
        if self.host_ns >= self.min_ns:
            raise BadInput(
                f"RTT: hosts cannot take {format_time(self.host_ns)} of {format_time(self.min_ns)}",
                f"host= below {format_time(self.min_ns)}; the rest is delay of the topology",
            )
        if self.min_ns == self.max_ns:
            return
        if not self.min_ns < self.p90_ns <= self.max_ns:
            raise BadInput(f"RTT: the 90th percentile {format_time(self.p90_ns)} is not between the ends")
        if not _NEAREST_TO_END <= self._mean_fraction() <= 1 - _NEAREST_TO_END:
            width, tail = self.p90_ns - self.min_ns, 0.1 * (self.p90_ns + self.max_ns) / 2
            low, high = (0.9 * (self.min_ns + at * width) + tail for at in (_NEAREST_TO_END, 1 - _NEAREST_TO_END))
            raise BadInput(
                f"RTT: a mean of {self.mean_ns / 1e3:g}us contradicts the other numbers",
                f"with this 90th percentile it can be {low / 1e3:.1f}us to {high / 1e3:.1f}us: state mean= or p90=",
            )

    @property
    def base_ns(self) -> int:
        """The topology's part of the smallest RTT."""
        return self.min_ns - self.host_ns

    def _mean_fraction(self) -> float:
        """Place of the exponential part's mean between its ends, 0..1."""
        tail = 0.1 * (self.p90_ns + self.max_ns) / 2
        return ((self.mean_ns - tail) / 0.9 - self.min_ns) / (self.p90_ns - self.min_ns)

    def quantile(self, draws: Floats) -> Floats:
        """Quantiles of the RTT in ns, not rounded, at the fractions `draws`."""
        if self.min_ns == self.max_ns:
            return np.full_like(draws, self.min_ns)
        width = self.p90_ns - self.min_ns
        steepness = _steepness(self._mean_fraction())
        # Rounded, so that the result does not depend on the last bit of the machine's exp().
        left_over = float(f"{math.exp(-steepness):.14g}")
        body = np.minimum(draws / 0.9, 1.0)
        exponential = log(1.0 - body * (1.0 - left_over)) / -steepness if steepness else body
        tail = (draws - 0.9) / 0.1
        in_tail = self.p90_ns + tail * (self.max_ns - self.p90_ns)
        return np.asarray(np.where(draws < 0.9, self.min_ns + exponential * width, in_tail))

    def extra_delays(self, draws: Floats) -> NDArray[np.uint64]:
        """Turn uniform draws into delays beyond the base, in ns."""
        return (np.floor(self.quantile(draws) + 0.5) - self.base_ns).astype(np.uint64)

    def __str__(self) -> str:
        low, high, mean, p90 = map(format_time, (self.min_ns, self.max_ns, self.mean_ns, self.p90_ns))
        text = low if low == high else f"{low}..{high},mean={mean},p90={p90}"
        return f"{text},host={format_time(self.host_ns)}" if self.host_ns else text


@dataclass(frozen=True)
class Classes:
    """The base RTT plus one of a few delays, each as likely as the others."""

    delays_ns: tuple[int, ...]
    base_ns: int = _CLASSES_BASE_NS

    @property
    def min_ns(self) -> int:
        """Smallest value."""
        return self.base_ns + min(self.delays_ns)

    @property
    def mean_ns(self) -> int:
        """Mean, to the ns."""
        return self.base_ns + round(sum(self.delays_ns) / len(self.delays_ns))

    @property
    def p90_ns(self) -> int:
        """90th percentile by nearest rank."""
        return self.base_ns + sorted(self.delays_ns)[rank(0.9, len(self.delays_ns)) - 1]

    @property
    def max_ns(self) -> int:
        """Largest value."""
        return self.base_ns + max(self.delays_ns)

    def extra_delays(self, draws: Floats) -> NDArray[np.uint64]:
        """Turn uniform draws into delays beyond the base, in ns."""
        delays = np.asarray(self.delays_ns, dtype=np.uint64)
        return np.asarray(delays[np.minimum((draws * len(delays)).astype(np.int64), len(delays) - 1)])

    def __str__(self) -> str:
        return f"classes:{','.join(map(format_time, self.delays_ns))},base={format_time(self.base_ns)}"


def parse_rtt(text: str) -> LongTailed | Classes:
    """Read `80us`, `70us..210us`, `80us..240us,mean=137us,p90=220us` or `classes:1us,20us,50us,base=80us`.

    `host=30us` after one of the first three is the part of the RTT that is spent in hosts. Raises BadInput.
    """
    colon = ":" in text
    form = ShortForm.read(text if colon else f"range:{text}")
    settings = {name: parse_time(value) for name, value in form.settings.items()}
    allowed = {"base"} if colon else {"mean", "p90", "host"}
    if (colon and form.name != "classes") or not form.words or set(settings) - allowed:
        raise BadInput(
            f"`{text}` is not an RTT",
            "write 70us..210us, 80us..240us,mean=137us,p90=220us, 116us,host=80us or classes:1us,20us",
        )
    if colon:
        return Classes(tuple(map(parse_time, form.words)), settings.get("base", _CLASSES_BASE_NS))
    if len(form.words) != 1:
        raise BadInput(f"`{text}` is not an RTT", "a range is written as 70us..210us")
    return _range(text, form.words[0], settings)


def read_rtt(value: Any) -> LongTailed | Classes:
    """Read an RTT as text, or by its parts: `{range: 116us, host: 80us}` is `116us,host=80us`. Raises BadInput."""
    if not isinstance(value, dict):
        return parse_rtt(str(value))
    if "range" not in value:
        raise BadInput(f"an RTT of the parts {', '.join(value)} has no range", "--set rtt=116us --set rtt.host=80us")
    return parse_rtt(",".join([str(value["range"]), *(f"{part}={value[part]}" for part in value if part != "range")]))


def _range(text: str, ends: str, settings: dict[str, int]) -> LongTailed:
    low_text, dots, high_text = ends.partition("..")
    low = parse_time(low_text)
    high = parse_time(high_text) if dots else low
    if high < low or low == 0:
        raise BadInput(f"RTT `{text}`: it must run from a smaller to a larger time above 0")
    mean = settings.get("mean", low + round(_MEAN_OF_RANGE * (high - low)))
    p90 = settings.get("p90", low + round(_P90_OF_RANGE * (high - low)))
    if low == high and settings.keys() - {"host"}:
        raise BadInput(f"RTT `{text}`: mean= and p90= need a range, not one value")
    return LongTailed(low, mean, p90, high, settings.get("host", 0))


def _steepness(mean: float) -> float:
    """The t for which the density exp(-t x), truncated at 1, has this mean. 0 is the uniform distribution."""
    low, high = -600.0, 600.0
    for _ in range(80):
        middle = (low + high) / 2
        if _truncated_mean(middle) > mean:
            low = middle
        else:
            high = middle
    return round((low + high) / 2, 9)


def _truncated_mean(t: float) -> float:
    if abs(t) < 1e-4:
        return 0.5 - t / 12
    return 1 / t - 1 / math.expm1(t)
