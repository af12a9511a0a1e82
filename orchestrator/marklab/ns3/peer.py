# SPDX-License-Identifier: MIT OR Apache-2.0
"""Our program that calls ns-3: whether it can be built, what it is given, what it says of a run."""

from __future__ import annotations

import csv
import fcntl
import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from marklab.errors import BadInput, RunFailed, SetupError
from marklab.paths import REPOSITORY
from marklab.traffic.flows import FlowList

FOLDER = REPOSITORY / "bench" / "peers" / "ns3"

PACKAGES = ("g++", "make", "pkg-config", "libns3-dev")
REMEDY = f"apt-get install {' '.join(PACKAGES)} (Debian 12: ns-3.37)"

_TOOLS = ("g++", "make", "pkg-config")
_LIBRARY = "ns3-internet"
_BUILD_S, _RUN_S = 300.0, 3600.0

# As the engine numbers the connections of a run; ECMP hashes these.
_CLIENT_PORTS, _FIRST_CLIENT_PORT, _FIRST_SERVER_PORT = 64_000, 1_024, 5_001
# ns-3 buffers with numbers of 32 bits.
LARGEST_FLOW_BYTES = 2**31 - 1

_COLUMNS = ("flow", "fct_ns", "handshake_ns", "retransmits", "timeouts", "delivered_bytes")


@dataclass(frozen=True)
class Played:
    """What ns-3 did with a flow list."""

    fct_ns: NDArray[np.int64]  # -1 where the flow did not finish
    retransmissions: NDArray[np.int64]  # of data segments and SYNs
    timeouts: NDArray[np.int64]  # with data waiting
    summary: Mapping[str, float | str | None]

    def number(self, name: str) -> float:
        """A number of the summary."""
        value = self.summary.get(name)
        if not isinstance(value, (int, float)):
            raise RunFailed(f"ns-3's side says `{value}` for {name}, which is no number", f"make -C {FOLDER}")
        return value


def missing() -> list[str]:
    """What it takes and is not there."""
    absent = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if absent:
        return absent
    found = subprocess.run(["pkg-config", "--exists", _LIBRARY], check=False)  # noqa: S603, S607
    return [] if found.returncode == 0 else [f"{_LIBRARY} (pkg-config)"]


def build() -> Path:
    """The program, made new if its sources have changed."""
    if absent := missing():
        raise SetupError(f"there is no ns-3 to compare with: not found: {', '.join(absent)}", REMEDY)
    # Several processes may want it at once.
    with (FOLDER / "Makefile").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(  # noqa: S603 - no shell
            ["make", "--no-print-directory", "-j2", "-C", str(FOLDER), "peer"],  # noqa: S607
            capture_output=True,
            text=True,
            check=False,
            timeout=_BUILD_S,
        )
    if done.returncode != 0:
        last = "; ".join(done.stderr.strip().splitlines()[-3:])
        raise SetupError(f"the peer does not build against this ns-3: {last}", f"{REMEDY}; make -C {FOLDER}")
    return FOLDER / "peer"


def play(program: Path, flows: FlowList, options: Sequence[str]) -> Played:
    """Run flows in ns-3."""
    with tempfile.TemporaryDirectory() as name:
        listed, out = Path(name) / "flows.csv", Path(name) / "out.csv"
        write_flows(flows, listed)
        command = [str(program), f"--flows={listed}", f"--out={out}", *options]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_RUN_S)  # noqa: S603
        except subprocess.TimeoutExpired as error:
            raise RunFailed(f"ns-3 did not end within {_RUN_S:g} s", "fewer flows, or an earlier `until`") from error
        if done.returncode != 0:
            said = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()[0]
            raise RunFailed(f"ns-3's side failed with status {done.returncode}: {said}")
        return read(done.stdout, out, len(flows))


def write_flows(flows: FlowList, path: Path) -> None:
    """Write a flow list as the peer reads it."""
    largest = int(flows.size_bytes.max())
    if largest > LARGEST_FLOW_BYTES:
        raise BadInput(
            f"a flow of {largest:,} bytes is too large for ns-3", f"{LARGEST_FLOW_BYTES} bytes, and an `until`"
        )
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("start_ns", "src", "dst", "size_bytes", "sport", "dport"))
        for number, row in enumerate(zip(flows.start_ns, flows.src, flows.dst, flows.size_bytes, strict=True)):
            round_, place = divmod(number, _CLIENT_PORTS)
            writer.writerow((*row, _FIRST_CLIENT_PORT + place, _FIRST_SERVER_PORT + round_))


def read(printed: str, rows: Path, flows: int) -> Played:
    """Read what the peer printed and wrote."""
    remedy = f"make -C {FOLDER} clean peer"
    try:
        summary = json.loads(printed)
    except ValueError as error:
        raise RunFailed(f"ns-3's side did not print one JSON object: {printed[:80]!r}", remedy) from error
    if not isinstance(summary, dict):
        raise RunFailed(f"ns-3's side did not print one JSON object: {printed[:80]!r}", remedy)
    with rows.open(newline="") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != _COLUMNS:
            raise RunFailed(f"{rows.name} has the columns {reader.fieldnames}, not {', '.join(_COLUMNS)}", remedy)
        listed = list(reader)
    if [row["flow"] for row in listed] != [str(number) for number in range(flows)]:
        raise RunFailed(f"{rows.name} has {len(listed)} rows for {flows} flows, or not in their order", remedy)
    try:
        fct = np.array([int(row["fct_ns"] or -1) for row in listed], dtype=np.int64)
        again, timeouts = (
            np.array([int(row[name]) for row in listed], dtype=np.int64) for name in ("retransmits", "timeouts")
        )
    except (TypeError, ValueError) as error:
        raise RunFailed(f"{rows.name} holds what is no number: {error}", remedy) from error
    return Played(fct, again, timeouts, summary)
