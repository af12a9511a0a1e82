# SPDX-License-Identifier: MIT OR Apache-2.0
"""A controller from its file, with its settings."""

from __future__ import annotations

import importlib.util
import traceback
from pathlib import Path
from types import ModuleType

import yaml

from marklab.catalog.controller import ControllerChoice
from marklab.controllers.controller import Controller
from marklab.errors import BadInput, unknown
from marklab.units import parse_time

_KINDS = (bool, int, float, str)


def load(choice: ControllerChoice) -> Controller:
    """Make a controller. Raises BadInput for a file without one, and for settings that it does not have."""
    controller = _class_in(_module(choice.file), choice.file)()
    given = {
        name: text for name, text in (("period", choice.period_ns), ("delay", choice.delay_ns)) if text is not None
    }
    for name, time_ns in given.items():
        setattr(controller, name, f"{time_ns}ns")
    for name, text in choice.settings.items():
        _set(controller, choice, name, text)
    return controller


def times_ns(controller: Controller, choice: ControllerChoice) -> tuple[int, int]:
    """Period and delay of a controller. Raises BadInput for what is no time."""
    try:
        period_ns, delay_ns = parse_time(controller.period), parse_time(controller.delay)
    except BadInput as error:
        raise BadInput(f"{choice.file}: {error}", error.remedy) from error
    if period_ns == 0:
        raise BadInput(f"{choice.file}: a controller with a period of 0 is called without end", 'period = "100us"')
    return period_ns, delay_ns


def explained(error: BaseException, file: Path) -> str:
    """An exception in a controller, with the line of its file."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    if isinstance(error, SyntaxError) and error.filename == str(file):
        lines = [error.lineno]
    where = f"line {lines[-1]}: " if lines else ""
    return f"{where}{type(error).__name__}: {error}" if str(error) else f"{where}{type(error).__name__}"


def _module(file: Path) -> ModuleType:
    """The file as a module of its own for each run: nothing that it keeps passes from one to another."""
    spec = importlib.util.spec_from_file_location(f"controller_{file.stem}", file)
    assert spec is not None  # noqa: S101 - of a file of Python there is one
    assert spec.loader is not None  # noqa: S101
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise BadInput(f"the controller {file} cannot be loaded: {explained(error, file)}") from error
    return module


def _class_in(module: ModuleType, file: Path) -> type[Controller]:
    kinds = [each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__]
    found = [each for each in kinds if issubclass(each, Controller)]
    if len(found) != 1:
        how_many = "no class derives" if not found else f"{len(found)} classes derive"
        raise BadInput(
            f"{file}: {how_many} from `marklab.controllers.Controller`", "one class per file: docs/controllers.md"
        )
    if missing := sorted(found[0].__abstractmethods__):
        raise BadInput(f"{file}: `{found[0].__name__}` has no method `{missing[0]}`", "docs/controllers.md has it")
    return found[0]


def _set(controller: Controller, choice: ControllerChoice, name: str, text: str) -> None:
    known = [
        each
        for each in dir(type(controller))
        if not each.startswith("_") and isinstance(getattr(type(controller), each), _KINDS)
    ]
    if name not in known:
        raise unknown(f"setting of the controller {choice}:", name, known)
    default, value = getattr(controller, name), yaml.safe_load(text)
    if isinstance(default, str):
        value = text
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) is not type(default):
        kind = {bool: "true or false", int: "a whole number", float: "a number"}[type(default)]
        raise BadInput(f"{name}={text}: the setting of the controller {choice} is {kind}", f"{name}={default}")
    setattr(controller, name, value)
