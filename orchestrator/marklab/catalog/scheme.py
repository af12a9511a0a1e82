# SPDX-License-Identifier: MIT OR Apache-2.0
"""Schemes: find them by name or path, and fit them to a setup."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from marklab.catalog.choice import SchemeChoice
from marklab.catalog.description import EntrySpec, Match, SchemeSpec
from marklab.catalog.expressions import Expression, Names, Value
from marklab.catalog.parameters import Setting, Setup, from_rule, from_text
from marklab.devices.queueing import Queues
from marklab.errors import BadInput, unknown
from marklab.model import read_yaml, validate
from marklab.paths import PROGRAMS, TWINS

Entry = dict[str, Any]


@dataclass(frozen=True)
class Scheme:
    """A P4 program and its description; `spec` is None if there is no file beside the program."""

    name: str
    program: Path
    spec: SchemeSpec | None

    def fit(self, choice: SchemeChoice, setup: Setup) -> FittedScheme:
        """Derive the parameters for a setup: by rule, by preset, or as given. Raises BadInput for unknown names."""
        spec = self.spec
        if spec is None:
            if choice.preset is not None:
                raise unknown(f"preset of {self.name}:", choice.preset, ())
            return FittedScheme(choice, self, setup, {})
        if choice.preset is not None and choice.preset not in spec.presets:
            raise unknown(f"preset of {self.name}:", choice.preset, spec.presets)
        given = dict(choice.params)
        for name in given:
            if name not in spec.parameters:
                raise unknown(f"parameter of {self.name}:", name, spec.parameters)
        preset = spec.presets[choice.preset] if choice.preset is not None else {}
        return FittedScheme(choice, self, setup, _settings(spec, given, preset, choice.preset, setup))


def _settings(
    spec: SchemeSpec,
    given: Mapping[str, str],
    preset: Mapping[str, str],
    preset_name: str | None,
    setup: Setup,
) -> dict[str, Setting]:
    settings: dict[str, Setting] = {}
    names = setup.names()
    # In the order of the file: a rule may use the parameters above it.
    for name, parameter in spec.parameters.items():
        if name in given:
            setting = from_text(name, parameter, given[name], setup, names)
        else:
            rule = preset.get(name, parameter.rule)
            origin = f"preset {preset_name}: {rule}" if name in preset else rule
            setting = from_rule(name, parameter, rule, names, origin)
        settings[name] = setting
        names[name] = setting.exact
    return settings


@dataclass(frozen=True)
class PortEstimate:
    """An estimate of a scheme about a port: the largest cell of its registers times `scale`.

    `within_ns` is the time span of the estimate, None if it has none.
    """

    name: str
    registers: tuple[str, ...]
    cell: int
    scale: float
    within_ns: int | None = None


@dataclass(frozen=True)
class FittedScheme:
    """A scheme with the values of its parameters, for the program of a switch."""

    choice: SchemeChoice
    scheme: Scheme
    setup: Setup
    settings: dict[str, Setting]
    # Macros of the program, and names that formulas may use in addition to those of the catalog.
    defines: tuple[tuple[str, str], ...] = ()
    more_names: tuple[tuple[str, Value], ...] = ()

    @property
    def label(self) -> str:
        """The name in tables."""
        return self.choice.label

    @property
    def reported(self) -> dict[str, Setting]:
        """Settings that have an effect: those of a variant only if it is on."""
        on = any(each.parameter.variant and each.origin != each.parameter.rule for each in self.settings.values())
        return {name: setting for name, setting in self.settings.items() if on or not setting.parameter.variant}

    @property
    def deals_out_queues(self) -> bool:
        """Whether the scheme has its own queues, and not those of the run."""
        return self.scheme.spec is not None and self.scheme.spec.needs.queues is not None

    @cached_property
    def queues(self) -> Queues:
        """Queues of each port: those of the run, or the scheme's own."""
        spec, queues = self.scheme.spec, self.setup.queues
        if spec is None:
            return queues
        if spec.needs.queues is not None:
            own = {name: _setting(name, text, self.names) for name, text in spec.needs.queues.items()}
            # The scheme chooses how many queues share the memory, the run how much memory there is.
            memory = queues.model_dump(include={"buffer", "shared_bytes", "alpha"})
            return validate(Queues, memory | own, f"queues of {self.scheme.name}")
        if spec.needs.schedulers and queues.scheduler not in spec.needs.schedulers:
            likely = spec.needs.schedulers[0]
            remedy = "--queues fifo" if likely == "fifo" else f"--queues {likely}:count=4"
            raise BadInput(
                f"`{self.label}` does not work on ports with a {queues.scheduler} scheduler: it needs "
                f"{' or '.join(spec.needs.schedulers)}",
                remedy,
            )
        return queues

    @property
    def names(self) -> dict[str, Value | tuple[int, ...]]:
        """Names that formulas of entries and queues may use."""
        own = {name: setting.value for name, setting in self.settings.items()}
        return self.setup.names() | own | dict(self.more_names)

    @cached_property
    def entries(self) -> list[Entry]:
        """Table entries with the parameters, in the engine's format."""
        spec = self.scheme.spec
        if spec is None:
            return []
        return [entry for description in spec.entries for entry in _expand(description, self.names)]

    @cached_property
    def filters(self) -> list[dict[str, Any]]:
        """Settings of filters, in the engine's format."""
        spec = self.scheme.spec
        return [
            {
                "filter": each.filter,
                "gain_ns": float(Expression(each.gain_ns)(self.names)),
                "decay_ns": float(Expression(each.decay_ns)(self.names)),
            }
            for each in (spec.filters if spec else ())
        ]

    def estimates(self, port: int) -> list[PortEstimate]:
        """The program's estimates of a port."""
        spec = self.scheme.spec
        scope = self.names | {"port": port}
        return [
            PortEstimate(
                name,
                estimate.registers,
                int(_number(Expression(estimate.cell), scope)),
                float(Expression(estimate.scale)(scope)),
                None if estimate.within is None else round(1e3 * float(Expression(estimate.within)(scope))),
            )
            for name, estimate in (spec.estimates.items() if spec else ())
            if estimate.when is None or Expression(estimate.when)(scope)
        ]


def _setting(name: str, text: str, names: Names) -> str | int:
    if name in ("scheduler", "quantum"):
        return text
    value = Expression(text)(names)
    if isinstance(value, str) or value != int(value):
        raise BadInput(f"`{text}` is {value}; {name} of queues must be a whole number")
    return int(value)


def _expand(spec: EntrySpec, names: Names) -> Iterator[Entry]:
    formulas = _Formulas(spec)
    for loop in _loops(spec.for_, names):
        scope = {**names, **loop}
        for name, formula in formulas.let.items():
            scope[name] = formula(scope)
        if formulas.when is not None and not formulas.when(scope):
            continue
        entry: Entry = {"table": spec.table, "action": spec.action, "priority": _number(formulas.priority, scope)}
        entry["params"] = {name: _number(formula, scope) for name, formula in formulas.params.items()}
        if spec.match is not None:
            entry["match"] = {key: _match(*formula, scope) for key, formula in formulas.match.items()}
        yield entry


class _Formulas:
    """The formulas of an entry, parsed once for all entries of its `for`."""

    def __init__(self, spec: EntrySpec) -> None:
        self.let = {name: Expression(text) for name, text in spec.let.items()}
        self.priority = Expression(spec.priority)
        self.when = Expression(spec.when) if spec.when is not None else None
        self.params = {name: Expression(text) for name, text in spec.params.items()}
        self.match = {key: _formulas(kinds) for key, kinds in (spec.match or {}).items()}


def _formulas(kinds: Match) -> tuple[str, Expression | list[Expression]]:
    """The kind of a match, and the formula of its value or the formulas of its parts."""
    ((kind, value),) = kinds.items()
    return kind, [Expression(str(part)) for part in value] if isinstance(value, list) else Expression(str(value))


def _loops(spans: Mapping[str, str], names: Names) -> Iterator[dict[str, int]]:
    if not spans:
        yield {}
        return
    (name, span), *more = spans.items()
    if more:
        raise BadInput("an entry may have only one `for`")
    first, dots, last = span.partition("..")
    if not dots:
        raise BadInput(f"`for: {span}` is not a range", "write it like 2..1024")
    low, high = (int(float(Expression(end)(names))) for end in (first, last))
    for number in range(low, high + 1):
        yield {name: number}


def _number(formula: Expression, scope: Names) -> int | str:
    value = formula(scope)
    if isinstance(value, str) or value != int(value) or value < 0:
        raise BadInput(f"`{formula.text}` is {value}; a table entry needs a whole number", "use round(...)")
    return int(value) if value < 2**63 else str(int(value))


def _match(kind: str, formula: Expression | list[Expression], scope: Names) -> dict[str, Any]:
    if isinstance(formula, list):
        return {kind: [_number(part, scope) for part in formula]}
    return {kind: _number(formula, scope)}


def known_schemes() -> dict[str, Path]:
    """Programs of the catalog by name."""
    return {path.stem: path for path in sorted(PROGRAMS.glob("*.p4"))}


def find_scheme(choice: SchemeChoice) -> Scheme:
    """Find a program and the description beside it. Raises BadInput if there is none, or if it is a twin."""
    if choice.is_path:
        program = Path(choice.program)
        if not program.is_file():
            raise BadInput(f"there is no P4 program {program}")
        if program.resolve().parent == TWINS:
            name = program.stem
            remedy = f"check --arch tna {name}, or run --scheme {name} --arch tna"
            raise BadInput(f"{program} is the twin of a scheme, for Tofino", remedy)
    else:
        known = known_schemes()
        if choice.program not in known:
            error = unknown("scheme", choice.program, known)
            error.remedy = f"{error.remedy}, or the path of a P4 program"
            raise error
        program = known[choice.program]
    described = program.with_suffix(".yaml")
    spec = validate(SchemeSpec, read_yaml(described), str(described)) if described.exists() else None
    return Scheme(program.stem, program, spec)
