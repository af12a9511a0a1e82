# SPDX-License-Identifier: MIT OR Apache-2.0
"""Messages of an installed lab about parts that only the source tree has. tests/wheel tests the rest."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Finished
from marklab import paths
from marklab.ns3 import __main__ as ns3_main
from marklab.ns3 import peer
from marklab.p4tools.peers import bmv2, conformance, differential

SAYS = "is not part of an installed lab"


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "IN_TREE", False)


def test_a_page_of_the_tree_is_not_written(cli: Callable[..., Finished]) -> None:
    done = cli("fidelity")
    assert done.code == 2
    assert SAYS in done.err
    assert "try: run it in a clone of the repository" in done.err


def test_neither_is_that_of_p4cs_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["conformance", str(tmp_path)])
    assert conformance.main() == 2
    assert SAYS in capsys.readouterr().err


def test_the_program_that_links_ns_3_is_not_built(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(peer, "missing", list)
    assert ns3_main.main([]) != 0
    assert SAYS in capsys.readouterr().err


def test_neither_is_that_of_bmv2(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(bmv2, "missing_tools", list)
    assert differential.main() == 2
    assert SAYS in capsys.readouterr().err
