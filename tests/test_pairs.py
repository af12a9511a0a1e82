# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pairs of hosts without a list of them: the same as the list, and known shares are those of the graph."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marklab.topology import FatTree, Incast, LeafSpine, Pairs, build


def check(pairs: Pairs, listed: list[tuple[int, int]]) -> None:
    """Compare pairs with a list of them."""
    assert len(pairs) == len(listed)
    assert list(pairs) == listed
    numbers = np.arange(len(listed))[::-3]
    assert pairs.take(numbers).tolist() == [list(listed[number]) for number in numbers]
    assert pairs.senders.tolist() == sorted({source for source, _ in listed})
    assert pairs.receivers == sorted({target for _, target in listed})
    for target in pairs.receivers:
        assert pairs.senders_to(target) == [source for source, other in listed if other == target]


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3))
def test_groups_of_hosts(groups: int, inner: int, apart: int) -> None:
    together = inner * apart
    hosts = range(groups * together)
    listed = [(a, b) for a in hosts for b in hosts if a // together == b // together and a // apart != b // apart]
    check(Pairs.among(len(hosts), together, apart), listed)


@given(st.lists(st.integers(0, 9), unique=True), st.lists(st.integers(0, 9), unique=True))
def test_named_hosts(sources: list[int], targets: list[int]) -> None:
    check(Pairs.between(sources, targets), [(a, b) for a in sources for b in targets if a != b])


@pytest.mark.parametrize(
    "topology",
    [
        Incast(senders=3),
        LeafSpine(leaves=3, spines=2, hosts=4),
        LeafSpine(leaves=3, spines=2, hosts=4, pattern="any"),
        FatTree(radix=4),
        FatTree(radix=4, pattern="rack"),
        FatTree(radix=4, pattern="pod2", oversubscription=2),
        FatTree(radix=4, oversubscription=3),
    ],
)
def test_known_shares_are_those_of_the_graph(topology: Incast | LeafSpine | FatTree) -> None:
    network = build(topology, 10**10, 80_000)
    shares = network.graph.shares(network.pairs)
    assert network.known_share == pytest.approx(sum(shares.get(line, 0.0) for line in network.bottleneck))


def test_all_pairs_of_many_hosts_take_no_memory() -> None:
    pairs = Pairs.among(65_536, 65_536, 1)
    assert len(pairs) == 65_536 * 65_535
    assert pairs.take(np.array([0, len(pairs) - 1])).tolist() == [[0, 1], [65_535, 65_534]]
