# SPDX-License-Identifier: MIT OR Apache-2.0
"""docs/p4.md shows what the commands print, word for word."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Finished

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "p4.md").read_text()
SHOWN = re.findall(r"```\n\$ python orchestrator\.py ([^\n]*)\n(.*?)```", TEXT, re.DOTALL)


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_what_the_commands_print(
    command: str, output: str, cli: Callable[..., Finished], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("p4src", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "mistakes.p4").write_text(blocks("p4")[0])
    (tmp_path / "wrong.stf").write_text(blocks("stf")[0])
    monkeypatch.chdir(tmp_path)
    finished = cli(*shlex.split(command))
    printed = [line.rstrip() for line in (finished.out + finished.err).replace(f"{tmp_path}/", "").splitlines()]
    assert printed == output.splitlines()
