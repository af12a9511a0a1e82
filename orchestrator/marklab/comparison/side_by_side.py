# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compares two results, runs or whole sweeps: what changed, and which rules of a policy the change breaks.

Points are matched by their settings, schemes by their names. Rules are decided together: Holm's method shares
`false_alarms` among them, so a comparison of equal results fails at most that often, however many rules, schemes and
points there are. Values that are the same to the last digit cannot be a false alarm, and take no share.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from marklab.comparison.differences import Difference, Values, Verdict, difference, values_of, with_intervals
from marklab.comparison.policy import Policy, Rule
from marklab.errors import BadInput, unknown
from marklab.results.collection import Collection, Point
from marklab.results.metric import HEADLINE, Metric, find_metric
from marklab.results.summary import SchemeResult
from marklab.statistics.bootstrap import EstimatedDifference, probabilities

# What a comparison shows unless a rule asks for more.
SHOWN = (
    *(f"{group}.{stat}" for group, stat in HEADLINE), "slowdown.overall.mean",
    "unfinished", "drops", "timeouts", "marks", "utilisation",
)  # fmt: skip

# Versions that must be equal for results to come from the same version of the lab.
_VERSIONS = ("marklab", "engine")

# The rule that holds without being written in a policy.
NOTHING_LOST = "no cell is lost"

# Most items of a kind that a message names.
_MOST_NAMED = 5


@dataclass(frozen=True)
class RuleResult:
    """A rule applied to a scheme, at a point or over all of them."""

    rule: str
    scheme: str
    point: str | None
    broken: bool
    reason: str


@dataclass(frozen=True)
class Comparison:
    """Everything found when two results are compared. `at_points` is empty if there is only one point."""

    names: tuple[str, str]
    points: tuple[str, ...]
    differences: tuple[Difference, ...]
    at_points: tuple[Difference, ...]
    rules: tuple[RuleResult, ...]
    policy: Policy
    notes: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()

    @property
    def broken(self) -> tuple[RuleResult, ...]:
        """The rules that are broken."""
        return tuple(result for result in self.rules if result.broken)

    @property
    def exit_code(self) -> int:
        """2 if a file could not be read, as something was not compared; 1 if a rule is broken; else 0."""
        return 2 if self.damaged else 1 if self.broken else 0


@dataclass(frozen=True)
class _Pair:
    """A scheme of both sides, whose names may differ, and its results at the points that both have."""

    title: str
    labels: tuple[str, str]
    points: tuple[tuple[Point, Point], ...]

    def results(self) -> Iterator[tuple[Point, SchemeResult, SchemeResult]]:
        """Results of both sides at the points at which both have some."""
        of_base, of_new = self.labels
        for base, new in self.points:
            if of_base in base.summary.schemes and of_new in new.summary.schemes:
                yield base, base.summary.schemes[of_base], new.summary.schemes[of_new]


def compare(
    base: Collection,
    new: Collection,
    policy: Policy | None = None,
    *,
    force: bool = False,
    names: tuple[str, str] | None = None,
) -> Comparison:
    """Compare NEW with BASE. Raises BadInput if they have nothing in common, or if versions of the lab differ.

    With `force` versions may differ. `names` are the names of both in reports; the default is their folders.
    """
    policy = policy or Policy()
    mixed = _mixed_versions(base, new)
    if mixed and not force and policy.versions == "same":
        raise BadInput(mixed, "make both with one version (`make reference` renews the lab's own), or --force")
    points = _common_points(base, new)
    _check_dilations(points)
    pairs = _schemes(base, new, points)
    metrics = [find_metric(name) for name in dict.fromkeys([*SHOWN, *(rule.metric.name for rule in policy.rules)])]
    together, apart = _differences(pairs, metrics, policy.smallest_effect, several=len(points) > 1)
    chosen = apart if policy.at == "each point" and apart else together
    rules = list(_decide(policy, chosen, pairs))
    lost = list(_lost(base, new, points, pairs))
    if {base.kind, new.kind} != {"run"} and policy.missing == "fail":
        rules.append(RuleResult(NOTHING_LOST, "NEW", None, bool(lost), _some(lost) or "all that BASE has is there"))
        lost = []
    return Comparison(
        names=names or (str(base.folder), str(new.folder)),
        points=tuple(point.label for point, _ in points),
        differences=together,
        at_points=apart,
        rules=tuple(rules),
        policy=policy,
        notes=(
            *([mixed] if mixed else []),
            *_notes(base, new, points, pairs, together),
            *(f"in NEW {text}" for text in lost),
        ),
        damaged=(*(f"BASE: {text}" for text in base.damaged), *(f"NEW: {text}" for text in new.damaged)),
    )


def _mixed_versions(base: Collection, new: Collection) -> str | None:
    """Say how versions of the lab are mixed; None if they are not."""
    for name in _VERSIONS:
        sides = [str(side.versions.get(name, "unknown")) for side in (base, new)]
        for word, side in zip(("BASE", "NEW"), sides, strict=True):
            # A sweep lists the versions of its cells with commas if they differ.
            if ", " in side:
                return f"cells of {word} were made by different versions of the lab: {name} {side}"
        if sides[0] != sides[1]:
            return f"BASE was made by {name} {sides[0]}, NEW by {name} {sides[1]}"
    return None


def _common_points(base: Collection, new: Collection) -> list[tuple[Point, Point]]:
    others = {_settings(point): point for point in new.points}
    found = [(point, others[key]) for point in base.points if (key := _settings(point)) in others]
    if not found:
        sides = "; ".join(
            f"{word} has {_some([point.label or 'a run without a grid' for point in side.points]) or 'no cells'}"
            + "".join(f" ({text})" for text in side.damaged[:_MOST_NAMED])
            for word, side in (("BASE", base), ("NEW", new))
        )
        raise BadInput(f"the two have no point in common: {sides}", "compare results of one grid")
    return found


def _check_dilations(points: Sequence[tuple[Point, Point]]) -> None:
    """Refuse runs on real hosts at different dilations, as the delays that Linux adds weigh differently in them."""
    sides = [_dilations(point for pair in points for point in pair[side : side + 1]) for side in (0, 1)]
    found = sides[0] | sides[1]
    if len(found) > 1:
        said = "; ".join(
            f"{word} ran at {' and '.join(map(str, sorted(side)))}"
            for word, side in zip(("BASE", "NEW"), sides, strict=True)
            if side
        )
        raise BadInput(f"the two are of real hosts, at several dilations: {said}", f"--dilation {max(found)} for all")


def _dilations(points: Iterable[Point]) -> set[int]:
    return {
        seed.real_time.dilation
        for point in points
        for result in point.summary.schemes.values()
        for seed in result.seeds
        if seed.real_time is not None
    }


def _settings(point: Point) -> str:
    return json.dumps(dict(point.settings), sort_keys=True)


def _schemes(base: Collection, new: Collection, points: Sequence[tuple[Point, Point]]) -> list[_Pair]:
    """Match schemes of both sides: by name, and the main scheme of each."""
    of_base, of_new = _labels(base), _labels(new)
    pairs = [(label, label, label) for label in of_base if label in of_new]
    main_base, main_new = (next(iter(labels), "") for labels in (of_base, of_new))
    if main_base not in of_new and main_new not in of_base:
        pairs.insert(0, (f"{main_base} → {main_new}", main_base, main_new))
    if not pairs:
        raise BadInput(f"the two have no scheme in common: {', '.join(of_base)}; {', '.join(of_new)}")
    return [_Pair(title, (label_base, label_new), tuple(points)) for title, label_base, label_new in pairs]


def _labels(side: Collection) -> list[str]:
    """All schemes, the main one first."""
    mains = [point.summary.scheme for point in side.points[:1]]
    return list(dict.fromkeys([*mains, *(label for point in side.points for label in point.summary.schemes)]))


def _differences(
    pairs: Sequence[_Pair], metrics: Sequence[Metric], smallest_effect: float, *, several: bool
) -> tuple[tuple[Difference, ...], tuple[Difference, ...]]:
    """Differences over all points, and at each point if there are several."""
    together: list[Difference] = []
    apart: list[Difference] = []
    for pair in pairs:
        for metric in metrics:
            found: list[tuple[str, Values]] = [
                (point.label, values)
                for point, of_base, of_new in pair.results()
                if (values := values_of(metric, of_base.seeds, of_new.seeds)) is not None
            ]
            if found:
                every = [values for _, values in found]
                together.append(difference(pair.title, metric, None, every, smallest_effect))
            if several:
                apart.extend(difference(pair.title, metric, label, [one], smallest_effect) for label, one in found)
    return with_intervals(together), with_intervals(apart)


@dataclass(frozen=True)
class _Application:
    """A rule about changes, applied; `amount` is the change in its unit."""

    rule: Rule
    difference: Difference
    amount: float
    estimate: EstimatedDifference

    @classmethod
    def of(cls, rule: Rule, difference: Difference) -> _Application:
        """Apply a rule. A relative change from 0 is infinite, and its error is taken from the absolute change."""
        if rule.kind == "change":
            return cls(rule, difference, difference.absolute, difference.change)
        if difference.ratio is None or difference.relative is None:
            amount = float("inf") * difference.absolute if difference.absolute else 0.0
            return cls(rule, difference, amount, difference.change)
        return cls(rule, difference, 100 * difference.relative, difference.ratio)

    @property
    def text(self) -> str:
        """The change, with its interval if that is known and in the same unit."""
        if not self.amount and not self.estimate.error:
            return "it is the same"
        unit = "%" if self.rule.kind == "percent" else ""
        said = f"it changed by {self.amount:+.3g}{unit}"
        interval = self.difference.interval
        if interval is None or not unit or self.difference.relative is None:
            return said
        return f"{said} (95 %: {100 * interval[0]:+.3g} to {100 * interval[1]:+.3g})"


def _decide(policy: Policy, differences: Sequence[Difference], pairs: Sequence[_Pair]) -> Iterator[RuleResult]:
    """Decide all rules, in the order in which they are written."""
    applied = [(rule, title, found) for rule in policy.rules for title, found in _chosen(rule, differences, pairs)]
    changes = [
        _Application.of(rule, found)
        for rule, _, found in applied
        if found is not None and rule.kind != "value" and found.verdict is not Verdict.UNCLEAR
    ]
    decided = zip(changes, _beyond_noise(changes, policy.false_alarms), strict=True)
    for rule, title, found in applied:
        if found is None:
            yield RuleResult(str(rule), title, None, True, "it cannot be decided: a side has no such number")
        elif rule.kind == "value":
            yield RuleResult(str(rule), title, found.point, rule.forbids(found.new), f"it is {found.new:.6g}")
        elif found.verdict is Verdict.UNCLEAR:
            why = "it cannot be decided: a side has one seed, and the flows differ"
            yield RuleResult(str(rule), title, found.point, True, why)
        else:
            change, certain = next(decided)
            forbidden = rule.forbids(change.amount)
            noise = f", which is inside the noise of {found.seeds.fewest} seeds" if forbidden and not certain else ""
            yield RuleResult(str(rule), title, found.point, forbidden and certain, change.text + noise)


def _chosen(
    rule: Rule, differences: Sequence[Difference], pairs: Sequence[_Pair]
) -> Iterator[tuple[str, Difference | None]]:
    """The differences that a rule applies to, by scheme, and also by point if the differences are at points."""
    named = [pair for pair in pairs if rule.scheme in (None, pair.title, *pair.labels)]
    if not named:
        known = {name for pair in pairs for name in (pair.title, *pair.labels)}
        raise unknown(f"scheme in `{rule}`:", rule.scheme or "", known)
    for pair in named:
        found = [each for each in differences if (each.scheme, each.metric.name) == (pair.title, rule.metric.name)]
        yield from ((pair.title, each) for each in found)
        if not found:
            yield pair.title, None


def _beyond_noise(changes: Sequence[_Application], false_alarms: float) -> list[bool]:
    """Decide which forbidden changes are not due to chance, by Holm's method."""
    noisy = sum(bool(each.estimate.error) for each in changes)
    found = probabilities([each.estimate for each in changes], 2 * false_alarms / max(1, noisy))
    # One-sided, as rules are. A change without noise, or of a single pair, is compared as it is.
    chances = [
        0.0 if each.estimate.error is None else 1.0 if not each.rule.forbids(each.amount) else (chance or 0.0) / 2
        for each, chance in zip(changes, found, strict=True)
    ]
    certain = [False] * len(changes)
    remaining = noisy
    for place in sorted(range(len(changes)), key=chances.__getitem__):
        if chances[place] > false_alarms / max(1, remaining):
            break
        certain[place] = True
        remaining -= bool(changes[place].estimate.error)
    return certain


def _lost(
    base: Collection, new: Collection, points: Sequence[tuple[Point, Point]], pairs: Sequence[_Pair]
) -> Iterator[str]:
    """Name what BASE has and NEW lacks, and what failed or did not run in NEW."""
    for cell in new.failed:
        at = Point(cell.settings, points[0][1].summary, {}).label
        yield f"{cell.scheme}{f' at {at}' if at else ''}, seed {cell.seed}, failed: {cell.error}"
    if new.missing:
        yield f"{new.missing} cells have not run, or cannot be read"
    common = {_settings(point) for point, _ in points}
    yield from (f"there is no point {point.label}" for point in base.points if _settings(point) not in common)
    matched = {pair.labels[0]: pair.labels[1] for pair in pairs}
    yield from (f"there is no {label}" for label in _labels(base) if label not in matched)
    for of_base, of_new in points:
        for label, result in of_base.summary.schemes.items():
            if label not in matched:
                continue
            other = of_new.summary.schemes.get(matched[label])
            had, has = len(result.seeds), len(other.seeds) if other is not None else 0
            if has < had:
                at = f" at {of_base.label}" if of_base.label else ""
                yield f"{matched[label]}{at} has {has} of {had} seeds"


def _notes(
    base: Collection,
    new: Collection,
    points: Sequence[tuple[Point, Point]],
    pairs: Sequence[_Pair],
    differences: Sequence[Difference],
) -> Iterator[str]:
    if changed := sorted({key for a, b in points for key in _changed(a.summary.spec, b.summary.spec)}):
        yield f"the descriptions differ in {', '.join(changed)}"
    programs = [pair.title for pair in pairs if any(a.program != b.program for _, a, b in pair.results())]
    if programs:
        yield f"programs differ: {_some(programs)}"
    unpaired = any(not each.seeds.paired for each in differences)
    if unpaired:
        yield "the flows differ: seeds are not compared in pairs, and only large changes exceed the noise"
    elif all(len(each.seeds.base) == 1 for each in differences):
        yield "one seed: the numbers are compared as they are, and how much is due to chance is not known"
    alone = sorted({*_labels(base), *_labels(new)} - {label for pair in pairs for label in pair.labels})
    if alone:
        yield f"only one side has {', '.join(alone)}"
    common = {_settings(point) for point, _ in points}
    more = [point.label for point in new.points if _settings(point) not in common]
    if more:
        yield f"only NEW has {_some(more)}"
    if base.failed or base.missing:
        yield f"in BASE {len(base.failed)} cells failed, and {base.missing} have not run or cannot be read"


def _changed(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[str]:
    return (key for key in {*a, *b} - {"name", "schemes", "baseline"} if a.get(key) != b.get(key))


def _some(texts: Sequence[str]) -> str:
    """The first texts, and how many more there are."""
    rest = len(texts) - _MOST_NAMED
    return "; ".join(texts[:_MOST_NAMED]) + (f"; and {rest} more" if rest > 0 else "")
