# SPDX-License-Identifier: MIT OR Apache-2.0
"""The closed form against a packet-by-packet calculation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marklab.devices.frames import Framing
from marklab.devices.hosts import Transport
from marklab.prepare.ideal import ideal_ns, stream_ns
from marklab.spec.description import make_spec
from marklab.topology import Line, Port, build
from marklab.traffic.flows import make_flows


def followed(path: tuple[Line, ...], size: int, mss: int) -> float:
    """Store and forward, segment by segment."""
    sizes = [mss] * ((size - 1) // mss) + [(size - 1) % mss + 1]
    free = [0.0] * len(path)
    arrival = 0.0
    for segment in sizes:
        time = 0.0
        for hop, line in enumerate(path):
            time = max(time, free[hop]) + (max(segment + 54, 60) + 24) * 8e9 / line.rate_bps
            free[hop] = time
            time += line.delay_ns
        arrival = time
    return arrival


LINES = st.lists(
    st.tuples(st.sampled_from([10**9, 10**10, 4 * 10**10, 10**11]), st.integers(0, 100_000)), min_size=1, max_size=4
)


@given(LINES, st.integers(1, 100_000), st.sampled_from([100, 1460, 9000]))
def test_the_formula_is_what_packets_do(hops: list[tuple[int, int]], size: int, mss: int) -> None:
    path = tuple(Line(Port(at, 0), Port(at + 1, 0), rate, delay) for at, (rate, delay) in enumerate(hops))
    formula = stream_ns(path, np.array([size], dtype=np.uint64), Framing(), Transport(mss=mss))[0]
    assert formula == pytest.approx(followed(path, size, mss), rel=1e-9)


@pytest.mark.parametrize(("mode", "handshakes"), [("persistent", 0), ("new", 1)])
def test_extra_delay_and_handshake(mode: str, handshakes: int) -> None:
    spec = make_spec({"schemes": ["tcn"], "connections": mode})
    network = build(spec.topology, spec.rate_bps, spec.rtt.base_ns)
    extra = np.array([30_000], dtype=np.uint64)
    flows = make_flows(np.zeros(1, np.uint64), np.array([[0, 7]], np.uint32), np.array([1460], np.uint64), extra)
    one_way = 35_000 + 2 * (1460 + 54 + 24) * 0.8
    # SYN and SYN-ACK have 66 bytes and cross two lines each; the sender has the delay line. An ACK is padded to 60.
    handshake = 30_000 + 70_000 + 4 * (66 + 24) * 0.8 + (60 + 24) * 0.8
    assert ideal_ns(spec, network, flows)[0] == pytest.approx(30_000 + one_way + handshakes * handshake)
