# SPDX-License-Identifier: MIT OR Apache-2.0
"""The wheel: its content, and its use on a machine without Rust, compiler or root."""

from __future__ import annotations

import re
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from marklab.doctor.examination import built_wheel
from marklab.paths import REPOSITORY
from pages import first_table
from wheel.bare import RELEASES, USER_ID, Bare, bare_machine

pytestmark = pytest.mark.needs("wheel")

_LARGEST_BYTES = 30 << 20
# Install and first table together.
_FIRST_TABLE_S = 120
_RUN_S = 60


@pytest.fixture(scope="module")
def wheel() -> Path:
    found = built_wheel()
    assert found is not None
    return found


def test_it_holds_the_package_and_the_data_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())
        metadata = opened.read(next(name for name in names if name.endswith("/METADATA"))).decode()
    assert {name.partition("/")[0] for name in names} == {"marklab", f"marklab-{_version(wheel)}.dist-info"}
    for folder, ending in (("p4src", ".p4"), ("topologies", ".yaml"), ("traffic", ".csv"), ("experiments", ".yaml")):
        in_tree = {f"marklab/data/{path.relative_to(REPOSITORY)}" for path in (REPOSITORY / folder).rglob(f"*{ending}")}
        assert in_tree, folder
        assert in_tree <= names
    studio = REPOSITORY / "orchestrator" / "marklab" / "studio"
    assert {f"marklab/studio/lessons/{path.name}" for path in (studio / "lessons").iterdir()} <= names
    assert {"marklab/_engine.abi3.so", "marklab/report/plotly/plotly-basic.min.js", "marklab/data/commit"} <= names
    licences = f"marklab-{_version(wheel)}.dist-info/licenses"
    assert {f"{licences}/{name}" for name in ("LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY-NOTICES")} <= names
    assert "License-Expression: MIT OR Apache-2.0" in metadata
    assert "Requires-Python: >=3.11" in metadata
    assert wheel.stat().st_size <= _LARGEST_BYTES


def test_it_runs_with_glibc_2_28(wheel: Path) -> None:
    auditwheel = Path(sys.executable).with_name("auditwheel")
    said = subprocess.run([auditwheel, "show", wheel], capture_output=True, text=True, check=True).stdout
    assert 'tag: "manylinux_2_28_x86_64"' in " ".join(said.split())


def test_an_old_python_is_told(wheel: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--python-version", "3.10"]
    command += ["--only-binary=:all:", "--no-deps", "--target", str(tmp_path / "there"), str(wheel)]
    refused = subprocess.run(command, capture_output=True, text=True)
    assert refused.returncode == 1
    assert "is not a supported wheel on this platform" in refused.stderr
    assert not (tmp_path / "there").exists()


@pytest.fixture(scope="module", params=RELEASES)
def machine(request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bare]:
    """A bare machine whose user has made a virtual environment and has the wheel."""
    with bare_machine(request.param, tmp_path_factory.mktemp(request.param)) as bare:
        (bare.home / wheel.name).write_bytes(wheel.read_bytes())
        made = bare.run("python3 -m venv lab")
        assert made.returncode == 0, made.stderr
        yield bare


in_a_chroot = pytest.mark.needs("privileges", "debootstrap")


@in_a_chroot
def test_two_commands_give_the_table_of_the_readme(machine: Bare, wheel: Path) -> None:
    began = time.monotonic()
    installed = machine.run(f"lab/bin/pip install --quiet ./{wheel.name}")
    assert (installed.returncode, installed.stderr) == (0, "")
    ready = time.monotonic()
    # From a folder outside of the lab.
    shown = machine.run("mkdir 'my work'; cd 'my work'; ../lab/bin/marklab --scheme diffecn --load 0.8")
    ended = time.monotonic()
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.split() == first_table().split()
    (folder,) = (machine.home / "my work" / "results").iterdir()
    assert {path.name for path in folder.iterdir()} == {
        "flows.parquet", "report.html", "spec.yaml", "summary.json", "versions.json",
    }  # fmt: skip
    assert ended - ready < _RUN_S
    assert ended - began < _FIRST_TABLE_S


@in_a_chroot
def test_bad_places_are_one_message(machine: Bare) -> None:
    (machine.home / "kept").mkdir()
    (machine.home / "kept").chmod(0o555)
    refused = machine.run("cd kept; ../lab/bin/marklab -s tcn --flows 50 --seeds 1")
    assert refused.returncode == 2
    assert re.fullmatch(r"error: cannot write the result: Permission denied .*\n  try: .* --out\n", refused.stderr)
    small = machine.home / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size=64k,uid={USER_ID}", "tmpfs", str(small)]
    subprocess.run(mount, check=True)
    try:
        full = machine.run("lab/bin/marklab -s tcn --flows 5000 --seeds 1 --out small")
        assert full.returncode == 2
        assert re.fullmatch(r"error: cannot write .*No space left on device.*\n  try: .*\n", full.stderr)
        assert list(small.iterdir()) == []
    finally:
        subprocess.run(["umount", str(small)], check=True)


@in_a_chroot
def test_it_keeps_a_numpy_that_is_there(machine: Bare, wheel: Path) -> None:
    """One of the oldest numpys that pyproject.toml allows and that have a wheel for this Python."""
    python = machine.run("lab/bin/python -c 'import sys; print(sys.version_info.minor)'").stdout.strip()
    older = {"11": "1.26.4", "13": "2.1.3"}[python]
    done = machine.run(
        f"python3 -m venv older; older/bin/pip install --quiet numpy=={older}\n"
        f"older/bin/pip install --quiet ./{wheel.name}\n"
        "older/bin/python -c 'import numpy; print(numpy.__version__)'\n"
        "older/bin/marklab -s tcn --flows 200 --seeds 2 --json > older.json\n"
        "lab/bin/marklab -s tcn --flows 200 --seeds 2 --json > newer.json"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{older}\n", "")
    one, other = ((machine.home / name).read_text() for name in ("older.json", "newer.json"))
    assert _numbers(one) == _numbers(other)


def _numbers(summary: str) -> str:
    return re.sub(r'"(?:versions|[a-z_]*cpu_s)": (?:\{.*?\}|[0-9.e-]+)', "", summary)


def _version(wheel: Path) -> str:
    return wheel.name.split("-")[1]
