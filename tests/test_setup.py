# SPDX-License-Identifier: MIT OR Apache-2.0
"""The set-up on unsuitable machines: one error that names the thing and the remedy, and no incomplete files."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from marklab.paths import REPOSITORY

_USED = ("awk", "cat", "df", "head", "id", "rm", "sed", "sh", "sort")
NOBODY = 65534

# A machine that has everything.
GOOD = {
    "cc": "exit 0",
    "cargo": "echo 'cargo 1.99.0 (abc 2026-01-01)'",
    "python3": 'case "$*" in *version_info*|*ensurepip*) exit 0;; *) echo "Python 3.12.1";; esac',
}


@pytest.fixture
def machine(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a script of tools/ with these programs on PATH, in a folder whose name has a space."""
    folder = tmp_path / "a clone"
    shutil.copytree(REPOSITORY / "tools", folder / "tools")
    (folder / "engine").mkdir()
    shutil.copy(REPOSITORY / "engine" / "Cargo.toml", folder / "engine")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in _USED:
        found = shutil.which(name)
        assert found, name
        (programs / name).symlink_to(found)

    def run(*command: str, user: int | None = None, **scripts: str) -> subprocess.CompletedProcess[str]:
        for name, script in scripts.items():
            (programs / name).unlink(missing_ok=True)
            (programs / name).write_text(f"#!/bin/sh\n{script}\n")
            (programs / name).chmod(0o755)
        return subprocess.run(
            command, cwd=folder, env={"PATH": str(programs)}, capture_output=True, text=True, user=user, timeout=60
        )

    return run


def error(finished: subprocess.CompletedProcess[str]) -> str:
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr.count("error: ") == finished.stderr.count("\n  try: ") == 1
    return finished.stderr


def without(*names: str) -> dict[str, str]:
    return {name: script for name, script in GOOD.items() if name not in names}


def test_a_good_machine_has_its_python_named(machine: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    finished = machine("tools/preflight", **GOOD)
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "python3\n", "")
    newer = machine("tools/preflight", **{"python3.13": "exit 0"})
    assert newer.stdout == "python3.13\n"


@pytest.mark.parametrize(
    ("scripts", "said"),
    [
        (without("cc"), "the set-up needs gcc libc6-dev\n  try: sudo apt-get install gcc libc6-dev"),
        (GOOD | {"cc": "exit 1"}, "the set-up needs gcc libc6-dev\n"),
        (without("python3"), "the set-up needs python3 python3-venv\n"),
        (without("cc", "python3"), "the set-up needs gcc libc6-dev python3 python3-venv\n"),
        (
            GOOD | {"python3": 'case "$*" in --version) echo "Python 3.10.12";; *) exit 1;; esac'},
            "the set-up needs Python 3.11 or newer; this is Python 3.10.12\n  try: a newer one beside it",
        ),
        (
            GOOD | {"python3": 'case "$*" in *ensurepip*) exit 1;; *) exit 0;; esac'},
            "the set-up needs python3-venv\n  try: sudo apt-get install python3-venv",
        ),
        (without("cargo"), "the set-up needs Rust 1.95 or newer (cargo)\n  try: https://rustup.rs"),
        (GOOD | {"cargo": "exit 1"}, "cargo does not run here\n  try: rustup default stable"),
        (
            GOOD | {"cargo": "echo 'cargo 1.94.9 (abc)'"},
            "the set-up needs Rust 1.95 or newer; this is 1.94\n  try: rustup update stable",
        ),
        (
            GOOD | {"df": "printf 'Filesystem\\nx 9 9 1535999 9 /\\n'"},
            "the set-up takes 1500 MB, and 1499 MB are free in",
        ),
    ],
)
def test_what_is_missing_is_one_error(
    machine: Callable[..., subprocess.CompletedProcess[str]], scripts: dict[str, str], said: str
) -> None:
    assert f"error: {said}" in error(machine("tools/preflight", **scripts))


@pytest.mark.parametrize("cargo", ["1.95.0", "1.96.0", "2.0.0", "1.100.0"])
def test_rust_may_be_newer(machine: Callable[..., subprocess.CompletedProcess[str]], cargo: str) -> None:
    assert machine("tools/preflight", **GOOD | {"cargo": f"echo 'cargo {cargo} (abc)'"}).returncode == 0


def test_just_enough_room_is_enough(machine: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    assert machine("tools/preflight", **GOOD | {"df": "printf 'Filesystem\\nx 9 9 1536000 9 /\\n'"}).returncode == 0


@pytest.mark.needs("privileges")
def test_a_folder_of_somebody_else_is_one_error(
    machine: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    for folder in (tmp_path, *list(tmp_path.parents)[:2]):
        folder.chmod(0o755)
    said = error(machine("tools/preflight", user=NOBODY, **GOOD))
    assert f"error: this folder cannot be written to: {tmp_path / 'a clone'}\n" in said


@pytest.mark.needs("privileges")
def test_root_gets_packages_installed(machine: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    """If apt-get exists; here it is a stand-in that installs only a compiler."""
    cc = tmp_path / "bin" / "cc"
    install = f'case "$*" in *gcc*) printf "#!/bin/sh\\nexit 0\\n" > "{cc}"; /bin/chmod 755 "{cc}";; esac'
    assert machine("tools/preflight", **without("cc"), **{"apt-get": install}).returncode == 0
    cc.unlink()
    refused = error(machine("tools/preflight", **{"apt-get": "echo 'E: no network' >&2; exit 100"}))
    assert refused == (
        "E: no network\nerror: apt-get could not install gcc libc6-dev\n"
        "  try: check the network, and what apt-get says above\n"
    )


def test_a_step_that_fails_leaves_nothing_behind(
    machine: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    begun = tmp_path / "a clone" / ".venv"
    begun.mkdir()
    said = error(machine("tools/attempt", "installing it", ".venv", "sh", "-c", "echo no network >&2; exit 7"))
    assert said.startswith(
        "no network\nerror: installing it failed; the reason stands above\n  try: if it is the network"
    )
    assert not begun.exists()
    begun.mkdir()
    full = machine("tools/attempt", "installing it", "", "sh", "-c", "exit 1", df="printf 'x\\nx 9 9 99 9 /\\n'")
    assert error(full) == (
        "error: installing it failed: the disk is full\n  try: free some space, then the same command again\n"
    )
    assert begun.exists()
    assert machine("tools/attempt", "installing it", ".venv", "sh", "-c", "exit 0").returncode == 0
    assert begun.exists()


def test_an_environment_that_was_whole_is_kept(tmp_path: Path) -> None:
    """Only the first set-up removes what it began: make recognises completed steps by their stamps."""
    shutil.copy(REPOSITORY / "Makefile", tmp_path)
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "lab.txt").touch()

    def planned() -> str:
        command = ["make", "-n", ".venv/stamps/python"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    assert '"installing Python packages" ".venv"' in planned()
    stamps = tmp_path / ".venv" / "stamps"
    stamps.mkdir(parents=True)
    (stamps / "python").touch()
    os.utime(stamps / "python", (0, 0))
    assert '"installing Python packages" ""' in planned()
