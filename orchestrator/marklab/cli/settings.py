# SPDX-License-Identifier: MIT OR Apache-2.0
"""Options that are settings of a spec: a command receives the given ones as one mapping."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any, get_type_hints

import typer

from marklab.spec.options import SettingOption


def _parameter(option: SettingOption) -> inspect.Parameter:
    """An option as a parameter for typer: text, or a bool for a flag."""
    says = f"{option.says} Default: {option.default}." if option.shown else option.says
    given = typer.Option(option.flag, help=says, metavar=option.value, rich_help_panel=option.panel, show_default=False)
    kind: Any = bool if option.sets else list[str] | None if option.repeatable else str | None
    default = False if option.sets else None
    return inspect.Parameter(
        option.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, given]
    )


def takes_settings(options: Sequence[SettingOption]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command these options in place of its parameter `settings`, which becomes a mapping of the given ones."""

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True)
        parameters: list[inspect.Parameter] = []
        for parameter in inspect.signature(command).parameters.values():
            if parameter.name == "settings":
                parameters += [_parameter(option) for option in options]
            else:
                parameters.append(
                    parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[parameter.name])
                )

        def called(**values: Any) -> None:
            settings: dict[str, Any] = {}
            for option in options:
                settings |= option.given(values.pop(option.name))
            command(settings=settings, **values)

        functools.update_wrapper(called, command)
        called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        vars(called)["__signature__"] = inspect.Signature(parameters)
        return called

    return decorated
