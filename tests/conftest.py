# SPDX-License-Identifier: MIT OR Apache-2.0
"""Fixtures and hooks that several tests share."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from hypothesis import settings

from marklab.catalog.parameters import Setup
from marklab.cli.main import main
from marklab.traffic.rtt import parse_rtt
from needs import lacking, names_of, reason

# Tests that run real switches and hosts need the machine for themselves.
_REAL_TIME = ("test_hosts", "test_lab", "test_lab_bmv2", "test_live", "test_mininet")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--needing", metavar="NAME", help="only tests that need this thing, as `doctor` calls it")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.stem in _REAL_TIME:
            item.add_marker(pytest.mark.real_time)
        if absent := lacking(names_of(item)):
            item.add_marker(pytest.mark.skip(reason(absent)))
    if wanted := config.getoption("--needing"):
        lacking([wanted])
        left_out = [item for item in items if wanted not in names_of(item)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if wanted in names_of(item)]


settings.register_profile("lab", deadline=None, derandomize=True)
settings.load_profile("lab")


@pytest.fixture
def testbed() -> Setup:
    """The testbed of the ECN# paper, section 5.2."""
    return Setup(10**10, parse_rtt("70us..210us"), 1.0, 600)


@dataclass
class Finished:
    code: int
    out: str
    err: str


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Finished]]:
    """The command line, in this process."""
    monkeypatch.setenv("COLUMNS", "200")
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def call(*arguments: str) -> Finished:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        captured = capsys.readouterr()
        code = ended.value.code
        return Finished(code if isinstance(code, int) else 0, captured.out, captured.err)

    yield call
    for number, handler in handlers.items():
        signal.signal(number, handler)
