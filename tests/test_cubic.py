# SPDX-License-Identifier: MIT OR Apache-2.0
"""CUBIC in whole runs: on a long path a flow takes less time than with Reno, and on a short one as long.

The window's function is tested beside it, in the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from runs import run


@pytest.fixture
def seconds(tmp_path: Path) -> Callable[[str, str], float]:
    """How long 200 MB take through 100 Mb/s and a queue of 100 packets."""
    flows = tmp_path / "flows.csv"
    flows.write_text("start_ns,src,dst,size_bytes\n0,1,5,200000000\n", encoding="ascii")

    def of(control: str, rtt: str) -> float:
        settings = {
            "schemes": ["droptail"],
            "baseline": "none",
            "topology": "topologies/web.yaml",
            "rate": "100M",
            "rtt": rtt,
            "queue": 100,
            "flow_list": str(flows),
            "seeds": 1,
            "until": "100s",
            "transport": control,
        }
        _, _, summary = run(**settings)
        (seed,) = summary.main.seeds
        assert seed.unfinished == 0
        assert not seed.marks.total
        return seed.fct_us["overall"].mean / 1e6

    return of


def test_a_long_path_is_filled_again_sooner_than_by_reno(seconds: Callable[[str, str], float]) -> None:
    # A window of 930 segments comes back in 9 s (K), and with Reno in 47 s.
    assert seconds("cubic", "100ms") < 0.85 * seconds("reno", "100ms")


def test_on_a_short_path_the_queue_is_never_empty_with_either(seconds: Callable[[str, str], float]) -> None:
    line_s = 200e6 / 1460 * 1538 * 8 / 100e6
    assert line_s < seconds("cubic", "2ms") < 1.02 * line_s
    assert seconds("cubic", "2ms") == pytest.approx(seconds("reno", "2ms"), rel=0.01)
