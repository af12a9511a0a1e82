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
from marklab.spec.options import RUN, SettingOption
from marklab.spec.settings import chosen_schemes, merged_settings
from marklab.topology import build

# Those that most runs change; a page shows the others on demand.
_FIRST = ("topology", "load", "workload", "flows", "seeds", "rtt")
# A page reads no files, and a capture would fill the disk.
_LEFT_OUT = ("flow_list", "pcap")

_FILES = (".p4", ".csv", ".yaml", ".yml")

_OPTIONS = {option.name: option for option in RUN if option.name not in _LEFT_OUT}


def fields() -> list[dict[str, Any]]:
    """The fields of the form, those that most runs change first."""
    ordered = sorted(_OPTIONS.values(), key=lambda option: _rank(option.name))
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


def words(settings: Mapping[str, str]) -> list[str]:
    """The words of a command line with these settings. Raises BadInput for one that is unknown or names a file."""
    found = []
    for name, text in settings.items():
        option = _option(name)
        if any(part.partition(":")[0].endswith(_FILES) for part in text.split(",")):
            raise BadInput(f"{option.flag} {text} names a file, and a page reads none", "run the command in a terminal")
        found += [option.flag] if option.sets else [option.flag, text]
    return found


def _option(name: str) -> SettingOption:
    if name not in _OPTIONS:
        raise unknown("setting", name, tuple(_OPTIONS))
    return _OPTIONS[name]


def checked(schemes: Sequence[str], params: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, Any]:
    """The parameters that the first scheme has under these settings. Raises BadInput for what a run would refuse."""
    words(settings)
    given: dict[str, Any] = {}
    for name, text in settings.items():
        option = _option(name)
        given |= option.given(True if option.sets else [text] if option.repeatable else text)
    described = merged_settings(None, given, [])
    described["schemes"] = chosen_schemes(list(schemes), [f"{name}={text}" for name, text in params.items()])
    spec = make_spec(described)
    return {"parameters": _parameters(spec, spec.choices[0])}


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
