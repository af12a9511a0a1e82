# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random scripts from a seed: the kinds of events that written scripts have, in any combination."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from marklab.hosts.script import CONTROLS, Case, Script
from marklab.model import validate
from marklab.statistics.randomness import uniform

# Ticks of Linux's timers, of 4 ms on many machines, are short in comparison.
_RTTS_MS = (80, 100, 120, 160)
_MOST_EVENTS = 4
_DRAWS = 64
# Weights.
_KINDS = {"loss": 5, "burst": 2, "retransmission": 1, "mark": 4, "marks": 2, "ack": 2, "acks": 1, "late": 2}


Choice = TypeVar("Choice")


class _Draws:
    """Random numbers of a script."""

    def __init__(self, seed: int, name: str) -> None:
        self._values = iter(uniform(seed, name, _DRAWS).tolist())

    def chance(self) -> float:
        """From [0, 1)."""
        return float(next(self._values))

    def between(self, first: int, last: int) -> int:
        """A whole number, `last` included."""
        return first + int(self.chance() * (last + 1 - first))

    def one_of(self, choices: Sequence[Choice]) -> Choice:
        """All equally likely."""
        return choices[self.between(0, len(choices) - 1)]

    def weighted(self, weights: Mapping[str, int]) -> str:
        """By their weights."""
        return self.one_of([name for name, weight in weights.items() for _ in range(weight)])


def random_cases(count: int, seed: int) -> list[Case]:
    """Scripts of all transports in turn; the same ones for the same seed."""
    return [_case(number, _Draws(seed, f"script-{number}")) for number in range(count)]


def _case(number: int, draw: _Draws) -> Case:
    control = CONTROLS[number % len(CONTROLS)]
    segments = draw.one_of((5, 12, 25, 40, 60, 80, 120))
    kinds = {kind: weight for kind, weight in _KINDS.items() if control != "reno" or not kind.startswith("mark")}
    drawn = [draw.weighted(kinds) for _ in range(draw.between(1, _MOST_EVENTS))]
    named: dict[str, set[int]] = {"data": set(), "acks": set()}
    events = [event for kind in drawn for event in _events(kind, segments, draw, named)]
    written = {
        "title": f"Random script {number + 1}",
        "transports": control,
        "rtt": f"{draw.one_of(_RTTS_MS)}ms",
        "segments": segments,
        "events": events,
    }
    if draw.chance() < 1 / 8:
        written["receive_window"] = draw.one_of((4, 8, 16))
    name = f"random/{number + 1:03}"
    return Case(name, validate(Script, written, name), control)


def _events(kind: str, segments: int, draw: _Draws, named: dict[str, set[int]]) -> Iterator[dict[str, Any]]:
    """An event, for packets that no event before it is about: of two for one packet, the second would never happen."""
    direction = "acks" if kind.startswith("ack") else "data"
    # Each segment is acknowledged, after the SYN-ACK.
    at = draw.between(1, segments) + (direction == "acks")
    last = min(segments, at + draw.between(1, 9)) if kind in ("burst", "marks", "acks") else at
    numbers = [number for number in range(at, last + 1) if number not in named[direction]]
    times, late_ms = draw.between(2, 3), draw.one_of((5, 12, 40, 70, 200))
    if not numbers:
        return
    named[direction].update(numbers)
    key = "packet" if direction == "acks" else "segment"
    action = {"mark": "mark", "marks": "mark", "late": "delay"}.get(kind, "drop")
    more = {"retransmission": {"transmission": f"1-{times}"}, "late": {"by": f"{late_ms}ms"}}.get(kind, {})
    yield {action: direction, key: numbers, **more}
