# SPDX-License-Identifier: MIT OR Apache-2.0
"""Probes on real hosts: reading ping's output."""

from __future__ import annotations

from pathlib import Path

from marklab.lab.hosts.ping import Pings
from marklab.prepare.dilation import dilated_probes
from marklab.traffic.probes import Probe

MS = 10**6

SAID = """PING 10.0.0.5 (10.0.0.5) 56(84) bytes of data.
64 bytes from 10.0.0.5: icmp_seq=1 ttl=63 time=7.25 ms
64 bytes from 10.0.0.5: icmp_seq=3 ttl=63 time=12 ms
64 bytes from 10.0.0.5: icmp_seq=9 ttl=63 time=8.00 ms
"""


def test_requests_without_a_reply_are_lost_and_late_ones_are_not_asked_for(tmp_path: Path) -> None:
    (tmp_path / "0").write_text(SAID, encoding="ascii")
    (tmp_path / "1").write_text("", encoding="ascii")
    probes = [Probe.model_validate({"from": "h0", "to": "h4", "every": "10ms", "start": "5ms"}) for _ in range(2)]
    columns = Pings(probes, [tmp_path / "0", tmp_path / "1"]).columns(end_ns=45 * MS)
    assert columns["probe"].tolist() == [0] * 5 + [1] * 5
    assert columns["time_ns"].tolist() == [5 * MS, 15 * MS, 25 * MS, 35 * MS, 45 * MS] * 2
    assert columns["rtt_ns"].tolist() == [7_250_000, -1, 12 * MS, -1, -1] + [-1] * 5


def test_a_run_that_ends_before_a_probe_has_none_of_it(tmp_path: Path) -> None:
    (tmp_path / "0").write_text("", encoding="ascii")
    probe = Probe.model_validate({"from": "h0", "to": "h4", "start": "5ms"})
    columns = Pings([probe], [tmp_path / "0"]).columns(end_ns=5 * MS - 1)
    assert [len(values) for values in columns.values()] == [0, 0, 0]


def test_probes_are_dilated() -> None:
    probe = Probe.model_validate({"from": "h0", "to": "h4", "every": "1ms", "start": "3ms", "dscp": 2})
    slow = dilated_probes([probe], 100)[0]
    assert (slow.every_ns, slow.start_ns, slow.dscp) == (100 * MS, 300 * MS, 2)
