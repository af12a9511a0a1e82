# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every command of README.md and docs/ runs, word for word.

The commands of a page run in its order, in a folder that is like the repository and has no results, so that later
ones find the results of earlier ones. The words of a command are those of the page, with three exceptions:

- less effort: a run, a sweep, a crosscheck or a reproduction without a number of flows and seeds gets `--flows 200`
  and `--seeds 1`;
- `python` is the lab's own;
- the port of Dask's scheduler is a free port.

Comments above a block (tests/pages.py) name its needs, the other test that runs it, or the reason why no test does.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from marklab.cli.main import _COMMANDS
from marklab.paths import REPOSITORY
from needs import lacking, reason
from pages import MARKS, PAGES, blocks
from servers import free_port

# Folders and files that commands write, or search beside themselves; all others are only read.
_COPIED = ("docs", "experiments", "orchestrator", "orchestrator.py", "p4src")
_LEFT_OUT = ("results", "promoted", "artifacts", "repeated", "site")

# This many flows include all size classes.
_EFFORT = {"--flows": 200, "--seeds": 1}
_RUN = re.compile(r"python orchestrator\.py (?:(?:run|sweep|crosscheck|reproduce) |(?=-)(?!--help))")
_SETS_UP = re.compile(r"^\s*(?:make|sudo|apt-get|docker|docker-compose|pip|git)\b", re.MULTILINE)
_DASK_PORT = "8786"

# Commands that need something that `doctor` looks for.
_NEEDED_BY = {
    r"--fabric mininet|orchestrator\.py (?:crosscheck|lab)\b": {"privileges", "Mininet"},
    r"--switch bmv2": {"BMv2"},
    r"p4runtime_sh": {"p4runtime-shell"},
    r"make differential": {"simple_switch"},
    r"make conformance": {"P4C_CHECKOUT"},
    r"make ns3|marklab\.ns3": {"ns-3"},
    r"make hosts|marklab\.hosts (?!--offline)": {"privileges", "Mininet"},
    r"\btcpdump\b": {"tcpdump"},
    r"\bdocker(?:-compose)? ": {"Docker"},
}

_PATIENCE_S = 300


def with_less_effort(line: str) -> str:
    """A line of a page, as this test runs it."""
    found = _RUN.search(line)
    if found is None:
        return line
    added = "".join(f"{option} {value} " for option, value in _EFFORT.items() if option not in line)
    return line[: found.end()] + added + line[found.end() :]


def fill(folder: Path) -> None:
    """Fill a folder so that commands find the same files as in the repository."""
    for path in REPOSITORY.iterdir():
        if path.name in _COPIED and path.is_dir():
            # The package's data remain links, now to the copies.
            shutil.copytree(path, folder / path.name, symlinks=True)
        elif path.name in _COPIED:
            shutil.copy2(path, folder / path.name)
        elif path.name not in _LEFT_OUT and not path.name.startswith(".git"):
            (folder / path.name).symlink_to(path)


def run(script: str, folder: Path) -> tuple[int, str]:
    """Run a block in a shell that ends at the first error; returns the exit code and the complete output."""
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ}
    path = f"{folder / '.venv' / 'bin'}:{os.environ['PATH']}"
    # A file, because background processes of a block would keep a pipe open.
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(
            ["bash", "-exc", script],
            cwd=folder,
            env=kept | {"PATH": path},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        try:
            code = process.wait(_PATIENCE_S)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        said.seek(0)
        # Output has absolute paths of folders; pages have paths relative to the repository.
        return code, said.read().decode().replace(f"{folder}/", "")


EACH_PAGE = pytest.mark.parametrize("page", [pytest.param(page, id=page.name) for page in PAGES])


@EACH_PAGE
def test_the_commands_of_a_page(page: Path, tmp_path: Path, subtests: pytest.Subtests) -> None:
    fill(tmp_path)
    port = str(free_port())
    for block in blocks(page):
        if "save as" in block.marks:
            path = tmp_path / block.marks["save as"]
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(block.text, encoding="utf-8")
        if not block.script or "tested by" in block.marks or "not run" in block.marks:
            continue
        with subtests.test(str(block)):
            assert not _SETS_UP.search(block.script), "what changes the machine is not run by a test"
            if absent := lacking(block.needs):
                pytest.skip(reason(absent))
            lines = map(with_less_effort, block.script.replace(_DASK_PORT, port).splitlines())
            code, said = run("\n".join(lines), tmp_path)
            assert code == int(block.marks.get("exits with", 0)), said
            if block.output is not None:
                printed = " ".join(line for line in said.splitlines() if not line.startswith("+ "))
                assert re.fullmatch(block.output, " ".join(printed.split())), said


ALL = [block for page in PAGES for block in blocks(page)]


def test_comments_above_blocks_are_known() -> None:
    for block in ALL:
        for mark, says in block.marks.items():
            assert mark in MARKS, f"{block}: {mark}"
            assert says, f"{block}: {mark}"
        # The test that is said to run a block exists.
        for path in re.findall(r"[\w.]+/[\w./]+", block.marks.get("tested by", "")):
            assert (REPOSITORY / path).exists(), f"{block}: {path}"


@EACH_PAGE
def test_commands_stand_in_blocks(page: Path) -> None:
    """So that the test above finds them: neither in the text nor indented."""
    text = re.sub(r"<!--.*?-->", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert re.findall(r"`python orchestrator\.py [^`]*`", text) == []
    assert re.findall(r"^ {4,}(?:\$ )?(?:python|make|docker|sudo|PYTHONPATH|\.venv/).*$", text, re.MULTILINE) == []
    # An indented fence would not be found either.
    assert re.findall(r"^ +```", text, re.MULTILINE) == []


def test_every_command_of_the_lab_is_shown() -> None:
    shown = "\n".join(block.script for block in ALL)
    for command in _COMMANDS:
        assert re.search(rf"orchestrator\.py {command}\b", shown) or command == "run", command


def test_what_a_block_needs_is_said_above_it() -> None:
    """So that readers know it before typing, in the words of `doctor`."""
    for block in ALL:
        lacking(block.needs)
        commands = re.sub(r"\s#.*|apt-get .*", "", block.script)
        for command, names in _NEEDED_BY.items():
            if re.search(command, commands):
                assert names <= set(block.needs), f"{block} needs {names}"
        for name in block.needs:
            assert re.search(rf"\b{re.escape(name)}\b", block.above), f"{block} needs {name}: say so above it"


def test_effort_is_only_added_where_none_is_stated() -> None:
    said = "python orchestrator.py -s tcn --flows 7 > a  # why"
    assert with_less_effort(said) == "python orchestrator.py --seeds 1 -s tcn --flows 7 > a  # why"
    assert with_less_effort("python orchestrator.py sweep a.yaml") == (
        "python orchestrator.py sweep --flows 200 --seeds 1 a.yaml"
    )
    for said in ("python orchestrator.py schemes tcn", "python orchestrator.py --help", "make run"):
        assert with_less_effort(said) == said
