# SPDX-License-Identifier: MIT OR Apache-2.0
"""Where BMv2 or its compiler make something else of a program than the lab, and who is right (`verdicts.yaml`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from marklab.model import read_yaml

VERDICTS = Path(__file__).with_name("verdicts.yaml")


@dataclass(frozen=True)
class Difference:
    """A difference with one cause."""

    # Samples of p4c, or what a program has that is none of them.
    programs: Sequence[str]
    difference: str
    # Who is right, by which section.
    verdict: str
    # The program of tests/p4 that shows what the lab does.
    test: str


def differences() -> Mapping[str, Difference]:
    """All that are known, by title."""
    return {title: Difference(**parts) for title, parts in read_yaml(VERDICTS).items()}


def section() -> Iterator[str]:
    """The part of the page about them."""
    yield "\n## Differences from BMv2\n\n"
    yield (
        "What p4c-bm2-ss 1.2.5.16 or simple_switch 1.15.5 make of a program where the lab makes something else. "
        "Sections are those of version 1.2.5 of the P4_16 specification.\n"
    )
    for title, each in differences().items():
        yield f"\n### {title}\n\n{each.difference}\n\n{each.verdict}\n\n"
        yield f"Found with {'; '.join(each.programs)}. Tested by tests/p4/{each.test}.\n"
