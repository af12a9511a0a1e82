# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pairs of hosts with flows, without a list of them: ten thousand hosts have a hundred million pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Each of `sources` sends to the hosts in a range of `targets`, except for a range within it.

    Ranges are places in `targets`: from `first` to before `end`, except from `gap_first` to before `gap_end`. All of
    them have a value for each source.
    """

    sources: Integers
    targets: Integers
    first: Integers
    end: Integers
    gap_first: Integers
    gap_end: Integers

    @staticmethod
    def among(hosts: int, together: int, apart: int) -> Pairs:
        """Hosts in groups of `together`, each with all others of its group, except those of its group of `apart`."""
        each = np.arange(hosts, dtype=np.int64)
        group, inner = each // together * together, each // apart * apart
        return Pairs(each, each, group, group + together, inner, inner + apart)

    @staticmethod
    def between(sources: list[int], targets: list[int]) -> Pairs:
        """Each source with each target, except for itself."""
        place = {target: number for number, target in enumerate(targets)}
        gap = np.array([place.get(source, -1) for source in sources], dtype=np.int64)
        none = np.zeros(len(sources), dtype=np.int64)
        return Pairs(
            np.array(sources, dtype=np.int64),
            np.array(targets, dtype=np.int64),
            first=none,
            end=none + len(targets),
            gap_first=np.maximum(gap, 0),
            gap_end=gap + 1,
        )

    @cached_property
    def _ends(self) -> Integers:
        """Number of pairs up to those of each source."""
        return np.cumsum(self.end - self.first - (self.gap_end - self.gap_first))

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def take(self, numbers: NDArray[np.integer]) -> NDArray[np.uint32]:
        """Pairs by their numbers: by source, and then by target. A row for each, source and target."""
        source = np.searchsorted(self._ends, numbers, side="right")
        counts = np.diff(self._ends, prepend=0)
        place = self.first[source] + numbers - (self._ends[source] - counts[source])
        place += np.where(place >= self.gap_first[source], self.gap_end[source] - self.gap_first[source], 0)
        return np.stack([self.sources[source], self.targets[place]], axis=1).astype(np.uint32)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        yield from map(tuple, self.take(np.arange(len(self))).tolist())

    @cached_property
    def senders(self) -> Integers:
        """Hosts that send to some host, in order."""
        return np.unique(self.sources[np.diff(self._ends, prepend=0) > 0])

    @cached_property
    def receivers(self) -> list[int]:
        """Hosts that some host sends to, in order."""
        # How many sources have each place in their range, by changes from place to place.
        changes = np.zeros(len(self.targets) + 1, dtype=np.int64)
        for at, change in ((self.first, 1), (self.end, -1), (self.gap_first, -1), (self.gap_end, 1)):
            np.add.at(changes, at, change)
        return sorted(self.targets[np.cumsum(changes)[:-1] > 0].tolist())

    def senders_to(self, target: int) -> list[int]:
        """Hosts that send to a host, in the order of the sources."""
        place = int(np.flatnonzero(self.targets == target)[0])
        sends = (self.first <= place) & (place < self.end) & ~((self.gap_first <= place) & (place < self.gap_end))
        found: list[int] = self.sources[sends].tolist()
        return found
