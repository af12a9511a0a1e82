# SPDX-License-Identifier: MIT OR Apache-2.0
"""The lab's switch against BMv2's: `make differential` writes docs/differential.md."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

from marklab.catalog.scheme import known_schemes
from marklab.errors import MarklabError
from marklab.p4tools.peers import bmv2, bursts, random_packets
from marklab.p4tools.peers.bursts import Decisions
from marklab.p4tools.peers.random_packets import SwitchComparison
from marklab.p4tools.stf.outcome import CLOCKS
from marklab.paths import REPOSITORY, require_tree
from marklab.tables import markdown

PAGE = REPOSITORY / "docs" / "differential.md"


def differential_page(
    comparisons: Sequence[SwitchComparison], decisions: Sequence[Decisions], seed: int, versions: Mapping[str, str]
) -> str:
    """The page."""
    tools = " and ".join(f"{tool} {version}" for tool, version in versions.items())
    clocks = ", ".join(f"`{name}`" for name in CLOCKS)
    text = "# Against BMv2\n\n<!-- Written by `make differential`. -->\n\n"
    text += (
        "For P4 engineers who ask whether the lab's switch behaves like BMv2. Both received the same packets. The "
        f"tools were {tools}. The comparison covers all packets of each port "
        "in their order, the cells of registers, and packets and bytes of counters. It leaves out state that holds a "
        f"time, or depends on how fast packets follow each other: {clocks}. To repeat it, with the tools on "
        "`PATH`:\n\n<!-- needs: simple_switch -->\n<!-- tested by: tests/stf/test_differential.py -->\n"
        "```sh\nmake differential\n```\n"
    )
    text += "".join(_random_packets(comparisons, seed)) + "".join(_marks(decisions))
    for comparison in comparisons:
        text += "".join(_told(comparison.program, comparison.differences))
    for each in decisions:
        text += "".join(_told(setting(each), each.differences))
    return text


def _told(what: str, differences: Sequence[str]) -> Iterator[str]:
    for difference in differences:
        yield f"\n{what}:\n\n```\n{difference}\n```\n"


def _random_packets(comparisons: Sequence[SwitchComparison], seed: int) -> Iterator[str]:
    same = sum(not comparison.differences for comparison in comparisons)
    yield (
        "\n## Random packets\n\n"
        f"Packets of the packet tests, most with random changes (seed {seed}), pass one at a time through empty "
        "queues. Both switches have the entries, members, rates and sessions of the tests. Schemes have thresholds "
        "that no packet reaches, so this compares a scheme's state and the switch around it, but no decision to "
        "mark.\n\n"
        f"{same} of {len(comparisons)} programs behave the same.\n\n"
    )
    columns = ("program", "packets in", "packets out", "marks: lab / BMv2", "register cells", "counter cells", "")
    yield from _lines(markdown.table(columns, map(_compared, comparisons), "lrrrrr"))
    yield "\nLeft out:\n\n"
    yield from (f"- p4src/v1model/{name}.p4: {reason}\n" for name, reason in random_packets.left_out().items())
    without = random_packets.TIMED | random_packets.REFUSED
    yield from (f"- tests/p4/{name}.p4: {reason}\n" for name, reason in without.items())
    yield from _beyond(comparisons)
    yield "\nCompiled without P4Info:\n\n"
    yield from (f"- tests/p4/{name}.p4: {reason}\n" for name, reason in random_packets.WITHOUT_P4INFO.items())


def _compared(each: SwitchComparison) -> list[object]:
    marks = "" if each.marks is None else _both(*each.marks)
    return [each.program, each.packets, each.sent, marks, each.registers, each.counters, each.verdict]


def _lines(lines: Iterable[str]) -> Iterator[str]:
    return (f"{line}\n" for line in lines)


def _beyond(comparisons: Sequence[SwitchComparison]) -> Iterator[str]:
    if not any(each.beyond for each in comparisons):
        return
    yield (
        "\nBy v1model.p4, nothing is written or counted beyond the end of an array. Built without assertions "
        "(`NDEBUG`), simple_switch does not check where an array ends, and is killed by a signal. If that happened, "
        "packets that access such a cell were left out:\n\n"
    )
    yield from (f"- {each.program}: {each.beyond} packets\n" for each in comparisons if each.beyond)


def _marks(decisions: Sequence[Decisions]) -> Iterator[str]:
    same = sum(not each.differences for each in decisions)
    packets, depth, step_ms = len(bursts.packets()), bursts.DEPTH_PACKETS, round(1e3 * bursts.STEP_S)
    late_ms = round(1e3 * bursts.LATE_S)
    yield (
        "\n## Marks\n\n"
        f"{packets} packets of one flow, with all ECN code points, arrive at a queue of {depth} packets "
        f"(`set_queue_depth`) at {bursts.RATE_PPS} packets/s (`set_queue_rate`). The first packet leaves at once, and "
        f"the others arrive before the second one leaves: {depth} wait, and {packets - depth - 1} find the queue full. "
        "So each packet sees the same queue length on both sides, on arrival and on departure, and marks by length "
        f"must agree packet by packet. Packets leave at intervals of {step_ms} ms, by the machine's clock in BMv2 and "
        "in virtual time in the lab. Marks by time are compared only if they do not depend on a few ms: thresholds lie "
        f"between two sojourn times, decisions are the same if departures are up to {late_ms} ms late (tested), and a "
        "burst is sent again if BMv2 sends a packet later. For an empty queue no rate is set, and its packets arrive "
        "one at a time.\n\n"
        "Not compared are marks with probabilities between 0 and 1, since the two switches draw different random "
        "numbers; times near a threshold; and several queues of a port, which BMv2 does not have for these "
        "programs.\n\n"
        f"{same} of {len(decisions)} bursts give the same decisions. Each packet is a letter: `M` marked, `.` not "
        "marked, `x` lost or dropped. Counts are packets, in the lab / in BMv2: marked, not capable and passed, "
        "dropped by the scheme, lost to a full queue.\n\n"
    )
    columns = ("scheme", "packets", "cause", "marked", "not capable", "dropped", "queue full", "")
    yield from _lines(markdown.table(columns, [row for each in decisions for row in _rows(each)], "lllrrrr"))
    yield "\nLeft out:\n\n"
    yield from (f"- `{scheme}`: {reason}\n" for scheme, reason in bursts.left_out().items())
    missing = unreached(decisions)
    end = ", except for:\n\n" if missing else ".\n"
    yield f"\nEvery cause that a scheme declares chose a packet on both sides{end}"
    yield from (f"- {line}\n" for line in missing)


def _rows(decisions: Decisions) -> Iterator[list[str]]:
    """A row for each cause that chose a packet on either side, and at least one row."""
    here, there = decisions.here, decisions.there
    if there is None:
        return
    what, verdict = setting(decisions), "differs" if decisions.differences else "same"
    packets = f"`{here.fates}`" if here.fates == there.fates else f"`{here.fates}` / `{there.fates}`"
    reached = [cause for cause in decisions.burst.causes if cause in here.reached | there.reached]
    refused = _both(here.refused, there.refused)
    if not reached:
        yield [what, packets, "", "", "", "", refused, verdict]
    for cause in reached:
        one, other = here.counts[cause], there.counts[cause]
        counts = [
            _both(one.marks, other.marks), _both(one.not_capable, other.not_capable), _both(one.drops, other.drops)
        ]  # fmt: skip
        yield [what, packets, decisions.burst.causes[cause], *counts, refused, verdict]


def _both(ours: int, theirs: int) -> str:
    return f"{ours} / {theirs}"


def setting(decisions: Decisions) -> str:
    """A scheme with its parameters and further settings."""
    also = [line.removeprefix("setdefault ") for line in decisions.burst.also.splitlines()]
    text = ", ".join(f"`{each}`" for each in (decisions.burst.scheme, *also))
    return text if decisions.burst.filled else f"{text}, empty queue"


def unreached(decisions: Sequence[Decisions]) -> list[str]:
    """Schemes and causes that no burst exercises."""
    lines = []
    for scheme in sorted(known_schemes().keys() - bursts.left_out().keys()):
        own = [each for each in decisions if each.burst.fitted.scheme.name == scheme]
        if not own:
            lines.append(f"{scheme}: no burst")
            continue
        reached = {cause for each in own if each.there for cause in each.here.reached & each.there.reached}
        missing = [name for cause, name in own[0].burst.causes.items() if cause not in reached]
        if missing:
            lines.append(f"{scheme}: {', '.join(missing)}")
    return lines


def main() -> int:
    """Compare everything and write the page; the only argument is the seed of the random packets."""
    if missing := bmv2.missing_tools():
        sys.stdout.write(
            f"skipped: not on PATH: {', '.join(missing)}\n"
            "  try: build github.com/p4lang/behavioral-model (simple_switch, with Thrift) and github.com/p4lang/p4c "
            "(p4c-bm2-ss), or take them out of the images p4lang/behavioral-model and p4lang/p4c\n"
        )
        return 0
    try:
        require_tree("the page of this comparison")
    except MarklabError as error:
        sys.stderr.write(f"error: {error}\n  try: {error.remedy}\n")
        return 2
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    comparisons: list[SwitchComparison] = []
    decisions: list[Decisions] = []
    for case in random_packets.cases():
        comparison = random_packets.compare(case, seed)
        comparisons.append(comparison)
        _say(f"{comparison.program}: {comparison.packets} packets", comparison.differences)
    for burst in bursts.bursts():
        decided = bursts.compare(burst)
        decisions.append(decided)
        _say(f"{setting(decided)}: a burst", decided.differences)
    PAGE.write_text(differential_page(comparisons, decisions, seed, bmv2.versions()), encoding="utf-8")
    sys.stdout.write(f"{PAGE.relative_to(REPOSITORY)}\n")
    differ = [*(each.differences for each in comparisons), *(each.differences for each in decisions)]
    return 1 if any(differ) else 0


def _say(what: str, differences: Sequence[str]) -> None:
    sys.stdout.write(f"{'differs' if differences else 'same'} {what}\n")
    sys.stdout.write("".join(f"  {line}\n" for text in differences for line in text.splitlines()))
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
