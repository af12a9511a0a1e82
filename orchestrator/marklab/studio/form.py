# SPDX-License-Identifier: MIT OR Apache-2.0
"""The form of a run: the options of the command line, as a page shows and checks them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from marklab.catalog.choice import SchemeChoice
from marklab.catalog.scheme import find_scheme
from marklab.errors import BadInput, unknown
from marklab.prepare.experiment import setup_of
from marklab.spec.description import Spec, make_spec
from marklab.spec.options import REAL, RUN, SettingOption
from marklab.spec.settings import choose_fabric, chosen_schemes, merged_settings
from marklab.topology import build

# Those that most runs change; a page shows the others on demand.
_FIRST = ("topology", "load", "workload", "flows", "seeds", "rtt")
# A page reads no files, a capture would fill the disk, and a run with a controller cannot be looked at afterwards.
_LEFT_OUT = ("flow_list", "pcap", "controller")

_FILES = (".p4", ".csv", ".py", ".yaml", ".yml")

_SIM = {option.name: option for option in RUN if option.name not in _LEFT_OUT}
# With those of real hosts, which a page has only if it may start them.
_LAB = _SIM | {option.name: option for option in REAL}


def fields(lab: bool) -> list[dict[str, Any]]:
    """The fields of the form, those that most runs change first; with `lab` those of runs on real hosts, too."""
    ordered = sorted(_options(lab).values(), key=lambda option: _rank(option.name))
    return [
        {
            "name": option.name,
            "value": option.value.strip(),
            "says": option.says,
            "panel": option.panel,
            "default": option.default,
            "flag": bool(option.sets),
            "first": option.name in _FIRST,
        }
        for option in ordered
    ]


def _rank(name: str) -> int:
    return _FIRST.index(name) if name in _FIRST else len(_FIRST)


def _options(lab: bool) -> Mapping[str, SettingOption]:
    return _LAB if lab else _SIM


def words(settings: Mapping[str, str], lab: bool) -> list[str]:
    """The words of a command line with these settings. Raises BadInput for one that is unknown or names a file."""
    found = []
    for name, text in settings.items():
        option = _option(name, lab)
        if any(part.partition(":")[0].endswith(_FILES) for part in text.split(",")):
            raise BadInput(f"{option.flag} {text} names a file, and a page reads none", "run the command in a terminal")
        found += [option.flag] if option.sets else [option.flag, text]
    return found


def _option(name: str, lab: bool) -> SettingOption:
    if name in _LAB and name not in _options(lab):
        raise BadInput(f"this page may not set `{name}`: it starts no real hosts", "studio --allow-lab")
    if name not in _options(lab):
        raise unknown("setting", name, tuple(_options(lab)))
    return _options(lab)[name]


def checked(
    schemes: Sequence[str], params: Mapping[str, str], settings: Mapping[str, str], *, lab: bool = False
) -> dict[str, Any]:
    """The parameters that the first scheme has under these settings. Raises BadInput for what a run would refuse."""
    spec = described(schemes, params, settings, lab=lab)
    return {"parameters": _parameters(spec, spec.choices[0])}


def described(
    schemes: Sequence[str], params: Mapping[str, str], settings: Mapping[str, str], *, lab: bool = False
) -> Spec:
    """The description of the run that a form asks for."""
    words(settings, lab)
    given: dict[str, Any] = {}
    real = {option.name: settings.get(option.name) for option in REAL}
    for name, text in settings.items():
        if name in real:
            continue
        option = _option(name, lab)
        given |= option.given(True if option.sets else [text] if option.repeatable else text)
    plain = merged_settings(None, given, [])
    choose_fabric(plain, real.pop("fabric"), real)
    plain["schemes"] = chosen_schemes(list(schemes), [f"{name}={text}" for name, text in params.items()])
    return make_spec(plain)


def _parameters(spec: Spec, choice: SchemeChoice) -> list[dict[str, Any]]:
    """Name, value with its unit, rule and meaning of each parameter."""
    fitted = find_scheme(choice).fit(choice, setup_of(spec, build(spec.topology, spec.rate_bps, spec.rtt.base_ns)))
    return [
        {
            "name": name,
            "value": setting.text(fitted.setup),
            "rule": " | ".join(setting.parameter.choices or ()) or setting.origin,
            "doc": setting.parameter.doc.strip(),
        }
        for name, setting in fitted.settings.items()
    ]
