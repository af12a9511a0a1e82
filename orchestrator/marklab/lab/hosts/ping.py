# SPDX-License-Identifier: MIT OR Apache-2.0
"""Round trips while a run is on: a probe is a ping in a host's namespace."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marklab.devices.frames import DATAGRAM_HEADER_BYTES
from marklab.lab.network import Net, address
from marklab.results.observation import Columns
from marklab.traffic.flows import find_host
from marklab.traffic.probes import Probe

# Ethernet, IPv4 and ICMP headers.
# ECN leaves the upper six bits of the byte.
_DSCP_SHIFT = 2

_REPLY = re.compile(r"icmp_seq=([0-9]+) .*time=([0-9.]+) ms")


@dataclass(frozen=True)
class Pings:
    """Probes that run; what came of them is in files."""

    probes: Sequence[Probe]
    files: Sequence[Path]

    def columns(self, end_ns: int) -> Columns:
        """Of each request until a time since the start: `probe`, `time_ns`, and `rtt_ns`, -1 if no reply came."""
        numbers: list[NDArray[Any]] = []
        times: list[NDArray[Any]] = []
        rtts: list[NDArray[Any]] = []
        for number, (probe, file) in enumerate(zip(self.probes, self.files, strict=True)):
            replies = _REPLY.findall(file.read_text(encoding="ascii", errors="replace"))
            rtt_ns = {int(sequence): round(float(ms) * 1e6) for sequence, ms in replies}
            sent = max(0, (end_ns - probe.start_ns) // probe.every_ns + 1) if end_ns >= probe.start_ns else 0
            numbers.append(np.full(sent, number, np.uint32))
            times.append(probe.start_ns + np.arange(sent, dtype=np.uint64) * np.uint64(probe.every_ns))
            # ping counts from 1.
            rtts.append(np.array([rtt_ns.get(each + 1, -1) for each in range(sent)], np.int64))
        joined = {"probe": numbers, "time_ns": times, "rtt_ns": rtts}
        return {name: np.concatenate(columns) if columns else np.zeros(0) for name, columns in joined.items()}


@contextmanager
def pinging(net: Net, probes: Sequence[Probe], start_at_ns: int, folder: Path) -> Iterator[Pings]:
    """Have probes run as long as the context; their times count from an instant of CLOCK_MONOTONIC."""
    folder.mkdir()
    files = [folder / str(number) for number in range(len(probes))]
    with ExitStack() as stack:
        for probe, file in zip(probes, files, strict=True):
            source, target = (find_host(end, net.graph.hosts) for end in (probe.src, probe.dst))
            wait_s = max(0, start_at_ns + probe.start_ns - time.monotonic_ns()) / 1e9
            ping = [
                "ping", "-n", "-i", f"{probe.every_ns / 1e9:.6f}", "-s", str(probe.size_bytes - DATAGRAM_HEADER_BYTES),
                "-Q", str(probe.dscp << _DSCP_SHIFT), address(target),
            ]  # fmt: skip
            delayed = ["sh", "-c", 'sleep "$0" && exec "$@"', f"{wait_s:.6f}", *ping]
            out = stack.enter_context(file.open("wb"))
            process = stack.enter_context(
                subprocess.Popen(  # noqa: S603 - no words of users in the shell's text
                    [*net.keeping(source), *delayed], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL
                )
            )
            stack.callback(process.kill)
        yield Pings(probes, files)
