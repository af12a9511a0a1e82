# SPDX-License-Identifier: MIT OR Apache-2.0
"""Settings of runs from files and the command line: how `--spec`, options, `--set` and `--param` combine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from marklab.catalog.choice import SchemeChoice, parse_choice
from marklab.catalog.scheme import find_scheme, known_schemes
from marklab.errors import BadInput, unknown
from marklab.spec.description import FABRICS, read_spec
from marklab.units import parse_setting


def merged_settings(spec: Path | None, given: dict[str, Any], more: list[str]) -> dict[str, Any]:
    """Settings of a file, of options, and of `--set`; later ones override earlier ones."""
    settings = read_spec(spec) if spec is not None else {}
    if isinstance(given.get("transport"), str) and isinstance(settings.get("transport"), dict):
        given["transport"] = settings["transport"] | {"control": given["transport"]}
    for key, value in given.items():
        put_value(settings, key, value)
    for text in more:
        put_setting(settings, *parse_setting(text))
    if settings.get("flow_list") is not None:
        _only_flow_list(given)
        settings["flow_list"] = str(settings["flow_list"])
    if settings.get("flow_list") is not None or (not settings.get("flows", True) and not settings.get("queries")):
        # The flows are the same for every seed, so programs without random numbers give the same results for each.
        settings.setdefault("seeds", 1)
    return settings


def choose_fabric(settings: dict[str, Any], fabric: str | None, given: dict[str, str | None]) -> None:
    """Keep the settings of the chosen fabric only, and add those in `given`, which are Mininet's.

    Raises BadInput if the fabric is unknown, or if settings are given for a fabric that is not chosen.
    """
    if fabric is not None and fabric not in ("sim", *FABRICS):
        raise unknown("fabric", fabric, ("sim", *FABRICS))
    chosen = {name: text for name, text in given.items() if text is not None}
    if fabric is not None:
        own = settings.get(fabric)
        for name in FABRICS:
            settings.pop(name, None)
        if fabric != "sim":
            settings[fabric] = own or {}
    if settings.get("mininet") is not None:
        settings["mininet"] = dict(settings["mininet"]) | chosen
    elif chosen:
        raise BadInput(f"--{next(iter(chosen))} is an option of the fabric mininet", "--fabric mininet")


def _only_flow_list(given: dict[str, Any]) -> None:
    for key in ("workload", "load", "flows"):
        if key in given:
            raise BadInput(f"--{key} and --flow-list contradict each other: a flow list is replayed as it is")


def put_setting(settings: dict[str, Any], key: str, text: str) -> None:
    """Set the setting of a key such as `transport.min_rto` to a value written in YAML."""
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BadInput(f"--set {key}: `{text}` is not YAML") from error
    put_value(settings, key, value)


def put_value(settings: dict[str, Any], key: str, value: Any) -> None:
    """Set the setting of a key such as `transport.min_rto`."""
    *outer, last = key.split(".")
    for part in outer:
        inner = settings.get(part)
        # A short form such as `transport: dctcp` becomes the mapping that it stands for.
        shorthand = {"transport": "control", "connections": "mode", "rtt": "range"}.get(part)
        if isinstance(inner, str) and shorthand:
            inner = {shorthand: inner}
        settings[part] = dict(inner) if isinstance(inner, dict) else {}
        settings = settings[part]
    settings[last] = value


def chosen_schemes(chosen: list[str], params: list[str]) -> list[SchemeChoice]:
    """Read schemes, and give each of them the parameters that it has."""
    if not chosen:
        raise BadInput("no scheme was given", f"--scheme NAME: {', '.join(known_schemes())} or a P4 program")
    choices: list[SchemeChoice] = [parse_choice(text) for text in chosen]
    for name, value in map(parse_setting, params):
        has = [_has(choice, name) for choice in choices]
        if len(choices) > 1 and not any(has):
            raise unknown("parameter", name, _parameters(choices))
        # A single scheme explains an unknown name itself, when it is fitted.
        choices = [
            choice.with_params({name: value}) if one_has or len(choices) == 1 else choice
            for choice, one_has in zip(choices, has, strict=True)
        ]
    return choices


def _has(choice: SchemeChoice, name: str) -> bool:
    return name in _parameters([choice])


def _parameters(choices: list[SchemeChoice]) -> set[str]:
    specs = [find_scheme(choice).spec for choice in choices]
    return {name for spec in specs if spec for name in spec.parameters}
