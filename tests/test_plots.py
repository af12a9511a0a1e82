# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pictures of traces."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from conftest import Finished

Cli = Callable[..., Finished]

NAMES = ("flows", "probes", "s0-7")
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def traced(cli: Cli, tmp_path: Path) -> Path:
    """Folder of a run with all traces."""
    queues = ("--queues", "dwrr:count=2", "--services", "2")
    traces = (
        "--trace-queue",
        "--trace-flows",
        "--probe",
        "h0:h7,every=100us",
        "--baseline",
        "none",
        "--out",
        str(tmp_path),
    )
    assert cli("-s", "tcn", "--flows", "20", "--seeds", "1", *queues, *traces).code == 0
    (folder,) = tmp_path.iterdir()
    return folder


@pytest.mark.parametrize(("form", "begins"), [("png", PNG), ("svg", b"<?xml")])
def test_each_trace_is_drawn(cli: Cli, traced: Path, form: str, begins: bytes) -> None:
    pictures = []
    for _ in range(2):
        done = cli("plot", str(traced), "--format", form)
        assert done.code == 0, done.err
        pictures.append([(traced / "traces" / f"tcn-seed1-{name}.{form}").read_bytes() for name in NAMES])
    assert all(picture.startswith(begins) and len(picture) > 10_000 for picture in pictures[0])
    assert pictures[0] == pictures[1]


def test_a_part_of_the_time_is_drawn(cli: Cli, traced: Path) -> None:
    """The second half of the trace, whose picture differs from that of the whole."""
    path = traced / "traces" / "tcn-seed1-s0-7.parquet"
    middle = pl.read_parquet(path)["time_ns"].median()
    pictures = set()
    for window in ((), ("--from", f"{middle}ns"), ("--to", f"{middle}ns")):
        assert cli("plot", str(traced), *window).code == 0
        pictures.add(path.with_suffix(".png").read_bytes())
    assert len(pictures) == 3


def test_what_cannot_be_drawn_is_refused(cli: Cli, traced: Path, tmp_path: Path) -> None:
    late = cli("plot", str(traced), "--from", "1000s")
    assert (late.code, "nothing happened" in late.err) == (2, True)
    wrong = cli("plot", str(traced), "--from", "2ms", "--to", "2ms")
    assert (wrong.code, "is not after" in wrong.err) == (2, True)
    assert cli("plot", str(tmp_path / "nothing")).code == 2
    for path in (traced / "traces").iterdir():
        path.unlink()
    none = cli("plot", str(traced))
    assert (none.code, "holds no traces" in none.err, "--trace-queue" in none.err) == (2, True, True)
