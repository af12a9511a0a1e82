# SPDX-License-Identifier: MIT OR Apache-2.0
"""What Linux did with each script, in a file, so that simulated hosts can be compared with it where Mininet is not."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from marklab.errors import BadInput
from marklab.hosts.bottleneck import PROGRAM
from marklab.hosts.capture import Captured
from marklab.hosts.rounds import FlowSeen, RoundTrip, WindowRow
from marklab.hosts.script import SCRIPTS, Case, transport_of
from marklab.hosts.simulated import CaseSeen
from marklab.lab.hosts import congestion
from marklab.lab.hosts.tcp import route_options, sysctls
from marklab.paths import PROGRAMS

RECORDING = SCRIPTS.parent / "script-results.json"

_DIGITS = 16
_US = 1000


def digest(case: Case) -> str:
    """Of all that Linux's answer depends on: the script, its settings of TCP, the bottleneck, and our DCTCP."""
    transport, control = transport_of(case), congestion.control_named(case.control)
    settings = [sysctls(transport, ecn=control.ecn), route_options(transport, control.kernel)]
    files = [PROGRAM, PROGRAMS.parent / "include" / "headers.p4"]
    files += congestion.SOURCES if case.control == "dctcp" else []
    text = case.script.model_dump_json(by_alias=True) + json.dumps(settings)
    return hashlib.sha256(text.encode() + b"".join(file.read_bytes() for file in files)).hexdigest()[:_DIGITS]


def write_recording(
    seen: Iterable[CaseSeen], unsteady: Iterable[Case], path: Path = RECORDING, release: str | None = None
) -> None:
    """Write what Linux did, or another release than that of this machine; a line for each script."""
    moving = set(unsteady)
    lines = [
        f"{json.dumps(str(each.case))}: {json.dumps(_case(each) | {'unsteady': each.case in moving})}" for each in seen
    ]
    text = ",\n".join([f'"kernel": {json.dumps(release or platform.release())}', *lines])
    path.write_text(f"{{\n{text}\n}}\n", encoding="utf-8")


def _case(seen: CaseSeen) -> dict[str, Any]:
    return {"digest": digest(seen.case), "never": seen.never, "flows": [_flow(flow) for flow in seen.flows]}


def _flow(seen: FlowSeen) -> dict[str, Any]:
    end_us = None if seen.end_ns is None else seen.end_ns // _US
    return {"end_us": end_us, "silence_us": seen.silence_ns // _US, "rounds": [_round(each) for each in seen.rounds]}


def _round(seen: RoundTrip) -> list[Any]:
    window = seen.window
    shown = [None, None, None] if window is None else [window.cwnd, window.ssthresh, window.state]
    alpha = None if seen.alpha is None else round(seen.alpha, 4)
    return [seen.begin_ns // _US, seen.segments, seen.retransmissions, seen.acks, *shown, alpha]


class Recording:
    """A recording that was read."""

    def __init__(self, path: Path = RECORDING) -> None:
        self._rows: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        self.kernel = str(self._rows.pop("kernel"))

    def seen(self, cases: Sequence[Case]) -> dict[Case, CaseSeen]:
        """What Linux did with these."""
        return {case: _read_case(case, self._row(case)) for case in cases}

    def is_unsteady(self, case: Case) -> bool:
        """Whether Linux differed from itself."""
        return bool(self._row(case)["unsteady"])

    def _row(self, case: Case) -> Any:
        row = self._rows.get(str(case))
        if row is None or row["digest"] != digest(case):
            how = "is not recorded" if row is None else "was recorded with another script, bottleneck or settings"
            raise BadInput(f"{case}: {how}", "make hosts, where Mininet is")
        return row


def _read_case(case: Case, row: Any) -> CaseSeen:
    return CaseSeen(case, tuple(_read_flow(flow) for flow in row["flows"]), tuple(row["never"]))


def _read_flow(row: Any) -> FlowSeen:
    end_ns = None if row["end_us"] is None else row["end_us"] * _US
    rounds = tuple(_read_round(each) for each in row["rounds"])
    return FlowSeen(rounds, end_ns, row["silence_us"] * _US, Captured(0, ()), ())


def _read_round(row: Any) -> RoundTrip:
    begin_us, segments, retransmissions, acks, cwnd, ssthresh, state, alpha = row
    window = None if cwnd is None else WindowRow(begin_us * _US, cwnd, ssthresh, state)
    return RoundTrip(begin_us * _US, segments, retransmissions, acks, window, alpha)
