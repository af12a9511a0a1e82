# SPDX-License-Identifier: MIT OR Apache-2.0
"""Doubts about the numbers of a scheme, as data: kind, subject and values. The text is made when a doubt is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import Field, model_validator

from marklab.model import Model

Values = dict[str, int | float | str]

# Text by kind, with places for values.
WORDS = {
    "said": "{text}",  # by an older version of the lab, in words
    "interpreted": "the program was interpreted, which is slow: {why}",
    "late-attempt": ("before seed {seed} the machine passed its checks only after {failed} failed attempt(s): {last}"),
    "left-out": (
        "in the run of seed {seed} the kernel left out the hosts' DCTCP in BPF at {answers} reduction(s), and a window "
        "may have had any size until the next acknowledgement: use a kernel with tcp_dctcp, such as Debian's"
    ),
    "few-samples": "a seed has {fewest} {what} only: their 99th percentile is the largest of them",
    "no-marks": "nothing was marked: the queue never reached a threshold, so the scheme made no difference",
    "marks-miscounted": (
        "the program counted {counted} marks, the network saw {seen}: its counters or its marks are wrong"
    ),
    "no-ecn": (
        "{control} has no ECN: {packets:,} packets that the scheme would have marked passed, and the scheme made no "
        "difference"
    ),
    "ecn-bleached": (
        "{count:,} packets were sent ECN capable and arrived as Not-ECT, so no mark could reach their senders: look at "
        "where the program writes ipv4.ecn"
    ),
    "ecn-forged": (
        "{count:,} packets were sent as Not-ECT and arrived ECN capable or marked, and their senders hear of no mark: "
        "look at where the program writes ipv4.ecn, and mark only packets that are ECT"
    ),
    "ecn-erased": (
        "{count:,} packets were marked and arrived without the mark: look at where the program writes ipv4.ecn, and "
        "leave CE as it is"
    ),
    "ecn-rewritten": (
        "{count:,} packets were sent with one code point of ECT and arrived with the other: look at where the program "
        "writes ipv4.ecn"
    ),
    "ecn-refused": (
        "{count:,} connections asked for ECN and did not get it, so no mark could reach their senders: look at what "
        "the program does to the flags ECE and CWR of TCP"
    ),
    "no-base-delay": (
        "{deaf:,} of {flows:,} flows have no base delay: every packet of their connection waited for more than half of "
        "the threshold of {threshold}, which counts from the base delay"
    ),
    "idle": (
        "the bottleneck was busy {busy:.0%} of the time at a load of {load:.0%}: the run is too short to build it up, "
        "or the scheme leaves the line idle"
    ),
    "empty-window": (
        "the last of {flows:,} flows begins at {last}, before {window} is over, so the network empties in this window: "
        "take more --flows or an earlier window"
    ),
    "few-flows": (
        "{silent:,} of the {senders:,} hosts that may send have none of the {flows:,} flows of seed {seed}, so chance "
        "decides which lines are busy: {remedy}"
    ),
    "same-seeds": (
        "all {seeds} seeds are the same run, since they have the same flows and nothing else is random: their "
        "intervals of 0 say nothing. Take --seeds 1, or make them differ, as by `start_jitter: 1us` in a file of "
        "settings (--spec), or a `spread` of jobs"
    ),
    "rate-beyond-line": (
        "flow {flow} has an application of {rate}b/s behind a line of {line}b/s, which carries {payload_gbps:.4g} Gb/s "
        "of payload: the rate limits nothing"
    ),
    "under-way": "{flows} flows were under way when the run ended at {end}, and are in no mean",
    "job-cut": "of {of:,} iterations of {job}, {missing:,} were not over when the run ended, and are in no mean",
    "unfinished": "{flows} flows did not finish and are in no mean: the others look better than they are",
    "lossless-lost": "{packets} packets were lost in queues that should be lossless",
    "go-back-n": (
        "{packets:,} packets were lost in queues, and hosts, which go back to the lost packet, sent {again:,} again: "
        "RDMA is made for lossless lines, --pfc on"
    ),
    "lost-elsewhere": "{packets} packets were lost outside of the queues: {places}",
    "undefined": "the program did {faults} operations that P4 leaves undefined, such as an index beyond a register",
    "one-priority": (
        "{share:.1%} of the data packets had priority P{priority}: thresholds that do not suit the sizes of the flows "
        "leave little to schedule"
    ),
    "below-clock": "{name} is {us:g} us, the switch's clock counts whole microseconds",
    "beyond-queue": "{name} is {threshold}, but the queue is full at {limit}",
}


class Doubt(Model):
    """A reason to doubt numbers. Doubts of the same kind and subject are the same reason, whatever their values."""

    kind: str
    subject: str = ""
    values: Values = Field(default_factory=dict)
    # How many seeds share this reason, and of how many; None if all have the same doubt.
    seeds: tuple[int, int] | None = None

    @model_validator(mode="before")
    @classmethod
    def _of_words(cls, plain: Any) -> Any:
        """Accept a doubt that is only text, as older versions of the lab wrote it."""
        return {"kind": "said", "subject": plain, "values": {"text": plain}} if isinstance(plain, str) else plain

    @property
    def reason(self) -> tuple[str, str]:
        """Kind and subject, which similar doubts have in common."""
        return self.kind, self.subject

    def __str__(self) -> str:
        text = WORDS[self.kind].format(**self.values)
        return text if self.seeds is None else f"{text} ({self.seeds[0]} of {self.seeds[1]} seeds alike)"


def doubt(kind: str, subject: str = "", **values: float | str) -> Doubt:
    """A doubt of a known kind."""
    return Doubt(kind=kind, subject=subject, values=values)


def merged(seeds: Sequence[Sequence[Doubt]]) -> Iterator[Doubt]:
    """Merge the doubts of several seeds. Doubts that differ only in values become the first one, with their number."""
    alike: dict[tuple[str, str], list[Doubt]] = {}
    for doubts in seeds:
        for each in doubts:
            alike.setdefault(each.reason, []).append(each)
    for those in alike.values():
        if len(seeds) == 1:
            yield from those
        elif len(those) == len(seeds) and all(one == those[0] for one in those):
            yield those[0]
        else:
            yield those[0].model_copy(update={"seeds": (len(those), len(seeds))})
