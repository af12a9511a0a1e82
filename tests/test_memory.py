# SPDX-License-Identifier: MIT OR Apache-2.0
"""How much memory cells need, and what is done if there is not enough."""

from pathlib import Path

import pytest

from marklab.errors import BadInput
from marklab.execution import memory
from marklab.execution.run import run_spec
from marklab.fabrics import Sim
from marklab.prepare.experiment import Experiment, prepare
from marklab.spec.description import make_spec

GB = 10**9


@pytest.fixture
def experiment() -> Experiment:
    return prepare(make_spec({"schemes": ["tcn"], "flows": 100, "seeds": 4}))


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine with 8 GB, in a container without a limit."""
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal:       16000000 kB\nMemAvailable:    7812500 kB\n")
    monkeypatch.setattr(memory, "_MEMINFO", meminfo)
    monkeypatch.setattr(memory, "_LIMIT", tmp_path / "memory.max")
    monkeypatch.setattr(memory, "_USE", tmp_path / "memory.current")
    return tmp_path


def test_a_container_may_have_less_than_the_machine(free: Path) -> None:
    assert memory.available_bytes() == 8 * GB
    (free / "memory.max").write_text("max\n")
    assert memory.available_bytes() == 8 * GB
    (free / "memory.max").write_text(f"{5 * GB}\n")
    (free / "memory.current").write_text(f"{2 * GB}\n")
    assert memory.available_bytes() == 3 * GB
    (free / "memory.current").write_text(f"{6 * GB}\n")
    assert memory.available_bytes() == 0


@pytest.mark.usefixtures("free")
@pytest.mark.parametrize(("cell_bytes", "fit"), [(0, 4), (2 * GB, 4), (2 * GB + 1, 3), (8 * GB, 1)])
def test_as_many_cells_run_at_a_time_as_fit(
    experiment: Experiment, caplog: pytest.LogCaptureFixture, cell_bytes: int, fit: int
) -> None:
    assert memory.fitting(experiment, cell_bytes, 4) == fit
    assert (f"{fit} cells at a time instead of 4" in caplog.text) == (fit < 4)


@pytest.mark.usefixtures("free")
def test_a_cell_that_does_not_fit_is_refused_with_what_would(experiment: Experiment) -> None:
    with pytest.raises(BadInput, match=r"8 hosts and 100 flows needs about 16.0 GB of memory, and 8.0 GB are free"):
        memory.fitting(experiment, 16 * GB, 1)
    with pytest.raises(BadInput) as refused:
        memory.fitting(experiment, 16 * GB, 1)
    assert "at most about 4 hosts" in str(refused.value.remedy)


def test_nothing_runs_without_memory(free: Path, tmp_path: Path) -> None:
    (free / "meminfo").write_text("MemAvailable:    1000 kB\n")
    with pytest.raises(BadInput, match="GB are free"):
        run_spec(make_spec({"schemes": ["tcn"], "flows": 10, "seeds": 1}), tmp_path / "out", 1)
    assert not any((tmp_path / "out").glob("*"))


def test_the_estimate_grows_with_hosts_and_flows() -> None:
    def of(**settings: object) -> int:
        return Sim().cell_bytes(prepare(make_spec({"schemes": ["tcn"], "flows": 100, "seeds": 1} | settings)))

    small = of()
    assert small < of(flows=10_000) < of(flows=100_000)
    assert small < of(topology="fat-tree:radix=8") < of(topology="fat-tree:radix=16") < GB
