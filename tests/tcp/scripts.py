# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random scripts for the toy network."""

from __future__ import annotations

from hypothesis import strategies as st
from lockstep import MSS, Fate, Fates, Script

DELAYS_US = st.sampled_from([5, 20, 100, 250, 1500])
BYTES = st.one_of(
    st.integers(1, 40).map(lambda segments: segments * MSS), st.integers(1, 12 * MSS), st.integers(1, MSS)
)


@st.composite
def fates(draw: st.DrawFn, kinds: st.SearchStrategy[Fate]) -> Fates:
    """Runs of transmissions with the same fate."""
    runs = st.tuples(st.integers(0, 90), st.integers(1, 12), kinds)
    return tuple(draw(st.lists(runs, max_size=6)))


HALF = MSS // 2
# ACKs that no receiver would send: of parts of segments, of what was never sent, without order.
WILD_ACKS = st.tuples(
    st.integers(0, 50).map(lambda halves: halves * HALF),
    st.lists(st.tuples(st.integers(0, 50), st.integers(1, 20)), max_size=3).map(
        lambda ranges: [(start * HALF, (start + length) * HALF) for start, length in ranges]
    ),
    st.booleans(),
)


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    """A few writes, and what happens to some of the transmissions."""
    control = draw(st.sampled_from(["reno", "ecn-star", "dctcp"]))
    kinds: list[st.SearchStrategy[Fate]] = [st.just("drop"), DELAYS_US]
    if control != "reno":
        kinds.append(st.just("mark"))
    return Script(
        writes=tuple(
            draw(st.lists(st.tuples(st.sampled_from([0, 30, 130, 700, 5000]), BYTES), min_size=1, max_size=6))
        ),
        data=draw(fates(st.one_of(kinds))),
        holes=tuple(draw(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 4)), max_size=5))),
        acks=draw(fates(st.one_of(st.just("drop"), DELAYS_US))),
        control=control,
        initial_window=draw(st.sampled_from([10, 1, 2, 3, 4, 20])),
        min_rto_us=draw(st.sampled_from([1000, 200, 10_000])),
        initial_rto_us=draw(st.sampled_from([3000, 300])),
        ack_every=draw(st.sampled_from([1, 2, 3])),
        ack_delay_us=draw(st.sampled_from([500, 40, 2000])),
        receive_window=draw(st.sampled_from([1000, 8])) * MSS + draw(st.sampled_from([0, 500])),
        cwnd_validation=draw(st.booleans()),
        idle_restart=draw(st.booleans()),
        loss_after_marks=draw(st.booleans()),
        spacing_us=draw(st.sampled_from([1, 8])),
    )
