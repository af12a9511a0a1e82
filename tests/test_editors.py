# SPDX-License-Identifier: MIT OR Apache-2.0
"""The settings of docs/editors.md, in the editors: a program with a mistake gets its message."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from marklab.paths import REPOSITORY
from pages import blocks

PAGE = REPOSITORY / "docs" / "editors.md"
MESSAGE = "`queue_signals_t` has no field `sojourn`"

_PATIENCE_S = 60

# They wait for the message, show it, and end.
_NEOVIM = """
vim.cmd("edit " .. os.getenv("PROGRAM"))
vim.wait(30000, function() return #vim.diagnostic.get(0) > 0 end)
for _, each in ipairs(vim.diagnostic.get(0)) do print(each.lnum + 1, each.message) end
vim.cmd("qa!")
"""
_EMACS = """
(setq eglot-sync-connect 30)
(find-file (getenv "PROGRAM"))
(run-hooks 'post-command-hook)
(let ((until (+ (float-time) 30)))
  (while (and (< (float-time) until) (null (flymake-diagnostics))) (accept-process-output nil 0.2)))
(dolist (each (flymake-diagnostics))
  (message "%d %s" (line-number-at-pos (flymake-diagnostic-beg each)) (flymake-diagnostic-text each)))
"""


def settings(language: str) -> str:
    (block,) = (block for block in blocks(PAGE) if block.language == language)
    return block.text


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A program with a mistake in line 27, and `marklab` as a command."""
    shutil.copytree(REPOSITORY / "p4src", tmp_path / "p4src")
    program = tmp_path / "p4src" / "v1model" / "tcn.p4"
    program.write_text(program.read_text().replace("q.sojourn_us", "q.sojourn"))
    command = tmp_path / "bin" / "marklab"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{REPOSITORY / "orchestrator.py"}" "$@"\n')
    command.chmod(0o755)
    path = f"{command.parent}:{os.environ['PATH']}"
    return {"PATH": path, "HOME": str(tmp_path), "PROGRAM": str(program)}


@pytest.mark.needs("nvim")
def test_neovim(environment: dict[str, str], tmp_path: Path) -> None:
    init = tmp_path / "init.lua"
    init.write_text(settings("lua") + _NEOVIM)
    done = subprocess.run(
        ["nvim", "--headless", "-u", init], env=environment, capture_output=True, text=True, timeout=_PATIENCE_S
    )
    assert f"27 {MESSAGE}" in " ".join((done.stdout + done.stderr).split())


@pytest.mark.needs("emacs")
def test_emacs(environment: dict[str, str], tmp_path: Path) -> None:
    init = tmp_path / "init.el"
    init.write_text(settings("elisp") + _EMACS)
    done = subprocess.run(
        ["emacs", "--batch", "-l", init], env=environment, capture_output=True, text=True, timeout=_PATIENCE_S
    )
    assert f"27 marklab [E0310]: {MESSAGE}" in done.stderr
