"""Two runs side by side: what changed, whether it is more than the noise of the seeds, and which rules it breaks.

Seeds with the same flows are compared in pairs, which takes out what the flows themselves make slow. A difference is
"inside the noise" if its 95 % confidence interval holds zero. With a single pair there is no noise to know: the
simulator is deterministic, and the numbers are compared as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any

from orchestrator.errors import BadInput, unknown
from orchestrator.quantities import Metric, find_metric
from orchestrator.statistics import Interval, difference_interval, mean, ratio_interval
from orchestrator.summary import SeedResult, Summary

# What a comparison shows unless a rule asks for more.
SHOWN = (
    "overall.mean", "short.mean", "short.p99", "large.mean", "slowdown.overall.mean",
    "unfinished", "drops", "timeouts", "marks", "utilisation",
)  # fmt: skip


class Verdict(Enum):
    """What can be said of a difference."""

    BETTER = "better"
    WORSE = "worse"
    CHANGED = "changed"  # for what is neither good nor bad
    SAME = "same"
    NOISE = "inside the noise"
    UNCLEAR = "unclear"  # single seeds with different flows

    @property
    def is_difference(self) -> bool:
        """Whether there is one for certain."""
        return self in (Verdict.BETTER, Verdict.WORSE, Verdict.CHANGED)


@dataclass(frozen=True)
class Difference:
    """One metric of one scheme in both runs: means over the seeds, B against A."""

    scheme: str
    metric: Metric
    a: tuple[float, ...]
    b: tuple[float, ...]
    paired: bool

    @property
    def absolute(self) -> float:
        """B minus A."""
        return mean(self.b) - mean(self.a)

    @property
    def relative(self) -> float | None:
        """Difference as part of A; None where A is 0."""
        return self.absolute / mean(self.a) if mean(self.a) else None

    @cached_property
    def interval(self) -> Interval | None:
        """95 % confidence interval of the relative difference, or of the absolute one where A is 0."""
        below = mean(self.a)
        if self.paired and below:
            found = ratio_interval(self.b, self.a)
            return (found[0] - 1, found[1] - 1) if found else None
        found = self.absolute_interval
        return (found[0] / below, found[1] / below) if found and below else found

    @cached_property
    def absolute_interval(self) -> Interval | None:
        """95 % confidence interval of the absolute difference."""
        return difference_interval(self.b, self.a, self.paired)

    @cached_property
    def verdict(self) -> Verdict:
        """Better, worse, or no difference that can be told from noise."""
        if self.interval is None and not self.paired:
            return Verdict.UNCLEAR
        if self.absolute == 0 or self.a == self.b:
            return Verdict.SAME
        if self.interval is not None and self.interval[0] <= 0 <= self.interval[1]:
            return Verdict.NOISE
        if self.metric.worse == 0:
            return Verdict.CHANGED
        return Verdict.WORSE if self.absolute * self.metric.worse > 0 else Verdict.BETTER


_RULE = re.compile(
    r"\s*(?:(?P<scheme>[^\s/]+)\s*/)?\s*(?P<metric>[a-z0-9_.@]+)\s*(?P<op>[<>]=?)\s*"
    r"(?P<number>[+-]?[0-9]+(?:\.[0-9]+)?)\s*(?P<percent>%?)\s*"
)
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">": lambda a, b: a > b,
    "<": lambda a, b: a < b,
    ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b,
}


@dataclass(frozen=True)
class Rule:
    """What must not be: `short.p99 > +5%` (change), `timeouts > +10` (change), `unfinished > 0` (value of B)."""

    text: str
    scheme: str | None
    metric: Metric
    op: str
    number: float
    kind: str  # percent, change, value

    def broken_by(self, difference: Difference) -> tuple[bool, str]:
        """Whether a difference breaks the rule, and why or why not."""
        if self.kind == "value":
            value = mean(difference.b)
            return _COMPARISONS[self.op](value, self.number), f"it is {value:.6g}"
        if difference.verdict is Verdict.UNCLEAR:
            return True, "it cannot be told: the runs have one seed each, and different flows"
        # Rounded, so that a change of exactly 5 % is not more than 5 %.
        change = round(self._change(difference), 9)
        text = f"it changed by {change:+.3g}{'%' if self.kind == 'percent' else ''}"
        if not _COMPARISONS[self.op](change, self.number):
            return False, text
        interval = difference.absolute_interval if self.kind == "change" else difference.interval
        if interval is not None and interval[0] <= 0 <= interval[1]:
            return False, f"{text}, which is inside the noise of {len(difference.a)} seeds"
        return True, text

    def _change(self, difference: Difference) -> float:
        if self.kind == "change":
            return difference.absolute
        if difference.relative is not None:
            return 100 * difference.relative
        return float("inf") * difference.absolute if difference.absolute else 0.0


def parse_rule(text: str) -> Rule:
    """Read a rule."""
    match = _RULE.fullmatch(text)
    if match is None:
        raise BadInput(
            f"`{text}` is not a rule", "write it like 'short.p99 > +5%', 'timeouts > +10' or 'unfinished > 0'"
        )
    metric = find_metric(match["metric"], f"metric in `{text}`:")
    signed = match["number"][0] in "+-"
    if match["percent"] and not signed:
        raise BadInput(f"`{text}`: a percentage is a change and needs a sign", f"write +{match['number']}%")
    kind = "percent" if match["percent"] else "change" if signed else "value"
    return Rule(text.strip(), match["scheme"], metric, match["op"], float(match["number"]), kind)


@dataclass(frozen=True)
class RuleResult:
    """A rule applied to a scheme."""

    rule: Rule
    scheme: str
    broken: bool
    reason: str


@dataclass(frozen=True)
class Comparison:
    """All that is known of two runs beside each other."""

    names: tuple[str, str]
    differences: tuple[Difference, ...]
    rules: tuple[RuleResult, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def broken(self) -> bool:
        """Whether any rule is broken."""
        return any(result.broken for result in self.rules)


def compare(a: Summary, b: Summary, rules: Sequence[Rule], names: tuple[str, str]) -> Comparison:
    """Compare two runs scheme by scheme."""
    pairs = _schemes(a, b)
    asked = [rule.metric.name for rule in rules]
    shown = [find_metric(name) for name in dict.fromkeys([*SHOWN, *asked])]
    differences = [
        found
        for title, label_a, label_b in pairs
        for metric in shown
        if (found := _difference(title, metric, a.schemes[label_a].seeds, b.schemes[label_b].seeds)) is not None
    ]
    results = [result for rule in rules for result in _apply(rule, differences, [title for title, _, _ in pairs])]
    return Comparison(names, tuple(differences), tuple(results), tuple(_notes(a, b, pairs, differences)))


def _schemes(a: Summary, b: Summary) -> list[tuple[str, str, str]]:
    """Schemes of both runs: those of the same name, and what the runs are about."""
    pairs = [(label, label, label) for label in a.schemes if label in b.schemes]
    if a.scheme not in b.schemes and b.scheme not in a.schemes:
        pairs.insert(0, (f"{a.scheme} → {b.scheme}", a.scheme, b.scheme))
    if not pairs:
        raise BadInput(f"the runs have no scheme in common: {', '.join(a.schemes)}; {', '.join(b.schemes)}")
    return pairs


def _difference(
    title: str, metric: Metric, seeds_a: Sequence[SeedResult], seeds_b: Sequence[SeedResult]
) -> Difference | None:
    by_flows = {(seed.seed, seed.flow_list): seed for seed in seeds_b}
    pairs = [(seed, by_flows[key]) for seed in seeds_a if (key := (seed.seed, seed.flow_list)) in by_flows]
    if pairs:
        values = [(metric.of(one), metric.of(other)) for one, other in pairs]
        both = [(x, y) for x, y in values if x is not None and y is not None]
        of_a, of_b = tuple(x for x, _ in both), tuple(y for _, y in both)
    else:
        of_a, of_b = (tuple(v for seed in seeds if (v := metric.of(seed)) is not None) for seeds in (seeds_a, seeds_b))
    return Difference(title, metric, of_a, of_b, bool(pairs)) if of_a and of_b else None


def _apply(rule: Rule, differences: Sequence[Difference], titles: Sequence[str]) -> Iterator[RuleResult]:
    if rule.scheme is not None and rule.scheme not in titles:
        raise unknown(f"scheme in `{rule.text}`:", rule.scheme, titles)
    for title in titles if rule.scheme is None else [rule.scheme]:
        found = [each for each in differences if each.scheme == title and each.metric.name == rule.metric.name]
        if found:
            yield RuleResult(rule, title, *rule.broken_by(found[0]))
        else:
            yield RuleResult(rule, title, True, "it cannot be told: a run has no such flow")


def _notes(
    a: Summary, b: Summary, pairs: Sequence[tuple[str, str, str]], differences: Sequence[Difference]
) -> Iterator[str]:
    changed = sorted(
        key for key in {*a.spec, *b.spec} - {"name", "schemes", "baseline"} if a.spec.get(key) != b.spec.get(key)
    )
    if changed:
        yield f"the descriptions differ in {', '.join(changed)}"
    if a.versions.get("engine") != b.versions.get("engine") or a.versions.get("marklab") != b.versions.get("marklab"):
        yield "the runs were made by different versions of the lab"
    if any(not each.paired for each in differences):
        yield "the flows of the runs differ: seeds are not compared in pairs"
    alone = sorted({*a.schemes, *b.schemes} - {label for _, *labels in pairs for label in labels})
    if alone:
        yield f"only one of the runs has {', '.join(alone)}"
    if any(each.paired and len(each.a) == 1 for each in differences):
        yield "one seed: the numbers are compared as they are, how much of it is luck of the flows is not known"


def to_json(comparison: Comparison) -> dict[str, Any]:
    """Plain data."""
    return {
        "runs": comparison.names,
        "differences": [
            {
                "scheme": each.scheme,
                "metric": each.metric.name,
                "a": mean(each.a),
                "b": mean(each.b),
                "relative": each.relative,
                "ci95": each.interval,
                "seeds": [len(each.a), len(each.b)],
                "paired": each.paired,
                "verdict": each.verdict.value,
            }
            for each in comparison.differences
        ],
        "rules": [
            {"rule": each.rule.text, "scheme": each.scheme, "broken": each.broken, "reason": each.reason}
            for each in comparison.rules
        ],
        "notes": comparison.notes,
    }
