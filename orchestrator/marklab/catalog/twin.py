# SPDX-License-Identifier: MIT OR Apache-2.0
"""Twins of schemes for Tofino: programs in p4src/tna, and the YAML files beside them.

A twin has the parameters of its scheme. Its own file describes how these reach its program, and which of their values
it does not support.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from marklab.catalog.description import WHOLE_NUMBERS, EntrySpec, FilterSpec, Formula, Forwarding
from marklab.catalog.expressions import Expression, Names, Value
from marklab.catalog.scheme import FittedScheme, Scheme
from marklab.errors import BadInput, unknown
from marklab.model import Model, read_yaml, validate
from marklab.paths import TWINS

Chip = Literal["tofino1", "tofino2"]
Arch = Literal["tna", "t2na"]

CHIPS: dict[Arch, Chip] = {"tna": "tofino1", "t2na": "tofino2"}

# Bytes of a cell of the packet buffer (docs/tofino.md).
CELL_BYTES: dict[Chip, int] = {"tofino1": 80, "tofino2": 176}

# Ports 68 to 71 of each pipe lead through egress and in again.
FIRST_RECIRCULATION_PORT = 68

# Names in the switch of p4src/tna, where the paths of a group are distributed over 2^n buckets.
FORWARDING = Forwarding(ecmp_members=None, ecmp_mask="mask")


class Support(Model):
    """A condition on parameters, as a formula, and the reason why a twin does not work without it."""

    when: str
    why: str


class TwinSpec(Model):
    """A twin: how it differs from its scheme, which fraction of decisions must agree, how it gets its parameters."""

    note: str
    # The chip of the twin, and other chips for which it can be compiled, by a macro `MARKLAB_CHIP` of 1 or 2.
    chip: Chip = "tofino1"
    also: tuple[Chip, ...] = ()
    agreement: float = Field(gt=0, le=1)
    # Largest relative difference in the number of marks of a cause between twin and scheme.
    marks_within: float = Field(ge=0, le=1)
    defines: dict[str, Formula] = Field(default_factory=dict)
    supports: tuple[Support, ...] = ()
    entries: tuple[EntrySpec, ...] = ()
    # Mirror sessions and their ports.
    mirrors: dict[int, int] = Field(default_factory=dict, json_schema_extra=WHOLE_NUMBERS)
    filters: tuple[FilterSpec, ...] = ()

    @field_validator("defines")
    @classmethod
    def _names(cls, defines: dict[str, str]) -> dict[str, str]:
        for name in defines:
            if not name.isidentifier():
                raise BadInput(f"`{name}` is not the name of a macro")
        return defines


def known_twins() -> list[str]:
    """Schemes that have a twin."""
    return sorted(path.stem for path in TWINS.glob("*.p4"))


def own_arch(scheme: str) -> Arch:
    """The architecture that a scheme's twin is written for. Raises BadInput if there is no twin."""
    chip = _described(scheme).chip
    return next(arch for arch, its in CHIPS.items() if its == chip)


def _described(scheme: str) -> TwinSpec:
    if scheme not in known_twins():
        error = unknown("twin: Tofino has no program of", scheme, known_twins())
        error.remedy = f"{error.remedy}; docs/tofino.md explains why, and how to write p4src/tna/{scheme}.p4"
        raise error
    described = TWINS / f"{scheme}.yaml"
    return validate(TwinSpec, read_yaml(described), str(described))


def twin_spec(scheme: str, arch: Arch = "tna") -> TwinSpec:
    """The description of a scheme's twin for `arch`. Raises BadInput if there is none; `t2na` is Tofino 2."""
    spec = _described(scheme)
    chip = CHIPS[arch]
    if chip not in (spec.chip, *spec.also):
        other = next(name for name, its in CHIPS.items() if its == spec.chip)
        raise BadInput(
            f"the twin of `{scheme}` is for Tofino {chip_number(spec.chip)}, not for Tofino {chip_number(chip)}",
            f"--arch {other}; docs/tofino.md lists the twins for both",
        )
    return spec.model_copy(update={"chip": chip})


def twin_of(
    fitted: FittedScheme, twin: TwinSpec | None = None, program: Path | None = None, arch: Arch = "tna"
) -> FittedScheme:
    """The same scheme and parameters on Tofino: its twin of the catalog, or another `program` with description `twin`.

    Raises BadInput if the scheme has no twin, or if the twin does not support the parameters.
    """
    scheme = fitted.scheme
    if scheme.spec is None or fitted.choice.is_path:
        raise BadInput(f"`{fitted.label}` has no description that a twin could share", "name a scheme of the catalog")
    twin = twin or twin_spec(scheme.name, arch)
    fitted = replace(fitted, more_names=tuple(_units(fitted, twin.chip).items()))
    names = fitted.names
    for support in twin.supports:
        if not Expression(support.when)(names):
            raise BadInput(
                f"`{fitted.label}` has no twin with these parameters: {support.why}", "leave them as they are"
            )
    own = {"entries": twin.entries, "mirrors": twin.mirrors, "filters": twin.filters}
    spec = scheme.spec.model_copy(update=own | {"forwarding": FORWARDING, "estimates": {}})
    defines = {name: _whole(text, names) for name, text in twin.defines.items()}
    if twin.also:
        defines["MARKLAB_CHIP"] = chip_number(twin.chip)
    return replace(
        fitted,
        scheme=Scheme(scheme.name, program or TWINS / f"{scheme.name}.p4", spec),
        defines=tuple((name, str(value)) for name, value in defines.items()),
        more_names=(*fitted.more_names, *defines.items()),
    )


def chip_number(chip: Chip) -> int:
    """The number of a Tofino generation: 1 or 2."""
    return int(chip.removeprefix("tofino"))


def cells_per_packet(frame_bytes: int, chip: Chip) -> int:
    """Cells of the packet buffer that a full packet takes."""
    return math.ceil(frame_bytes / CELL_BYTES[chip])


def _units(fitted: FittedScheme, chip: Chip) -> dict[str, Value]:
    return {
        "cells_per_packet": cells_per_packet(fitted.setup.frame_bytes, chip),
        "cell_bytes": CELL_BYTES[chip],
        "chip": chip_number(chip),
    }


def _whole(text: str, names: Names) -> int:
    value = Expression(text)(names)
    if isinstance(value, str) or value != int(value):
        raise BadInput(f"`{text}` is {value}; a constant of a program must be a whole number", "use round(...)")
    return int(value)
