# SPDX-License-Identifier: MIT OR Apache-2.0
"""Why the lab's numbers differ from a paper's, in words: what was varied, and what that did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from marklab.papers.experiment import Column
from marklab.papers.findings import Finding
from marklab.papers.pages.recorded import RecordedExperiment
from marklab.papers.records import RecordedVariations, read_record, recorded_variations
from marklab.papers.table import brief_text, effort, verdict_text
from marklab.papers.variations import Effect, Tried
from marklab.papers.verdicts import Verdict


def differences(one: RecordedExperiment) -> Iterator[str]:
    """Of claims that disagree with the reading, what explains them, or what was varied without explaining them."""
    tried, left = recorded_variations(one.name), []
    for found in one.in_column(Column.READING):
        says = found.claim.says
        if found.verdict() is not Verdict.DISAGREES:
            continue
        if says in tried:
            yield f"- **{says}**: {_why(tried[says])}"
        else:
            left.append(says)
    kept = read_record(one.name).variations
    if tried and kept is not None:
        yield f"- {_size_of_variations(one, kept)}"
    if left:
        yield f"- Unexplained, nothing was varied yet: {'; '.join(left)}."


def in_brief(finding: Finding, tried: Sequence[Tried]) -> str:
    """What is known of a claim that does not agree: what explains it, or what it would take; `tried` is about it."""
    match finding.verdict():
        case Verdict.AGREES:
            return ""
        case Verdict.NOT_RUN:
            return "it was not run yet"
        case Verdict.UNDETERMINED:
            return verdict_text(finding).partition(": ")[2] + " would decide it"
    explains = [each for each in tried if each.effect is Effect.EXPLAINS]
    if explains:
        return f"explained by {_numbers(explains)}"
    return f"unexplained: {_tries(tried)}"


def _tries(tried: Sequence[Tried]) -> str:
    """How many changes were tried in vain."""
    if not tried:
        return "nothing was varied yet"
    clear = sum(each.effect is not Effect.UNCLEAR for each in tried)
    if not clear:
        return "what was tried had too few runs to tell"
    return "one change was tried" if clear == 1 else f"{clear} changes were tried"


def _why(tried: Sequence[Tried]) -> str:
    """What was varied for a claim, by what it did."""
    by_effect = {effect: [each for each in tried if each.effect is effect] for effect in Effect}
    explains, moves = by_effect[Effect.EXPLAINS], by_effect[Effect.MOVES]
    said = [f"explained by {_numbers(explains)}" if explains else "unexplained"]
    said[0] += f"; as it is {brief_text(tried[0].as_it_is)}"
    if moves:
        said.append(f"{'Also moved' if explains else 'Moved, without agreeing,'} by {_numbers(moves)}")
    for effect, words in (
        (Effect.NOTHING, "Not moved by"),
        (Effect.UNCLEAR, "Too few runs to tell what was done by"),
        (Effect.UNKNOWN, "No number with"),
    ):
        if by_effect[effect]:
            said.append(f"{words} {', '.join(f'*{each.says}*' for each in by_effect[effect])}")
    return ". ".join(said) + "."


def _numbers(tried: Sequence[Tried]) -> str:
    return ", ".join(f"*{each.says}* ({brief_text(each.finding)})" for each in tried)


def _size_of_variations(one: RecordedExperiment, kept: RecordedVariations) -> str:
    paper = one.papers.get(Column.READING, one.paper).with_effort(kept.effort)
    hours = f"{kept.cpu_s / 3600:.2f} CPU hours"
    return f"Varied one at a time, from the reading: {effort(paper)}; {kept.date}{at_commit(kept.commit)}, {hours}."


def at_commit(commit: str | None) -> str:
    """The commit of a run as part of a sentence, if it is known."""
    if commit is None:
        return ""
    changed = ", with changes" if commit.endswith("-dirty") else ""
    return f" at commit {commit[:10]}{changed}"
