# SPDX-License-Identifier: MIT OR Apache-2.0
"""More seeds for claims that are undetermined: as many as their intervals need, and only at points that matter."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import ceil

from marklab.papers.claims import Claim, Settings
from marklab.papers.experiment import Size
from marklab.papers.findings import Finding, by_point
from marklab.papers.reproduction import Reproduction
from marklab.papers.verdicts import Verdict

# Value and spread come from few seeds, so the number that they ask for is often too small. More are run at once rather
# than in rounds: each look at an interval is another chance of a wrong verdict.
_MARGIN = 1.5


def sizes_to_decide(done: Reproduction, most: int) -> tuple[Size, ...]:
    """The points that need more seeds than a run has, with their seeds. Claims that need more than `most` are left.

    The seeds follow from the spread and the value of the run (`Finding.seeds_needed`), with a margin.
    """
    pairs = zip(done.paper.points(), done.summaries, strict=True)
    points = [(point, summary) for point, summary in pairs if summary is not None]
    seeds: dict[str, int] = {}
    for finding in done.findings:
        needed = finding.seeds_needed
        if needed is None or needed > most:
            continue
        for point in _that_matter(finding.claim, by_point(finding.claim, points)):
            key = json.dumps(point, sort_keys=True)
            seeds[key] = max(ceil(_MARGIN * needed), seeds.get(key, 0))
    return tuple(Size(at=json.loads(key), seeds=count) for key, count in seeds.items())


def _that_matter(claim: Claim, found: Sequence[Finding]) -> list[Settings]:
    """The points on which a claim rests: of an extreme, those that may have it within the noise."""
    intervals = [finding.interval or (0.0, 0.0) for finding in found]
    match claim.take:
        case "lowest":
            matter = [low <= min(high for _, high in intervals) for low, _ in intervals]
        case "highest":
            matter = [high >= max(low for low, _ in intervals) for _, high in intervals]
        case "farthest":
            # A bound has to hold at every point: those where it holds need no more.
            matter = [finding.verdict() is not Verdict.AGREES for finding in found]
        case _:
            matter = [True for _ in found]
    own = [finding.point or {} for finding, matters in zip(found, matter, strict=True) if matters]
    return [each for point in own for change in claim.changes(point) for each in change]
