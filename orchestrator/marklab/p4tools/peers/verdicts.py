# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs that behave differently in BMv2 or its compiler, and which side is right (`verdicts.yaml`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from marklab.model import read_yaml

VERDICTS = Path(__file__).with_name("verdicts.yaml")


@dataclass(frozen=True)
class Difference:
    """A difference with one cause."""

    # Names of p4c's samples, or a description of another program.
    programs: Sequence[str]
    difference: str
    # Which side is right, by which section of the specification.
    verdict: str
    # The program of tests/p4 that shows the lab's behaviour.
    test: str


def differences() -> Mapping[str, Difference]:
    """All known differences, by title."""
    return {title: Difference(**parts) for title, parts in read_yaml(VERDICTS).items()}


def section() -> Iterator[str]:
    """The section of the page about differences."""
    yield "\n## Differences from BMv2\n\n"
    yield (
        "Programs that behave differently in p4c-bm2-ss 1.2.5.16 or simple_switch 1.15.5. "
        "Section numbers refer to version 1.2.5 of the P4_16 specification.\n"
    )
    for title, each in differences().items():
        yield f"\n### {title}\n\n{each.difference}\n\n{each.verdict}\n\n"
        yield f"Found with {'; '.join(each.programs)}. Tested by tests/p4/{each.test}.\n"
