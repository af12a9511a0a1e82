# SPDX-License-Identifier: MIT OR Apache-2.0
"""`orchestrator.py` as users start it: other Pythons, other folders, signals."""

import ast
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
ENTRY = REPOSITORY / "orchestrator.py"


def other_pythons() -> list[str]:
    """Pythons that are not the lab's own, of any version."""
    names = ["python3", "python2", *(f"python3.{minor}" for minor in range(6, 15))]
    found = {shutil.which(name, path="/usr/bin:/usr/local/bin:/bin") for name in names}
    return sorted(path for path in found if path)


@pytest.mark.parametrize("python", other_pythons())
def test_any_python_hands_over_to_the_labs_own(python: str, tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": "/nowhere", "PYTHONHOME": ""}
    done = subprocess.run(
        [python, ENTRY, "reproduce", "list"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "ecnsharp-testbed" in done.stdout


def test_the_syntax_is_one_that_old_pythons_read() -> None:
    """It may use neither f-strings nor syntax newer than the oldest version that Python's parser can check."""
    ast.parse(ENTRY.read_text(), feature_version=(3, 4))
    assert "f'" not in ENTRY.read_text()
    assert 'f"' not in ENTRY.read_text()


def test_without_set_up_it_says_what_to_do(tmp_path: Path) -> None:
    shutil.copy(ENTRY, tmp_path)
    done = subprocess.run([sys.executable, tmp_path / "orchestrator.py"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "make setup" in done.stderr
    assert "Traceback" not in done.stderr


def start(tmp_path: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start a long run, and wait until it has begun."""
    process = subprocess.Popen(
        [
            # Under nohup, children of these tests would inherit that SIGHUP is ignored, which a run respects. Not by
            # `preexec_fn`: gRPC, which other tests have loaded, may then print errors between fork and exec.
            "env",
            "--default-signal=HUP",
            sys.executable,
            ENTRY,
            "-s",
            "tcn",
            "--flows",
            "200000",
            "--load",
            "0.9",
            "--out",
            tmp_path / "out",
            *arguments,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("out/.*.tmp")):
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    return process


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_the_run_and_leaves_nothing(tmp_path: Path, number: signal.Signals, code: int) -> None:
    process = start(tmp_path, "--json")
    time.sleep(0.5)
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (code, "")
    assert err == "error: interrupted: nothing was kept of this run\n"
    assert list((tmp_path / "out").iterdir()) == []


def test_a_killed_run_leaves_no_result_and_the_next_one_cleans_up(tmp_path: Path) -> None:
    process = start(tmp_path)
    process.kill()
    process.communicate()
    assert [path for path in (tmp_path / "out").iterdir() if not path.name.startswith(".")] == []
    done = subprocess.run(
        [sys.executable, ENTRY, "-s", "tcn", "--flows", "50", "--out", tmp_path / "out"],
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0
    assert [path.name.startswith("tcn-") for path in (tmp_path / "out").iterdir()] == [True]


def test_a_full_disk_is_one_message(tmp_path: Path) -> None:
    """Simulated by a limit on file sizes: the kernel refuses a write in the middle of a file."""
    command = f'ulimit -f 8; exec "{sys.executable}" "{ENTRY}" -s tcn --flows 3000 --seeds 1 --out "{tmp_path}/out"'
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: cannot write the result: File too large")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    command = f'"{sys.executable}" "{ENTRY}" schemes | head -n 1'
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("acc")
    assert done.stderr == ""


@pytest.mark.needs("script")
def test_progress_goes_to_a_terminal_only(tmp_path: Path) -> None:
    run = f"{sys.executable} {ENTRY} -s tcn --flows 3000 --json --out {tmp_path}/out"
    done = subprocess.run(
        ["script", "-qec", f"{run} > {tmp_path}/stdout", "/dev/null"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0
    assert "flows" in done.stdout
    assert "%" in done.stdout
    assert (tmp_path / "stdout").read_text().startswith('{"spec"')


def loaded_by(arguments: list[str], cwd: Path = REPOSITORY) -> set[str]:
    """The modules that a command has loaded when it ends."""
    script = (
        "import sys, atexit; from marklab.cli.main import main;"
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr));"
        "main(sys.argv[1:])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], cwd=cwd, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


@pytest.mark.parametrize("arguments", [["--help"], ["schemes"], ["compare", "--help"]])
def test_commands_without_a_run_load_no_heavy_library(arguments: list[str]) -> None:
    """Loading would cost each of them a quarter of a second or more."""
    assert not loaded_by(arguments) & {"polars", "scipy"}


def test_a_run_loads_no_other_command_and_of_one_seed_no_statistics(tmp_path: Path) -> None:
    run = ["run", "-s", "tcn", "--flows", "50", "--seeds", "1", "--json", "--no-report", "--out", str(tmp_path)]
    loaded = loaded_by(run)
    assert "marklab.cli.run" in loaded
    assert not loaded & {"marklab.cli.compare", "marklab.cli.sweep", "scipy"}


RUN = f'"{sys.executable}" "{ENTRY}" -s tcn --flows 50 --seeds 1'


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (f"{RUN} --out out >&-", 0, ""),
        (f"{RUN} --out out --json >&-", 0, ""),
        (f"{RUN} --out out 2>&- | grep -c 'overall mean'", 0, ""),
        (f"{RUN} --out out >/dev/full", 2, "error: standard output: No space left on device\n"),
        (f"{RUN} --out out --json >/dev/full", 2, "error: standard output: No space left on device\n"),
        (f"PYTHONIOENCODING=ascii {RUN} --out out", 0, ""),
        (f"PYTHONIOENCODING=ascii {RUN} --out out --json", 0, ""),
        (f"env -u HOME LANG=C {RUN} --out out", 0, ""),
        (f"{RUN} --out file", 2, "error: cannot write the result: File exists (file)\n"),
    ],
)
def test_streams_and_surroundings_of_every_kind(tmp_path: Path, command: str, code: int, said: str) -> None:
    """Closed or full streams, limited encodings, a shell without a home: no traceback, and the right exit code."""
    (tmp_path / "file").touch()
    done = subprocess.run(["/bin/sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == code
    assert done.stderr.startswith(said)
    assert (done.stderr == "") == (said == "")


def test_the_code_of_a_reader_that_goes_away_is_not_that_of_a_broken_rule() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, ENTRY, "schemes"], stdout=write, stderr=subprocess.PIPE, timeout=60)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.needs("script")
def test_a_terminal_of_ten_columns_loses_no_number(tmp_path: Path) -> None:
    run = f"stty cols 10; unset COLUMNS; NO_COLOR=1 {sys.executable} {ENTRY} -s tcn --flows 50 --out {tmp_path}/out"
    done = subprocess.run(["script", "-qec", run, "/dev/null"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert "100%" in done.stdout
    assert re.search(r"overall mean +[0-9,]+ ±[0-9,]+", done.stdout)
    assert "…" not in done.stdout
